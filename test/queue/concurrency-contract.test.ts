/**
 * The concurrency contract of queues, sentence by sentence (C22 to C24), driven by the official client against a running
 * server whose clock the test moves.
 */
// engines: both in quick
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { QueueClient } from '@azure/storage-queue';
import { outcomes, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { successes, tally, together, winnerOf } from '../harness/parallel.ts';
import { freshQueue, queueClient, queueService } from '../harness/queue-clients.ts';
import { CLIENTS, countOf, GONE, type Got, get, getOne, type Held, numbered, remove, textsOf } from './racing.ts';

const server = await startInProcess();
const { clock } = server;

const TIMEOUT_SECONDS = 30;
/** The shortest span that is told from none. */
const MOMENT_SECONDS = 0.001;

async function filledQueue(...texts: readonly string[]): Promise<QueueClient> {
  const queue = await freshQueue(server);
  for (const text of texts) await queue.sendMessage(text);
  return queue;
}

const peek = async (queue: QueueClient): Promise<string[]> =>
  textsOf((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems);

/** In answers times have whole seconds. */
const secondOf = (ms: number): number => Math.floor(ms / 1000) * 1000;

describe('a received message', () => {
  test('C22 carries a pop receipt, and is not deleted', async () => {
    const queue = await filledQueue('one');
    const got = await getOne(queue, { seconds: TIMEOUT_SECONDS });
    assert.equal(got.messageText, 'one');
    assert.equal(got.dequeueCount, 1);
    assert.notEqual(got.popReceipt, '');
    assert.equal(await countOf(queue), 1, 'it is there');
    await remove(queue, got);
    assert.equal(await countOf(queue), 0);
  });

  test('C22 has a receipt of its own, among others of one answer and each time that it is received', async () => {
    const queue = await filledQueue(...numbered(5));
    const receipts: string[] = [];
    for (let delivery = 1; delivery <= 3; delivery++) {
      const got = await get(queue, { count: 32, seconds: TIMEOUT_SECONDS });
      assert.deepEqual(textsOf(got).sort(), numbered(5));
      for (const { dequeueCount } of got) assert.equal(dequeueCount, delivery);
      receipts.push(...got.map(({ popReceipt }) => popReceipt));
      clock.advance({ seconds: TIMEOUT_SECONDS });
    }
    assert.equal(new Set(receipts).size, 15);
  });

  for (const seconds of [1, TIMEOUT_SECONDS, 7 * 24 * 3600 - 1]) {
    test(`C22 is hidden from other consumers for its timeout of ${seconds} s, and not a moment longer`, async () => {
      const queue = await filledQueue('one');
      const other = queueClient(server, queue.name);
      await getOne(queue, { seconds });
      for (const pass of [0, seconds - MOMENT_SECONDS]) {
        clock.advance({ seconds: pass });
        assert.deepEqual(await get(other), []);
        assert.deepEqual(await peek(other), []);
        assert.equal(await countOf(other), 1);
      }
      clock.advance({ seconds: MOMENT_SECONDS });
      assert.deepEqual(await peek(other), ['one']);
      assert.deepEqual(textsOf(await get(other)), ['one']);
    });
  }

  test('C22 is hidden for 30 seconds where the consumer names no timeout', async () => {
    const queue = await filledQueue('one');
    const { receivedMessageItems } = await queue.receiveMessages();
    assert.equal(receivedMessageItems[0]?.nextVisibleOn.getTime(), secondOf(clock.nowMs() + 30_000));
    clock.advance({ seconds: 30 - MOMENT_SECONDS });
    assert.deepEqual(await get(queue), []);
    clock.advance({ seconds: MOMENT_SECONDS });
    assert.deepEqual(textsOf(await get(queue)), ['one']);
  });

  test('C22 tells in TimeNextVisible the time of the get plus the timeout', async () => {
    const queue = await filledQueue(...numbered(4));
    for (const seconds of [1, 45, 3600, 7 * 24 * 3600]) {
      clock.advance({ seconds: 0.4 });
      const { nextVisibleOn } = await getOne(queue, { seconds });
      assert.equal(nextVisibleOn.getTime(), secondOf(clock.nowMs() + seconds * 1000));
    }
  });

  test('C22 is received by one of 24 consumers who ask at once, and hides nothing else from the others', async () => {
    const queue = await filledQueue(...numbered(10));
    const results = await together(CLIENTS, () => get(queueClient(server, queue.name), { seconds: TIMEOUT_SECONDS }));
    assert.deepEqual(textsOf(successes(results).flat()).sort(), numbered(10));
    clock.advance({ seconds: TIMEOUT_SECONDS - MOMENT_SECONDS });
    const early = await together(CLIENTS, () => get(queueClient(server, queue.name)));
    assert.deepEqual(successes(early).flat(), []);
  });
});

describe('deleting', () => {
  test('C23 needs the receipt: without one it is refused, and with that of another message', async () => {
    const queue = await filledQueue('one', 'two');
    const [one, two] = (await get(queue, { count: 2, seconds: TIMEOUT_SECONDS })) as [Got, Got];
    const path = `/${queue.name}/messages/${one.messageId}`;
    const bare = await send(server.queueUrl, { method: 'DELETE', path });
    assert.match(bare.outcome, /^400 /);
    assert.equal(await refusal(remove(queue, { ...one, popReceipt: two.popReceipt })), GONE);
    assert.equal(await countOf(queue), 2);
    for (const message of [one, two]) await remove(queue, message);
    assert.equal(await countOf(queue), 0);
  });

  test('C23 takes the message away for good: its timeout brings nothing back, and a second delete gets 404', async () => {
    const queue = await filledQueue('one');
    const got = await getOne(queue, { seconds: TIMEOUT_SECONDS });
    await remove(queue, got);
    assert.equal(await refusal(remove(queue, got)), GONE);
    clock.advance({ seconds: TIMEOUT_SECONDS });
    assert.deepEqual(await get(queue), []);
    assert.deepEqual(await peek(queue), []);
  });

  test('C23 works with the receipt of a hold that ran out, as long as nobody else received the message', async () => {
    const queue = await filledQueue('one');
    const got = await getOne(queue, { seconds: TIMEOUT_SECONDS });
    clock.advance({ seconds: 10 * TIMEOUT_SECONDS });
    assert.deepEqual(await peek(queue), ['one'], 'to look at it does not matter');
    await remove(queue, got);
    assert.equal(await countOf(queue), 0);
  });

  /** All that end a receipt, each with what holds the message afterwards. */
  const ENDINGS: readonly [string, (queue: QueueClient, held: Held) => Promise<Held>][] = [
    [
      'another consumer received it after the timeout',
      (queue) => {
        clock.advance({ seconds: TIMEOUT_SECONDS });
        return getOne(queue);
      },
    ],
    [
      'its holder gave it back and received it again',
      async (queue, held) => {
        await queue.updateMessage(held.messageId, held.popReceipt, undefined, 0);
        return getOne(queue);
      },
    ],
    [
      'its holder updated it',
      async (queue, { messageId, popReceipt }) => {
        const updated = await queue.updateMessage(messageId, popReceipt, 'new', TIMEOUT_SECONDS);
        return { messageId, popReceipt: updated.popReceipt as string };
      },
    ],
  ];
  for (const [ending, end] of ENDINGS) {
    test(`C23 a receipt neither deletes nor updates the message once ${ending}`, async () => {
      const queue = await filledQueue('one');
      const old = await getOne(queue, { seconds: TIMEOUT_SECONDS });
      const current = await end(queue, old);
      assert.equal(await refusal(remove(queue, old)), GONE);
      assert.equal(await refusal(queue.updateMessage(old.messageId, old.popReceipt, 'stale', 0)), GONE);
      assert.deepEqual(await get(queue), [], 'it is as hidden as it was');
      assert.equal(await countOf(queue), 1);
      await remove(queue, current);
      assert.equal(await countOf(queue), 0);
    });
  }

  test('C23 the receipt of the put is as good as any, until the message is received', async () => {
    const queue = await freshQueue(server);
    await remove(queue, await queue.sendMessage('one'));
    assert.equal(await countOf(queue), 0);
    const put = await queue.sendMessage('two');
    const got = await getOne(queue);
    assert.equal(await refusal(remove(queue, put)), GONE);
    await remove(queue, got);
  });

  test('C23 of 24 deletes with one receipt one succeeds', async () => {
    const queue = await filledQueue('one', 'two');
    const got = await getOne(queue);
    const results = await together(CLIENTS, () => remove(queueClient(server, queue.name), got));
    assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
    assert.equal(await countOf(queue), 1);
  });
});

/** What is said of a queue, or of all queues, as a whole; `index`: whose it is. */
interface Setting {
  readonly name: string;
  readonly set: (queue: QueueClient, index: number) => Promise<unknown>;
  readonly look: (queue: QueueClient) => Promise<number>;
}

const SETTINGS: readonly Setting[] = [
  {
    name: 'Set Queue Service Properties',
    set: (_, index) =>
      queueService(server).setProperties({
        cors: [
          {
            allowedOrigins: `http://${index}.example`,
            allowedMethods: 'GET',
            allowedHeaders: '',
            exposedHeaders: '',
            maxAgeInSeconds: index,
          },
        ],
      }),
    async look() {
      const { cors = [] } = await queueService(server).getProperties();
      const [rule] = cors;
      assert.deepEqual([cors.length, rule?.allowedOrigins], [1, `http://${rule?.maxAgeInSeconds}.example`]);
      return rule?.maxAgeInSeconds as number;
    },
  },
  {
    name: 'Set Queue Metadata',
    set: (queue, index) => queueClient(server, queue.name).setMetadata({ writer: `${index}`, [`only${index}`]: 'x' }),
    async look(queue) {
      const { metadata = {} } = await queue.getProperties();
      const writer = Number(metadata['writer']);
      assert.deepEqual(metadata, { writer: `${writer}`, [`only${writer}`]: 'x' });
      return writer;
    },
  },
  {
    name: 'Set Queue ACL',
    set: (queue, index) =>
      queueClient(server, queue.name).setAccessPolicy([
        { id: `first-${index}`, accessPolicy: { permissions: 'r' } },
        { id: `second-${index}`, accessPolicy: { permissions: 'p' } },
      ]),
    async look(queue) {
      const { signedIdentifiers } = await queue.getAccessPolicy();
      const writer = Number(signedIdentifiers[0]?.id.split('-')[1]);
      const ids = signedIdentifiers.map(({ id }) => id);
      assert.deepEqual(ids, [`first-${writer}`, `second-${writer}`]);
      return writer;
    },
  },
];

describe('the last writer wins', () => {
  for (const { name, set, look } of SETTINGS) {
    test(`C24 ${name}: whatever was set before, what comes last stays`, async () => {
      const queue = await freshQueue(server);
      for (const index of [3, 1, 2]) {
        await set(queue, index);
        assert.equal(await look(queue), index);
      }
    });

    test(`C24 ${name}: of 24 at once none is refused, one of them stays whole, and who comes later wins`, async () => {
      const queue = await freshQueue(server);
      const results = await together(CLIENTS, (index) => set(queue, index + 1));
      assert.deepEqual(tally(outcomes(results)), { ok: CLIENTS });
      const stays = await look(queue);
      assert.ok(stays >= 1 && stays <= CLIENTS);
      assert.equal(await look(queue), stays);
      await set(queue, CLIENTS + 1);
      assert.equal(await look(queue), CLIENTS + 1);
    });
  }

  test('C24 Update Message: text and timeout are those of the last update', async () => {
    const queue = await filledQueue('as put');
    const { messageId, popReceipt } = await getOne(queue, { seconds: TIMEOUT_SECONDS });
    let receipt = popReceipt;
    for (const [text, seconds] of [
      ['first', 500],
      ['second', 5],
      ['third', 50],
    ] as const) {
      const updated = await queue.updateMessage(messageId, receipt, text, seconds);
      assert.equal(updated.nextVisibleOn?.getTime(), secondOf(clock.nowMs() + seconds * 1000));
      receipt = updated.popReceipt as string;
    }
    clock.advance({ seconds: 50 - MOMENT_SECONDS });
    assert.deepEqual(await get(queue), []);
    clock.advance({ seconds: MOMENT_SECONDS });
    const again = await getOne(queue);
    assert.deepEqual([again.messageId, again.messageText, again.dequeueCount], [messageId, 'third', 2]);
  });

  test('C24 Update Message: without a text the last one stays', async () => {
    const queue = await filledQueue('as put');
    const { messageId, popReceipt } = await getOne(queue);
    const updated = await queue.updateMessage(messageId, popReceipt, 'changed', TIMEOUT_SECONDS);
    await queue.updateMessage(messageId, updated.popReceipt as string, undefined, 0);
    assert.deepEqual(textsOf(await get(queue)), ['changed']);
  });

  test('C24 Update Message: the last writer is whoever holds the last receipt, so of 24 with one receipt one writes', async () => {
    const queue = await filledQueue('as put');
    const { messageId, popReceipt } = await getOne(queue);
    const results = await together(CLIENTS, (index) =>
      queueClient(server, queue.name).updateMessage(messageId, popReceipt, `by ${index}`, 0),
    );
    assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
    assert.deepEqual(textsOf(await get(queue)), [`by ${winnerOf(results)}`]);
  });
});
