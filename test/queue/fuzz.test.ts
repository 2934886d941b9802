/**
 * Random requests over the whole surface of the queue door, signed and unsigned, well-formed and not: paths, queries,
 * receipts, headers, messages. Whatever comes is answered, never with a 5xx (but 501), and no message is lost that nobody
 * deleted. Seeded and bounded; LARIMAR_SEED replays a run, request by request, but for ids and receipts of the server's.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DequeuedMessageItem, QueueClient } from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { firstStatus, headOf, type RawRequest, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { queueClient } from '../harness/queue-clients.ts';
import { messageOf } from '../harness/queue-http.ts';
import { Random } from '../harness/random.ts';
import { byTier } from '../harness/tier.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const { seed } = new Random();

const REQUESTS_MAX = byTier({ quick: 2_000, system: 6_000 });
const LANES = 4;
const RUN_SECONDS = 15;
const ANSWER_LIMIT_MS = 10_000;
/** For a request that is not complete: the server waits for the rest of it, and we need not. */
const INCOMPLETE_LIMIT_MS = 100;

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

function mutate(random: Random, request: RawRequest): RawRequest {
  const headers: Record<string, string | readonly string[]> = { ...request.headers };
  for (let count = random.below(4); count > 0; count--) {
    const [name, values] = random.pick(HEADERS);
    headers[name] = random.chance(0.05) ? [random.pick(values), random.pick(values)] : random.pick(values);
  }
  return { ...request, headers };
}

const ACCOUNTS: (TestAccount | null)[] = [
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_ACCOUNT,
  SECOND_ACCOUNT,
  null,
];

function randomRequest(random: Random, known: Known): RawRequest {
  const account = random.pick(ACCOUNTS);
  if (random.chance(0.6)) {
    const sensible = random.pick(SENSIBLE)(random, known);
    return random.chance(0.5) ? sensible : mutate(random, { ...sensible, account });
  }
  const path = pathOf(random, known);
  const method = random.pick(METHODS);
  const isTaken = path.startsWith(`/${KEPT}`) && (method === 'DELETE' || path.includes('popreceipt'));
  return mutate(random, { method: isTaken ? 'GET' : method, path, body: bodyOf(random), account });
}

interface Sendable {
  readonly bytes: Buffer;
  /** The sender has kept its part: silence would be the server's fault. */
  readonly complete: boolean;
}

/** The bytes of a request; now and then with one of them changed, or cut short. */
function bytesOf(random: Random, request: RawRequest): Sendable {
  const closing = { ...request, headers: { ...request.headers, connection: 'close' } };
  let head: string;
  try {
    head = headOf(server.queueUrl, closing);
  } catch {
    // A query that cannot be decoded cannot be signed.
    head = headOf(server.queueUrl, { ...closing, account: null });
  }
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(request.body ?? '')]);
  if (random.chance(0.03)) {
    bytes[random.below(bytes.length)] = random.below(256);
    return { bytes, complete: false };
  }
  if (random.chance(0.02)) return { bytes: bytes.subarray(0, random.below(bytes.length)), complete: false };
  const framedBySender = ['content-length', 'transfer-encoding'].some((name) => name in (request.headers ?? {}));
  return { bytes, complete: !framedBySender };
}

const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/;

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
  t.diagnostic(`LARIMAR_SEED=${seed}`);
  const kept = queueClient(server, KEPT);
  await kept.create();
  for (let index = 0; index < KEPT_COUNT; index++) await kept.sendMessage(`kept ${index}`, { messageTimeToLive: -1 });
  const endMs = performance.now() + RUN_SECONDS * 1000;
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  const lane = async (number: number): Promise<void> => {
    // A generator to each lane: what a lane sends does not hang on how quickly the others are answered.
    const random = new Random(seed + number);
    const known = new Known();
    for (let sent = 0; sent < REQUESTS_MAX / LANES && performance.now() < endMs && faults.length < 5; sent++) {
      const { bytes, complete } = bytesOf(random, randomRequest(random, known));
      const quietMs = complete ? ANSWER_LIMIT_MS : INCOMPLETE_LIMIT_MS;
      const received = (await sendBytes(server.queueUrl, bytes, { quietMs })).replace(CONTINUE, '');
      known.note(received);
      const status = firstStatus(received);
      counts[status] = (counts[status] ?? 0) + 1;
      const shown = `${bytes.toString('latin1').slice(0, 1_500)}\n=> ${received.slice(0, 700)}`;
      if (status >= 500 && status !== 501) faults.push(shown);
      if (status === 0 && complete) faults.push(`${shown}no answer`);
      if (status > 0 && complete && !/\r\nx-ms-request-id: \S+\r\n/i.test(received))
        faults.push(`${shown}\nwithout an id`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));

  t.diagnostic(`answers by status: ${JSON.stringify(counts)}`);
  assert.deepEqual(faults, []);
  for (const status of [200, 201, 204, 400, 403, 404, 405, 413]) {
    assert.ok((counts[status] ?? 0) > 0, `some answers are ${status}`);
  }
  // Beyond every timeout that a Get may have set.
  server.clock.advance({ seconds: WEEK_SECONDS });
  const texts = (await drained(kept)).map(({ messageText }) => messageText).filter((text) => text?.startsWith('kept '));
  const wanted = Array.from({ length: KEPT_COUNT }, (_, index) => `kept ${index}`);
  assert.deepEqual(texts.sort(), wanted.sort());
});
