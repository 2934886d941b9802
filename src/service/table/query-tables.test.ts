import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { type Filter, parseFilter } from '../../rules/entity-filter.ts';
import { createTable } from './create-table.ts';
import { queryTables } from './query-tables.ts';

/** Of two accounts: names are in the order of one of them. */
async function openTables(names: readonly string[], engine = openMemoryEngine()): Promise<TestStore> {
  const store = await TestStore.open({ engine });
  // So that nothing but the test asks the engine.
  await store.sweeper.close();
  for (const table of names.toReversed()) await createTable(store.storage, { account: ACCOUNT, table });
  for (const account of ['account', 'account0', 'account2'])
    await createTable(store.storage, { account, table: 'other' });
  return store;
}

async function pagesOf(store: TestStore, filter: Filter | null, limit: number): Promise<(readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const page: Awaited<ReturnType<typeof queryTables>> = await queryTables(store.storage, {
      account: ACCOUNT,
      filter,
      from,
      limit,
    });
    pages.push(page.names);
    from = page.next;
  }
  return pages;
}

function filterOf(text: string): Filter {
  const parsed = parseFilter(text);
  assert.ok('filter' in parsed, text);
  return parsed.filter;
}

test('tables come in the order of their names without regard to case, as they were created', async () => {
  const names = ['Apple', 'banana', 'Cherry', 'cherry1', 'DATE', 'fig'];
  const store = await openTables(names);
  assert.deepEqual(await pagesOf(store, null, 1_000), [names]);
  assert.deepEqual(await pagesOf(store, null, 6), [names]);
  assert.deepEqual(await pagesOf(store, null, 4), [names.slice(0, 4), names.slice(4)]);
  assert.deepEqual(
    await pagesOf(store, null, 1),
    names.map((name) => [name]),
  );
});

test('an account without tables has one empty page', async () => {
  assert.deepEqual(await pagesOf(await openTables([]), null, 10), [[]]);
});

for (const [filter, want] of [
  ["TableName eq 'banana'", ['banana']],
  ["TableName eq 'BANANA'", ['banana']],
  ["TableName eq 'apple'", ['Apple']],
  ["TableName ge 'B' and TableName lt 'd'", ['banana', 'Cherry', 'cherry1']],
  ["not (TableName ne 'FIG' or TableName eq 'banana')", ['fig']],
  ["not (TableName eq 'banana')", ['Apple', 'Cherry', 'cherry1', 'fig']],
  ["Other eq 'banana'", []],
] as const) {
  test(`${filter} shows ${want.join(', ') || 'nothing'}`, async () => {
    const store = await openTables(['Apple', 'banana', 'Cherry', 'cherry1', 'fig']);
    for (const limit of [1, 2, 1_000]) assert.deepEqual((await pagesOf(store, filterOf(filter), limit)).flat(), want);
  });
}

test('a filter is not slower for being asked for few tables', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const names = Array.from({ length: 300 }, (_, index) => `table${String(index).padStart(3, '0')}`);
  const store = await openTables(names, engine);
  const { rangesAsked } = await engine.costOf(() => pagesOf(store, filterOf("TableName eq 'table299'"), 1));
  assert.equal(rangesAsked, 1);
});

test('the place where a page goes on may be a name that is gone', async () => {
  const store = await openTables(['apple', 'fig']);
  const { names } = await queryTables(store.storage, { account: ACCOUNT, filter: null, from: 'Banana', limit: 10 });
  assert.deepEqual(names, ['fig']);
});
