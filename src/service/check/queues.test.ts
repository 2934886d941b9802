import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, TestQueue } from '../../../test/harness/test-queue.ts';
import { compareBytes } from '../../base/bytes.ts';
import type { Entry } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { type CheckReport, checkStore } from '../check.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { decodeMessage, encodeMessage, messageIdOf } from '../records/message-record.ts';
import { contentOf, countKey, placeKey, placeOf, queueKey, textKey } from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';

const UNUSED_ID = '0123456789abcdef01234567';
const OTHER_MESSAGE_ID = '01234567-89ab-8def-8123-456789abcdef';

/** Three messages in a queue, visible, hidden and got; an empty queue. */
async function queueStore(): Promise<TestStore> {
  const store = await TestStore.open();
  const queue = await TestQueue.create(store, 'queue');
  await TestQueue.create(store, 'empty');
  await queue.put('got');
  await queue.get();
  await queue.put('visible');
  await queue.put('hidden', { hiddenSeconds: 100 });
  await store.close();
  return store;
}

const check = ({ engine, content }: TestStore): Promise<CheckReport> =>
  checkStore({ engine, content, afterCrash: false });

const put = (store: TestStore, key: Uint8Array, value: Uint8Array) =>
  store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
const remove = (store: TestStore, key: Uint8Array) => store.engine.commit({ checks: [], puts: [], deletes: [key] });

const inTable = async (store: TestStore, letter: string): Promise<Entry[]> =>
  (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));
const firstIn = async (store: TestStore, letter: string): Promise<Entry> => (await inTable(store, letter))[0] as Entry;

const recordOf = async (store: TestStore, queue: string): Promise<QueueRecord> => {
  const entries = await inTable(store, 'q');
  const found = entries.find(({ key }) => compareBytes(key, queueKey(ACCOUNT, queue)) === 0) as Entry;
  return decodeJson<QueueRecord>(found.value);
};
const contentIn = async (store: TestStore, queue = 'queue') => ({
  account: ACCOUNT,
  contentId: (await recordOf(store, queue)).contentId,
});

const idOf = (last: number): string => `00000000-0000-8000-8000-00000000000${last}`;

/** The same message at another place. */
async function doublePlace(store: TestStore): Promise<void> {
  const { key, value } = await firstIn(store, 'v');
  const { visibleMs, tick } = placeOf(key);
  await put(store, placeKey(contentOf(key), { visibleMs: visibleMs + 1, tick }), value);
}

const orphanText = async (store: TestStore): Promise<unknown> =>
  put(store, textKey(await contentIn(store), OTHER_MESSAGE_ID), Buffer.from('text'));

type Fault = readonly [what: string, plant: (store: TestStore) => Promise<unknown>, finding: RegExp];

describe('of queues a check finds', () => {
  const rows: readonly Fault[] = [
    [
      'a queue that cannot be read',
      (store) => put(store, queueKey(ACCOUNT, 'empty'), Buffer.from('\u0009{}')),
      /^record q qaccount1\.empty cannot be read: unknown record format 9/,
    ],
    [
      'a queue of an impossible name',
      async (store) => {
        const record = await recordOf(store, 'empty');
        await put(store, queueKey(ACCOUNT, 'A_b'), encodeJson({ ...record, contentId: UNUSED_ID }));
      },
      /^"A_b" is not a valid queue name/,
    ],
    [
      'a queue under a key without an account',
      async (store) => {
        const record = await recordOf(store, 'empty');
        await put(store, Buffer.from('queue-x'), encodeJson({ ...record, contentId: UNUSED_ID }));
      },
      /^"queue-x" is not a valid queue name/,
    ],
    [
      'two queues of one content',
      async (store) => put(store, queueKey(ACCOUNT, 'twin'), encodeJson(await recordOf(store, 'empty'))),
      /^queue twin shares its content with another queue/,
    ],
    [
      'a queue whose content awaits the sweeper',
      async (store) => {
        const { contentId: id } = await recordOf(store, 'empty');
        const garbage = encodeJson({ kind: 'messages', account: ACCOUNT, id });
        await put(store, Buffer.concat([Buffer.from('G'), Buffer.from(UNUSED_ID, 'hex')]), garbage);
      },
      /^queue empty exists, but its content is to be swept/,
    ],
    [
      'messages of a queue that is missing',
      (store) => remove(store, queueKey(ACCOUNT, 'queue')),
      /^3 messages, 3 texts and \d counts under [0-9a-f]{24} of account1 belong to no queue/,
    ],
    [
      'a message of a queue in another account',
      async (store) => {
        const { key, value } = await firstIn(store, 'v');
        await put(store, placeKey({ ...contentOf(key), account: 'account2' }, placeOf(key)), value);
      },
      /^1 messages, 0 texts and 0 counts under [0-9a-f]{24} of account2 belong to no queue/,
    ],
    [
      'a text of no queue',
      (store) => put(store, textKey({ account: ACCOUNT, contentId: UNUSED_ID }, OTHER_MESSAGE_ID), Buffer.alloc(0)),
      /^0 messages, 1 texts and 0 counts under 0123456789abcdef01234567 of account1 belong to no queue/,
    ],
    [
      'a count of no queue',
      (store) => put(store, countKey({ account: ACCOUNT, contentId: UNUSED_ID }, 1), Buffer.alloc(6)),
      /^0 messages, 0 texts and 1 counts under 0123456789abcdef01234567 of account1 belong to no queue/,
    ],
    [
      'a message of another format',
      async (store) => {
        const { key, value } = await firstIn(store, 'v');
        await put(store, key, Uint8Array.of(2, ...value.subarray(1)));
      },
      /^record v vaccount1\.\S+ cannot be read: unknown message format 2/,
    ],
    [
      'a message that was cut off',
      async (store) => {
        const { key, value } = await firstIn(store, 'v');
        await put(store, key, value.subarray(0, value.length - 1));
      },
      /^record v vaccount1\.\S+ cannot be read: unknown message format 1 of 32 bytes/,
    ],
    [
      'a message at a place of too many bytes',
      async (store) => {
        const { key, value } = await firstIn(store, 'v');
        await put(store, Uint8Array.of(...key, 0), value);
      },
      /^message \S+ has an invalid place in its queue/,
    ],
    [
      'a text under a key of too many bytes',
      async (store) => {
        const { key, value } = await firstIn(store, 'm');
        await put(store, Uint8Array.of(...key, 0), value);
      },
      /^a message text has an invalid key/,
    ],
    [
      'a count under a key of too many bytes',
      async (store) => {
        const { key, value } = await firstIn(store, 'n');
        await put(store, Uint8Array.of(...key, 0), value);
      },
      /^a message count has an invalid key/,
    ],
    [
      'a message without a text',
      async (store) => remove(store, (await firstIn(store, 'm')).key),
      /^message [0-9a-f-]{36} of queue queue has no text/,
    ],
    ['a text without a place', orphanText, /^queue queue has 3 message places, but 4 message texts/],
    [
      'a text whose place is gone',
      async (store) => remove(store, (await firstIn(store, 'v')).key),
      /^queue queue has 2 message places, but 3 message texts/,
    ],
    ['a message at two places', doublePlace, /^queue queue has 4 message places, but 3 message texts/],
    [
      'a message at two places beside a text without one',
      async (store) => {
        await doublePlace(store);
        await orphanText(store);
      },
      /^queue queue has 4 message places and as many message texts, but of other messages/,
    ],
    [
      'messages at one place too many each beside texts without any, whose ids add up to the same',
      async (store) => {
        const content = await contentIn(store);
        const { key, value } = await firstIn(store, 'v');
        const message = decodeMessage(value);
        const at = placeOf(key);
        for (const last of [1, 4]) {
          for (const offMs of [last, last + 10]) {
            const place = placeKey(content, { ...at, visibleMs: at.visibleMs + offMs });
            await put(store, place, encodeMessage({ ...message, messageId: idOf(last) }));
          }
        }
        for (const last of [1, 2, 3, 4]) await put(store, textKey(content, idOf(last)), Buffer.alloc(0));
      },
      /^queue queue has 7 message places and as many message texts, but of other messages/,
    ],
    [
      'a count too high',
      async (store) => {
        const shards = await inTable(store, 'n');
        const used = new Set(shards.map(({ key }) => key.at(-1)));
        const free = used.has(7) ? 8 : 7;
        await put(store, countKey(await contentIn(store), free), Buffer.from([0, 0, 0, 0, 0, 2]));
      },
      /^the message count of queue queue is 5, but it has 3 messages/,
    ],
    [
      'a count below zero',
      async (store) => put(store, countKey(await contentIn(store, 'empty'), 7), Buffer.from('ffffffffffff', 'hex')),
      /^the message count of queue empty is -1, but it has 0 messages/,
    ],
    [
      'a count that is gone',
      async (store) => {
        for (const { key } of await inTable(store, 'n')) await remove(store, key);
      },
      /^the message count of queue queue is 0, but it has 3 messages/,
    ],
    [
      'a count that cannot be read',
      async (store) => put(store, (await firstIn(store, 'n')).key, Buffer.alloc(2)),
      /^record n naccount1\.\S+ cannot be read/,
    ],
    [
      'records between those of queues',
      (store) => put(store, Buffer.from('r'), Buffer.alloc(0)),
      /^record r belongs to no table/,
    ],
  ];

  for (const [what, plant, finding] of rows) {
    test(what, async () => {
      const store = await queueStore();
      await plant(store);
      const { findings } = await check(store);
      assert.ok(
        findings.some((text) => finding.test(text)),
        findings.join('\n'),
      );
    });
  }
});

describe('queues are fine', () => {
  test('and counted, with messages that are visible, hidden or got', async () => {
    const { findings, queues, messages } = await check(await queueStore());
    assert.deepEqual([findings, queues, messages], [[], 2, 3]);
  });

  test('with messages that have expired, and without those that were deleted or updated', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('expired', { ttlSeconds: 1 });
    await queue.delete(holdOf(await queue.put('deleted')));
    await queue.update(holdOf(await queue.put('updated')), 10, 'new');
    store.clock.advance({ seconds: 1 });
    const { findings, messages } = await check(store);
    assert.deepEqual([findings, messages], [[], 2]);
  });

  test('while what they held awaits the sweeper, all of it or half', async () => {
    const store = await TestStore.open();
    await store.sweeper.close();
    const [cleared, deleted] = [await TestQueue.create(store, 'cleared'), await TestQueue.create(store, 'deleted')];
    for (const queue of [cleared, deleted]) await queue.putAll(numbered(5));
    await cleared.clear();
    await deleted.remove();
    await cleared.put('new');
    const whole = await check(store);
    assert.deepEqual([whole.findings, whole.queues, whole.messages, whole.awaitingSweep], [[], 1, 1, 2]);
    const { contentId } = await recordOf(store, 'cleared');
    const awaiting = (await inTable(store, 'v')).filter(({ key }) => contentOf(key).contentId !== contentId);
    for (const [index, { key }] of awaiting.entries()) if (index % 2 === 0) await remove(store, key);
    const half = await check(store);
    assert.deepEqual([half.findings, half.queues, half.messages], [[], 1, 1]);
  });

  test('by thousands, which are read in steps', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const store = await TestStore.open({ engine });
    for (const name of ['one', 'two', 'three']) await (await TestQueue.create(store, name)).putAll(numbered(1_500));
    await store.close();
    const cost = await engine.costOf(async () => {
      const { findings, messages } = await check(store);
      assert.deepEqual([findings, messages], [[], 4_500]);
    });
    assert.ok(cost.rangesAsked > 4_500 / 64, `${cost.rangesAsked}`);
    assert.equal(cost.keysAsked, 4_500, 'a text for each place');
  });
});

test('one message that lost its text is named among thousands', async () => {
  const store = await TestStore.open();
  const queue = await TestQueue.create(store);
  await queue.putAll(numbered(1_000));
  const { key, value } = (await inTable(store, 'v'))[777] as Entry;
  await remove(store, textKey(contentOf(key), messageIdOf(value)));
  const { findings } = await check(store);
  assert.deepEqual(findings, [
    `message ${messageIdOf(value)} of queue queue has no text`,
    'queue queue has 1000 message places, but 999 message texts',
  ]);
});
