/** What follows the header of the requests that only some tests send by hand; the others are in smb-wire.ts. */
import { HEADER_BYTES } from '../../src/smb/wire/header.ts';
import { encodeText } from '../../src/smb/wire/message.ts';

/** LOGOFF, TREE_DISCONNECT, ECHO and CANCEL. */
export const EMPTY_REQUEST: Buffer = Buffer.from([4, 0, 0, 0]);

export const NO_FILE_ID: Buffer = Buffer.alloc(16, 0xff);

/** A structure whose first field is its size. */
function structure(size: number, lengthBytes: number): Buffer {
  const body = Buffer.alloc(lengthBytes);
  body.writeUInt16LE(size, 0);
  return body;
}

export function treeConnectBody(path: string): Buffer {
  const head = structure(9, 8);
  const text = encodeText(path);
  head.writeUInt16LE(HEADER_BYTES + head.length, 4);
  head.writeUInt16LE(text.length, 6);
  return Buffer.concat([head, text]);
}

export function flushBody(fileId: Buffer): Buffer {
  const body = structure(24, 24);
  fileId.copy(body, 8);
  return body;
}

export interface LockTerms {
  readonly offset: bigint;
  readonly length: bigint;
  readonly flags: number;
}

export const LOCK_EXCLUSIVE = 0x2;
export const LOCK_UNLOCK = 0x4;
export const LOCK_EXCLUSIVE_AT_ONCE = 0x12;

export function lockBody(fileId: Buffer, elements: readonly LockTerms[]): Buffer {
  const body = structure(48, 24 + 24 * elements.length);
  body.writeUInt16LE(elements.length, 2);
  fileId.copy(body, 8);
  for (const [index, { offset, length, flags }] of elements.entries()) {
    const at = 24 + 24 * index;
    body.writeBigUInt64LE(offset, at);
    body.writeBigUInt64LE(length, at + 8);
    body.writeUInt32LE(flags, at + 16);
  }
  return body;
}

export function ioctlBody(
  fileId: Buffer,
  { code, input = Buffer.alloc(0), outputBytesMax = 0 }: { code: number; input?: Buffer; outputBytesMax?: number },
): Buffer {
  const head = structure(57, 56);
  head.writeUInt32LE(code, 4);
  fileId.copy(head, 8);
  head.writeUInt32LE(HEADER_BYTES + head.length, 24);
  head.writeUInt32LE(input.length, 28);
  head.writeUInt32LE(outputBytesMax, 44);
  head.writeUInt32LE(1, 48);
  return Buffer.concat([head, input]);
}

export function queryDirectoryBody(
  fileId: Buffer,
  { pattern = '*', infoClass = 0x25, flags = 0, outputBytesMax = 65_536 } = {},
): Buffer {
  const head = structure(33, 32);
  const text = encodeText(pattern);
  head.writeUInt8(infoClass, 2);
  head.writeUInt8(flags, 3);
  fileId.copy(head, 8);
  head.writeUInt16LE(HEADER_BYTES + head.length, 24);
  head.writeUInt16LE(text.length, 26);
  head.writeUInt32LE(outputBytesMax, 28);
  return Buffer.concat([head, text]);
}

export function changeNotifyBody(fileId: Buffer, { filter = 0xfff, outputBytesMax = 4_096 } = {}): Buffer {
  const body = structure(32, 32);
  body.writeUInt32LE(outputBytesMax, 4);
  fileId.copy(body, 8);
  body.writeUInt32LE(filter, 24);
  return body;
}

export function queryInfoBody(fileId: Buffer, { infoType = 1, infoClass = 0x12, outputBytesMax = 4_096 } = {}): Buffer {
  const body = structure(41, 40);
  body.writeUInt8(infoType, 2);
  body.writeUInt8(infoClass, 3);
  body.writeUInt32LE(outputBytesMax, 4);
  fileId.copy(body, 24);
  return body;
}

export function setInfoBody(
  fileId: Buffer,
  { infoType = 1, infoClass, buffer }: { infoType?: number; infoClass: number; buffer: Buffer },
): Buffer {
  const head = structure(33, 32);
  head.writeUInt8(infoType, 2);
  head.writeUInt8(infoClass, 3);
  head.writeUInt32LE(buffer.length, 4);
  head.writeUInt16LE(HEADER_BYTES + head.length, 8);
  fileId.copy(head, 16);
  return Buffer.concat([head, buffer]);
}

export function oplockBreakBody(fileId: Buffer, level: number): Buffer {
  const body = structure(24, 24);
  body.writeUInt8(level, 2);
  fileId.copy(body, 8);
  return body;
}
