/**
 * One state of one chunk of a map of pages, packed: a chunk that was written page by page has hundreds of pieces, and
 * is rewritten with each of them.
 *
 *   04, first epoch u48, then per piece: flags u8 (1 inline, 2 shared), extent id (12 bytes), offset u24, length u24,
 *   offset in the extent u32
 */
import { ID_BYTES } from '../../base/ids.ts';
import { endOf, type PagePiece } from '../../rules/page-ranges.ts';
import { UnreadableRecord } from './codec.ts';

export interface PageChunk {
  /** The first epoch that sees this state. */
  readonly since: number;
  readonly pieces: readonly PagePiece[];
}

const CHUNK_FORMAT = 4;
const EPOCH_BYTES = 6;
const HEADER_BYTES = 1 + EPOCH_BYTES;
const INLINE_FLAG = 1;
const SHARED_FLAG = 2;
const OFFSET_AT = 1 + ID_BYTES;
const LENGTH_AT = OFFSET_AT + 3;
const EXTENT_OFFSET_AT = LENGTH_AT + 3;
const PIECE_BYTES = EXTENT_OFFSET_AT + 4;

export function encodeChunk({ since, pieces }: PageChunk): Uint8Array {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + pieces.length * PIECE_BYTES);
  bytes[0] = CHUNK_FORMAT;
  bytes.writeUIntBE(since, 1, EPOCH_BYTES);
  let at = HEADER_BYTES;
  for (const { extent, offsetBytes, lengthBytes, extentOffsetBytes, isShared } of pieces) {
    bytes[at] = (extent.inline ? INLINE_FLAG : 0) | (isShared ? SHARED_FLAG : 0);
    bytes.write(extent.id, at + 1, 'hex');
    bytes.writeUIntBE(offsetBytes, at + OFFSET_AT, 3);
    bytes.writeUIntBE(lengthBytes, at + LENGTH_AT, 3);
    bytes.writeUInt32BE(extentOffsetBytes, at + EXTENT_OFFSET_AT);
    at += PIECE_BYTES;
  }
  return bytes;
}

export function decodeChunk(value: Uint8Array): PageChunk {
  const bytes = asChunk(value);
  const pieces: PagePiece[] = [];
  let endBytes = 0;
  for (let at = HEADER_BYTES; at < bytes.length; at += PIECE_BYTES) {
    const piece = pieceAt(bytes, at);
    if (piece.offsetBytes < endBytes || piece.lengthBytes === 0) {
      throw new UnreadableRecord('the pieces of the page chunk overlap');
    }
    endBytes = endOf(piece);
    pieces.push(piece);
  }
  return { since: sinceIn(bytes), pieces };
}

/** Without a look at the pieces. */
export const sinceOf = (value: Uint8Array): number => sinceIn(asChunk(value));

export const pieceCountOf = (value: Uint8Array): number => (asChunk(value).length - HEADER_BYTES) / PIECE_BYTES;

const sinceIn = (bytes: Buffer): number => bytes.readUIntBE(1, EPOCH_BYTES);

function pieceAt(bytes: Buffer, at: number): PagePiece {
  const flags = bytes[at] as number;
  return {
    extent: { id: bytes.toString('hex', at + 1, at + OFFSET_AT), inline: (flags & INLINE_FLAG) !== 0 },
    offsetBytes: bytes.readUIntBE(at + OFFSET_AT, 3),
    lengthBytes: bytes.readUIntBE(at + LENGTH_AT, 3),
    extentOffsetBytes: bytes.readUInt32BE(at + EXTENT_OFFSET_AT),
    isShared: (flags & SHARED_FLAG) !== 0,
  };
}

function asChunk(value: Uint8Array): Buffer {
  if (value[0] !== CHUNK_FORMAT) throw new UnreadableRecord(`unknown page chunk format ${value[0]}`);
  if (value.length < HEADER_BYTES || (value.length - HEADER_BYTES) % PIECE_BYTES !== 0) {
    throw new UnreadableRecord('the page chunk is cut off');
  }
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
