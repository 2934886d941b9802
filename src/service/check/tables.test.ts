import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import type { Entry } from '../../engine/engine.ts';
import { checkStore } from '../check.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { decodeEntity, encodeEntity } from '../records/entity-record.ts';
import { garbageKey } from '../records/keys.ts';
import { entitiesRange, type TableAddress, tableKey } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import { changeEntity } from '../table/change-entities.ts';
import { createTable } from '../table/create-table.ts';

const PEOPLE = { account: ACCOUNT, table: 'People' };
const UNUSED_ID = '0123456789abcdef01234567';

/** One entity of two properties in a table, and an empty table. */
async function tableStore(): Promise<TestStore> {
  const store = await TestStore.open();
  for (const table of ['People', 'empty']) await createTable(store.storage, { account: ACCOUNT, table });
  const properties = [
    ['number', { type: 'Edm.Int32', value: 1 }],
    ['text', { type: 'Edm.String', value: 'text' }],
  ] as const;
  await changeEntity(store.storage, PEOPLE, {
    key: { partitionKey: 'p0', rowKey: '0' },
    change: { kind: 'insert', properties },
  });
  await store.close();
  return store;
}

const put = (store: TestStore, key: Uint8Array, value: Uint8Array) =>
  store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
const remove = (store: TestStore, key: Uint8Array) => store.engine.commit({ checks: [], puts: [], deletes: [key] });

const inTable = async (store: TestStore, letter: string): Promise<Entry[]> =>
  (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));
const firstIn = async (store: TestStore, letter: string): Promise<Entry> => (await inTable(store, letter))[0] as Entry;

type Fault = readonly [what: string, plant: (store: TestStore) => Promise<unknown>, finding: RegExp];

const tableNamed = async (store: TestStore, name: string): Promise<Entry & { readonly record: TableRecord }> => {
  const entries = await inTable(store, 't');
  const entry = entries.find(({ value }) => decodeJson<TableRecord>(value).name === name) as Entry;
  return { ...entry, record: decodeJson<TableRecord>(entry.value) };
};
const ENTITY = encodeEntity({ ticks: 1n, properties: [] });
/** Another entity of the table `People`, under a key of the test's own. */
const putEntity = async (store: TestStore, rest: Uint8Array, address: Partial<TableAddress> = {}): Promise<unknown> => {
  const { account = ACCOUNT, tableId = (await tableNamed(store, 'People')).record.id } = address;
  return put(store, Buffer.concat([entitiesRange({ account, tableId }).from, rest]), ENTITY);
};

describe('of tables a check finds', () => {
  const rows: readonly Fault[] = [
    [
      'a table that cannot be read',
      async (store) => put(store, (await tableNamed(store, 'empty')).key, Buffer.from('\u0009{}')),
      /^record t taccount1\.empty cannot be read: unknown record format 9/,
    ],
    [
      'a table under the name of another',
      async (store) => put(store, tableKey(ACCOUNT, 'other'), (await tableNamed(store, 'empty')).value),
      /^table empty is stored under the name other/,
    ],
    [
      'a table under its name in another case',
      async (store) => put(store, Buffer.from(`t${ACCOUNT}\0People`), (await tableNamed(store, 'People')).value),
      /^table People is stored under the name People/,
    ],
    [
      'a table of an impossible name',
      async (store) => {
        const { record } = await tableNamed(store, 'empty');
        await put(store, tableKey(ACCOUNT, 'a-b'), encodeJson({ ...record, id: UNUSED_ID, name: 'a-b' }));
      },
      /^"a-b" is not a valid table name/,
    ],
    [
      'two tables of one id',
      async (store) => {
        const { record } = await tableNamed(store, 'empty');
        await put(store, tableKey(ACCOUNT, 'twin'), encodeJson({ ...record, name: 'twin' }));
      },
      /^table twin has the same id as another table/,
    ],
    [
      'a table that awaits the sweeper',
      async (store) => {
        const { id } = (await tableNamed(store, 'empty')).record;
        await put(store, garbageKey(UNUSED_ID), encodeJson({ kind: 'table', account: ACCOUNT, id }));
      },
      /^table empty exists, but is to be swept/,
    ],
    [
      'entities of a table that is missing',
      async (store) => remove(store, (await tableNamed(store, 'People')).key),
      /^entity "p0" "0" belongs to no table/,
    ],
    [
      'an entity of a table in another account',
      (store) => putEntity(store, Buffer.from('p\0r'), { account: 'account2' }),
      /^entity "p" "r" belongs to no table/,
    ],
    [
      'an entity that was cut off',
      async (store) => {
        const { key, value } = await firstIn(store, 'e');
        await put(store, key, value.subarray(0, value.length - 1));
      },
      /^record e eaccount1\.\S+ cannot be read: the entity ends too early/,
    ],
    [
      'an entity that was cut off behind a property',
      async (store) => {
        const { key, value } = await firstIn(store, 'e');
        const { ticks, properties } = decodeEntity(value);
        const shorter = encodeEntity({ ticks, properties: properties.slice(0, 1) });
        await put(store, key, value.subarray(0, shorter.length));
      },
      /^record e eaccount1\.\S+ cannot be read: the entity ends too early/,
    ],
    [
      'an entity of another format',
      async (store) => {
        const { key, value } = await firstIn(store, 'e');
        await put(store, key, Uint8Array.of(2, ...value.subarray(1)));
      },
      /^record e eaccount1\.\S+ cannot be read: unknown entity format 2/,
    ],
    [
      'an entity under a key with a slash',
      (store) => putEntity(store, Buffer.from('a/b\0r')),
      /^entity "a\/b" "r" has invalid keys/,
    ],
    [
      'an entity under a key with a control character',
      (store) => putEntity(store, Buffer.from('p\0r\n')),
      /^entity "p" "r\\n" has invalid keys/,
    ],
    ['an entity under one key alone', (store) => putEntity(store, Buffer.from('p')), /^entity .* has invalid keys/],
    [
      'an entity under a key too many',
      (store) => putEntity(store, Buffer.from('p\0r\0')),
      /^entity "p" "r\\u0000" has invalid keys/,
    ],
    [
      'an entity under bytes that are no text',
      (store) => putEntity(store, Buffer.from([0xc3, 0, 0x61])),
      /^entity .* has invalid keys/,
    ],
    [
      'an entity under a character of four bytes, which is written in six',
      (store) => putEntity(store, Buffer.from('\u{1f600}\0r')),
      /^entity .* has invalid keys/,
    ],
    [
      'records between the tables',
      (store) => put(store, Buffer.from('g'), Buffer.alloc(0)),
      /^record g belongs to no table/,
    ],
  ];

  for (const [what, plant, finding] of rows) {
    test(what, async () => {
      const store = await tableStore();
      await plant(store);
      const { findings } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
      assert.ok(
        findings.some((text) => finding.test(text)),
        findings.join('\n'),
      );
    });
  }
});
