/** Where a file or directory stood at an earlier epoch of its share's tree, whatever it is called now. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { successor } from '../../base/bytes.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import { decodeJson } from '../records/codec.ts';
import { endedNodesRange, parseEndedNodeKey, pastNodeKey, type TreeAddress } from '../records/file-keys.ts';
import type { NodePlace, NodeRecord } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';

const STEP_ROWS = 256;

/**
 * Null: it was not there yet. What has not changed since then stands where it stood; of what has, the state is among those
 * that the epoch sees and that ended later. So it costs what has changed since, and is asked only where a path does not tell.
 */
export async function findPlaceThen(
  reader: RecordReader,
  tree: TreeAddress,
  { id, since, place, epoch }: Pick<NodeRecord, 'id' | 'since'> & { place: NodePlace; epoch: number },
): Promise<NodePlace | null> {
  if (since <= epoch) return place;
  for (let range: KeyRange = endedNodesRange(tree, epoch); ; ) {
    const rows = await reader.range(range, { limit: STEP_ROWS });
    const ended = rows.map(({ key }) => parseEndedNodeKey(key));
    const seen = ended.filter((each) => each.since <= epoch);
    const values = await reader.getMany(seen.map((each) => pastNodeKey(tree, each, each.epoch)));
    const index = values.findIndex((value) => value !== null && decodeJson<NodeRecord>(value).id === id);
    const found = seen[index];
    if (found !== undefined) return { parentId: found.parentId, name: found.name };
    const last = rows.at(-1);
    if (last === undefined || rows.length < STEP_ROWS) return null;
    range = { from: startBehind(tree, last.key, epoch), to: range.to };
    await nextTurn();
  }
}

/** States that ended with one epoch stand in the order of their beginnings: behind the first that began too late is none. */
function startBehind(tree: TreeAddress, key: Key, epoch: number): Key {
  const last = parseEndedNodeKey(key);
  return last.since > epoch ? endedNodesRange(tree, last.epoch + 1).from : successor(key);
}
