/**
 * Removes the tree of a share that nobody can name any more: what the names hold now and held before, then all else that
 * is keyed by the share's id. In small transactions that let go of content together with the rows that name it: each can be
 * cut off by a crash, or come late from a node that leads no more, and is just done again. Such a share never comes
 * back: its garbage row is written by the commit that removes its record, and what can be restored has one.
 */
import type { Engine, Entry, Key, KeyRange } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import { decodeJson } from '../records/codec.ts';
import {
  endedNodeKey,
  endedNodesRange,
  nodesRange,
  parsePastNodeKey,
  pastNodesRange,
  permissionsRange,
  placeKey,
  placesRange,
  snapshotsRange,
  type TreeAddress,
  usagesRange,
} from '../records/file-keys.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import type { NodeRecord } from '../records/node-record.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';

export interface TreeSweep {
  readonly engine: Engine;
  readonly extents: Pick<Extents, 'dropAll'>;
  /** Asked between steps: a sweep that is given up goes on another time. */
  readonly isClosed: () => boolean;
}

/** Records handled per step, so that no step keeps the event loop or a commit busy for long. */
export const STEP_RECORDS = 256;

/** Whether it is done, and its garbage row removed; false: to be looked at again later. */
export async function sweepTree(
  sweep: TreeSweep,
  entry: Entry,
  { account, id }: GarbageRecord & { readonly kind: 'tree' },
): Promise<boolean> {
  const tree: TreeAddress = { account, shareId: id };
  const stages: readonly [KeyRange, Removal][] = [
    [nodesRange(tree), (tx, keys) => removeNodes(tx, sweep, { keys, beside: (_, node) => placeKey(tree, node.id) })],
    [
      pastNodesRange(tree),
      (tx, keys) => removeNodes(tx, sweep, { keys, beside: (key, node) => endedOf(tree, key, node) }),
    ],
    ...[placesRange(tree), endedNodesRange(tree), usagesRange(tree), permissionsRange(tree), snapshotsRange(tree)].map(
      (range): [KeyRange, Removal] => [range, removeKeys],
    ),
  ];
  for (const [range, remove] of stages) {
    for await (const entries of scanSteps(freshSnapshots(sweep.engine), range, STEP_RECORDS)) {
      if (sweep.isClosed()) return false;
      const keys = entries.map(({ key }) => key);
      await transact(sweep.engine, (tx) => remove(tx, keys));
    }
  }
  if (sweep.isClosed()) return false;
  await transact(sweep.engine, (tx) => removeKeys(tx, [entry.key]));
  return true;
}

type Removal = (tx: Transaction, keys: readonly Key[]) => Promise<void>;

const removeKeys: Removal = async (tx, keys) => {
  for (const key of keys) tx.delete(key);
};

/** `beside`: the row that goes with a node's. */
async function removeNodes(
  tx: Transaction,
  { extents }: TreeSweep,
  { keys, beside }: { keys: readonly Key[]; beside: (key: Key, node: NodeRecord) => Key },
): Promise<void> {
  const nodes: NodeRecord[] = [];
  for (const [index, value] of (await tx.getMany(keys)).entries()) {
    const key = keys[index] as Key;
    if (value === null) continue;
    const node = decodeJson<NodeRecord>(value);
    nodes.push(node);
    tx.delete(key);
    tx.delete(beside(key, node));
  }
  await dropContents(tx, extents, nodes);
}

const endedOf = (tree: TreeAddress, key: Key, { since }: NodeRecord): Key =>
  endedNodeKey(tree, { ...parsePastNodeKey(key), since });

export function dropContents(
  tx: Transaction,
  extents: Pick<Extents, 'dropAll'>,
  nodes: readonly NodeRecord[],
): Promise<void> {
  return extents.dropAll(
    tx,
    nodes.flatMap((node) => (node.kind === 'file' ? [{ content: node.content }] : [])),
  );
}
