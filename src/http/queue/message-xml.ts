/**
 * Messages as XML: the one that Put and Update Message send, and the lists that Put, Get and Peek Messages answer.
 * Written by hand and not by XmlWriter: these are the bodies that come and go by the ten thousand.
 */
import { isUtf8 } from 'node:buffer';
import { formatHttpDate } from '../../base/http-date.ts';
import type { Message } from '../../rules/message.ts';
import type { GotMessage } from '../../service/queue/hand-out.ts';
import type { PeekedMessage } from '../../service/queue/peek-messages.ts';
import type { PlacedMessage } from '../../service/queue/put-message.ts';
import { invalidXml, StorageError } from '../../service/storage-error.ts';
import { childNamed, escapeXml, parseXml } from '../xml.ts';
import { plainMessageText } from './plain-message.ts';
import { renderPopReceipt } from './pop-receipt.ts';

export function parseMessageText(body: Buffer): string {
  const plain = isUtf8(body) ? plainMessageText(body.toString()) : null;
  if (plain !== null) return plain;
  const root = parseXml(body);
  if (root.name !== 'QueueMessage') throw invalidXml('QueueMessage is expected.');
  const text = childNamed(root, 'MessageText');
  if (text === null) throw new StorageError('MissingRequiredXmlNode', { elements: { XmlNodeName: 'MessageText' } });
  return text.text;
}

export const renderPutMessage = (placed: PlacedMessage): string =>
  renderList(`${renderHead(placed.message)}${renderPlace(placed)}</QueueMessage>`);

export function renderGotMessages(messages: readonly GotMessage[], version: string): string {
  let inside = '';
  for (const got of messages) inside += `${renderHead(got.message)}${renderPlace(got)}${renderContent(got, version)}`;
  return renderList(inside);
}

export function renderPeekedMessages(messages: readonly PeekedMessage[], version: string): string {
  let inside = '';
  for (const peeked of messages) inside += `${renderHead(peeked.message)}${renderContent(peeked, version)}`;
  return renderList(inside);
}

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

const renderList = (inside: string): string =>
  inside === ''
    ? `${DECLARATION}<QueueMessagesList />`
    : `${DECLARATION}<QueueMessagesList>${inside}</QueueMessagesList>`;

const renderHead = ({ messageId, insertedMs, expiresMs }: Message): string =>
  `<QueueMessage><MessageId>${messageId}</MessageId><InsertionTime>${insertionTime(insertedMs)}</InsertionTime><ExpirationTime>${expirationTime(expiresMs)}</ExpirationTime>`;

const renderPlace = ({ place, nextVisibleMs }: PlacedMessage): string =>
  `<PopReceipt>${renderPopReceipt(place)}</PopReceipt><TimeNextVisible>${nextVisibleTime(nextVisibleMs)}</TimeNextVisible>`;

const SINCE_DEQUEUE_COUNT = '2009-09-19';

function renderContent({ message, text }: PeekedMessage, version: string): string {
  const count = version < SINCE_DEQUEUE_COUNT ? '' : `<DequeueCount>${message.dequeueCount}</DequeueCount>`;
  const content = text === '' ? '<MessageText />' : `<MessageText>${escapeXml(text)}</MessageText>`;
  return `${count}${content}</QueueMessage>`;
}

/** Messages of one moment are alike in each of these times, which are not alike among each other. */
const insertionTime = rememberingLast();
const expirationTime = rememberingLast();
const nextVisibleTime = rememberingLast();

function rememberingLast(): (ms: number) => string {
  let lastSecond = Number.NaN;
  let lastText = '';
  return (ms) => {
    const second = Math.floor(ms / 1000);
    if (second !== lastSecond) {
      lastText = formatHttpDate(ms);
      lastSecond = second;
    }
    return lastText;
  };
}
