/**
 * The bytes of a range of a map, zeros where there are no pages. A read that touches few rows and extents is planned in
 * the snapshot that its record was read in, and pins what it will read. Any other needs a hold of its epoch
 * (page-holds.ts), and is planned window by window, each in a new snapshot that still shows the hold.
 */
import type { Id } from '../../base/ids.ts';
import type { ByteRange } from '../../content/content.ts';
import { EngineUnavailable, type Snapshot } from '../../engine/engine.ts';
import { chunksOver, clipped, endOf, type PagePiece, spanOf } from '../../rules/page-ranges.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { extentKey } from '../records/keys.ts';
import type { LayoutPiece } from '../records/layout.ts';
import { decodeChunk } from '../records/page-chunk.ts';
import { chunkStates } from './chunk-states.ts';
import type { PageHold } from './page-holds.ts';
import { PAGE_SETTINGS, type PageSettings, type PlanLimits } from './page-settings.ts';
import { ReleasedBytes } from './released-bytes.ts';

/** The bytes of a part of an extent, whose row in the registry is given (records/extent-record.ts). */
export type ReadPiece = (piece: LayoutPiece, row: Uint8Array) => AsyncIterable<Uint8Array>;

/** Exactly the range. Null: too much to be planned at once, the epoch must be held. */
export async function readPages({
  snapshot,
  content,
  range,
  pin,
  readPiece,
  settings = PAGE_SETTINGS,
}: {
  snapshot: Snapshot;
  content: PagesContent;
  range: ByteRange;
  /** Keeps a placed extent from being given back until the function that it returns is called. */
  pin: (id: Id) => () => void;
  readPiece: ReadPiece;
  settings?: PageSettings;
}): Promise<AsyncIterableIterator<Uint8Array> | null> {
  const plan = await planPages(snapshot, content, range, { settings, limits: settings.plan });
  if (plan.endBytes < endOf(range)) return null;
  const placed = new Set(plan.pieces.flatMap(({ extent }) => (extent.inline ? [] : [extent.id])));
  const unpins = [...placed].map(pin);
  return new ReleasedBytes(streamPlan(plan, readPiece), () => {
    for (const unpin of unpins) unpin();
  });
}

/** Exactly the range, as it is at the held epoch; lets go of the hold in the end. */
export function readHeldPages({
  inSnapshot,
  hold,
  range,
  readPiece,
  settings = PAGE_SETTINGS,
}: {
  inSnapshot: <T>(look: (snapshot: Snapshot) => Promise<T>) => Promise<T>;
  hold: PageHold;
  range: ByteRange;
  readPiece: ReadPiece;
  settings?: PageSettings;
}): AsyncIterableIterator<Uint8Array> {
  async function* windows(): AsyncGenerator<Uint8Array> {
    for (let at = range.offsetBytes; at < endOf(range); ) {
      const rest = spanOf(at, endOf(range));
      const plan = await inSnapshot(async (snapshot) => {
        const [held, planned] = await Promise.all([
          snapshot.get([hold.key]),
          planPages(snapshot, hold.content, rest, { settings, limits: settings.window }),
        ]);
        // The engine took this node for dead: what the epoch saw may have been swept.
        if (held[0] === null) throw new EngineUnavailable('a reader lost its hold on the content');
        return planned;
      });
      yield* streamPlan(plan, readPiece);
      at = plan.endBytes;
    }
  }
  return new ReleasedBytes(windows(), () => hold.release());
}

interface PagePlan {
  readonly startBytes: number;
  /** Up to here it goes; less than was asked for where that is too much. */
  readonly endBytes: number;
  /** At their places in the blob. */
  readonly pieces: readonly PagePiece[];
  /** Registry rows, by extent. */
  readonly rows: ReadonlyMap<Id, Uint8Array>;
}

async function planPages(
  snapshot: Snapshot,
  content: PagesContent,
  range: ByteRange,
  { settings, limits }: { settings: PageSettings; limits: PlanLimits },
): Promise<PagePlan> {
  const { pieces, endBytes } = await planPieces(snapshot, content, range, { settings, limits });
  const extents = [...new Map(pieces.map(({ extent }) => [extent.id, extent])).values()];
  const entries = extents.length === 0 ? [] : await snapshot.get(extents.map(extentKey));
  const rows = new Map<Id, Uint8Array>();
  for (const [index, { id }] of extents.entries()) {
    const entry = entries[index];
    if (!entry) throw new UnreadableRecord(`extent ${id} has no record`);
    rows.set(id, entry.value);
  }
  return { startBytes: range.offsetBytes, endBytes, pieces, rows };
}

async function planPieces(
  snapshot: Snapshot,
  content: PagesContent,
  range: ByteRange,
  { settings, limits }: { settings: PageSettings; limits: PlanLimits },
): Promise<{ pieces: readonly PagePiece[]; endBytes: number }> {
  const pieces: PagePiece[] = [];
  const counts = { inline: 0, placed: 0, rows: 0 };
  for await (const { chunk, states } of chunkStates(
    snapshot,
    [content],
    chunksOver(range, settings.chunkBytes),
    settings,
  )) {
    const startBytes = chunk * settings.chunkBytes;
    if (counts.rows++ >= limits.rows) return { pieces, endBytes: startBytes };
    for (const inChunk of decodeChunk((states[0] as { value: Uint8Array }).value).pieces) {
      const [piece] = clipped({ ...inChunk, offsetBytes: startBytes + inChunk.offsetBytes }, range);
      if (piece === undefined) continue;
      const last = pieces.at(-1);
      if (last !== undefined && goesOn(last, piece)) {
        pieces[pieces.length - 1] = { ...last, lengthBytes: last.lengthBytes + piece.lengthBytes };
        continue;
      }
      const kind = piece.extent.inline ? 'inline' : 'placed';
      if (counts[kind]++ >= (kind === 'inline' ? limits.inlinePieces : limits.placedPieces)) {
        return { pieces, endBytes: piece.offsetBytes };
      }
      pieces.push(piece);
    }
  }
  return { pieces, endBytes: endOf(range) };
}

/** An extent that spans chunks is read in one go: it lies in the blob as it is, so its pieces go on in both. */
const goesOn = (last: PagePiece, next: PagePiece): boolean =>
  next.extent.id === last.extent.id && next.offsetBytes === endOf(last);

async function* streamPlan(plan: PagePlan, readPiece: ReadPiece): AsyncGenerator<Uint8Array> {
  let at = plan.startBytes;
  for (const { extent, offsetBytes, extentOffsetBytes, lengthBytes } of plan.pieces) {
    yield* zeros(offsetBytes - at);
    yield* readPiece({ extent, offsetBytes: extentOffsetBytes, lengthBytes }, plan.rows.get(extent.id) as Uint8Array);
    at = offsetBytes + lengthBytes;
  }
  yield* zeros(plan.endBytes - at);
}

/** Nobody writes into what is read, so one stretch of zeros serves all. */
const ZEROS = new Uint8Array(64 * 1024);

export function* zeros(lengthBytes: number): Generator<Uint8Array> {
  for (let left = lengthBytes; left > 0; left -= ZEROS.length) {
    yield left < ZEROS.length ? ZEROS.subarray(0, left) : ZEROS;
  }
}
