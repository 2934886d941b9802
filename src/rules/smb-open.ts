/**
 * What an SMB open meets ([MS-SMB2] 3.3.5.9, Managing file locks), in the order in which it is refused: a pending deletion,
 * the read-only attribute, an active REST lease, other opens; and what others have to give up for it. And the same for what
 * is done through an open: locking, marking for deletion.
 */
import { type ByteLock, isLockDenied } from './byte-lock.ts';
import {
  cachersBeside,
  type InUse,
  type OpenId,
  type OpenUse,
  refusedWith,
  resolveBreaks,
  resolveConflict,
  type Verdict,
} from './in-use.ts';
import {
  type Break,
  breakOf,
  type Caching,
  type CachingStyle,
  grantCaching,
  isCachingWithin,
  type Reach,
} from './oplock.ts';
import { conflicts, isDeniedByLease, type ShareMode, WRITES } from './share-mode.ts';

export interface SmbOpen extends ShareMode {
  /** The content is replaced (overwrite, supersede). */
  readonly overwrites: boolean;
  readonly deletesOnClose: boolean;
  readonly reach: Reach;
  /** What it wishes to cache. */
  readonly caching: Caching;
  readonly style: CachingStyle;
  readonly cacheKey: string;
}

/** What there is to be opened. */
export interface Openable {
  readonly isDirectory: boolean;
  readonly isReadOnly: boolean;
  /** By REST. */
  readonly isLeased: boolean;
}

export function judgeOpen(inUse: InUse, node: Openable, open: SmbOpen): Verdict {
  if (inUse.isPending) return refusedWith('SMBDeletePending');
  if (node.isReadOnly && !node.isDirectory && writes(open)) return refusedWith('ReadOnlyAttribute');
  if (node.isReadOnly && open.deletesOnClose) return refusedWith('CannotDeleteFileOrDirectory');
  if (node.isLeased && isDeniedByLease(open)) return refusedWith('SharingViolation');
  const asked = open.overwrites ? { ...open, access: open.access | WRITES } : open;
  const offenders = inUse.opens.filter((other) => conflicts(other, asked));
  // A client is not asked to close what stands in its own way.
  if (offenders.some(({ cacheKey }) => cacheKey === open.cacheKey)) return refusedWith('SharingViolation');
  const conflict = resolveConflict(offenders, ({ caching, style }) => breakOf(caching, style, 'handle'));
  if (conflict !== null) return conflict;
  const disturbed = othersOf(inUse, open.cacheKey).filter(({ style }) => disturbs(open, style));
  return resolveBreaks(disturbed, (other) =>
    patient(other, breakOf(other.caching, other.style, open.overwrites ? 'overwrite' : 'read')),
  );
}

function patient({ isBreakingOn = false, breakingTo }: OpenUse, needed: Break | null): Break | null {
  if (!isBreakingOn || breakingTo === null) return needed;
  return { ...needed, to: needed?.to ?? breakingTo, isBlocking: true };
}

const disturbs = ({ reach, overwrites }: SmbOpen, style: CachingStyle): boolean =>
  overwrites || reach === 'all' || (reach === 'permissions' && style === 'oplock');

const writes = ({ access, overwrites }: SmbOpen): boolean => overwrites || (access & WRITES) !== 0;

const othersOf = ({ opens }: InUse, cacheKey: string): OpenUse[] => opens.filter((open) => open.cacheKey !== cacheKey);

/**
 * What an open that is admitted gets to cache, and with it all others with its key. They get more if all that is wished for
 * can be had, and never less; nothing changes while they are asked to give something up.
 */
export function resolveCaching(inUse: InUse, node: Openable, open: SmbOpen): Caching {
  const own = inUse.opens.find(({ cacheKey }) => cacheKey === open.cacheKey);
  if (own !== undefined && own.breakingTo !== null) return own.caching;
  const granted = grantCaching(open, {
    beside: othersOf(inUse, open.cacheKey),
    hasLocks: inUse.locks.length > 0,
    isLeased: node.isLeased,
    isDirectory: node.isDirectory,
  });
  if (own === undefined) return granted;
  return granted === open.caching && isCachingWithin(own.caching, granted) ? granted : own.caching;
}

/** What others cache of a file is not so any more once a part of it is locked. */
export function judgeLock(inUse: InUse, owner: OpenUse, wanted: readonly ByteLock[]): Verdict {
  const held = [...inUse.locks];
  for (const lock of wanted) {
    if (isLockDenied(held, owner.id, lock)) return refusedWith('FileLockConflict');
    held.push({ ...lock, owner: owner.id });
  }
  return resolveBreaks(cachersBeside(inUse, owner), ({ caching, style }) => breakOf(caching, style, 'write'));
}

/** Others keep their handles, and must not keep them for longer than they are used. */
export function judgeDeletion(inUse: InUse, openId: OpenId): Verdict {
  const own = inUse.opens.find(({ id }) => id === openId);
  return resolveBreaks(othersOf(inUse, own?.cacheKey ?? openId), ({ caching, style }) =>
    breakOf(caching, style, 'handle'),
  );
}
