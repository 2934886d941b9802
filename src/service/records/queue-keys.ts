/**
 * Where queues and their messages live:
 *
 *   q account 00 name                          a queue
 *   m account 00 contentId messageId           a message's text
 *   v account 00 contentId visibleMs tick      a message's place: what is known of it beside its text
 *   n account 00 contentId shard               a part of the count of messages (message-count.ts)
 *
 * A place says from when on the message may be handed out, so the visible ones are a range that begins with those that
 * wait longest. It is new with every Get and Update, and it is what a pop receipt names: one that is stale names nothing.
 * The content's id is the queue's until it is cleared or deleted: then nobody finds what is under the old one.
 */
import { asBuffer, prefixEnd } from '../../base/bytes.ts';
import { ID_BYTES, type Id } from '../../base/ids.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import type { Place } from '../../rules/message.ts';
import { guidAt, MESSAGE_ID_BYTES } from './message-record.ts';

/** What a queue holds since it was created or cleared. */
export interface ContentAddress {
  readonly account: string;
  readonly contentId: Id;
}

export const queueKey = (account: string, queue: string): Key => Buffer.from(`q${account}\0${queue}`);

/** What a listing of queues walks: from the first name at or after `from` to the last with `prefix`. */
export const queuesRange = (account: string, prefix: string, from: string): KeyRange => ({
  from: queueKey(account, from > prefix ? from : prefix),
  to: prefixEnd(queueKey(account, prefix)) as Key,
});

/** `messageId`: a GUID as text. */
export function textKey(content: ContentAddress, messageId: string): Key {
  const key = contentKey('m', content, MESSAGE_ID_BYTES);
  key.write(messageId.replaceAll('-', ''), key.length - MESSAGE_ID_BYTES, 'hex');
  return key;
}

export const textMessageIdOf = (key: Key): string => guidAt(key, key.length - MESSAGE_ID_BYTES);

const TIME_BYTES = 6;

export function placeKey(content: ContentAddress, { visibleMs, tick }: Place): Key {
  const key = contentKey('v', content, TIME_BYTES + ID_BYTES);
  const at = key.length - TIME_BYTES - ID_BYTES;
  key.writeUIntBE(visibleMs, at, TIME_BYTES);
  key.write(tick, at + TIME_BYTES, 'hex');
  return key;
}

export function placeOf(key: Key): Place {
  const bytes = asBuffer(key);
  const at = bytes.length - TIME_BYTES - ID_BYTES;
  return { visibleMs: bytes.readUIntBE(at, TIME_BYTES), tick: bytes.toString('hex', at + TIME_BYTES) };
}

/** The places of messages that may be handed out at this time. */
export const visibleRange = (content: ContentAddress, nowMs: number): KeyRange => ({
  from: contentKey('v', content, 0),
  to: placeKey(content, { visibleMs: nowMs + 1, tick: '0'.repeat(2 * ID_BYTES) }),
});

export const placesRange = (content: ContentAddress): KeyRange => rangeOf('v', content);
export const textsRange = (content: ContentAddress): KeyRange => rangeOf('m', content);
export const countsRange = (content: ContentAddress): KeyRange => rangeOf('n', content);

export function countKey(content: ContentAddress, shard: number): Key {
  const key = contentKey('n', content, 1);
  key[key.length - 1] = shard;
  return key;
}

/** Of a place, a text or a count. */
export function contentOf(key: Key): ContentAddress {
  const bytes = asBuffer(key);
  const end = bytes.indexOf(0);
  return {
    account: bytes.toString('latin1', 1, end),
    contentId: bytes.toString('hex', end + 1, end + 1 + ID_BYTES),
  };
}

function rangeOf(letter: string, content: ContentAddress): KeyRange {
  const from = contentKey(letter, content, 0);
  return { from, to: prefixEnd(from) as Key };
}

function contentKey(letter: string, { account, contentId }: ContentAddress, moreBytes: number): Buffer {
  const at = 1 + account.length + 1;
  const key = Buffer.allocUnsafe(at + ID_BYTES + moreBytes);
  key.write(`${letter}${account}\0`, 0, 'latin1');
  key.write(contentId, at, 'hex');
  return key;
}
