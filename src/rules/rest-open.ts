/**
 * REST requests beside SMB clients (Managing file locks): a request is a very short open that shares everything. What each
 * operation needs, and what it meets: other opens first, then caches, then byte-range locks. A pending deletion, leases and
 * the read-only attribute are asked before.
 */
import { isReadDenied } from './byte-lock.ts';
import { type InUse, type OpenUse, refusedWith, resolveBreaks, resolveConflict, type Verdict } from './in-use.ts';
import { type BreakClass, breakOf } from './oplock.ts';
import type { Slice } from './range-header.ts';
import { type Access, ALL_ACCESS, DELETES, denies, deniesLease, NO_ACCESS, READS, WRITES } from './share-mode.ts';

export type RestOperation =
  | 'get file'
  | 'get properties'
  | 'list ranges'
  | 'copy from'
  | 'set properties'
  | 'resize'
  | 'put range'
  | 'overwrite'
  | 'abort copy'
  | 'delete file'
  | 'acquire lease'
  | 'other lease action'
  | 'rename file'
  | 'replace by rename'
  | 'get directory properties'
  | 'set directory properties'
  | 'delete directory'
  | 'rename directory';

interface RestOpen {
  readonly need: Access;
  /** Nobody may have it open, not even to look at attributes. */
  readonly noHandles?: true;
  readonly breaks?: BreakClass;
  /** Which byte-range locks refuse it: any in the file, or exclusive ones on what is read. */
  readonly locks?: 'any' | 'exclusive';
}

export const REST_OPENS: Readonly<Record<RestOperation, RestOpen>> = {
  'get file': { need: READS, breaks: 'read', locks: 'exclusive' },
  'get properties': { need: NO_ACCESS, breaks: 'read' },
  'list ranges': { need: READS, breaks: 'read' },
  'copy from': { need: READS, breaks: 'read', locks: 'exclusive' },
  'set properties': { need: WRITES, breaks: 'write' },
  resize: { need: WRITES, breaks: 'write', locks: 'any' },
  'put range': { need: WRITES, breaks: 'write', locks: 'any' },
  overwrite: { need: WRITES | DELETES, breaks: 'write', locks: 'any' },
  'abort copy': { need: WRITES, breaks: 'write' },
  'delete file': { need: DELETES, noHandles: true, breaks: 'handle' },
  'acquire lease': { need: ALL_ACCESS, breaks: 'lease' },
  'other lease action': { need: NO_ACCESS },
  'rename file': { need: DELETES, breaks: 'handle' },
  'replace by rename': { need: DELETES, noHandles: true, breaks: 'handle' },
  'get directory properties': { need: NO_ACCESS },
  'set directory properties': { need: NO_ACCESS },
  'delete directory': { need: DELETES, noHandles: true, breaks: 'handle' },
  'rename directory': { need: DELETES, breaks: 'handle' },
};

/** `range`: of what is read; none: all of it. */
export function judgeRest(inUse: InUse, operation: RestOperation, range?: Slice): Verdict {
  const { breaks, locks } = REST_OPENS[operation];
  const { opens } = inUse;
  const conflict = resolveConflict(
    opens.filter((open) => isInTheWay(open, operation)),
    ({ caching, style }) => breakOf(caching, style, 'handle'),
  );
  if (conflict !== null) return conflict;
  const broken = resolveBreaks(opens, ({ caching, style }) =>
    breaks === undefined ? null : breakOf(caching, style, breaks),
  );
  if (broken.verdict === 'waits') return broken;
  const isLocked =
    locks === 'any' ? inUse.locks.length > 0 : locks === 'exclusive' && isReadDenied(inUse.locks, null, asLock(range));
  return isLocked ? refusedWith('FileLockConflict') : broken;
}

function isInTheWay(open: OpenUse, operation: RestOperation): boolean {
  const { need, noHandles } = REST_OPENS[operation];
  return noHandles === true || denies(open, need) || (operation === 'acquire lease' && deniesLease(open));
}

const asLock = (range: Slice | undefined) => ({
  offsetBytes: BigInt(range?.offsetBytes ?? 0),
  lengthBytes: BigInt(range?.lengthBytes ?? Number.MAX_SAFE_INTEGER),
});
