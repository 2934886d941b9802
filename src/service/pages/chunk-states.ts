/**
 * The states of chunks that records see, in the order of chunks. What the newest epoch sees stands in one table, and is
 * one walk over it. For an older epoch its earlier states come first: of those that last to the epoch or longer the first
 * one is what the epoch sees, or says by its beginning that there was nothing yet.
 */
import type { Id } from '../../base/ids.ts';
import type { ChunkSpan } from '../../rules/page-ranges.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { sinceOf } from '../records/page-chunk.ts';
import { chunkOf, chunkRange, parsePastChunkKey, pastChunkKey, pastRange } from '../records/page-keys.ts';
import { type RangeReader, scanSteps } from '../records/scan.ts';
import { goneBefore } from './page-cuts.ts';
import type { PageSettings } from './page-settings.ts';

export interface ChunkState {
  readonly since: number;
  /** Packed (records/page-chunk.ts). */
  readonly value: Uint8Array;
}

export interface StatesOfChunk {
  readonly chunk: number;
  /** One for each of the contents asked for, null: no pages. */
  readonly states: readonly (ChunkState | null)[];
}

interface Row {
  readonly chunk: number;
  readonly value: Uint8Array;
}

/** Rows of earlier states read at a time on a long walk: a chunk may have many that the epoch does not see. */
const PAST_STEP_ROWS = 16;

/** Chunks that one of the contents, all of one map, has pages in. */
export async function* chunkStates(
  reader: RangeReader,
  contents: readonly PagesContent[],
  span: ChunkSpan,
  settings: PageSettings,
): AsyncGenerator<StatesOfChunk> {
  const [{ id }] = contents as readonly [PagesContent, ...PagesContent[]];
  if (span.fromChunk >= span.toChunk) return;
  const newest = new Head(newestRows(reader, id, span, settings));
  const past = contents.map(({ isFrozen, epoch }) =>
    isFrozen === true ? new Head(pastRows(reader, { mapId: id, epoch }, span, settings)) : null,
  );
  const heads = [newest, ...past.filter((head) => head !== null)];
  await Promise.all(heads.map((head) => head.advance()));
  for (;;) {
    const chunk = Math.min(...heads.map((head) => head.chunk));
    if (chunk === Number.POSITIVE_INFINITY) return;
    const states = contents.map((content, index) => {
      const value = past[index]?.valueOf(chunk) ?? newest.valueOf(chunk);
      return value === null ? null : stateSeen(content, value, chunk * settings.chunkBytes);
    });
    if (states.some((state) => state !== null)) yield { chunk, states };
    for (const head of heads) if (head.chunk === chunk) await head.advance();
  }
}

function stateSeen({ epoch, cuts }: PagesContent, value: Uint8Array, chunkStartBytes: number): ChunkState | null {
  const since = sinceOf(value);
  return since > epoch || since < goneBefore(cuts, chunkStartBytes) ? null : { since, value };
}

/** The row a walk has come to. */
class Head {
  readonly #rows: AsyncGenerator<Row>;
  #row: Row | null = null;

  constructor(rows: AsyncGenerator<Row>) {
    this.#rows = rows;
  }

  get chunk(): number {
    return this.#row?.chunk ?? Number.POSITIVE_INFINITY;
  }

  valueOf(chunk: number): Uint8Array | null {
    return this.#row?.chunk === chunk ? this.#row.value : null;
  }

  async advance(): Promise<void> {
    const next = await this.#rows.next();
    this.#row = next.done === true ? null : next.value;
  }
}

async function* newestRows(
  reader: RangeReader,
  mapId: Id,
  { fromChunk, toChunk }: ChunkSpan,
  { walkRows }: PageSettings,
): AsyncGenerator<Row> {
  // One more than there can be: then the first step is known to be the last.
  const stepRows = Math.min(walkRows, toChunk - fromChunk + 1);
  for await (const entries of scanSteps(reader, chunkRange(mapId, fromChunk, toChunk), stepRows)) {
    for (const { key, value } of entries) yield { chunk: chunkOf(key), value };
  }
}

/** Of each chunk the first of the earlier states that last to the epoch or longer. */
function pastRows(
  reader: RangeReader,
  at: { mapId: Id; epoch: number },
  span: ChunkSpan,
  { seekChunksMax }: PageSettings,
): AsyncGenerator<Row> {
  const isNarrow = span.toChunk - span.fromChunk <= seekChunksMax;
  return isNarrow ? soughtPastRows(reader, at, span) : walkedPastRows(reader, at, span);
}

/** One look for each chunk, all at once. */
async function* soughtPastRows(
  reader: RangeReader,
  { mapId, epoch }: { mapId: Id; epoch: number },
  { fromChunk, toChunk }: ChunkSpan,
): AsyncGenerator<Row> {
  const chunks = Array.from({ length: toChunk - fromChunk }, (_, index) => fromChunk + index);
  const found = await Promise.all(
    chunks.map((chunk) => reader.range(pastRange(mapId, chunk, epoch, chunk + 1), { limit: 1 })),
  );
  for (const [index, chunk] of chunks.entries()) {
    const [entry] = found[index] as (typeof found)[number];
    if (entry !== undefined) yield { chunk, value: entry.value };
  }
}

/** Skips chunks without earlier states, and the rest of a chunk's once it has found the one. */
async function* walkedPastRows(
  reader: RangeReader,
  { mapId, epoch }: { mapId: Id; epoch: number },
  { fromChunk, toChunk }: ChunkSpan,
): AsyncGenerator<Row> {
  let from = pastChunkKey(mapId, fromChunk, epoch);
  const to = pastChunkKey(mapId, toChunk, 0);
  let foundChunk = -1;
  for (;;) {
    const entries = await reader.range({ from, to }, { limit: PAST_STEP_ROWS });
    for (const { key, value } of entries) {
      const at = parsePastChunkKey(key);
      if (at.epoch < epoch || at.chunk === foundChunk) continue;
      foundChunk = at.chunk;
      yield { chunk: at.chunk, value };
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < PAST_STEP_ROWS) return;
    const lastChunk = parsePastChunkKey(last.key).chunk;
    from = pastChunkKey(mapId, lastChunk === foundChunk ? lastChunk + 1 : lastChunk, epoch);
  }
}
