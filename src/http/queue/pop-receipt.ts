/**
 * A pop receipt is the message's place (rules/message.ts), as text that stands in a URL as it is: the base64url of 6 bytes
 * of `visibleMs`, big-endian, and the 12 of `tick`.
 */
import { ID_BYTES } from '../../base/ids.ts';
import type { Place } from '../../rules/message.ts';
import { invalidQuery } from '../../service/storage-error.ts';

const TIME_BYTES = 6;

export function renderPopReceipt({ visibleMs, tick }: Place): string {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + ID_BYTES);
  bytes.writeUIntBE(visibleMs, 0, TIME_BYTES);
  bytes.write(tick, TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** Whole groups of four characters: no two spellings give the same bytes. */
const RECEIPT = /^[A-Za-z0-9_-]{24}$/;

export function parsePopReceipt(text: string): Place {
  if (!RECEIPT.test(text)) throw invalidQuery('popreceipt', text, 'Not a pop receipt of this service.');
  const bytes = Buffer.from(text, 'base64url');
  return { visibleMs: bytes.readUIntBE(0, TIME_BYTES), tick: bytes.toString('hex', TIME_BYTES) };
}
