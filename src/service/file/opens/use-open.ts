/** What is done through an open that is there: locking and unlocking bytes, marking for deletion, answering a break. */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import { type ByteLock, isLockable, type LockRange } from '../../../rules/byte-lock.ts';
import { isReadOnly } from '../../../rules/file-attributes.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { type Caching, isCachingWithin, mustAnswer, nextStep } from '../../../rules/oplock.ts';
import { judgeDeletion, judgeLock } from '../../../rules/smb-open.ts';
import { encodeJson } from '../../records/codec.ts';
import { useKey } from '../../records/file-keys.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { leastAsked, putCaching } from './attend.ts';
import { putPending } from './close-open.ts';
import { follow, putAsks } from './follow.ts';
import { MustWait } from './must-wait.ts';
import { loadUses, type NodeUses } from './node-uses.ts';
import { putOpen, type UsedPlace } from './open-node.ts';
import { findById, findPlaced, isDeletable } from './remove-marked.ts';
import type { ClientInfo, LockRecord, OpenRecord } from './use-record.ts';

/** The open is closed: by its client, by force, or with the memory of an engine that gave this node up. */
export class OpenClosed extends Error {
  override readonly name = 'OpenClosed';
}

export interface Using {
  readonly storage: Storage;
  readonly owner: Id;
  readonly place: UsedPlace;
  readonly openId: OpenId;
}

async function loadOwn(tx: Transaction, { place, openId }: Using): Promise<{ uses: NodeUses; open: OpenRecord }> {
  const uses = await loadUses(tx, place);
  const open = uses.opens.get(openId);
  if (open === undefined) throw new OpenClosed(`${openId} is closed`);
  return { uses, open };
}

/** On one file: whoever uses it reads all of them. */
const LOCK_COUNT_MAX = 10_000;

/** All of them or none. `mayWait`: until others unlock. Whether others are asked to give something up. */
export async function lockRanges(
  tx: Transaction,
  using: Using,
  { locks, mayWait }: { locks: readonly ByteLock[]; mayWait: boolean },
): Promise<boolean> {
  const { storage, owner, openId, place } = using;
  if (!locks.every(isLockable)) throw new StorageError('InvalidRange');
  // A write that has not seen the lock must not follow it: an engine may let two commits pass of which only one has read
  // what the other writes, and show the one without the other for a moment.
  const [{ uses }] = await Promise.all([loadOwn(tx, using), findPlaced(tx, place, place.nodeId)]);
  if (uses.locks.length + locks.length > LOCK_COUNT_MAX) throw new StorageError('ServerBusy');
  const open = uses.inUse.opens.find(({ id }) => id === openId);
  const verdict = judgeLock(uses.inUse, open as NonNullable<typeof open>, locks);
  if (mayWait && verdict.verdict === 'refused') {
    throw new MustWait({ at: place, state: uses.state, breaks: [], code: 'FileLockConflict' });
  }
  const hasAsked = putAsks(tx, uses, owner, follow(uses, verdict));
  for (const { offsetBytes, lengthBytes, isExclusive } of locks) {
    const lock: LockRecord = { offsetBytes: String(offsetBytes), lengthBytes: String(lengthBytes), isExclusive };
    tx.put(useKey(place.shareId, place.nodeId, 'lock', openId, storage.ids.next()), encodeJson(lock));
  }
  return hasAsked;
}

/** Each range is exactly one that was locked, and as often. False: some was not locked, and nothing is unlocked. */
export async function unlockRanges(tx: Transaction, using: Using, ranges: readonly LockRange[]): Promise<boolean> {
  const { openId, place } = using;
  const { uses } = await loadOwn(tx, using);
  const locks = uses.locks.filter(({ owner }) => owner === openId);
  for (const { offsetBytes, lengthBytes } of ranges) {
    const at = locks.findIndex((lock) => lock.offsetBytes === offsetBytes && lock.lengthBytes === lengthBytes);
    const [lock] = at < 0 ? [] : locks.splice(at, 1);
    if (lock === undefined) return false;
    tx.delete(useKey(place.shareId, place.nodeId, 'lock', openId, lock.id));
  }
  return true;
}

/** Or takes the mark away. From then on nobody can open it; it is deleted when the last who has it open closes it. */
export async function markForDeletion(tx: Transaction, using: Using, isMarked: boolean): Promise<void> {
  const { owner, openId, place } = using;
  const { uses } = await loadOwn(tx, using);
  if (!isMarked) {
    if (uses.pending !== null) tx.delete(useKey(place.shareId, place.nodeId, 'pending'));
    return;
  }
  if (uses.pending !== null) return;
  const found = await findById(tx, place);
  if (found === null || found.parent === null || isReadOnly(found.node.attributes))
    throw new StorageError('CannotDeleteFileOrDirectory');
  if (!(await isDeletable(tx, place))) throw new StorageError('DirectoryNotEmpty');
  putAsks(tx, uses, owner, follow(uses, judgeDeletion(uses.inUse, openId)));
  putPending(tx, owner, place);
}

export type Acknowledged =
  | 'acknowledged'
  /** Nothing was asked, or it was answered, or the time for that is over. */
  | 'not breaking'
  /** More than was asked for. */
  | 'too much';

/** The client keeps this much. */
export async function acknowledgeBreak(tx: Transaction, using: Using, caching: Caching): Promise<Acknowledged> {
  const { uses, open } = await loadOwn(tx, using);
  if (open.breaking === undefined) return 'not breaking';
  if (!isCachingWithin(caching, open.breaking.to)) return 'too much';
  const opens = [...uses.opens].filter(([, { cacheKey }]) => cacheKey === open.cacheKey);
  putCaching(tx, uses, opens, { caching, ...goOn(using, { uses, opens, caching }) });
  return 'acknowledged';
}

/** More that was asked for meanwhile is asked of it in the same commit: nobody who waits for it takes it for over. */
function goOn(
  { storage }: Using,
  { uses, opens, caching }: { uses: NodeUses; opens: readonly (readonly [OpenId, OpenRecord])[]; caching: Caching },
): Pick<OpenRecord, 'breaking'> {
  const asks = uses.asks.filter(({ openId }) => opens.some(([id]) => id === openId));
  const to = leastAsked(caching, asks);
  if (to === caching || !mustAnswer(caching)) return {};
  const breaking = { id: storage.ids.next(), to: nextStep(caching, to), sinceMs: storage.clock.nowMs() };
  return { breaking: { ...breaking, isContinued: true } };
}

/** A client that had lost its connection has come back. */
export async function reconnectOpen(tx: Transaction, using: Using, client: ClientInfo): Promise<void> {
  const { open } = await loadOwn(tx, using);
  putOpen(tx, using.place, using.openId, { ...open, client, reconnectedAtMs: using.storage.clock.nowMs() });
}
