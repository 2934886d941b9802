import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tally, together } from '../../../test/harness/parallel.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, refusedAs, TestQueue } from '../../../test/harness/test-queue.ts';
import type { Metadata } from '../../rules/names.ts';
import { createQueue } from './create-queue.ts';
import { getCountedQueue, getQueue, lookUpQueue, setQueueAcl, setQueueMetadata } from './use-queue.ts';

const NAME = { account: ACCOUNT, queue: 'queue' };
const BLUE: Metadata = [['colour', 'blue']];
const RED: Metadata = [['colour', 'red']];

/** More than one step of the sweeper. */
const COUNT = 300;

/** Nothing is swept but when the test says so. */
async function openUnswept(): Promise<TestStore> {
  const store = await TestStore.open();
  await store.sweeper.close();
  return store;
}

const recordsOf = async (store: TestStore, letters: string): Promise<number> =>
  (await store.records()).filter(([letter = '']) => letters.includes(letter)).length;

describe('a queue', () => {
  test('is created once; once more with the same metadata does nothing', async () => {
    const { storage } = await TestStore.open();
    assert.equal(await createQueue(storage, NAME, BLUE), true);
    assert.equal(await createQueue(storage, NAME, BLUE), false);
    assert.equal(await createQueue(storage, NAME, [['COLOUR', 'blue']]), false);
    assert.deepEqual((await getQueue(storage, NAME)).metadata, BLUE);
  });

  for (const metadata of [RED, [], [...BLUE, ['size', '1']]] as const) {
    test(`is not created again with the metadata ${JSON.stringify(metadata)}`, async () => {
      const { storage } = await TestStore.open();
      await createQueue(storage, NAME, BLUE);
      await assert.rejects(createQueue(storage, NAME, metadata), refusedAs('QueueAlreadyExists'));
      assert.deepEqual((await getQueue(storage, NAME)).metadata, BLUE);
    });
  }

  test('is created by exactly one of many who try at once', async () => {
    const { storage } = await TestStore.open();
    const results = await together(20, () => createQueue(storage, NAME, BLUE));
    const outcomes = results.map((result) => (result.status === 'fulfilled' ? String(result.value) : 'refused'));
    assert.deepEqual(tally(outcomes), { true: 1, false: 19 });
  });

  test('is of one account', async () => {
    const { storage } = await TestStore.open();
    const other = { ...NAME, account: 'account2' };
    await createQueue(storage, NAME, []);
    assert.equal(await lookUpQueue(storage, other), null);
    await createQueue(storage, other, RED);
    assert.deepEqual((await getQueue(storage, NAME)).metadata, []);
  });

  test('keeps its messages and policies when its metadata is replaced, and its metadata when its policies are', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('text');
    const policies = [{ id: 'a', permission: 'r' }];
    await setQueueAcl(store.storage, NAME, policies);
    await setQueueMetadata(store.storage, NAME, RED);
    await setQueueMetadata(store.storage, NAME, BLUE);
    const { queue: record, messageCount } = await getCountedQueue(store.storage, NAME);
    assert.deepEqual([record.metadata, record.policies, messageCount], [BLUE, policies, 1]);
    assert.deepEqual(await queue.getTexts(), ['text']);
  });
});

describe('a queue that is not there', () => {
  const hold = { messageId: 'aaaaaaaa-0000-8000-8000-000000000001', place: { visibleMs: 1, tick: '0'.repeat(24) } };
  for (const [what, act] of [
    ['put', (queue) => queue.put('text')],
    ['get', (queue) => queue.get()],
    ['peek', (queue) => queue.peek()],
    ['update', (queue) => queue.update(hold)],
    ['delete', (queue) => queue.delete(hold)],
    ['clear', (queue) => queue.clear()],
    ['remove', (queue) => queue.remove()],
    ['count', (queue) => queue.count()],
  ] as const satisfies readonly (readonly [string, (queue: TestQueue) => Promise<unknown>])[]) {
    test(`is not found by ${what}, before it is created and after it is deleted`, async () => {
      const store = await openUnswept();
      const queue = new TestQueue(store);
      await assert.rejects(act(queue), refusedAs('QueueNotFound'));
      await queue.create();
      await queue.put('text');
      await queue.remove();
      await assert.rejects(act(queue), refusedAs('QueueNotFound'));
    });
  }
});

for (const [what, empty] of [
  ['cleared', (queue) => queue.clear()],
  ['deleted and created anew', (queue) => queue.remove().then(() => queue.create())],
] as const satisfies readonly (readonly [string, (queue: TestQueue) => Promise<unknown>])[]) {
  describe(`a queue that was ${what}`, () => {
    test('holds nothing of what it held, visible, hidden or got by somebody, also before the sweeper comes', async () => {
      const store = await openUnswept();
      const queue = await TestQueue.create(store);
      for (let round = 0; round < 3; round++) {
        await queue.putAll(numbered(COUNT));
        const put = await queue.put('hidden', { hiddenSeconds: 5 });
        const got = await queue.getOne(5);
        assert.equal(await queue.count(), COUNT + 1);
        await empty(queue);
        assert.deepEqual([await queue.count(), await queue.get(32), await queue.peek()], [0, [], []]);
        for (const message of [put, got]) {
          await assert.rejects(queue.delete(holdOf(message)), refusedAs('MessageNotFound'));
          await assert.rejects(queue.update(holdOf(message)), refusedAs('MessageNotFound'));
        }
        store.clock.advance({ seconds: 10 });
        assert.deepEqual(await queue.get(32), []);
      }
      assert.equal(await recordsOf(store, 'v'), 3 * (COUNT + 1));
    });

    test('is swept of all that, and of nothing beside it', async () => {
      const store = await openUnswept();
      const queues = await Promise.all(['first', 'queue', 'third'].map((name) => TestQueue.create(store, name)));
      for (const queue of queues) await queue.putAll(numbered(COUNT));
      const queue = queues[1] as TestQueue;
      await empty(queue);
      await queue.putAll(['new']);
      await store.reopen();
      await store.sweep();
      assert.equal(await recordsOf(store, 'v'), 2 * COUNT + 1);
      assert.equal(await recordsOf(store, 'm'), 2 * COUNT + 1);
      assert.deepEqual(await Promise.all(queues.map((one) => one.count())), [COUNT, 1, COUNT]);
      assert.deepEqual(await queue.getTexts(32), ['new']);
      assert.deepEqual(await store.garbage(), []);
      assert.deepEqual(store.errors, []);
    });
  });
}

test('a deleted queue leaves no record behind', async () => {
  const store = await TestStore.open();
  const queue = await TestQueue.create(store);
  await queue.putAll(numbered(COUNT));
  await queue.remove();
  await store.sweep();
  assert.deepEqual(await store.records(), []);
});

test('a cleared queue keeps its metadata and policies, one that is created anew does not', async () => {
  const store = await TestStore.open();
  const { storage } = store;
  await createQueue(storage, NAME, BLUE);
  await setQueueAcl(storage, NAME, [{ id: 'a', permission: 'r' }]);
  const queue = new TestQueue(store);
  await queue.clear();
  const cleared = await getQueue(storage, NAME);
  assert.deepEqual([cleared.metadata, cleared.policies.length], [BLUE, 1]);
  await queue.remove();
  await createQueue(storage, NAME, RED);
  const created = await getQueue(storage, NAME);
  assert.deepEqual([created.metadata, created.policies.length], [RED, 0]);
});
