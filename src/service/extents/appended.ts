/** Where the bytes of appended blocks are: the pieces of a range, read from the rows of the lists a few at a time. */
import { successor } from '../../base/bytes.ts';
import type { ByteRange } from '../../content/content.ts';
import type { AppendedBlock, AppendedContent } from '../records/blob-record.ts';
import { decodeJson, UnreadableRecord } from '../records/codec.ts';
import { appendedBlockRange, appendedBlockStartOf } from '../records/keys.ts';
import type { LayoutPiece } from '../records/layout.ts';
import type { RangeReader } from '../records/scan.ts';

/** Rows read at a time. */
const WINDOW_ROWS = 64;

/** `reader` may give a new state every time: rows of a list that somebody holds do not change. */
export async function* appendedPieces(
  reader: RangeReader,
  { lists }: AppendedContent,
  range: ByteRange,
): AsyncGenerator<LayoutPiece[]> {
  const rangeEnd = range.offsetBytes + range.lengthBytes;
  let startBytes = 0;
  for (const { id, endBytes } of lists) {
    const fromBytes = Math.max(range.offsetBytes, startBytes);
    const toBytes = Math.min(rangeEnd, endBytes);
    if (fromBytes < toBytes) yield* listPieces(reader, { listId: id, startBytes, fromBytes, toBytes });
    startBytes = endBytes;
  }
}

async function* listPieces(
  reader: RangeReader,
  {
    listId,
    startBytes,
    fromBytes,
    toBytes,
  }: { listId: string; startBytes: number; fromBytes: number; toBytes: number },
): AsyncGenerator<LayoutPiece[]> {
  const upToFirst = appendedBlockRange(listId, startBytes, fromBytes + 1);
  const [first] = await reader.range(upToFirst, { limit: 1, reverse: true });
  if (first === undefined) throw new UnreadableRecord(`append list ${listId} has no block at byte ${fromBytes}`);
  const { to } = appendedBlockRange(listId, startBytes, toBytes);
  for (let from = first.key; ; ) {
    const rows = await reader.range({ from, to }, { limit: WINDOW_ROWS });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ key, value }) => pieceOf(appendedBlockStartOf(key), decodeJson(value), { fromBytes, toBytes }));
    if (rows.length < WINDOW_ROWS) return;
    from = successor(last.key);
  }
}

function pieceOf(
  startBytes: number,
  { extent, lengthBytes }: AppendedBlock,
  { fromBytes, toBytes }: { fromBytes: number; toBytes: number },
): LayoutPiece {
  const from = Math.max(fromBytes, startBytes);
  return {
    extent,
    offsetBytes: from - startBytes,
    lengthBytes: Math.min(toBytes, startBytes + lengthBytes) - from,
  };
}
