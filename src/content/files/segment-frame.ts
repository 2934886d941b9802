/**
 * An extent inside a segment: a header that says whose bytes follow, then the bytes. A frame starts on a slot of 4 KiB:
 * no later write touches the disk sectors of a frame that is durable, and which frames are live is one bit per slot.
 */
import { crc32 } from 'node:zlib';
import type { Id } from '../../base/ids.ts';

export const SLOT_BYTES = 4096;
export const HEADER_BYTES = 32;

const MAGIC = 0x4c524d31; // "LRM1"
const AT = { magic: 0, id: 4, length: 16, reserved: 24, crc: 28 } as const;

export interface FrameHeader {
  readonly id: Id;
  readonly lengthBytes: number;
}

export const slotCount = (lengthBytes: number): number => Math.ceil((HEADER_BYTES + lengthBytes) / SLOT_BYTES);

export function encodeHeader({ id, lengthBytes }: FrameHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(MAGIC, AT.magic);
  header.write(id, AT.id, 'hex');
  header.writeBigUInt64BE(BigInt(lengthBytes), AT.length);
  header.writeUInt32BE(crc32(header.subarray(0, AT.crc)), AT.crc);
  return header;
}

/** Null when these bytes are no header, or a damaged one. */
export function decodeHeader(header: Buffer): FrameHeader | null {
  if (header.length < HEADER_BYTES || header.readUInt32BE(AT.magic) !== MAGIC) return null;
  if (header.readUInt32BE(AT.crc) !== crc32(header.subarray(0, AT.crc))) return null;
  const id = header.toString('hex', AT.id, AT.length);
  return { id, lengthBytes: Number(header.readBigUInt64BE(AT.length)) };
}
