/**
 * Random requests over the whole surface of the queue door, signed and unsigned, well-formed and not: paths, queries,
 * receipts, headers, messages. Whatever comes is answered, never with a 5xx (but 501), and no message is lost that nobody
 * deleted. Seeded and bounded; LARIMAR_SEED replays a run, request by request, but for ids and receipts of the server's.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DequeuedMessageItem, QueueClient } from '@azure/storage-queue';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import {
  closingBytes,
  damaged,
  fuzz,
  isFramedBySender,
  type Lane,
  problemOf,
  SIGNERS,
  withHeaders,
} from '../harness/fuzz.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { messageOf } from '../harness/queue-http.ts';
import { Random } from '../harness/random.ts';
import { byTier } from '../harness/tier.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const { seed } = new Random();

const REQUESTS_MAX = byTier({ quick: 2_000, system: 6_000 });
const RUN_SECONDS = 15;

/** Got, peeked at, written to, and all with nonsense; but nothing deletes from it. */
const KEPT = 'fuzz-kept';
const QUEUES = ['fuzz-a', 'fuzz-b', KEPT, 'UPPER', 'x', 'a--b', '%00', '%ff', '..', '%2e%2e', '', 'a'.repeat(64)];
const METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'MERGE', 'TRACE'];
const REST = ['', '', '/messages', '/messages', '/Messages', '/letters', '/', '/messages/', '//', '/messages/x/y'];
const IDS = ['00000000-0000-0000-0000-000000000000', 'x', '%00', '%ff', '%F0%9F%AA%A8', 'x'.repeat(300), '%', '{}'];

type Held = readonly [messageId: string, popReceipt: string];

/** Ids and receipts that the server has given, so that some of what is random means something. */
class Known {
  readonly #held: Held[] = Array.from({ length: 20 }, () => [IDS[0] as string, 'A'.repeat(24)]);

  note(received: string): void {
    const valuesOf = (name: string): string[] =>
      [...received.matchAll(new RegExp(`<${name}>([^<]+)</${name}>`, 'g'))].map(([, value]) => value as string);
    const ids = valuesOf('MessageId');
    for (const [index, receipt] of valuesOf('PopReceipt').entries()) {
      this.#held.shift();
      this.#held.push([ids[index] ?? '', receipt]);
    }
  }

  pick(random: Random): Held {
    return random.pick(this.#held);
  }
}

const NUMBERS = [
  '0',
  '1',
  '2',
  '30',
  '32',
  '33',
  '-1',
  '604800',
  '604801',
  'x',
  '',
  '1.5',
  '99999999999999999999',
  '%00',
];
const WORDS: [string, readonly string[]][] = [
  ['numofmessages', NUMBERS],
  ['visibilitytimeout', NUMBERS],
  ['messagettl', NUMBERS],
  ['peekonly', ['true', 'TRUE', 'false', 'x', '']],
  ['popreceipt', ['x', '', '%00', 'A'.repeat(24), '_'.repeat(24), 'x'.repeat(3_000), '%F0%9F%AA%A8']],
  ['comp', ['list', 'metadata', 'acl', 'properties', 'stats', 'userdelegationkey', 'x', '']],
  ['restype', ['service', 'queue', 'x', '']],
  ['prefix', ['fuzz', '%00', '%ff', 'x'.repeat(500), '']],
  ['marker', ['x', '1!ZnV6eg', '1!', '%ff', '']],
  ['maxresults', ['1', '0', '-1', '5001', 'x']],
  ['include', ['metadata', 'x', '', 'metadata,metadata']],
  ['timeout', ['1', '-1', 'x', '99999999999']],
  ['sv', ['2019-02-02', '2015-02-21', 'x']],
  ['sp', ['raup', 'r', 'x', '']],
  ['se', ['2099-01-01', 'x', '']],
  ['si', ['p', '']],
  ['ss', ['q', 'x']],
  ['srt', ['sco', 'x']],
  ['sig', ['x', Buffer.alloc(32).toString('base64')]],
  ['%ff', ['%ff']],
];

const HEADERS: [string, readonly string[]][] = [
  ['x-ms-version', ['2024-11-04', '2008-10-27', '2009-09-19', '2015-12-11', '2016-05-31', '2099-01-01', 'x', '']],
  ['x-ms-date', ['x', '', 'Thu, 01 Jan 1970 00:00:00 GMT']],
  ['x-ms-meta-a', ['b', '', '\u00e9', 'x'.repeat(9_000)]],
  ['x-ms-meta-1', ['b']],
  ['x-ms-meta-', ['b']],
  ['x-ms-client-request-id', ['x', 'x'.repeat(2_000), '\u00e9']],
  ['if-match', ['*', '"x"', '']],
  ['if-none-match', ['*']],
  ['range', ['bytes=0-1', 'x']],
  ['content-type', ['application/xml', 'text/plain', '', '\u00e9']],
  ['content-md5', ['x', 'AAAAAAAAAAAAAAAAAAAAAA==']],
  ['content-encoding', ['gzip', 'x']],
  ['accept', ['application/xml', 'application/json', '']],
  ['origin', ['http://a.example', 'x', '']],
  ['access-control-request-method', ['GET', 'x', '']],
  ['access-control-request-headers', ['x-ms-meta-a', '', '*']],
  ['expect', ['100-continue', 'x']],
  ['authorization', ['x', 'SharedKey x', 'SharedKeyLite devstoreaccount1:AAAA', 'Bearer x', '']],
  ['content-length', ['0', '3', '1000', '999999999999']],
  ['transfer-encoding', ['chunked']],
  ['host', ['devstoreaccount1.queue.localhost', 'x', '', '[::1]']],
];

const TEXTS = [
  '',
  'x',
  ' ',
  '\r\n',
  '<&>',
  'ü \u{1faa8}',
  ']]>',
  'x'.repeat(8_193),
  'x'.repeat(65_536),
  'x'.repeat(65_537),
];
const BODIES = [
  '',
  'x',
  '\0\0\0',
  '<QueueMessage/>',
  '<QueueMessage><MessageText/></QueueMessage>',
  '<QueueMessage><MessageText>',
  '<QueueMessage><MessageText>a<b>c</b></MessageText></QueueMessage>',
  '<QueueMessage><MessageText>&#0;&#xD800;&nobody;</MessageText></QueueMessage>',
  '<QueueMessage><MessageText><![CDATA[<&]]></MessageText></QueueMessage>',
  '<QueueMessage><MessageText>a</MessageText><MessageText>b</MessageText></QueueMessage>',
  '<SignedIdentifiers/>',
  '<SignedIdentifiers><SignedIdentifier><Id>p</Id></SignedIdentifier></SignedIdentifiers>',
  '<SignedIdentifiers><SignedIdentifier>',
  '<StorageServiceProperties/>',
  '<StorageServiceProperties><Cors/></StorageServiceProperties>',
  '<KeyInfo><Expiry>x</Expiry></KeyInfo>',
  '3\r\nabc\r\n0\r\n\r\n',
];

const bodyOf = (random: Random): string => {
  if (random.chance(0.5)) return messageOf(random.pick(TEXTS));
  const body = random.pick(BODIES);
  return random.chance(0.1) ? body.slice(0, random.below(body.length + 1)) : body;
};

function queryOf(random: Random): string {
  const words = Array.from({ length: random.below(4) }, () => random.pick(WORDS));
  return words.map(([name, values], index) => `${index === 0 ? '?' : '&'}${name}=${random.pick(values)}`).join('');
}

function pathOf(random: Random, known: Known): string {
  if (random.chance(0.1)) return `/${queryOf(random)}`;
  const queue = random.chance(0.5) ? random.pick(['fuzz-a', 'fuzz-b', KEPT]) : random.pick(QUEUES);
  if (random.chance(0.6)) return `/${queue}${random.pick(REST)}${queryOf(random)}`;
  const [messageId] = known.pick(random);
  return `/${queue}/messages/${random.chance(0.5) ? messageId : random.pick(IDS)}${queryOf(random)}`;
}

/** Requests that mean something come often enough to bring the server into states where the odd ones matter. */
const SENSIBLE: ((random: Random, known: Known) => RawRequest)[] = [
  (random) => ({ method: 'PUT', path: `/${random.pick(['fuzz-a', 'fuzz-b'])}` }),
  (random) => ({ method: 'DELETE', path: `/fuzz-b${random.pick(['', '/messages'])}` }),
  (random) => ({ method: 'DELETE', path: `/fuzz-a/messages${random.chance(0.2) ? '' : '/x'}` }),
  (random) => ({ method: 'POST', path: `/fuzz-a/messages${queryOf(random)}`, body: bodyOf(random) }),
  (random) => ({ method: 'POST', path: '/fuzz-a/messages', body: messageOf(random.pick(TEXTS)) }),
  (random) => ({
    method: 'GET',
    path: `/${random.pick(['fuzz-a', KEPT])}/messages?numofmessages=${1 + random.below(32)}`,
  }),
  () => ({ method: 'GET', path: '/fuzz-a/messages?visibilitytimeout=1' }),
  (random) => ({ method: 'GET', path: `/${random.pick(['fuzz-a', KEPT])}/messages?peekonly=true&numofmessages=32` }),
  (random, known) => {
    const [messageId, popReceipt] = known.pick(random);
    const visibility = random.pick(['0', '1', '60', '-1']);
    const path = `/fuzz-a/messages/${messageId}?popreceipt=${popReceipt}&visibilitytimeout=${visibility}`;
    return { method: 'PUT', path, body: random.chance(0.5) ? '' : bodyOf(random) };
  },
  (random, known) => {
    const [messageId, popReceipt] = known.pick(random);
    return { method: 'DELETE', path: `/fuzz-a/messages/${messageId}?popreceipt=${popReceipt}` };
  },
  (random) => ({ method: 'GET', path: `/?comp=list&include=metadata&maxresults=${random.pick(['1', '2', '0'])}` }),
  (random) => ({
    method: random.pick(['GET', 'PUT']),
    path: `/fuzz-a?comp=${random.pick(['acl', 'metadata'])}`,
    body: '',
  }),
];

function randomRequest(random: Random, known: Known): RawRequest {
  const account = random.pick(SIGNERS);
  if (random.chance(0.6)) {
    const sensible = random.pick(SENSIBLE)(random, known);
    return random.chance(0.5) ? sensible : withHeaders(random, { ...sensible, account }, HEADERS);
  }
  const path = pathOf(random, known);
  const method = random.pick(METHODS);
  const isTaken = path.startsWith(`/${KEPT}`) && (method === 'DELETE' || path.includes('popreceipt'));
  const odd = { method: isTaken ? 'GET' : method, path, body: bodyOf(random), account };
  return withHeaders(random, odd, HEADERS);
}

const KEPT_COUNT = 100;
const WEEK_SECONDS = 7 * 24 * 3600;

/** All that the queue gives, until it gives nothing more. */
async function drained(queue: QueueClient): Promise<DequeuedMessageItem[]> {
  const items: DequeuedMessageItem[] = [];
  for (;;) {
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    if (receivedMessageItems.length === 0) return items;
    items.push(...receivedMessageItems);
  }
}

test('random requests are answered, never with a 5xx but 501, and no message is lost', async (t) => {
  const kept = queueClient(server, KEPT);
  await kept.create();
  for (let index = 0; index < KEPT_COUNT; index++) await kept.sendMessage(`kept ${index}`, { messageTimeToLive: -1 });
  const openLane = (random: Random): Lane => {
    const known = new Known();
    return {
      next() {
        const request = randomRequest(random, known);
        const sent = damaged(random, closingBytes(server.queueUrl, request));
        const complete = sent.complete && !isFramedBySender(request);
        return { ...sent, complete, problemOf: (answer) => problemOf(answer, complete) };
      },
      note: (answer) => known.note(answer),
    };
  };
  await fuzz(t, {
    url: server.queueUrl,
    seed,
    requestsMax: REQUESTS_MAX,
    seconds: RUN_SECONDS,
    openLane,
    statuses: [200, 201, 204, 400, 403, 404, 405, 413],
  });
  // Beyond every timeout that a Get may have set.
  server.clock.advance({ seconds: WEEK_SECONDS });
  const texts = (await drained(kept)).map(({ messageText }) => messageText).filter((text) => text?.startsWith('kept '));
  const wanted = Array.from({ length: KEPT_COUNT }, (_, index) => `kept ${index}`);
  assert.deepEqual(texts.sort(), wanted.sort());
});
