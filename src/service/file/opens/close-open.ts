/** Closing: the open goes with its locks, and with the last one what was marked for deletion, in one transaction. */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { encodeJson } from '../../records/codec.ts';
import { useKey } from '../../records/file-keys.ts';
import type { Storage } from '../../storage.ts';
import { loadUses, type NodeUses } from './node-uses.ts';
import type { UsedPlace } from './open-node.ts';
import { isDeletable, removeMarked } from './remove-marked.ts';
import type { PendingRecord } from './use-record.ts';

export interface Closing {
  readonly storage: Storage;
  readonly owner: Id;
  /** Counts the bytes of the share's files (usage.ts). */
  readonly shard: number;
}

export interface Closed {
  /** Somebody may wait for it. */
  readonly isAwaited: boolean;
  /** It was marked for deletion by this. */
  readonly isMarked: boolean;
}

const NOTHING_CLOSED: Closed = { isAwaited: false, isMarked: false };

/** `isForced`: by REST, and then it marks nothing for deletion that was not marked before. */
export async function closeOpen(
  tx: Transaction,
  closing: Closing,
  { place, openId, isForced }: { place: UsedPlace; openId: OpenId; isForced: boolean },
): Promise<Closed> {
  const uses = await loadUses(tx, place);
  const open = uses.opens.get(openId);
  if (open === undefined) return NOTHING_CLOSED;
  const isAwaited =
    open.breaking !== undefined ||
    uses.asks.some((ask) => ask.openId === openId) ||
    uses.locks.some(({ owner }) => owner === openId);
  removeOpen(tx, uses, openId);
  const marks = uses.pending === null && open.deletesOnClose && !isForced && (await isDeletable(tx, place));
  if (uses.pending === null && !marks) return { isAwaited, isMarked: false };
  const isLast = uses.opens.size === 1;
  if (isLast) await deletePending(tx, closing, place);
  else if (marks) putPending(tx, closing.owner, place);
  return { isAwaited, isMarked: marks && !isLast };
}

/** Deletes what was marked, which nobody has open any more. */
export async function deletePending(tx: Transaction, { storage, shard }: Closing, place: UsedPlace): Promise<void> {
  tx.delete(useKey(place.shareId, place.nodeId, 'pending'));
  await removeMarked(tx, { storage, shard }, place);
}

export function putPending(tx: Transaction, owner: Id, { account, share, shareId, nodeId }: UsedPlace): void {
  const pending: PendingRecord = { owner, account, share };
  tx.put(useKey(shareId, nodeId, 'pending'), encodeJson(pending));
}

function removeOpen(tx: Transaction, { at: { shareId, nodeId }, locks, asks }: NodeUses, openId: OpenId): void {
  tx.delete(useKey(shareId, nodeId, 'open', openId));
  for (const { id, owner } of locks) {
    if (owner === openId) tx.delete(useKey(shareId, nodeId, 'lock', openId, id));
  }
  for (const ask of asks) if (ask.openId === openId) tx.delete(useKey(shareId, nodeId, 'break', openId, ask.by));
}
