/**
 * What renames over REST (rename.ts) and SMB (opens/rename-open.ts) share: one row goes to another place, whatever is below
 * it, and a file that had the name gives way.
 */
import type { Transaction } from '../../engine/transact.ts';
import { isPending } from '../../rules/copy.ts';
import { isReadOnly } from '../../rules/file-attributes.ts';
import type { Replaced } from '../../rules/file-rename.ts';
import { AVAILABLE, afterWrite, leaseAt } from '../../rules/lease.ts';
import type { NodeRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { moveNode, removeNode } from './keep-past.ts';
import type { Found, FoundFile, FoundNode } from './load.ts';
import { changedProperties, type PropertyChanges } from './properties.ts';
import { changeUsage } from './usage.ts';

export interface Move {
  readonly source: FoundNode;
  /** In the same share. */
  readonly destination: Found;
}

/** What the new name belongs to; null: nothing, or the source itself, in other letters. */
export const otherAt = ({ source, destination }: Move): NodeRecord | null =>
  destination.node?.id === source.node.id ? null : destination.node;

export const renameStateOf = (node: NodeRecord, nowMs: number): Replaced => ({
  kind: node.kind,
  lease: node.kind === 'file' ? leaseAt(node.lease, nowMs) : AVAILABLE,
  isReadOnly: isReadOnly(node.attributes),
  isCopyPending: node.kind === 'file' && isPending(node.copy),
});

/** Whether a file gives way: once a rename is not refused, nothing else can. */
export const replacesFile = (move: Move): move is Move & { readonly destination: FoundFile } => otherAt(move) !== null;

/** After whatever could refuse it. The node gets a new ETag, and what `change` gives it beside. */
export async function putInPlace(
  tx: Transaction,
  storage: Storage,
  shard: number,
  {
    properties,
    change = (node) => node,
    ...move
  }: Move & { properties: PropertyChanges; change?: (node: NodeRecord) => NodeRecord },
): Promise<NodeRecord> {
  const { source, destination } = move;
  if (replacesFile(move)) {
    await changeUsage(tx, shard, move.destination, -move.destination.node.lengthBytes);
    await removeNode(tx, storage, move.destination);
  }
  // A permission that is to be inherited is inherited from where it goes.
  const common = await changedProperties(tx, storage, { ...source, parent: destination.parent }, properties);
  return moveNode(tx, { from: source, to: destination.place }, (before) =>
    change(withLeaseAfterWrite({ ...before, ...common, name: destination.name }, storage.clock.nowMs())),
  );
}

const withLeaseAfterWrite = (node: NodeRecord, nowMs: number): NodeRecord =>
  node.kind === 'file' ? { ...node, lease: afterWrite(leaseAt(node.lease, nowMs)) } : node;
