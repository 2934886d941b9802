import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { MemoryCluster } from '../../../test/harness/memory-cluster.ts';
import { together } from '../../../test/harness/parallel.ts';
import { Random } from '../../../test/harness/random.ts';
import { Gate, TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, refusedAs, TestQueue } from '../../../test/harness/test-queue.ts';
import { type Engine, EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { GotMessage } from './hand-out.ts';

async function open(): Promise<{ store: TestStore; queue: TestQueue }> {
  const store = await TestStore.open();
  return { store, queue: await TestQueue.create(store) };
}

/** Whatever is done by `beside` goes to the engine by another way than what the hooks are on. */
async function openHooked(): Promise<{ hooks: Hooks; queue: TestQueue; beside: TestQueue; store: TestStore }> {
  const hooks = new Hooks();
  const engine = openMemoryEngine();
  const store = await TestStore.open({ engine: hookEngine(engine, hooks) });
  const beside = new TestQueue({
    get storage() {
      return { ...store.storage, engine };
    },
  });
  return { hooks, queue: await TestQueue.create(store), beside, store };
}

/** Once, when a round has claimed its messages and is about to load them. */
function onceClaimed(hooks: Hooks, act: () => void | Promise<void>): void {
  hooks.before = async ({ what, ...call }) => {
    if (what !== 'get' || !('from' in call) || call.from[0] !== 'q'.charCodeAt(0)) return;
    hooks.clear();
    await act();
  };
}

const textsOf = (got: readonly GotMessage[]): string[] => got.map(({ text }) => text);
const valuesOf = <T>(results: readonly PromiseSettledResult<T>[]): T[] =>
  results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });

describe('messages are handed out', () => {
  test('in the order in which they were put, within one millisecond too', async () => {
    const { store, queue } = await open();
    await queue.putAll(numbered(20));
    store.clock.advance({ seconds: 0.001 });
    await queue.putAll(numbered(20, 20));
    assert.deepEqual(await queue.getTexts(32), numbered(32));
    assert.deepEqual(await queue.getTexts(32), numbered(8, 32));
    assert.deepEqual(await queue.get(32), []);
  });

  test('with all that is known of them', async () => {
    const { store, queue } = await open();
    const nowMs = store.clock.nowMs();
    const put = await queue.put('text', { ttlSeconds: 100 });
    assert.deepEqual(put.message, {
      messageId: put.message.messageId,
      insertedMs: nowMs,
      expiresMs: nowMs + 100_000,
      dequeueCount: 0,
    });
    assert.equal(put.nextVisibleMs, nowMs);
    store.clock.advance({ seconds: 10 });
    const got = await queue.getOne(20);
    assert.deepEqual(got.message, { ...put.message, dequeueCount: 1 });
    assert.equal(got.nextVisibleMs, nowMs + 30_000);
    assert.equal(got.text, 'text');
  });

  for (const text of ['', ' \n ', 'ü \u{1f600} <&>', 'x'.repeat(64 * 1024)]) {
    test(`with a text of ${text.length} characters as it was put`, async () => {
      const { queue } = await open();
      await queue.put(text);
      assert.deepEqual(await queue.peek(), [text]);
      assert.deepEqual(await queue.getTexts(), [text]);
    });
  }

  test('with a receipt of its own each', async () => {
    const { queue } = await open();
    await queue.putAll(numbered(32));
    const got = await queue.get(32);
    assert.equal(new Set(got.map(({ place }) => JSON.stringify(place))).size, 32);
    for (const message of got) await queue.delete(holdOf(message));
    assert.equal(await queue.count(), 0);
  });

  test('when their time has come, to the millisecond, in the order of that time', async () => {
    const { store, queue } = await open();
    for (const hiddenSeconds of [3, 1, 2]) await queue.put(`${hiddenSeconds} s`, { hiddenSeconds });
    await queue.put('0 s');
    for (const [seconds, texts] of [
      [0.999, ['0 s']],
      [0.001, ['1 s']],
      [1.999, ['2 s']],
      [0.001, ['3 s']],
    ] as const) {
      store.clock.advance({ seconds });
      assert.deepEqual(await queue.getTexts(32, 100), texts);
    }
  });

  test('again when nobody deleted them in time, behind those that waited longer, and counted', async () => {
    const { store, queue } = await open();
    await queue.putAll(['a', 'b']);
    for (let count = 1; count <= 3; count++) {
      const got = await queue.getOne(10);
      assert.deepEqual([got.text, got.message.dequeueCount], ['a', count]);
      store.clock.advance({ seconds: 9.999 });
      assert.deepEqual(await queue.peek(), ['b']);
      store.clock.advance({ seconds: 0.001 });
      assert.deepEqual(await queue.peek(), ['b', 'a']);
      await queue.update(holdOf(await queue.getOne(1)), 0);
      assert.deepEqual(await queue.peek(), ['a', 'b']);
    }
  });

  test('until they expire, also while they are hidden', async () => {
    const { store, queue } = await open();
    await queue.put('short', { ttlSeconds: 5 });
    const got = await queue.getOne(10);
    store.clock.advance({ seconds: 4.999 });
    assert.equal(await queue.count(), 1);
    store.clock.advance({ seconds: 0.001 });
    await assert.rejects(queue.delete(holdOf(got)), refusedAs('MessageNotFound'));
    store.clock.advance({ seconds: 5 });
    assert.deepEqual(await queue.get(), []);
    assert.equal(await queue.count(), 0, 'the Get that met it took it away');
  });

  test('again after a restart, with the receipts and the times they had', async () => {
    const { store, queue } = await open();
    await queue.putAll(['a', 'b']);
    const got = await queue.getOne(10);
    await store.reopen();
    assert.deepEqual(await queue.getTexts(32, 100), ['b']);
    store.clock.advance({ seconds: 10 });
    assert.deepEqual(await queue.peek(), ['a']);
    await queue.delete(holdOf(got));
    assert.equal(await queue.count(), 1);
  });
});

describe('expired messages at the head of a queue', () => {
  for (const expiredCount of [1, 32, 33, 999, 1_000, 1_001, 3_500]) {
    test(`are taken away by one Get, ${expiredCount} of them before one that lives`, async () => {
      const { store, queue } = await open();
      await queue.putAll(numbered(expiredCount), { ttlSeconds: 1 });
      await queue.putAll(['live', 'behind']);
      store.clock.advance({ seconds: 1 });
      assert.deepEqual(await queue.getTexts(1), ['live']);
      assert.equal(await queue.count(), 2);
      assert.equal((await store.records()).filter((key) => /^[mv]/.test(key)).length, 4);
    });
  }

  test('between others are passed over', async () => {
    const { store, queue } = await open();
    for (const [index, text] of numbered(60).entries()) await queue.put(text, { ttlSeconds: index % 3 === 0 ? 9 : 1 });
    store.clock.advance({ seconds: 1 });
    const live = numbered(60).filter((_, index) => index % 3 === 0);
    assert.deepEqual(await queue.getTexts(16), live.slice(0, 16));
    assert.deepEqual(await queue.getTexts(16), live.slice(16));
    assert.equal(await queue.count(), 20);
  });

  test('are not handed out by a round that claimed them just before they expired', async () => {
    const { hooks, queue, store } = await openHooked();
    await queue.put('short', { ttlSeconds: 1 });
    await queue.put('long');
    onceClaimed(hooks, () => store.clock.advance({ seconds: 1 }));
    assert.deepEqual(await queue.getTexts(2), ['long']);
  });
});

describe('those who ask at once', () => {
  test('share the messages, each of them handed out once, the first to the first', async () => {
    const { queue } = await open();
    await queue.putAll(numbered(250));
    const got = valuesOf(await together(100, () => queue.getTexts(2)));
    assert.deepEqual(got.flat(), numbered(200));
  });

  test('get what there is, and the others nothing', async () => {
    const { queue } = await open();
    await queue.putAll(numbered(70));
    const got = valuesOf(await together(100, () => queue.getTexts(1)));
    assert.deepEqual(got.slice(0, 70).flat(), numbered(70));
    assert.deepEqual(got.slice(70).flat(), []);
  });

  test('are each served as they asked, whatever the others want', async () => {
    const { store, queue } = await open();
    await queue.putAll(numbered(2_000));
    const wants = Array.from({ length: 100 }, (_, index) => ({ count: 1 + (index % 32), hiddenSeconds: 1 + index }));
    const got = valuesOf(
      await together(100, (index) => {
        const { count, hiddenSeconds } = wants[index] as (typeof wants)[number];
        return queue.get(count, hiddenSeconds);
      }),
    );
    for (const [index, { count, hiddenSeconds }] of wants.entries()) {
      assert.equal(got[index]?.length, count);
      for (const { nextVisibleMs, place } of got[index] ?? []) {
        assert.equal(nextVisibleMs, store.clock.nowMs() + hiddenSeconds * 1000);
        assert.equal(place.visibleMs, nextVisibleMs);
      }
    }
    const texts = got.flatMap(textsOf);
    assert.equal(new Set(texts).size, texts.length);
  });

  test('on three nodes share them as well', async () => {
    const cluster = new MemoryCluster();
    const nodes = await Promise.all([1, 2, 3].map(() => cluster.join()));
    const queues = nodes.map(({ store }) => new TestQueue(store));
    await queues[0]?.create();
    await queues[0]?.putAll(numbered(300));
    const got = valuesOf(await together(150, (index) => (queues[index % 3] as TestQueue).getTexts(2)));
    assert.deepEqual(
      got.flat().toSorted((a, b) => Number(a) - Number(b)),
      numbered(300),
    );
    for (const texts of got) assert.ok(Number(texts[0]) < Number(texts[1]), 'in order for each who asks');
    for (const { store } of nodes) await store.close();
  });

  test('on a node that knows what the queue held before another cleared it get what it holds now', async () => {
    const cluster = new MemoryCluster();
    const nodes = [await cluster.join(), await cluster.join()] as const;
    const [queue, elsewhere] = nodes.map(({ store }) => new TestQueue(store)) as [TestQueue, TestQueue];
    await queue.create();
    for (const empty of [() => elsewhere.clear(), () => elsewhere.remove().then(() => elsewhere.create())]) {
      assert.deepEqual(await queue.get(), []);
      await empty();
      await elsewhere.put('new');
      assert.deepEqual(await queue.getTexts(), ['new']);
    }
    for (const { store } of nodes) await store.close();
  });

  test('of two queues do not wait for each other', async () => {
    const { hooks, queue, store } = await openHooked();
    const other = await TestQueue.create(store, 'other');
    await queue.put('held back');
    await other.put('text');
    const gate = new Gate();
    onceClaimed(hooks, () => gate.passed);
    const waiting = queue.getTexts();
    assert.deepEqual(await other.getTexts(), ['text']);
    gate.open();
    assert.deepEqual(await waiting, ['held back']);
  });

  test('get what is behind the messages of a round that is not yet durable', async () => {
    const { hooks, queue } = await openHooked();
    await queue.putAll(['a', 'b']);
    const [claimed, gate] = [new Gate(), new Gate()];
    onceClaimed(hooks, () => {
      claimed.open();
      return gate.passed;
    });
    const first = queue.getTexts();
    await claimed.passed;
    assert.deepEqual(await queue.getTexts(32), ['b']);
    gate.open();
    assert.deepEqual(await first, ['a']);
  });

  test('never claim more than they hand out, though expired messages stand before', async () => {
    const { hooks, queue, store, beside } = await openHooked();
    await queue.putAll(numbered(40), { ttlSeconds: 1 });
    await queue.putAll(['a', 'b', 'c']);
    store.clock.advance({ seconds: 1 });
    const [claimed, gate] = [new Gate(), new Gate()];
    onceClaimed(hooks, () => {
      claimed.open();
      return gate.passed;
    });
    const first = queue.getTexts(1);
    await claimed.passed;
    assert.deepEqual(await beside.getTexts(32), ['b', 'c']);
    gate.open();
    assert.deepEqual(await first, ['a']);
  });
});

describe('while a round is under way', () => {
  for (const [what, act, expected] of [
    ['cleared', (queue) => queue.clear(), []],
    ['cleared and filled', (queue) => queue.clear().then(() => queue.put('new')), ['new']],
    ['deleted and created anew', (queue) => queue.remove().then(() => queue.create()), []],
    [
      'deleted, created anew and filled',
      async (queue) => {
        await queue.remove();
        await queue.create();
        await queue.put('new');
      },
      ['new'],
    ],
  ] as const satisfies readonly (readonly [string, (queue: TestQueue) => Promise<unknown>, readonly string[]])[]) {
    test(`the queue may be ${what}: what it holds then is handed out`, async () => {
      const { hooks, queue, beside } = await openHooked();
      await queue.putAll(numbered(3));
      onceClaimed(hooks, async () => void (await act(beside)));
      assert.deepEqual(await queue.getTexts(32), expected);
      assert.equal(await queue.count(), expected.length);
    });
  }

  test('the queue may be deleted: nobody gets anything', async () => {
    const { hooks, queue, beside } = await openHooked();
    await queue.putAll(numbered(3));
    onceClaimed(hooks, () => beside.remove());
    const results = await together(5, () => queue.get(32));
    for (const result of results) {
      assert.ok(result.status === 'rejected' && refusedAs('QueueNotFound')(result.reason));
    }
  });

  test('a claimed message may be deleted by whoever had it before: the others are handed out', async () => {
    const { hooks, queue, beside, store } = await openHooked();
    await queue.putAll(['a', 'b']);
    const late = await queue.getOne(1);
    store.clock.advance({ seconds: 1 });
    onceClaimed(hooks, () => beside.delete(holdOf(late)));
    assert.deepEqual(await queue.getTexts(32), ['b']);
    assert.equal(await queue.count(), 1);
  });

  test('the only claimed message may be deleted: the next one is handed out', async () => {
    const { hooks, queue, beside, store } = await openHooked();
    await queue.put('a');
    const late = await queue.getOne(1);
    store.clock.advance({ seconds: 2 });
    await queue.put('b');
    onceClaimed(hooks, () => beside.delete(holdOf(late)));
    assert.deepEqual(await queue.getTexts(1), ['b']);
  });

  test('a claimed message may be hidden by whoever had it before: it is not handed out', async () => {
    const { hooks, queue, beside, store } = await openHooked();
    await queue.put('a');
    const late = await queue.getOne(1);
    store.clock.advance({ seconds: 1 });
    onceClaimed(hooks, async () => void (await beside.update(holdOf(late), 10)));
    assert.deepEqual(await queue.getTexts(1), []);
    store.clock.advance({ seconds: 10 });
    assert.deepEqual(await queue.getTexts(1), ['a']);
  });

  test('a claimed message may get another text: it is handed out with that', async () => {
    const { hooks, queue, beside } = await openHooked();
    const put = await queue.put('a');
    onceClaimed(hooks, async () => void (await beside.update(holdOf(put), 0, 'b')));
    assert.deepEqual(await queue.getTexts(1), ['b']);
  });
});

const failing = (): never => {
  throw new EngineUnavailable('no more disk');
};

describe('a round that fails', () => {
  test('fails for all its askers and lets go of what it claimed', async () => {
    const { hooks, queue } = await openHooked();
    await queue.putAll(numbered(10));
    hooks.before = ({ what }) => (what === 'commit' ? failing() : undefined);
    const results = await together(5, () => queue.get(2));
    hooks.clear();
    for (const result of results) {
      assert.ok(result.status === 'rejected' && result.reason instanceof EngineUnavailable);
    }
    const got = await queue.get(32);
    assert.deepEqual(textsOf(got), numbered(10));
    assert.ok(got.every(({ message }) => message.dequeueCount === 1));
  });

  test('while it takes expired messages away lets go of all it claimed', async () => {
    const { hooks, queue, store } = await openHooked();
    await queue.putAll(numbered(10), { ttlSeconds: 1 });
    await queue.putAll(['a', 'b']);
    store.clock.advance({ seconds: 1 });
    hooks.before = ({ what }) => (what === 'commit' ? failing() : undefined);
    await assert.rejects(queue.get(11), EngineUnavailable);
    hooks.clear();
    assert.deepEqual(await queue.getTexts(32), ['a', 'b']);
  });

  test('to claim at all fails for its askers, and those who ask later are served', async () => {
    const inner = openMemoryEngine();
    let isAway = false;
    const engine: Engine = {
      snapshot: () => inner.snapshot(),
      tip: () => inner.tip(),
      commit: (batch) => inner.commit(batch),
      claim: async (range, limit) => (isAway ? failing() : inner.claim(range, limit)),
      close: () => inner.close(),
    };
    const queue = await TestQueue.create(await TestStore.open({ engine }));
    await queue.put('text');
    isAway = true;
    await assert.rejects(queue.get(), EngineUnavailable);
    isAway = false;
    assert.deepEqual(await queue.getTexts(), ['text']);
  });

  test('once, when its commit was not answered, loses no message', async () => {
    const { hooks, queue, store } = await openHooked();
    await queue.put('text');
    hooks.before = ({ what }) => (what === 'committed' ? failing() : undefined);
    await assert.rejects(queue.get(1, 10), EngineUnavailable);
    hooks.clear();
    assert.deepEqual(await queue.get(), []);
    store.clock.advance({ seconds: 10 });
    const got = await queue.getOne();
    assert.deepEqual([got.text, got.message.dequeueCount], ['text', 2]);
  });
});

const seed = new Random().seed;

test(`consumers that get, delete and lose messages see each of them handled once, LARIMAR_SEED=${seed}`, async () => {
  const random = new Random(seed);
  const { store, queue } = await open();
  await queue.putAll(numbered(200));
  const handled: string[] = [];
  for (let round = 0; (await queue.count()) > 0; round++) {
    assert.ok(round < 1_000, 'a queue that does not become empty');
    const got = valuesOf(await together(8, () => queue.get(1 + random.below(5), 1 + random.below(3))));
    assert.equal(new Set(got.flat().map(({ text }) => text)).size, got.flat().length, 'one holder each');
    const kept = got.flat().filter(() => random.chance(0.6));
    const deletes = await Promise.allSettled(kept.map((message) => queue.delete(holdOf(message))));
    handled.push(...kept.flatMap(({ text }, index) => (deletes[index]?.status === 'fulfilled' ? [text] : [])));
    store.clock.advance({ seconds: random.pick([0.5, 1, 3]) });
  }
  assert.deepEqual(
    handled.toSorted((a, b) => Number(a) - Number(b)),
    numbered(200),
  );
});
