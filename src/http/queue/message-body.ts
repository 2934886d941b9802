/** The text of a message in the body of Put and Update Message: how long it may be, and how long the body around it. */
import { OLD_TEXT_BYTES_MAX, TEXT_BYTES_MAX } from '../../rules/message.ts';
import { bodyTooLarge, readWhole } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { parseMessageText } from './message-xml.ts';

/** Texts of 64 KiB. */
const SINCE_LONG_TEXTS = '2011-08-18';

/** The longest text, every character of it escaped (`&quot;`), and the elements around it. */
const BODY_BYTES_MAX = 6 * TEXT_BYTES_MAX + 1024;

export async function readMessageText(exchange: Exchange): Promise<string> {
  return textOf(exchange, await readWhole(exchange, { maxBytes: BODY_BYTES_MAX }));
}

/** Null: there is no body. */
export async function readOptionalMessageText(exchange: Exchange): Promise<string | null> {
  if (exchange.contentLengthBytes === 0) return null;
  const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
  return body.length === 0 ? null : textOf(exchange, body);
}

function textOf({ version }: Exchange, body: Buffer): string {
  const maxBytes = version < SINCE_LONG_TEXTS ? OLD_TEXT_BYTES_MAX : TEXT_BYTES_MAX;
  const text = parseMessageText(body);
  // A text is never longer than what it was written as.
  if (body.length > maxBytes && Buffer.byteLength(text) > maxBytes) throw bodyTooLarge(maxBytes);
  return text;
}
