/**
 * Closing: the open goes with its locks, and with the last one what was marked for deletion, in one transaction. A file that
 * was written through the open has a new ETag from then on.
 */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { judgeDeletion } from '../../../rules/smb-open.ts';
import { encodeJson } from '../../records/codec.ts';
import { useKey } from '../../records/file-keys.ts';
import type { NodeRecord } from '../../records/node-record.ts';
import { changedAt, type Storage } from '../../storage.ts';
import { changeNode } from '../keep-past.ts';
import type { FoundNode } from '../load.ts';
import { putAsks } from './follow.ts';
import { loadUses, type NodeUses } from './node-uses.ts';
import type { UsedPlace } from './open-node.ts';
import { findById, isDeletable, removeMarked } from './remove-marked.ts';
import type { PendingRecord } from './use-record.ts';

export interface Closing {
  readonly storage: Storage;
  readonly owner: Id;
  /** Counts the bytes of the share's files (usage.ts). */
  readonly shard: number;
}

export interface ClosingOpen {
  readonly place: UsedPlace;
  readonly openId: OpenId;
  /** By REST, and then it marks nothing for deletion that was not marked before. */
  readonly isForced: boolean;
  /** Through this open. */
  readonly hasWritten?: boolean;
  /** Whether anybody wants to know what is left. */
  readonly looks?: boolean;
}

export interface Closed {
  /** Somebody may wait for it. */
  readonly isAwaited: boolean;
  /** It was marked for deletion by this. */
  readonly isMarked: boolean;
  /** Others were asked to keep their handles no longer than they use them. */
  readonly hasAsked: boolean;
  /** What was deleted with it; null: nothing. */
  readonly removed: FoundNode | null;
  /** As it is left, where that was asked for or changed; null: not so, or gone. */
  readonly node: NodeRecord | null;
}

const NOTHING_CLOSED: Closed = { isAwaited: false, isMarked: false, hasAsked: false, removed: null, node: null };

export async function closeOpen(tx: Transaction, closing: Closing, asked: ClosingOpen): Promise<Closed> {
  const { place, openId, isForced } = asked;
  const uses = await loadUses(tx, place);
  const open = uses.opens.get(openId);
  if (open === undefined) return NOTHING_CLOSED;
  const isAwaited =
    open.breaking !== undefined ||
    uses.asks.some((ask) => ask.openId === openId) ||
    uses.locks.some(({ owner }) => owner === openId);
  removeOpen(tx, uses, openId);
  const marks = uses.pending === null && open.deletesOnClose && !isForced && (await isDeletable(tx, place));
  const isLast = uses.opens.size === 1;
  const isPending = uses.pending !== null || marks;
  const removed = isPending && isLast ? await deletePending(tx, closing, place) : null;
  const isMarked = marks && !isLast;
  if (isMarked) putPending(tx, closing.owner, place);
  const hasAsked = isMarked && askForHandles(tx, closing, uses, openId);
  const node = removed === null ? await leave(tx, closing, asked) : null;
  return { isAwaited, isMarked, hasAsked, removed, node };
}

/** It is deleted once they are closed. */
function askForHandles(tx: Transaction, { owner }: Closing, uses: NodeUses, openId: OpenId): boolean {
  const verdict = judgeDeletion(uses.inUse, openId);
  return verdict.verdict !== 'refused' && putAsks(tx, uses, owner, verdict.breaks);
}

async function leave(
  tx: Transaction,
  { storage: { clock, etags } }: Closing,
  { place, hasWritten = false, looks = false }: ClosingOpen,
): Promise<NodeRecord | null> {
  const found = hasWritten || looks ? await findById(tx, place) : null;
  if (found === null || !hasWritten) return found?.node ?? null;
  const nowMs = clock.nowMs();
  return changeNode(tx, found, (node) => ({
    ...node,
    etag: etags.next(node.etag, nowMs),
    lastModifiedMs: changedAt(node.lastModifiedMs, nowMs),
  }));
}

/** Deletes what was marked, which nobody has open any more. What was deleted; null: nothing. */
export async function deletePending(
  tx: Transaction,
  { storage, shard }: Closing,
  place: UsedPlace,
): Promise<FoundNode | null> {
  tx.delete(useKey(place.shareId, place.nodeId, 'pending'));
  return removeMarked(tx, { storage, shard }, place);
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
