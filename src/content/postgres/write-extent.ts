/**
 * Streams a source into the pieces of an extent: gathered to their full size, a few of them on their way while the next
 * is gathered. So a writer holds that many pieces, whatever the extent's length.
 */
import { ContentUnavailable, SourceLengthMismatch } from '../content.ts';
import type { ExtentTables } from './extent-tables.ts';
import { PIECE_BYTES, type Place } from './placement.ts';

/** Beyond two, more bring nothing on a near database; the third hides the way to a far one. */
const PIECES_UNDER_WAY_MAX = 3;

export interface ExtentWrite {
  readonly tables: ExtentTables;
  readonly place: Place;
  readonly source: AsyncIterable<Uint8Array>;
  /** How often the row is touched while the pieces come, slow as they may be. */
  readonly touchIntervalMs: number;
}

/** What a failed write has written is for the caller to remove: nothing is under way any more. */
export async function writeExtent(write: ExtentWrite): Promise<void> {
  const { tables, place } = write;
  if (place.pieceCount > 1) return writeInPieces(write);
  for await (const bytes of gatherPieces(write.source, place.lengthBytes)) await tables.insertWhole(place, bytes);
}

async function writeInPieces({ tables, place, source, touchIntervalMs }: ExtentWrite): Promise<void> {
  await tables.begin(place);
  // A touch that fails is no failure of the write: the next touch, or the end, will tell.
  const touching = setInterval(() => void tables.touch(place).catch(() => {}), touchIntervalMs).unref();
  /** A piece that failed stays here, for whoever waits next. */
  const underWay = new Set<Promise<unknown>>();
  let piece = 0;
  try {
    for await (const bytes of gatherPieces(source, place.lengthBytes)) {
      if (piece === place.pieceCount - 1) {
        await Promise.all(underWay);
        if (await tables.finish(place, bytes)) return;
        throw new ContentUnavailable(`extent ${place.id} was removed as a stray while it was being written`);
      }
      while (underWay.size >= PIECES_UNDER_WAY_MAX) await Promise.race(underWay);
      const inserting: Promise<unknown> = tables
        .insertPiece(place, piece++, bytes)
        .then(() => underWay.delete(inserting));
      inserting.catch(() => {});
      underWay.add(inserting);
    }
  } finally {
    clearInterval(touching);
    await Promise.allSettled(underWay);
  }
}

/** Pieces of full size and the rest; the last one only once the source has ended with it. */
async function* gatherPieces(source: AsyncIterable<Uint8Array>, lengthBytes: number): AsyncGenerator<Buffer> {
  let piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, lengthBytes));
  let filledBytes = 0;
  let receivedBytes = 0;
  for await (const bytes of source) {
    if (receivedBytes + bytes.length > lengthBytes) {
      throw new SourceLengthMismatch(`received more than the ${lengthBytes} bytes announced`);
    }
    for (let at = 0; at < bytes.length; ) {
      if (filledBytes === piece.length) {
        yield piece;
        piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, lengthBytes - receivedBytes));
        filledBytes = 0;
      }
      const part = bytes.subarray(at, at + piece.length - filledBytes);
      piece.set(part, filledBytes);
      filledBytes += part.length;
      receivedBytes += part.length;
      at += part.length;
    }
  }
  if (receivedBytes < lengthBytes) {
    throw new SourceLengthMismatch(`received ${receivedBytes} of the ${lengthBytes} bytes announced`);
  }
  yield piece;
}
