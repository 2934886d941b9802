/**
 * What reading, writing and cutting through an SMB open meets ([MS-SMB2] 3.3.5.12, 3.3.5.13, [MS-FSA] 2.1.4.10): byte-range
 * locks first, then what others cache. A range without bytes is locked by nobody.
 */
import { isReadDenied, isWriteDenied, type LockRange } from './byte-lock.ts';
import { cachersBeside, type InUse, type OpenUse, refusedWith, resolveBreaks, type Verdict } from './in-use.ts';
import { breakOf } from './oplock.ts';

/** What others have not written yet must be written first. */
export function judgeRead(inUse: InUse, own: OpenUse, range: LockRange): Verdict {
  const isDenied = range.lengthBytes > 0n && isReadDenied(inUse.locks, own.id, range);
  if (isDenied) return refusedWith('FileLockConflict');
  const others = inUse.opens.filter(({ cacheKey }) => cacheKey !== own.cacheKey);
  return resolveBreaks(others, ({ caching, style }) => breakOf(caching, style, 'read'));
}

/** What others have read is not so any more. */
export function judgeWrite(inUse: InUse, own: OpenUse, range: LockRange): Verdict {
  const isDenied = range.lengthBytes > 0n && isWriteDenied(inUse.locks, own.id, range);
  if (isDenied) return refusedWith('FileLockConflict');
  return resolveBreaks(cachersBeside(inUse, own), ({ caching, style }) => breakOf(caching, style, 'write'));
}

/** `cut`: the bytes that go; a file that grows loses none. */
export const judgeResize = (inUse: InUse, own: OpenUse, cut: LockRange): Verdict => judgeWrite(inUse, own, cut);
