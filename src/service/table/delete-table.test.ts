import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { queryPage } from '../../../test/harness/query-page.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { StorageError } from '../storage-error.ts';
import { changeEntities, changeEntity } from './change-entities.ts';
import { createTable } from './create-table.ts';
import { deleteTable } from './delete-table.ts';
import { getEntity } from './get-entity.ts';
import { lookUpTable, setTableAcl } from './use-table.ts';

const NAME = { account: ACCOUNT, table: 'people' };
const KEY: EntityKey = { partitionKey: 'p', rowKey: 'r' };

const refusedAs = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

/** More than one step of the sweeper. */
const COUNT = 600;

async function fill(store: TestStore, table: string): Promise<void> {
  const changes = Array.from({ length: COUNT }, (_, index) => ({
    key: { partitionKey: `p${index % 7}`, rowKey: String(index) },
    change: { kind: 'insert', properties: [] } as const,
  }));
  assert.ok('changed' in (await changeEntities(store.storage, { account: ACCOUNT, table }, changes)));
}

async function keysIn(store: TestStore, table: string): Promise<number> {
  const request = { filter: null, limit: 1_000, from: null, scope: null };
  return (await queryPage(store.storage, { ...request, name: { account: ACCOUNT, table } })).entities.length;
}

const entityRecords = async (store: TestStore): Promise<number> =>
  (await store.records()).filter((record) => record.startsWith('e')).length;

/** Nothing is swept but when the test says so. */
async function openUnswept(): Promise<TestStore> {
  const store = await TestStore.open();
  await store.sweeper.close();
  return store;
}

describe('a table', () => {
  test('is created once, whatever the case of its name, and keeps the first', async () => {
    const store = await TestStore.open();
    assert.equal((await createTable(store.storage, { account: ACCOUNT, table: 'People' })).name, 'People');
    for (const table of ['People', 'people', 'PEOPLE']) {
      await assert.rejects(createTable(store.storage, { account: ACCOUNT, table }), refusedAs('TableAlreadyExists'));
      assert.equal((await lookUpTable(store.storage, { account: ACCOUNT, table }))?.name, 'People');
    }
  });

  test('is of one account', async () => {
    const store = await TestStore.open();
    await createTable(store.storage, NAME);
    assert.equal(await lookUpTable(store.storage, { account: 'account2', table: 'people' }), null);
    await createTable(store.storage, { account: 'account2', table: 'people' });
    await deleteTable(store.storage, NAME);
    assert.notEqual(await lookUpTable(store.storage, { account: 'account2', table: 'people' }), null);
  });

  test('is created by exactly one of many who try at once', async () => {
    const store = await TestStore.open();
    const tries = Array.from({ length: 20 }, () => createTable(store.storage, NAME));
    const results = await Promise.allSettled(tries);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  });
});

describe('a deleted table', () => {
  test('is gone at once, in any case of its name', async () => {
    const store = await openUnswept();
    await createTable(store.storage, NAME);
    await changeEntity(store.storage, NAME, { key: KEY, change: { kind: 'insert', properties: [] } });
    await deleteTable(store.storage, { account: ACCOUNT, table: 'PEOPLE' });
    assert.equal(await lookUpTable(store.storage, NAME), null);
    await assert.rejects(getEntity(store.storage, NAME, KEY), refusedAs('TableNotFound'));
    await assert.rejects(setTableAcl(store.storage, NAME, []), refusedAs('TableNotFound'));
    await assert.rejects(deleteTable(store.storage, NAME), refusedAs('ResourceNotFound'));
  });

  test('leaves nothing to one that is created anew under its name, also before the sweeper comes', async () => {
    const store = await openUnswept();
    for (let round = 0; round < 3; round++) {
      await createTable(store.storage, NAME);
      assert.equal(await keysIn(store, 'people'), 0, `round ${round}`);
      await assert.rejects(getEntity(store.storage, NAME, KEY), refusedAs('ResourceNotFound'));
      await changeEntity(store.storage, NAME, { key: KEY, change: { kind: 'insert', properties: [] } });
      await fill(store, 'people');
      assert.equal(await keysIn(store, 'people'), COUNT + 1);
      await deleteTable(store.storage, NAME);
    }
    assert.equal(await entityRecords(store), 3 * (COUNT + 1));
  });

  test('leaves no policies to one that is created anew', async () => {
    const store = await TestStore.open();
    await createTable(store.storage, NAME);
    await setTableAcl(store.storage, NAME, [{ id: 'a', permission: 'r' }]);
    await deleteTable(store.storage, NAME);
    assert.deepEqual((await createTable(store.storage, NAME)).policies, []);
  });

  test('is swept with all its entities, and nothing beside them', async () => {
    const store = await openUnswept();
    for (const table of ['before', 'people', 'table']) {
      await createTable(store.storage, { account: ACCOUNT, table });
      await fill(store, table);
    }
    await deleteTable(store.storage, NAME);
    await createTable(store.storage, NAME);
    await fill(store, 'people');
    assert.equal(await entityRecords(store), 4 * COUNT);
    await store.reopen();
    await store.sweep();
    assert.equal(await entityRecords(store), 3 * COUNT);
    for (const table of ['before', 'people', 'table']) assert.equal(await keysIn(store, table), COUNT);
    assert.deepEqual(await store.garbage(), []);
    assert.deepEqual(store.errors, []);
  });
});
