/**
 * Races about a whole queue: it is created, cleared, deleted and described anew while others put, get and delete its
 * messages. What is left at the end is held against what was acknowledged, and when. Orders are drawn from a seed
 * (LARIMAR_SEED replays it).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { QueueClient } from '@azure/storage-queue';
import { outcome, outcomes } from '../harness/clients.ts';
import { successes, tally, together, turns } from '../harness/parallel.ts';
import { freshQueue, queueClient } from '../harness/queue-clients.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import {
  CLIENTS,
  clientsOf,
  countOf,
  drain,
  GONE,
  type Got,
  Journal,
  NO_QUEUE,
  numbered,
  putAll,
  raceOn,
  remove,
  textsOf,
} from './racing.ts';

const server = await startServerProcess();
after(() => server.stop());
const race = raceOn(server);
const random = new Random();

/** When a request was under way. */
interface Span {
  readonly sentMs: number;
  readonly answeredMs: number;
}

interface Sent extends Span {
  readonly answer: string;
}

async function timed(request: () => Promise<unknown>): Promise<Sent> {
  const sentMs = performance.now();
  const answer = await outcome(request());
  return { sentMs, answer, answeredMs: performance.now() };
}

const isBefore = (one: Span, other: Span): boolean => one.answeredMs < other.sentMs;

/** What clients did with a queue, by the text of the message. */
class Deeds {
  readonly puts = new Map<string, Sent>();
  readonly gets = new Map<string, Sent>();
  readonly deletes = new Map<string, Sent>();
  readonly journal = new Journal();

  async put(client: QueueClient, text: string): Promise<void> {
    this.puts.set(text, await timed(() => client.sendMessage(text)));
  }

  async getAndDelete(client: QueueClient, count: number): Promise<string> {
    let messages: Got[] = [];
    const sent = await timed(async () => {
      messages = await this.journal.get(client, { count });
    });
    for (const { messageText } of messages) this.gets.set(messageText, sent);
    for (const message of messages) {
      this.deletes.set(message.messageText, await timed(() => remove(client, message)));
    }
    return sent.answer;
  }
}

const answersIn = (sent: ReadonlyMap<string, Sent>): Record<string, number> =>
  tally([...sent.values()].map(({ answer }) => answer));

interface Upheaval {
  readonly name: string;
  readonly act: (client: QueueClient) => Promise<unknown>;
  /** What puts and gets beside it may be answered with. */
  readonly answers: readonly string[];
}

const UPHEAVALS: readonly Upheaval[] = [
  { name: 'Clear Messages', act: (client) => client.clearMessages(), answers: ['ok'] },
  {
    name: 'Delete Queue and Create Queue',
    async act(client) {
      await client.delete();
      await client.create();
    },
    answers: ['ok', NO_QUEUE],
  },
];

for (const { name, act, answers } of UPHEAVALS) {
  test(`beside ${name} nothing of before survives, and nothing of afterwards is lost or handed out twice`, async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    for (let round = 0; round < 8; round++) {
      const queue = await freshQueue(server);
      const deeds = new Deeds();
      const earlier = numbered(80, 'earlier');
      await Promise.all(earlier.map((text) => deeds.put(queue, text)));
      const waits = Array.from({ length: CLIENTS }, () => random.below(60));
      const gets: string[] = [];
      const upheaval = { sentMs: 0, answeredMs: 0 };
      const results = await race(queue, async (client, index) => {
        await turns(waits[index] as number);
        if (index === 0) Object.assign(upheaval, await timed(() => act(client)));
        else if (index % 2 === 0) for (const text of numbered(6, `${index}`)) await deeds.put(client, text);
        else for (let turn = 0; turn < 6; turn++) gets.push(await deeds.getAndDelete(client, 1 + random.below(4)));
      });
      successes(results);
      for (const answer of gets) assert.ok(answers.includes(answer), `a get: ${answer}`);
      const left = new Set(textsOf(await drain(queue)));
      for (const text of earlier) assert.equal(left.has(text), false, `${text} was there before and still is`);
      for (const [text, put] of deeds.puts) {
        assert.ok(answers.includes(put.answer), `a put: ${put.answer}`);
        const removed = deeds.deletes.get(text);
        const isRemoved = removed?.answer === 'ok';
        assert.ok(!(left.has(text) && isRemoved), `${text} was deleted and is there`);
        if (put.answer !== 'ok')
          assert.ok(!left.has(text) && !deeds.gets.has(text), `${text} was refused and is there`);
        else if (isBefore(put, upheaval)) assert.equal(left.has(text), false, `${text} outlived its queue`);
        else if (isBefore(upheaval, put)) assert.ok(left.has(text) || isRemoved, `${text} is lost`);
      }
      for (const [text, { answer, ...span }] of deeds.deletes) {
        const got = deeds.gets.get(text) as Sent;
        assert.ok([...answers, GONE].includes(answer), `a delete: ${answer}`);
        if (isBefore(got, upheaval) && isBefore(upheaval, span)) assert.equal(answer, GONE, `${text} was held before`);
        if (isBefore(upheaval, got)) assert.equal(answer, 'ok', `${text} was got afterwards`);
      }
    }
  });
}

test('Set Queue Metadata beside puts, gets and deletes refuses none of them, and loses nothing', async () => {
  const queue = await freshQueue(server);
  const deeds = new Deeds();
  const results = await race(queue, async (client, index) => {
    for (const [turn, text] of numbered(10, `${index}`).entries()) {
      if (index % 3 === 0) await client.setMetadata({ writer: `${index}`, turn: `${turn}` });
      else if (index % 3 === 1) await deeds.put(client, text);
      else assert.equal(await deeds.getAndDelete(client, 2), 'ok');
    }
  });
  successes(results);
  assert.deepEqual(answersIn(deeds.puts), { ok: 80 });
  assert.deepEqual(answersIn(deeds.deletes), deeds.deletes.size === 0 ? {} : { ok: deeds.deletes.size });
  const left = textsOf(await drain(queue));
  assert.deepEqual([...left, ...deeds.deletes.keys()].sort(), [...deeds.puts.keys()].sort());
  const { metadata } = await queue.getProperties();
  assert.equal(metadata?.['turn'], '9', 'the last of somebody');
});

test('Clear Messages beside Set Queue Metadata and Set Queue ACL takes effect, and so do they', async () => {
  for (let round = 0; round < 10; round++) {
    const queue = await freshQueue(server);
    await putAll(clientsOf(server, queue, 4), numbered(12));
    const results = await race<unknown>(queue, (client, index) => {
      if (index % 3 === 0) return client.clearMessages();
      if (index % 3 === 1) return client.setMetadata({ writer: `${index}` });
      return client.setAccessPolicy([{ id: `${index}`, accessPolicy: { permissions: 'r' } }]);
    });
    assert.deepEqual(tally(outcomes(results)), { ok: CLIENTS });
    assert.equal(await countOf(queue), 0);
    assert.deepEqual(await drain(queue), []);
    assert.equal(Number((await queue.getProperties()).metadata?.['writer']) % 3, 1);
    const { signedIdentifiers } = await queue.getAccessPolicy();
    assert.deepEqual(
      signedIdentifiers.map(({ id }) => Number(id) % 3),
      [2],
    );
  }
});

/** The status of the answer, and the code of a refusal. */
const create = async (name: string, metadata: Record<string, string>): Promise<string> => {
  let status = 0;
  const creating = queueClient(server, name).create({ metadata });
  const answer = await outcome(creating.then(({ _response }) => void (status = _response.status)));
  return answer === 'ok' ? String(status) : answer;
};

test('of 24 that create one queue one is told that it did; others that there is one, or another than they want', async () => {
  for (let round = 0; round < 5; round++) {
    const same = `race-${randomUUID()}`;
    const alike = successes(await together(CLIENTS, () => create(same, { colour: 'red' })));
    assert.deepEqual(tally(alike), { '201': 1, '204': CLIENTS - 1 });
    const other = `race-${randomUUID()}`;
    const half = successes(await together(CLIENTS, (index) => create(other, { parity: `${index % 2}` })));
    assert.deepEqual(tally(half), { '201': 1, '204': CLIENTS / 2 - 1, '409 QueueAlreadyExists': CLIENTS / 2 });
    const winner = half.indexOf('201') % 2;
    assert.deepEqual((await queueClient(server, other).getProperties()).metadata, { parity: `${winner}` });
    for (const [index, status] of half.entries())
      assert.equal(status === '409 QueueAlreadyExists', index % 2 !== winner);
  }
});

test('a queue that is deleted and created again and again is empty each time, whatever was put meanwhile', async () => {
  const queue = await freshQueue(server);
  const putters = clientsOf(server, queue, CLIENTS);
  for (let life = 0; life < 10; life++) {
    const putting = together(CLIENTS, (index) => (putters[index] as QueueClient).sendMessage(`life-${life}`));
    await queue.delete();
    for (const answer of outcomes(await putting)) assert.ok(['ok', NO_QUEUE].includes(answer), answer);
    await queue.create();
    assert.equal(await countOf(queue), 0);
    assert.deepEqual((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems, []);
    assert.deepEqual(await drain(queue), []);
  }
});
