/**
 * What decoders of requests work on. They read with Buffer's own methods, which throw RangeError beyond the end: then, as with
 * Malformed, the request is refused with INVALID_PARAMETER and the connection goes on.
 */
import { HEADER_BYTES, type Header } from './header.ts';

/** One request, by itself or out of a compound. */
export interface RequestMessage {
  readonly header: Header;
  /** From its header on: offsets in a request count from here. */
  readonly bytes: Buffer;
}

export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** What follows the header; refused where its StructureSize is another. */
export function bodyOf({ bytes }: RequestMessage, structureSize: number): Buffer {
  const body = bytes.subarray(HEADER_BYTES);
  if (body.readUInt16LE(0) !== structureSize) throw new Malformed('StructureSize');
  // An odd size counts one byte of what follows, which need not be there.
  if (body.length < (structureSize & ~1)) throw new Malformed('too short');
  return body;
}

/** A part of a request that is named by its place. Without length it may be said to be anywhere. */
export function partOf({ bytes }: RequestMessage, offset: number, length: number): Buffer {
  if (length === 0) return bytes.subarray(0, 0);
  if (offset < HEADER_BYTES || offset + length > bytes.length) throw new Malformed('a part lies outside the message');
  return bytes.subarray(offset, offset + length);
}

/** UTF-16, as all names are. */
export function decodeText(bytes: Buffer): string {
  if (bytes.length % 2 !== 0) throw new Malformed('half a character');
  return bytes.toString('utf16le');
}

export const encodeText = (text: string): Buffer => Buffer.from(text, 'utf16le');

export const ALL_ONES_64 = 0xffff_ffff_ffff_ffffn;

export interface FileId {
  readonly persistent: bigint;
  readonly volatile: bigint;
}

export const decodeFileId = (bytes: Buffer, offset: number): FileId => ({
  persistent: bytes.readBigUInt64LE(offset),
  volatile: bytes.readBigUInt64LE(offset + 8),
});

export function writeFileId(bytes: Buffer, { persistent, volatile }: FileId, offset: number): void {
  bytes.writeBigUInt64LE(persistent, offset);
  bytes.writeBigUInt64LE(volatile, offset + 8);
}
