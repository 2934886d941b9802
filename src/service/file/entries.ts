/**
 * Walks over what is in a directory, in the order of folded names: as it is, or as a snapshot of the share sees it. For that, of a
 * name's earlier states the first that lasts to the snapshot's epoch or longer counts; where there is none, the current one
 * does. Either may have begun later: then the snapshot has nothing of that name. Both tables are walked side by side, in steps.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Key, nextStart } from '../../engine/engine.ts';
import { decodeJson } from '../records/codec.ts';
import {
  entriesRange,
  nodePlaceOf,
  parsePastNodeKey,
  pastEntriesRange,
  pastNodeKey,
  pastNodeRange,
  type TreeAddress,
} from '../records/file-keys.ts';
import type { NodeId, NodeRecord } from '../records/node-record.ts';
import { type RangeReader, scanSteps } from '../records/scan.ts';

export interface Walk {
  readonly tree: TreeAddress;
  readonly parentId: NodeId;
  /** Folded, as is `from`. */
  readonly prefix: string;
  readonly from: string;
  /** Rows read at a time. */
  readonly stepRows: number;
}

export interface Entry {
  /** Folded. */
  readonly name: string;
  readonly node: NodeRecord;
}

export async function* currentEntries(reader: RangeReader, walk: Walk): AsyncGenerator<Entry> {
  const range = entriesRange(walk.tree, walk.parentId, walk);
  for await (const rows of scanSteps(reader, range, walk.stepRows)) {
    for (const { key, value } of rows) yield { name: nodePlaceOf(key).name, node: decodeJson<NodeRecord>(value) };
    await nextTurn();
  }
}

export async function* pastEntries(reader: RangeReader, walk: Walk, epoch: number): AsyncGenerator<Entry> {
  const current = new Head(currentEntries(reader, walk));
  const past = new Head(endedEntries(reader, walk, epoch));
  await Promise.all([current.advance(), past.advance()]);
  for (;;) {
    const order = compareHeads(current.entry, past.entry);
    const entry = order < 0 ? current.entry : past.entry;
    if (entry === null) return;
    if (entry.node.since <= epoch) yield entry;
    if (order <= 0) await current.advance();
    if (order >= 0) await past.advance();
  }
}

/** The entry a walk has come to. */
class Head {
  readonly #entries: AsyncGenerator<Entry>;
  entry: Entry | null = null;

  constructor(entries: AsyncGenerator<Entry>) {
    this.#entries = entries;
  }

  async advance(): Promise<void> {
    const next = await this.#entries.next();
    this.entry = next.done === true ? null : next.value;
  }
}

/** As their keys are ordered; a walk that has ended stands behind all. */
function compareHeads(a: Entry | null, b: Entry | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}

/** Rows of earlier states read at a time while most of them do not count: a name may have as many as there are snapshots. */
const SEEK_ROWS = 16;
const STEP_GROWTH = 4;
const STEP_BYTES_MAX = 4 * 1024 * 1024;

/** Of each name the first of the earlier states that last to the epoch or longer; the rest of the name's is jumped over. */
async function* endedEntries(reader: RangeReader, walk: Walk, epoch: number): AsyncGenerator<Entry> {
  const { tree, parentId, stepRows } = walk;
  const { from, to } = pastEntriesRange(tree, parentId, { ...walk, epoch });
  let foundName: string | null = null;
  let limit = SEEK_ROWS;
  for (let start: Key = from; ; ) {
    const options = { limit, bytesMax: STEP_BYTES_MAX };
    const rows = await reader.range({ from: start, to }, options);
    let foundCount = 0;
    for (const { key, value } of rows) {
      const at = parsePastNodeKey(key);
      if (at.epoch < epoch || at.name === foundName) continue;
      foundName = at.name;
      foundCount++;
      yield { name: at.name, node: decodeJson<NodeRecord>(value) };
    }
    const last = rows.at(-1);
    if (last === undefined || nextStart(rows, options) === null) return;
    const place = parsePastNodeKey(last.key);
    start = place.name === foundName ? pastNodeRange(tree, place, epoch).to : pastNodeKey(tree, place, epoch);
    limit = foundCount * 2 > rows.length ? Math.max(SEEK_ROWS, Math.min(limit * STEP_GROWTH, stepRows)) : SEEK_ROWS;
    await nextTurn();
  }
}
