/** WRITE ([MS-SMB2] 2.2.21, 2.2.22). */
import { bodyOf, decodeFileId, type FileId, partOf, type RequestMessage } from './message.ts';

export interface WriteRequest {
  readonly fileId: FileId;
  readonly offset: bigint;
  /** A part of the request. */
  readonly data: Buffer;
  /** Other than 0: by remote direct memory access. */
  readonly channel: number;
}

export function decodeWrite(message: RequestMessage): WriteRequest {
  const body = bodyOf(message, 49);
  return {
    fileId: decodeFileId(body, 16),
    offset: body.readBigUInt64LE(8),
    data: partOf(message, body.readUInt16LE(2), body.readUInt32LE(4)),
    channel: body.readUInt32LE(32),
  };
}

export function encodeWrite(count: number): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt16LE(17, 0);
  body.writeUInt32LE(count, 4);
  return body;
}
