/**
 * OPLOCK_BREAK ([MS-SMB2] 2.2.23-2.2.25): the server asks a client to cache less, the client says what it keeps, and is
 * answered with that. Oplocks and leases differ in their structures, which are told apart by their sizes.
 */
import { HEADER_BYTES } from './header.ts';
import { bodyOf, decodeFileId, type FileId, type RequestMessage, writeFileId } from './message.ts';

const OPLOCK_BYTES = 24;
const LEASE_ANSWER_BYTES = 36;
const LEASE_BREAK_BYTES = 44;
const ANSWER_REQUIRED = 0x1;

export type OplockBreakRequest =
  | { readonly kind: 'oplock'; readonly fileId: FileId; readonly level: number }
  /** `key`: 16 bytes, in hex. */
  | { readonly kind: 'lease'; readonly key: string; readonly state: number };

export function decodeOplockBreak(message: RequestMessage): OplockBreakRequest {
  if (message.bytes.readUInt16LE(HEADER_BYTES) === OPLOCK_BYTES) {
    const body = bodyOf(message, OPLOCK_BYTES);
    return { kind: 'oplock', level: body.readUInt8(2), fileId: decodeFileId(body, 8) };
  }
  const body = bodyOf(message, LEASE_ANSWER_BYTES);
  return { kind: 'lease', key: body.toString('hex', 8, 24), state: body.readUInt32LE(24) };
}

/** The notification, and the response to what the client says it keeps. */
export function encodeOplockBreak(told: { fileId: FileId; level: number }): Buffer {
  const body = Buffer.alloc(OPLOCK_BYTES);
  body.writeUInt16LE(OPLOCK_BYTES, 0);
  body.writeUInt8(told.level, 2);
  writeFileId(body, told.fileId, 8);
  return body;
}

export interface LeaseBreak {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  /** Of the state that it is broken to; 0 in leases of the first version. */
  readonly epoch: number;
  readonly mustAnswer: boolean;
}

export function encodeLeaseBreak({ key, from, to, epoch, mustAnswer }: LeaseBreak): Buffer {
  const body = Buffer.alloc(LEASE_BREAK_BYTES);
  body.writeUInt16LE(LEASE_BREAK_BYTES, 0);
  body.writeUInt16LE(epoch, 2);
  body.writeUInt32LE(mustAnswer ? ANSWER_REQUIRED : 0, 4);
  body.write(key, 8, 'hex');
  body.writeUInt32LE(from, 24);
  body.writeUInt32LE(to, 28);
  return body;
}

export function encodeLeaseAnswer(kept: { key: string; state: number }): Buffer {
  const body = Buffer.alloc(LEASE_ANSWER_BYTES);
  body.writeUInt16LE(LEASE_ANSWER_BYTES, 0);
  body.write(kept.key, 8, 'hex');
  body.writeUInt32LE(kept.state, 24);
  return body;
}
