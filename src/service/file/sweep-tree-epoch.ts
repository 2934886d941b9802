/**
 * Gives back what only a dropped snapshot of a share saw: earlier states of names that ended with its epoch or later, before
 * the next one that is kept, and began after the one kept before. States that older snapshots see as well stay, and go with
 * the last of those. An epoch that no snapshot keeps never comes to life again, as snapshots keep the newest one only. Each
 * transaction asks anew which epochs are kept, and removes states together with what they held.
 */
import { successor } from '../../base/bytes.ts';
import type { Entry } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import { decodeJson } from '../records/codec.ts';
import {
  type EndedNode,
  endedNodeKey,
  endedNodesRange,
  parseEndedNodeKey,
  pastNodeKey,
  type TreeAddress,
} from '../records/file-keys.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import type { NodeRecord } from '../records/node-record.ts';
import { freshSnapshots, type RangeReader } from '../records/scan.ts';
import { snapshotsOf } from './snapshot-share.ts';
import { dropContents, STEP_RECORDS, type TreeSweep } from './sweep-tree.ts';

/** A dropped epoch, and the kept ones next to it: 0 and null where there is none. */
interface Gap {
  readonly before: number;
  readonly epoch: number;
  readonly after: number | null;
}

/** Whether it is done, and its garbage row removed; false: to be looked at again later. */
export async function sweepTreeEpoch(
  { engine, extents, isClosed }: TreeSweep,
  entry: Entry,
  { account, id, epoch }: GarbageRecord & { readonly kind: 'treeEpoch' },
): Promise<boolean> {
  const tree: TreeAddress = { account, shareId: id };
  const reader = freshSnapshots(engine);
  const gap = await gapAround(reader, tree, epoch);
  for await (const states of endedIn(reader, tree, gap)) {
    if (isClosed()) return false;
    await transact(engine, (tx) => removeDead(tx, extents, { tree, states }));
  }
  if (isClosed()) return false;
  return transact(engine, async (tx) => {
    const { before } = await gapAround(tx, tree, epoch);
    const [left] = await tx.range(endedNodesRange(tree, epoch, before + 1, epoch + 1), { limit: 1 });
    if (left !== undefined) return false;
    tx.delete(entry.key);
    return true;
  });
}

const keptEpochs = async (reader: RangeReader, tree: TreeAddress): Promise<number[]> =>
  (await snapshotsOf(reader, tree)).map(({ snapshot }) => snapshot.epoch);

async function gapAround(reader: RangeReader, tree: TreeAddress, epoch: number): Promise<Gap> {
  const kept = await keptEpochs(reader, tree);
  return {
    before: kept.findLast((each) => each < epoch) ?? 0,
    epoch,
    after: kept.find((each) => each > epoch) ?? null,
  };
}

/** Of epochs dropped earlier, states may be left that `before` still sees: they are skipped, and not read. */
async function* endedIn(
  reader: RangeReader,
  tree: TreeAddress,
  { before, epoch, after }: Gap,
): AsyncGenerator<readonly EndedNode[]> {
  const { to } = endedNodesRange(tree, epoch, 0, after ?? undefined);
  for (let from = endedNodesRange(tree, epoch, before + 1).from; ; ) {
    const entries = await reader.range({ from, to }, { limit: STEP_RECORDS });
    const states = entries.map(({ key }) => parseEndedNodeKey(key));
    const skipAt = states.findIndex(({ since }) => since <= before);
    const meant = skipAt < 0 ? states : states.slice(0, skipAt);
    if (meant.length > 0) yield meant;
    const last = entries.at(-1);
    if (skipAt >= 0) from = endedNodesRange(tree, (states[skipAt] as EndedNode).epoch, before + 1).from;
    else if (last === undefined || entries.length < STEP_RECORDS) return;
    else from = successor(last.key);
  }
}

async function removeDead(
  tx: Transaction,
  extents: Pick<Extents, 'dropAll'>,
  { tree, states }: { tree: TreeAddress; states: readonly EndedNode[] },
): Promise<void> {
  const kept = await keptEpochs(tx, tree);
  const dead = states.filter(({ since, epoch }) => !kept.some((each) => since <= each && each <= epoch));
  const keys = dead.map((state) => pastNodeKey(tree, state, state.epoch));
  const values = await tx.getMany(keys);
  await dropContents(
    tx,
    extents,
    values.flatMap((value) => (value === null ? [] : [decodeJson<NodeRecord>(value)])),
  );
  for (const key of keys) tx.delete(key);
  for (const state of dead) tx.delete(endedNodeKey(tree, state));
}
