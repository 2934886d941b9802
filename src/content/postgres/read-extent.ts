/** Reads a range of an extent piece by piece, two of them ahead of the consumer. */
import { type ByteRange, ExtentMissing } from '../content.ts';
import type { ExtentTables, PieceRange } from './extent-tables.ts';
import { PIECE_BYTES, type Place } from './placement.ts';

const PIECES_AHEAD = 2;

export interface ExtentRead {
  readonly tables: ExtentTables;
  readonly place: Place;
  readonly range: ByteRange;
}

export async function* readExtent({ tables, place, range }: ExtentRead): AsyncGenerator<Buffer> {
  const parts = partsOf(place, range);
  const ahead: Promise<Buffer>[] = [];
  for (let isFirst = true; ; isFirst = false) {
    while (ahead.length <= PIECES_AHEAD) {
      const part = parts.next();
      if (part.done === true) break;
      const isChecking = isFirst && ahead.length === 0;
      ahead.push(readPart({ tables, place, part: part.value, isChecking }));
    }
    const bytes = await ahead.shift();
    if (bytes === undefined) return;
    if (bytes.length > 0) yield bytes;
  }
}

interface PartRead {
  readonly tables: ExtentTables;
  readonly place: Place;
  readonly part: PieceRange;
  /** Whether the extent counts is asked with the first part; a reader that has begun may finish. */
  readonly isChecking: boolean;
}

function readPart({ tables, place, part, isChecking }: PartRead): Promise<Buffer> {
  const reading = isChecking ? tables.readFirst(place, part) : tables.readNext(place, part);
  const checked = reading.then((bytes) => {
    if (bytes === null) throw new ExtentMissing(place.placement);
    if (bytes.length === part.lengthBytes) return bytes;
    throw new Error(`piece ${part.piece} of ${place.placement} ends at ${part.offsetBytes + bytes.length}`);
  });
  // Met when the consumer gets there; until then it must not count as unhandled.
  checked.catch(() => {});
  return checked;
}

/** One at least: an empty range has to find its extent as well. */
function* partsOf({ pieceCount }: Place, range: ByteRange): Generator<PieceRange> {
  const endBytes = range.offsetBytes + range.lengthBytes;
  let at = range.offsetBytes;
  do {
    const piece = Math.min(Math.floor(at / PIECE_BYTES), pieceCount - 1);
    const offsetBytes = at - piece * PIECE_BYTES;
    const lengthBytes = Math.min(PIECE_BYTES - offsetBytes, endBytes - at);
    yield { piece, offsetBytes, lengthBytes };
    at += lengthBytes;
  } while (at < endBytes);
}
