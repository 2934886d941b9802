import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { createQueue } from './create-queue.ts';
import { listQueues } from './list-queues.ts';

const NAMES = ['aaa', 'ab-1', 'ab-2', 'ab1', 'abc', 'abd', 'bbb'];

async function listed(
  store: TestStore,
  { prefix = '', from = '', limit = 5_000 }: { prefix?: string; from?: string; limit?: number },
) {
  const { queues, next } = await listQueues(store.storage, { account: ACCOUNT, prefix, from, limit });
  return { names: queues.map(({ name }) => name), next };
}

async function namedStore(): Promise<TestStore> {
  const store = await TestStore.open();
  for (const queue of NAMES.toReversed()) await createQueue(store.storage, { account: ACCOUNT, queue }, []);
  for (const account of ['account', 'account0', 'account10', 'account2']) {
    await createQueue(store.storage, { account, queue: 'abx' }, []);
  }
  return store;
}

for (const [request, names, next] of [
  [{}, NAMES, null],
  [{ prefix: 'ab' }, ['ab-1', 'ab-2', 'ab1', 'abc', 'abd'], null],
  [{ prefix: 'ab-' }, ['ab-1', 'ab-2'], null],
  [{ prefix: 'x' }, [], null],
  [{ from: 'ab1' }, ['ab1', 'abc', 'abd', 'bbb'], null],
  [{ from: 'ab0' }, ['ab1', 'abc', 'abd', 'bbb'], null],
  [{ prefix: 'ab', from: 'abc' }, ['abc', 'abd'], null],
  [{ prefix: 'ab', from: 'aaa' }, ['ab-1', 'ab-2', 'ab1', 'abc', 'abd'], null],
  [{ prefix: 'ab', from: 'b' }, [], null],
  [{ limit: 1 }, ['aaa'], 'ab-1'],
  [{ prefix: 'ab', limit: 4 }, ['ab-1', 'ab-2', 'ab1', 'abc'], 'abd'],
  [{ prefix: 'ab', limit: 5 }, ['ab-1', 'ab-2', 'ab1', 'abc', 'abd'], null],
] as const) {
  test(`a listing of ${JSON.stringify(request)} shows ${names.join(' ') || 'nothing'}`, async () => {
    assert.deepEqual(await listed(await namedStore(), request), { names: [...names], next });
  });
}

test('pages that follow each other show every queue once, also more of them than a step reads', async () => {
  const store = await TestStore.open();
  const names = Array.from({ length: 1_203 }, (_, index) => `queue-${String(index).padStart(4, '0')}`);
  for (const queue of names) await createQueue(store.storage, { account: ACCOUNT, queue }, []);
  for (const limit of [400, 500, 601, 5_000]) {
    const seen: string[] = [];
    for (let from: string | null = ''; from !== null; ) {
      const page = await listed(store, { from, limit });
      assert.ok(page.next === null || page.names.length === limit);
      seen.push(...page.names);
      from = page.next;
    }
    assert.deepEqual(seen, names, `${limit} a page`);
  }
});
