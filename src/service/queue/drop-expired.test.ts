import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { MemoryCluster, settle } from '../../../test/harness/memory-cluster.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, TestQueue } from '../../../test/harness/test-queue.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { checkStore } from '../check.ts';
import { createQueue } from './create-queue.ts';
import { dropAllExpired } from './drop-expired.ts';
import { putMessage } from './put-message.ts';
import { getCountedQueue } from './use-queue.ts';

const NEVER_STOPPED = new AbortController().signal;

const recordsOf = async (store: TestStore, letters: string): Promise<number> =>
  (await store.records()).filter(([letter = '']) => letters.includes(letter)).length;

async function findingsOf(store: TestStore): Promise<readonly string[]> {
  return (await checkStore({ engine: store.engine, content: store.content, afterCrash: false })).findings;
}

describe('a walk for expired messages', () => {
  test('takes those away that have expired, to the millisecond, visible, hidden or held', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('held', { ttlSeconds: 5 });
    await queue.getOne(100);
    await queue.put('visible', { ttlSeconds: 5 });
    await queue.put('hidden', { ttlSeconds: 5, hiddenSeconds: 4 });
    await queue.put('longer', { ttlSeconds: 6 });
    await queue.put('for ever', { ttlSeconds: null });
    for (const [seconds, count] of [
      [4.999, 5],
      [0.001, 2],
      [0.999, 2],
      [0.001, 1],
      [1_000_000_000, 1],
    ] as const) {
      store.clock.advance({ seconds });
      await dropAllExpired(store.storage, NEVER_STOPPED);
      assert.equal(await queue.count(), count);
      assert.deepEqual([await recordsOf(store, 'v'), await recordsOf(store, 'm')], [count, count]);
    }
    assert.deepEqual(await queue.getTexts(32), ['for ever']);
    assert.deepEqual(await findingsOf(store), []);
  });

  test('goes over all queues of all accounts, however many messages and steps it takes', async () => {
    const store = await TestStore.open();
    const names = ['account1', 'account2'].flatMap((account) =>
      ['one', 'two', 'three'].map((queue) => ({ account, queue })),
    );
    for (const name of names) await createQueue(store.storage, name, []);
    const COUNT = 2_050;
    for (let index = 0; index < COUNT; index++) {
      const ttlSeconds = index % 10 === 0 ? 100 : 1;
      for (const name of names) await putMessage(store.storage, name, { text: '', hiddenSeconds: 0, ttlSeconds });
    }
    store.clock.advance({ seconds: 1 });
    await dropAllExpired(store.storage, NEVER_STOPPED);
    for (const name of names) {
      assert.equal((await getCountedQueue(store.storage, name)).messageCount, Math.ceil(COUNT / 10));
    }
    assert.equal(await recordsOf(store, 'v'), names.length * Math.ceil(COUNT / 10));
    assert.deepEqual(await findingsOf(store), []);
  });

  test('drops a thousand with a commit, and writes nothing where nothing has expired', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const store = await TestStore.open({ engine });
    await store.sweeper.close();
    const queue = await TestQueue.create(store);
    await queue.putAll(numbered(2_500), { ttlSeconds: 1 });
    const before = await engine.costOf(() => dropAllExpired(store.storage, NEVER_STOPPED));
    assert.deepEqual([before.commits, before.entriesRead], [0, 2_500]);
    store.clock.advance({ seconds: 1 });
    const { commits, deletes } = await engine.costOf(() => dropAllExpired(store.storage, NEVER_STOPPED));
    assert.deepEqual([commits, deletes], [3, 2 * 2_500]);
  });

  test('ends early when it is told to', async () => {
    const engine = openMemoryEngine();
    const hooks = new Hooks();
    const store = await TestStore.open({ engine: hookEngine(engine, hooks) });
    const queue = await TestQueue.create(store);
    await queue.putAll(numbered(3_000), { ttlSeconds: 1 });
    store.clock.advance({ seconds: 1 });
    const stop = new AbortController();
    hooks.before = ({ what }) => (what === 'committed' ? stop.abort() : undefined);
    await dropAllExpired(store.storage, stop.signal);
    hooks.clear();
    assert.equal(await queue.count(), 2_000);
    await dropAllExpired(store.storage, stop.signal);
    assert.equal(await queue.count(), 2_000, 'nothing once it is told so');
    assert.deepEqual(await findingsOf(store), []);
  });

  test('leaves a message that was updated beside it, as soon as that is done', async () => {
    const engine = openMemoryEngine();
    const hooks = new Hooks();
    const store = await TestStore.open({ engine: hookEngine(engine, hooks) });
    const queue = await TestQueue.create(store);
    const beside = new TestQueue({ storage: { ...store.storage, engine } });
    const hold = holdOf(await queue.put('text', { ttlSeconds: 10 }));
    store.clock.advance({ seconds: 10 });
    hooks.before = async ({ what }) => {
      if (what !== 'get') return;
      hooks.clear();
      // By a node whose clock is behind.
      store.clock.advance({ seconds: -1 });
      await beside.update(hold, 0);
    };
    await dropAllExpired(store.storage, NEVER_STOPPED);
    assert.deepEqual(await queue.peek(), ['text']);
    assert.equal(await queue.count(), 1);
  });

  for (const [what, empty] of [
    ['cleared', (queue) => queue.clear()],
    ['deleted', (queue) => queue.remove()],
  ] as const satisfies readonly (readonly [string, (queue: TestQueue) => Promise<void>])[]) {
    test(`does no harm to what was ${what} and awaits the sweeper, before it and beside it`, async () => {
      const store = await TestStore.open();
      const queue = await TestQueue.create(store);
      await store.sweeper.close();
      for (let index = 0; index < 700; index++) await queue.put('', { ttlSeconds: index % 2 === 0 ? 1 : 100 });
      store.clock.advance({ seconds: 1 });
      await empty(queue);
      await dropAllExpired(store.storage, NEVER_STOPPED);
      assert.equal(await recordsOf(store, 'v'), 350);
      assert.deepEqual(await findingsOf(store), []);
      store.clock.advance({ seconds: 100 });
      await store.reopen();
      await Promise.all([
        store.sweeper.sweep(),
        dropAllExpired(store.storage, NEVER_STOPPED),
        dropAllExpired(store.storage, NEVER_STOPPED),
      ]);
      await store.sweep();
      assert.equal(await recordsOf(store, 'mnv'), 0);
      assert.deepEqual(await findingsOf(store), []);
      assert.deepEqual(store.errors, []);
    });
  }

  test('by two nodes at once counts each message once', async () => {
    const cluster = new MemoryCluster();
    const [one, other] = [await cluster.join(), await cluster.join()];
    const queue = await TestQueue.create(one.store);
    await queue.putAll(numbered(2_500), { ttlSeconds: 1 });
    await queue.put('live');
    cluster.clock.advance({ seconds: 1 });
    const got = new TestQueue(other.store).getTexts(32);
    await Promise.all([one, other].map(({ store }) => dropAllExpired(store.storage, NEVER_STOPPED)));
    assert.deepEqual(await got, ['live']);
    assert.equal(await queue.count(), 1);
    assert.deepEqual(await findingsOf(one.store), []);
    for (const { store } of [one, other]) await store.close();
  });
});

/** A beat does not wait for the walk; over an engine in memory that takes no time but turns. */
async function walked(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await nextTurn();
}

describe('the leader', () => {
  test('walks every minute', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('a', { ttlSeconds: 1 });
    await queue.put('b', { ttlSeconds: 61 });
    for (const [seconds, count] of [
      [59.999, 2],
      [0.001, 1],
      [1, 1],
      [58.999, 1],
      [0.001, 0],
    ] as const) {
      store.clock.advance({ seconds });
      await store.beat();
      await walked();
      assert.equal(await queue.count(), count);
    }
    await store.close();
    assert.deepEqual(store.errors, []);
  });

  test('walks for the messages of all nodes, and whoever leads after it does', async () => {
    const cluster = new MemoryCluster();
    const nodes = [await cluster.join(), await cluster.join()] as const;
    const queue = await TestQueue.create(nodes[1].store);
    await settle(nodes);
    const [leader, other] = (await cluster.leader()) === nodes[0].store.nodes.id ? nodes : nodes.toReversed();
    assert.ok(leader !== undefined && other !== undefined);
    const minute = async (): Promise<void> => {
      cluster.clock.advance({ seconds: 60 });
      for (const { store } of nodes) if (store !== leader.store || !leader.isDead) await store.beat();
      await walked();
    };
    await queue.put('a', { ttlSeconds: 1 });
    await minute();
    assert.equal(await new TestQueue(other.store).count(), 0);
    await cluster.kill(leader);
    const left = new TestQueue(other.store);
    await left.put('b', { ttlSeconds: 1 });
    // It finds out that it leads, and a minute counts from then.
    await minute();
    assert.equal(await left.count(), 1);
    await minute();
    assert.equal(await left.count(), 0);
    await other.store.close();
    assert.deepEqual(other.store.errors, []);
  });

  test('reports a walk that fails, and walks again a minute later', async () => {
    const hooks = new Hooks();
    const store = await TestStore.open({ engine: hookEngine(openMemoryEngine(), hooks) });
    const queue = await TestQueue.create(store);
    await queue.put('a', { ttlSeconds: 1 });
    hooks.before = ({ what, ...call }) => {
      if (what === 'range' && 'from' in call && call.from[0] === 'v'.charCodeAt(0)) throw new EngineUnavailable('away');
    };
    const minute = async (): Promise<void> => {
      store.clock.advance({ seconds: 60 });
      await store.beat();
      await walked();
    };
    await minute();
    assert.equal(store.errors.length, 1);
    hooks.clear();
    await minute();
    assert.equal(await queue.count(), 0);
    assert.equal(store.errors.length, 1);
    await store.close();
  });
});

test('nothing is walked where there are no queues', async () => {
  const store = await TestStore.open();
  await createQueue(store.storage, { account: ACCOUNT, queue: 'empty' }, []);
  await dropAllExpired(store.storage, NEVER_STOPPED);
  assert.equal(await recordsOf(store, 'q'), 1);
});
