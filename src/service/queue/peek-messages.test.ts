import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, TestQueue } from '../../../test/harness/test-queue.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { peekMessages } from './peek-messages.ts';

describe('a peek', () => {
  test('shows what a Get would hand out now, in its order, and changes nothing', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.putAll(numbered(5));
    const before = await store.entries();
    assert.deepEqual(await queue.peek(3), ['0', '1', '2']);
    assert.deepEqual(await queue.peek(32), numbered(5));
    assert.deepEqual(await store.entries(), before);
    assert.deepEqual(await queue.getTexts(3), ['0', '1', '2']);
  });

  test('shows neither hidden messages nor expired ones, to the millisecond', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('hidden', { hiddenSeconds: 5 });
    await queue.put('short', { ttlSeconds: 3 });
    await queue.put('long');
    for (const [seconds, texts] of [
      [0, ['short', 'long']],
      [2.999, ['short', 'long']],
      [0.001, ['long']],
      [1.999, ['long']],
      [0.001, ['long', 'hidden']],
    ] as const) {
      store.clock.advance({ seconds });
      assert.deepEqual(await queue.peek(), [...texts]);
    }
    assert.equal(await queue.count(), 3);
  });

  test('tells how often a message was handed out, and leaves its receipt as it is', async () => {
    const store = await TestStore.open();
    const queue = await TestQueue.create(store);
    await queue.put('text');
    for (let count = 0; count < 3; count++) {
      const [peeked] = await peekMessages(store.storage, queue.name, 1);
      assert.equal(peeked?.message.dequeueCount, count);
      await queue.getOne(1);
      store.clock.advance({ seconds: 1 });
    }
    const got = await queue.getOne(1);
    store.clock.advance({ seconds: 1 });
    assert.deepEqual(await queue.peek(), ['text']);
    await queue.delete(holdOf(got));
  });

  test('finds the first message that lives behind thousands that have expired', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const store = await TestStore.open({ engine });
    const queue = await TestQueue.create(store);
    await queue.putAll(numbered(3_500), { ttlSeconds: 1 });
    await queue.putAll(['a', 'b', 'c']);
    store.clock.advance({ seconds: 1 });
    await store.sweeper.close();
    const { rangesAsked } = await engine.costOf(() => queue.peek(1));
    assert.equal(rangesAsked, 5, 'a step of one, then of a thousand each');
    assert.deepEqual(await queue.peek(1), ['a']);
    assert.deepEqual(await queue.peek(2), ['a', 'b']);
    assert.deepEqual(await queue.peek(32), ['a', 'b', 'c']);
  });

  for (const count of [1, 32]) {
    test(`of ${count} reads as much where 50 wait as where 2,000 do`, async () => {
      const costs = [];
      for (const waitingCount of [50, 2_000]) {
        const engine = new CountedEngine(openMemoryEngine());
        const store = await TestStore.open({ engine });
        await store.sweeper.close();
        const queue = await TestQueue.create(store);
        await queue.putAll(Array(waitingCount).fill('text'));
        costs.push(await engine.costOf(() => queue.peek(count)));
      }
      assert.deepEqual(costs[0], costs[1]);
      assert.equal(costs[0]?.entriesRead, 1 + 2 * count);
    });
  }
});
