/**
 * Copies a map without copying a byte: the new map names the same extents. In steps, each a transaction of its own that
 * copies a few rows and counts the new references, and that finds rows there if it is done twice. A copy that is given up
 * is dropped like any map.
 */
import type { Id } from '../../base/ids.ts';
import type { Engine } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { ChunkSpan } from '../../rules/page-ranges.ts';
import { share } from '../extents/references.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeChunk, encodeChunk, pieceCountOf } from '../records/page-chunk.ts';
import { chunkKey, copiedKey, epochKey } from '../records/page-keys.ts';
import type { RangeReader } from '../records/scan.ts';
import { type ChunkState, chunkStates } from './chunk-states.ts';
import { extentsIn } from './let-go.ts';
import { isAnyLive } from './live-epochs.ts';
import { NO_VALUE, refuseFrozen } from './page-map.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';

/** Nobody holds the map any more that is copied, or the one that is copied to. */
export class MapGone extends Error {
  override readonly name = 'MapGone';
}

export interface PagesCopy {
  readonly engine: Engine;
  /** Frozen, or held by a reader, from the first step to the last. */
  readonly from: PagesContent;
  /** A map just made, which nothing is written to meanwhile. */
  readonly to: PagesContent;
  /** The length of the blob. */
  readonly lengthBytes: number;
  /** Where to go on: what an earlier run came to. */
  readonly fromBytes?: number;
  readonly settings?: PageSettings;
}

/** Yields the offset up to which everything is copied, step by step; the last one is `lengthBytes`. */
export async function* copyPages(copy: PagesCopy): AsyncGenerator<number> {
  const { engine, from, to, lengthBytes, fromBytes = 0, settings = PAGE_SETTINGS } = copy;
  if (from.isFrozen !== true) throw new Error(`map ${from.id} may be written to while it is copied`);
  refuseFrozen(to);
  const endChunk = Math.ceil(lengthBytes / settings.chunkBytes);
  for (let fromChunk = Math.floor(fromBytes / settings.chunkBytes); fromChunk < endChunk; ) {
    const { rows, nextChunk } = await readRows(engine, from, { fromChunk, toChunk: endChunk }, settings);
    if (rows.length > 0) await transact(engine, (tx) => copyRows(tx, { from, to, rows }));
    fromChunk = nextChunk;
    yield Math.min(nextChunk * settings.chunkBytes, lengthBytes);
  }
}

/** All of a map in the caller's transaction, in which the one that is copied need not be frozen. False: it is too much. */
export async function copyPagesIn(
  tx: Transaction,
  { from, to, lengthBytes, settings = PAGE_SETTINGS }: Omit<PagesCopy, 'engine' | 'fromBytes'>,
): Promise<boolean> {
  const span = { fromChunk: 0, toChunk: Math.ceil(lengthBytes / settings.chunkBytes) };
  const { rows, nextChunk } = await readStep(tx, from, span, settings);
  if (nextChunk < span.toChunk) return false;
  if (rows.length > 0) await copyRows(tx, { from, to, rows });
  return true;
}

interface Row {
  readonly chunk: number;
  readonly value: Uint8Array;
}

/** What one step copies. Nothing changes at the epoch, so that the rows need not be read in the step's transaction. */
async function readRows(
  engine: Engine,
  from: PagesContent,
  span: ChunkSpan,
  settings: PageSettings,
): Promise<{ rows: Row[]; nextChunk: number }> {
  const snapshot = engine.snapshot();
  try {
    return await readStep(snapshot, from, span, settings);
  } finally {
    snapshot.close();
  }
}

async function readStep(
  reader: RangeReader,
  from: PagesContent,
  span: ChunkSpan,
  settings: PageSettings,
): Promise<{ rows: Row[]; nextChunk: number }> {
  const { stepRows, stepPieces } = settings;
  const rows: Row[] = [];
  let pieceCount = 0;
  for await (const { chunk, states } of chunkStates(reader, [from], span, { ...settings, walkRows: stepRows })) {
    const { value } = states[0] as ChunkState;
    pieceCount += pieceCountOf(value);
    if (rows.length > 0 && (rows.length >= stepRows || pieceCount > stepPieces)) return { rows, nextChunk: chunk };
    rows.push({ chunk, value });
  }
  return { rows, nextChunk: span.toChunk };
}

async function copyRows(
  tx: Transaction,
  { from, to, rows }: { from: PagesContent; to: PagesContent; rows: readonly Row[] },
): Promise<void> {
  const keys = rows.map(({ chunk }) => chunkKey(to.id, chunk));
  const [isSourceLive, destination, copied, there] = await Promise.all([
    isAnyLive(tx, from.id, { from: from.epoch, to: from.epoch + 1 }),
    tx.get(epochKey(to.id, to.epoch)),
    tx.get(copiedKey(from.id)),
    tx.getMany(keys),
  ]);
  if (!isSourceLive || destination === null) throw new MapGone('a map was dropped while it was copied');
  const named: Id[] = [];
  for (const [index, { value }] of rows.entries()) {
    if (there[index] !== null) continue;
    const pieces = decodeChunk(value).pieces.map((piece) => ({ ...piece, isShared: true }));
    tx.put(keys[index] as Uint8Array, encodeChunk({ since: to.epoch, pieces }));
    named.push(...extentsIn([{ value }]).keys());
  }
  await share(tx, named);
  if (copied === null) tx.put(copiedKey(from.id), NO_VALUE);
}
