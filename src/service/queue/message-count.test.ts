import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MemoryCluster } from '../../../test/harness/memory-cluster.ts';
import { together } from '../../../test/harness/parallel.ts';
import { Random } from '../../../test/harness/random.ts';
import { Gate, TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, TestQueue } from '../../../test/harness/test-queue.ts';
import { CountShards } from '../count-shards.ts';
import { dropAllExpired } from './drop-expired.ts';

const NEVER_STOPPED = new AbortController().signal;

describe('the count of messages', () => {
  test('has those that are hidden, got or expired, until they are gone', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('a', { ttlSeconds: 5 });
    await queue.put('b', { hiddenSeconds: 100 });
    await queue.put('c');
    await queue.get(1);
    assert.equal(await queue.count(), 3);
    store.clock.advance({ seconds: 5 });
    assert.equal(await queue.count(), 3);
    await dropAllExpired(store.storage, NEVER_STOPPED);
    assert.equal(await queue.count(), 2);
    await queue.delete(holdOf(await queue.getOne()));
    assert.equal(await queue.count(), 1);
    await queue.clear();
    assert.equal(await queue.count(), 0);
  });

  test('is exact when more write at once than there are shards', async () => {
    const queue = await TestQueue.create(await TestStore.open());
    const puts = await together(600, (index) => queue.put(String(index)));
    assert.equal(await queue.count(), 600);
    const holds = puts.map((put) =>
      holdOf((put as PromiseFulfilledResult<Awaited<ReturnType<TestQueue['put']>>>).value),
    );
    await together(600, (index) => queue.delete(holds[index] as ReturnType<typeof holdOf>));
    assert.equal(await queue.count(), 0);
  });

  test('is exact when three nodes write the same queue', async () => {
    const cluster = new MemoryCluster();
    const nodes = await Promise.all([1, 2, 3].map(() => cluster.join()));
    const queues = nodes.map(({ store }) => new TestQueue(store));
    const queue = queues[0] as TestQueue;
    await queue.create();
    await together(300, (index) => (queues[index % 3] as TestQueue).put(String(index)));
    for (const one of queues) assert.equal(await one.count(), 300);
    await together(30, async (index) => {
      const mine = queues[index % 3] as TestQueue;
      for (const got of await mine.get(5)) await mine.delete(holdOf(got));
    });
    for (const one of queues) assert.equal(await one.count(), 150);
    for (const { store } of nodes) await store.close();
  });

  const seed = new Random().seed;

  test(`is the number of messages through whatever happens at once, LARIMAR_SEED=${seed}`, async () => {
    const random = new Random(seed);
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    for (let round = 0; round < 60; round++) {
      await together(12, async () => {
        const dice = random.next();
        const [hiddenSeconds, ttlSeconds] = [random.below(3), 3 + random.below(5)];
        if (dice < 0.5) return queue.put('text', { hiddenSeconds, ttlSeconds });
        if (dice < 0.8) {
          const got = await queue.get(1 + random.below(4), 1 + random.below(3));
          return Promise.allSettled(got.map((message) => queue.delete(holdOf(message))));
        }
        if (dice < 0.9) return dropAllExpired(store.storage, NEVER_STOPPED);
        if (dice < 0.92) return queue.clear();
        const put = await queue.put('text', { ttlSeconds: 5 });
        return queue.update(holdOf(put), 1);
      });
      const places = (await store.records()).filter((key) => key.startsWith('v'));
      const awaited = await store.garbage();
      if (awaited.length === 0) assert.equal(await queue.count(), places.length, `round ${round}`);
      else await store.sweep();
      store.clock.advance({ seconds: random.below(3) });
    }
    await store.sweep();
    const places = (await store.records()).filter((key) => key.startsWith('v'));
    assert.equal(await queue.count(), places.length);
  });
});

describe('the shards of a count', () => {
  test('are used by one change at a time, the same few again and again', async () => {
    const shards = new CountShards();
    const used = new Set<number>();
    for (let turn = 0; turn < 20; turn++) {
      const gate = new Gate();
      const inUse: number[] = [];
      const changes = Array.from({ length: 5 }, () =>
        shards.use(async (shard) => {
          inUse.push(shard);
          await gate.passed;
        }),
      );
      gate.open();
      await Promise.all(changes);
      assert.equal(new Set(inUse).size, 5);
      for (const shard of inUse) used.add(shard);
    }
    assert.equal(used.size, 5);
  });

  test('are all different until every one is in use, and then any of them', async () => {
    const shards = new CountShards();
    const gate = new Gate();
    const inUse: number[] = [];
    const changes = numbered(300).map(() =>
      shards.use(async (shard) => {
        inUse.push(shard);
        await gate.passed;
      }),
    );
    assert.equal(new Set(inUse.slice(0, 256)).size, 256);
    assert.ok(inUse.every((shard) => Number.isInteger(shard) && shard >= 0 && shard < 256));
    gate.open();
    await Promise.all(changes);
  });

  test('are free again when a change fails', async () => {
    const shards = new CountShards();
    const failed: number[] = [];
    for (let turn = 0; turn < 300; turn++) {
      const change = shards.use(async (shard) => {
        failed.push(shard);
        throw new Error('no');
      });
      await assert.rejects(change, /no/);
    }
    assert.equal(new Set(failed).size, 1);
  });
});
