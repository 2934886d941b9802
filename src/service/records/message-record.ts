/**
 * What stands at a message's place, packed: it is written anew with every Get.
 *
 *   01, message id (16 bytes), insertedMs u48, expiresMs u48, dequeue count u32
 *
 * Its text is a record of its own, as UTF-8, which a Get only reads.
 */
import { asBuffer } from '../../base/bytes.ts';
import type { Message } from '../../rules/message.ts';
import { UnreadableRecord } from './codec.ts';

export const MESSAGE_ID_BYTES = 16;

const FORMAT = 1;
const ID_AT = 1;
const INSERTED_AT = 17;
const EXPIRES_AT = 23;
const COUNT_AT = 29;
const MESSAGE_BYTES = 33;

export function encodeMessage({ messageId, insertedMs, expiresMs, dequeueCount }: Message): Uint8Array {
  const bytes = Buffer.allocUnsafe(MESSAGE_BYTES);
  bytes[0] = FORMAT;
  bytes.write(messageId.replaceAll('-', ''), ID_AT, 'hex');
  bytes.writeUIntBE(insertedMs, INSERTED_AT, 6);
  bytes.writeUIntBE(expiresMs, EXPIRES_AT, 6);
  bytes.writeUInt32BE(dequeueCount, COUNT_AT);
  return bytes;
}

export function decodeMessage(value: Uint8Array): Message {
  if (value[0] !== FORMAT || value.length !== MESSAGE_BYTES) {
    throw new UnreadableRecord(`unknown message format ${value[0]} of ${value.length} bytes`);
  }
  const bytes = asBuffer(value);
  return {
    messageId: messageIdOf(value),
    insertedMs: bytes.readUIntBE(INSERTED_AT, 6),
    expiresMs: expiresMsOf(value),
    dequeueCount: bytes.readUInt32BE(COUNT_AT),
  };
}

/** One field alone, without a look at all the rest. */
export const messageIdOf = (value: Uint8Array): string => guidAt(value, ID_AT);

/** The same. */
export const expiresMsOf = (value: Uint8Array): number => asBuffer(value).readUIntBE(EXPIRES_AT, 6);

/** As text; its 16 bytes in their order. */
export function guidAt(bytes: Uint8Array, at: number): string {
  const hex = asBuffer(bytes).toString('hex', at, at + MESSAGE_ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A message never stands at a place without its text. */
export function decodeText(value: Uint8Array | null | undefined): string {
  if (value === null || value === undefined) throw new UnreadableRecord('the message has no text');
  return asBuffer(value).toString();
}
