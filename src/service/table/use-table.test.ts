import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { StorageError } from '../storage-error.ts';
import { changeEntity } from './change-entities.ts';
import { createTable } from './create-table.ts';
import { deleteTable } from './delete-table.ts';
import { getEntity } from './get-entity.ts';
import { getTable, lookUpTable, setTableAcl } from './use-table.ts';

const NAME = { account: ACCOUNT, table: 'People' };
const KEY = { partitionKey: 'p', rowKey: 'r' };
const INSERT = { key: KEY, change: { kind: 'insert', properties: [] } } as const;

const isMissing = (error: unknown): boolean => error instanceof StorageError && error.code === 'TableNotFound';

test('policies replace each other, and all else of the table stays', async () => {
  const store = await TestStore.open();
  const { policies: none, ...rest } = await createTable(store.storage, NAME);
  assert.deepEqual(none, []);
  for (const policies of [[{ id: 'a', permission: 'r' }], [{ id: 'b' }, { id: 'c', start: '2024-01-01' }], []]) {
    await setTableAcl(store.storage, { ...NAME, table: 'people' }, policies);
    assert.deepEqual(await getTable(store.storage, NAME), { ...rest, policies });
  }
});

test('a table that is not there has no policies, and is not found', async () => {
  const store = await TestStore.open();
  await assert.rejects(getTable(store.storage, NAME), isMissing);
  await assert.rejects(setTableAcl(store.storage, NAME, []), isMissing);
  assert.equal(await lookUpTable(store.storage, NAME), null);
});

test('what is known of a table is a guess: another of its name is found all the same', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const [store, other] = [await TestStore.open({ engine }), await TestStore.open({ engine })];
  // So that nothing but the test asks the engine.
  for (const { sweeper } of [store, other]) await sweeper.close();
  await createTable(store.storage, NAME);
  await changeEntity(store.storage, NAME, INSERT);
  await deleteTable(other.storage, NAME);
  await createTable(other.storage, NAME);
  await assert.rejects(getEntity(store.storage, NAME, KEY), /ResourceNotFound/);
  await changeEntity(other.storage, NAME, INSERT);
  assert.ok((await getEntity(store.storage, NAME, KEY)).entity.value.length > 0);
  const { keysAsked } = await engine.costOf(() => getEntity(store.storage, NAME, KEY));
  assert.equal(keysAsked, 2, 'the table and the entity, together');
});
