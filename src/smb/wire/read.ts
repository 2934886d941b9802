/** READ ([MS-SMB2] 2.2.19, 2.2.20). What is read follows its response and is no part of it here: it is not copied. */
import { HEADER_BYTES } from './header.ts';
import { bodyOf, decodeFileId, type FileId, type RequestMessage } from './message.ts';

export interface ReadRequest {
  readonly fileId: FileId;
  readonly offset: bigint;
  readonly length: number;
  /** Less than this is not worth answering. */
  readonly minimumCount: number;
  /** Other than 0: by remote direct memory access. */
  readonly channel: number;
}

export function decodeRead(message: RequestMessage): ReadRequest {
  const body = bodyOf(message, 49);
  return {
    fileId: decodeFileId(body, 16),
    offset: body.readBigUInt64LE(8),
    length: body.readUInt32LE(4),
    minimumCount: body.readUInt32LE(32),
    channel: body.readUInt32LE(36),
  };
}

const FIXED_BYTES = 16;

/** What comes before so many bytes. */
export function encodeRead(length: number): Buffer {
  const body = Buffer.alloc(FIXED_BYTES);
  body.writeUInt16LE(FIXED_BYTES + 1, 0);
  body.writeUInt8(HEADER_BYTES + FIXED_BYTES, 2);
  body.writeUInt32LE(length, 4);
  return body;
}
