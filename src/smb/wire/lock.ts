/** LOCK ([MS-SMB2] 2.2.26): its response says nothing. */
import { bodyOf, decodeFileId, type FileId, Malformed, type RequestMessage } from './message.ts';

export const LOCK_SHARED = 0x1;
export const LOCK_EXCLUSIVE = 0x2;
export const LOCK_UNLOCK = 0x4;
export const LOCK_FAIL_IMMEDIATELY = 0x10;

export interface LockElement {
  readonly offset: bigint;
  readonly length: bigint;
  readonly flags: number;
}

export interface LockRequest {
  readonly fileId: FileId;
  /** Which requests of a client may be the same one, sent again: the bucket, and the number in it. */
  readonly sequenceIndex: number;
  readonly sequenceNumber: number;
  readonly elements: readonly LockElement[];
}

const ELEMENTS_AT = 24;
const ELEMENT_BYTES = 24;

export function decodeLock(message: RequestMessage): LockRequest {
  const body = bodyOf(message, 48);
  const count = body.readUInt16LE(2);
  if (count === 0 || ELEMENTS_AT + count * ELEMENT_BYTES > body.length) throw new Malformed('LockCount');
  const sequence = body.readUInt32LE(4);
  return {
    fileId: decodeFileId(body, 8),
    sequenceIndex: sequence >>> 4,
    sequenceNumber: sequence & 0xf,
    elements: Array.from({ length: count }, (_, index) => {
      const at = ELEMENTS_AT + index * ELEMENT_BYTES;
      return {
        offset: body.readBigUInt64LE(at),
        length: body.readBigUInt64LE(at + 8),
        flags: body.readUInt32LE(at + 16),
      };
    }),
  };
}
