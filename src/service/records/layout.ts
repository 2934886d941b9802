/**
 * A committed block list, packed: a list of 50,000 blocks is one value of a few MiB that commits in milliseconds, where
 * 50,000 records would stall the event loop.
 *
 *   02, count u32, then per block: id length u8, id text, 1 if inline u8, extent id (12 bytes), length u48
 */
import { ID_BYTES } from '../../base/ids.ts';
import { UnreadableRecord } from './codec.ts';
import type { ExtentRef } from './extent-record.ts';

export interface LayoutBlock {
  readonly blockId: string;
  readonly extent: ExtentRef;
  readonly lengthBytes: number;
}

/** A part of one extent that a read passes through. */
export interface LayoutPiece {
  readonly extent: ExtentRef;
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

const LAYOUT_FORMAT = 2;
const HEADER_BYTES = 5;
const REF_BYTES = 1 + ID_BYTES;
const LENGTH_BYTES = 6;

export function encodeLayout(blocks: readonly LayoutBlock[]): Uint8Array {
  let size = HEADER_BYTES;
  for (const block of blocks) size += 1 + Buffer.byteLength(block.blockId) + REF_BYTES + LENGTH_BYTES;
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = LAYOUT_FORMAT;
  bytes.writeUInt32BE(blocks.length, 1);
  let at = HEADER_BYTES;
  for (const block of blocks) {
    const idBytes = bytes.write(block.blockId, at + 1);
    bytes[at] = idBytes;
    at += 1 + idBytes;
    bytes[at] = block.extent.inline ? 1 : 0;
    bytes.write(block.extent.id, at + 1, 'hex');
    at += REF_BYTES;
    bytes.writeUIntBE(block.lengthBytes, at, LENGTH_BYTES);
    at += LENGTH_BYTES;
  }
  return bytes;
}

export function decodeLayout(value: Uint8Array): LayoutBlock[] {
  const bytes = asLayout(value);
  const count = bytes.readUInt32BE(1);
  const blocks: LayoutBlock[] = [];
  let at = HEADER_BYTES;
  while (at < bytes.length && blocks.length < count) {
    const idEnd = at + 1 + (bytes[at] as number);
    const extentEnd = idEnd + REF_BYTES;
    if (extentEnd + LENGTH_BYTES > bytes.length) break;
    blocks.push({
      blockId: bytes.toString('utf8', at + 1, idEnd),
      extent: refAt(bytes, idEnd),
      lengthBytes: bytes.readUIntBE(extentEnd, LENGTH_BYTES),
    });
    at = extentEnd + LENGTH_BYTES;
  }
  if (blocks.length !== count || at !== bytes.length) throw new UnreadableRecord('the block list is cut off');
  return blocks;
}

/** The pieces under one range of the blob, in order. Walks the packed form: a short read of a long list stays cheap. */
export function* layoutPieces(
  value: Uint8Array,
  range: { offsetBytes: number; lengthBytes: number },
): Generator<LayoutPiece> {
  const bytes = asLayout(value);
  const rangeEnd = range.offsetBytes + range.lengthBytes;
  let blockStart = 0;
  for (let at = HEADER_BYTES; at < bytes.length && blockStart < rangeEnd; ) {
    const extentAt = at + 1 + (bytes[at] as number);
    const lengthBytes = bytes.readUIntBE(extentAt + REF_BYTES, LENGTH_BYTES);
    const blockEnd = blockStart + lengthBytes;
    if (blockEnd > range.offsetBytes) {
      const from = Math.max(range.offsetBytes, blockStart);
      yield {
        extent: refAt(bytes, extentAt),
        offsetBytes: from - blockStart,
        lengthBytes: Math.min(rangeEnd, blockEnd) - from,
      };
    }
    blockStart = blockEnd;
    at = extentAt + REF_BYTES + LENGTH_BYTES;
  }
}

const refAt = (bytes: Buffer, at: number): ExtentRef => ({
  inline: bytes[at] === 1,
  id: bytes.toString('hex', at + 1, at + REF_BYTES),
});

function asLayout(value: Uint8Array): Buffer {
  if (value[0] !== LAYOUT_FORMAT || value.length < HEADER_BYTES)
    throw new UnreadableRecord(`unknown block list format ${value[0]}`);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
