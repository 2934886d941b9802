import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tally, together } from '../../../test/harness/parallel.ts';
import { TestStore } from '../../../test/harness/store.ts';
import { heldAt, holdOf, refusedAs, TestQueue } from '../../../test/harness/test-queue.ts';
import type { Hold } from './held-message.ts';

async function open(): Promise<{ store: TestStore; queue: TestQueue }> {
  const store = await TestStore.open();
  return { store, queue: await TestQueue.create(store) };
}

interface Held {
  readonly store: TestStore;
  readonly queue: TestQueue;
  /** Receipts in the order in which they were given. */
  readonly receipts: Hold[];
}

const last = ({ receipts }: Held): Hold => receipts.at(-1) as Hold;

const put = async (held: Held): Promise<unknown> =>
  held.receipts.push(holdOf(await held.queue.put('text', { ttlSeconds: 1_000 })));
const get = async (held: Held): Promise<unknown> => held.receipts.push(holdOf(await held.queue.getOne(10)));
const update = async (held: Held, hiddenSeconds = 10): Promise<unknown> =>
  held.receipts.push(heldAt(last(held), await held.queue.update(last(held), hiddenSeconds)));
const wait = async ({ store }: Held): Promise<unknown> => store.clock.advance({ seconds: 10 });

/** What happens to a message, one after the other, and whether the last receipt is good then; no earlier one ever is. */
const EVENTS: readonly (readonly [what: string, act: (held: Held) => Promise<unknown>, isHeld: boolean])[] = [
  ['it was put', put, true],
  ['a consumer got it', get, true],
  ['its timeout passed', wait, true],
  ['another consumer got it', get, true],
  ['that one updated it', update, true],
  ['it was updated again', update, true],
  ['it was given back', (held) => update(held, 0), true],
  ['somebody peeked', ({ queue }) => queue.peek(), true],
  ['a third consumer got it', get, true],
  ['its timeout passed again', wait, true],
  ['it was deleted', (held) => held.queue.delete(last(held)), false],
];

describe('of all receipts of a message only the last is good', () => {
  for (const [count, [what, , isHeld]] of EVENTS.entries()) {
    for (const [operation, use] of [
      ['delete', (queue: TestQueue, hold: Hold) => queue.delete(hold)],
      ['update', (queue: TestQueue, hold: Hold) => queue.update(hold, 5, 'new')],
    ] as const) {
      test(`for ${operation}, once ${what}`, async () => {
        const held: Held = { ...(await open()), receipts: [] };
        for (const [, act] of EVENTS.slice(0, count + 1)) await act(held);
        const stale = isHeld ? held.receipts.slice(0, -1) : held.receipts;
        for (const hold of stale) await assert.rejects(use(held.queue, hold), refusedAs('MessageNotFound'));
        assert.equal(await held.queue.count(), isHeld ? 1 : 0);
        if (!isHeld) return;
        await use(held.queue, last(held));
        await assert.rejects(use(held.queue, last(held)), refusedAs('MessageNotFound'));
        assert.equal(await held.queue.count(), operation === 'delete' ? 0 : 1);
      });
    }
  }

  test('and from its end on, none is', async () => {
    const { store, queue } = await open();
    const hold = holdOf(await queue.put('text', { ttlSeconds: 5 }));
    store.clock.advance({ seconds: 4.999 });
    const renewed = heldAt(hold, await queue.update(hold, 0));
    store.clock.advance({ seconds: 0.001 });
    await assert.rejects(queue.update(renewed, 0), refusedAs('MessageNotFound'));
    await assert.rejects(queue.delete(renewed), refusedAs('MessageNotFound'));
  });

  test('and it is good for its own message alone', async () => {
    const { queue } = await open();
    const [a, b] = [holdOf(await queue.put('a')), holdOf(await queue.put('b'))];
    const mixed = { messageId: a.messageId, place: b.place };
    await assert.rejects(queue.delete(mixed), refusedAs('MessageNotFound'));
    await assert.rejects(queue.update(mixed), refusedAs('MessageNotFound'));
    assert.deepEqual(await queue.peek(), ['a', 'b']);
  });

  test('and in its own queue alone', async () => {
    const { store, queue } = await open();
    const other = await TestQueue.create(store, 'other');
    const hold = holdOf(await queue.put('a'));
    await assert.rejects(other.delete(hold), refusedAs('MessageNotFound'));
    await queue.delete(hold);
  });
});

describe('an update', () => {
  test('hides the message for its own time, counted from now, and changes nothing but the text', async () => {
    const { store, queue } = await open();
    await queue.put('old');
    const got = await queue.getOne(30);
    store.clock.advance({ seconds: 5 });
    const updated = await queue.update(holdOf(got), 7, 'new');
    assert.equal(updated.nextVisibleMs, store.clock.nowMs() + 7_000);
    store.clock.advance({ seconds: 6.999 });
    assert.deepEqual(await queue.get(), []);
    store.clock.advance({ seconds: 0.001 });
    const again = await queue.getOne();
    assert.equal(again.text, 'new');
    assert.deepEqual(again.message, { ...got.message, dequeueCount: 2 });
    assert.equal(await queue.count(), 1);
  });

  test('without a text leaves it as it is', async () => {
    const { queue } = await open();
    const hold = holdOf(await queue.put('text'));
    await queue.update(hold, 0);
    assert.deepEqual(await queue.peek(), ['text']);
  });

  test('with an empty text empties it', async () => {
    const { queue } = await open();
    await queue.update(holdOf(await queue.put('text')), 0, '');
    assert.deepEqual(await queue.peek(), ['']);
  });

  test('gives a message back at once, behind those that wait', async () => {
    const { store, queue } = await open();
    await queue.putAll(['a', 'b']);
    const got = await queue.getOne();
    store.clock.advance({ seconds: 1 });
    await queue.update(holdOf(got), 0);
    assert.deepEqual(await queue.getTexts(2), ['b', 'a']);
  });

  for (const [hiddenSeconds, isRefused] of [
    [4, false],
    [5, false],
    [6, true],
  ] as const) {
    test(`that hides for ${hiddenSeconds} s a message with 5 s to live is ${isRefused ? 'refused' : 'done'}`, async () => {
      const { queue } = await open();
      const hold = holdOf(await queue.put('text', { ttlSeconds: 5 }));
      const done = queue.update(hold, hiddenSeconds, 'new');
      if (!isRefused) await done;
      else {
        await assert.rejects(done, refusedAs('InvalidQueryParameterValue'));
        assert.deepEqual(await queue.peek(), ['text']);
        await queue.delete(hold);
      }
    });
  }
});

const outcome = (result: PromiseSettledResult<unknown>): string =>
  result.status === 'fulfilled' ? 'done' : (result.reason as { code: string }).code;

describe('of those who present the same receipt at once', () => {
  test('one updates', async () => {
    const { queue } = await open();
    const hold = holdOf(await queue.put('text'));
    const results = await together(10, (index) => queue.update(hold, 5, String(index)));
    assert.deepEqual(tally(results.map(outcome)), { done: 1, MessageNotFound: 9 });
  });

  test('one deletes', async () => {
    const { queue } = await open();
    const hold = holdOf(await queue.put('text'));
    const results = await together(10, () => queue.delete(hold));
    assert.deepEqual(tally(results.map(outcome)), { done: 1, MessageNotFound: 9 });
    assert.equal(await queue.count(), 0);
  });

  test('one updates, or one deletes', async () => {
    const { queue } = await open();
    const hold = holdOf(await queue.put('text'));
    const results = await together(10, (index) =>
      index % 2 === 0 ? queue.delete(hold) : queue.update(hold, 0).then(() => {}),
    );
    assert.deepEqual(tally(results.map(outcome)), { done: 1, MessageNotFound: 9 });
    const isDeleted = results.findIndex(({ status }) => status === 'fulfilled') % 2 === 0;
    assert.deepEqual(await queue.peek(), isDeleted ? [] : ['text']);
    assert.equal(await queue.count(), isDeleted ? 0 : 1);
  });

  test('and a Get of a message whose timeout has passed, one has it', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const { store, queue } = await open();
      await queue.put('text');
      const hold = holdOf(await queue.getOne(1));
      store.clock.advance({ seconds: 1 });
      const [deleted, got] = await Promise.allSettled([queue.delete(hold), queue.get()]);
      const wasGot = got.status === 'fulfilled' && got.value.length === 1;
      assert.equal(deleted.status === 'fulfilled', !wasGot);
      assert.equal(await queue.count(), wasGot ? 1 : 0);
    }
  });
});
