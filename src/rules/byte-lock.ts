/**
 * Byte-range locks ([MS-FSA] 2.1.5.8, Managing file locks): what may be locked beside other locks, and what a lock keeps
 * others from. Offsets and lengths go up to 2^64 and may lie behind the end of the file.
 */

export interface LockRange {
  readonly offsetBytes: bigint;
  readonly lengthBytes: bigint;
}

export interface ByteLock extends LockRange {
  readonly isExclusive: boolean;
}

/** A lock that an open has. */
export interface HeldLock<Owner> extends ByteLock {
  readonly owner: Owner;
}

export const END_BYTES_MAX = 2n ** 64n;

/** Whether a range is one: it ends where offsets do, or before. */
export const isLockable = ({ offsetBytes, lengthBytes }: LockRange): boolean =>
  offsetBytes >= 0n && lengthBytes >= 0n && offsetBytes + lengthBytes <= END_BYTES_MAX;

/** An empty range meets another only strictly inside it. */
export function overlaps(one: LockRange, other: LockRange): boolean {
  return one.offsetBytes < endOf(other) && other.offsetBytes < endOf(one);
}

const endOf = ({ offsetBytes, lengthBytes }: LockRange): bigint => offsetBytes + lengthBytes;

/** Whether an open cannot get a lock. An exclusive one stands beside nobody's; a shared one beside exclusive locks of its own open. */
export const isLockDenied = <Owner>(held: readonly HeldLock<Owner>[], owner: Owner, wanted: ByteLock): boolean =>
  held.some((lock) => overlaps(lock, wanted) && (wanted.isExclusive || (lock.isExclusive && lock.owner !== owner)));

/** Whether reading a range through an open, or by REST (`null`), is kept off. */
export const isReadDenied = <Owner>(held: readonly HeldLock<Owner>[], owner: Owner | null, range: LockRange): boolean =>
  held.some((lock) => lock.isExclusive && lock.owner !== owner && overlaps(lock, range));

/** Whether writing a range through an open is kept off: by every shared lock, its own included, and by others' exclusive ones. */
export const isWriteDenied = <Owner>(held: readonly HeldLock<Owner>[], owner: Owner, range: LockRange): boolean =>
  held.some((lock) => overlaps(lock, range) && (!lock.isExclusive || lock.owner !== owner));
