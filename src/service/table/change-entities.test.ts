import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { ACCOUNT, TestStore, type TestStoreParts } from '../../../test/harness/store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { EdmValue, EntityKey, Properties } from '../../rules/edm.ts';
import { type EntityChange, entityTag } from '../../rules/entity-change.ts';
import { decodeEntity, ticksOf } from '../records/entity-record.ts';
import { StorageError } from '../storage-error.ts';
import {
  type Changed,
  type ChangesOutcome,
  changeEntities,
  changeEntity,
  type KeyedChange,
} from './change-entities.ts';
import { createTable } from './create-table.ts';
import { deleteTable } from './delete-table.ts';
import { getEntity } from './get-entity.ts';

const NAME = { account: ACCOUNT, table: 'people' };

const number = (value: number): EdmValue => ({ type: 'Edm.Int32', value });
const binary = (lengthBytes: number): EdmValue => ({ type: 'Edm.Binary', value: Buffer.alloc(lengthBytes) });

async function openTable(parts: Partial<TestStoreParts> = {}): Promise<TestStore> {
  const store = await TestStore.open(parts);
  await createTable(store.storage, NAME);
  return store;
}

/** On an engine that nothing but the test asks. */
async function openCounted(): Promise<{ readonly store: TestStore; readonly engine: CountedEngine }> {
  const engine = new CountedEngine(openMemoryEngine());
  const store = await openTable({ engine });
  await store.sweeper.close();
  return { store, engine };
}

const key = (rowKey: string): EntityKey => ({ partitionKey: 'p', rowKey });
const keyed = (rowKey: string, change: EntityChange): KeyedChange => ({ key: key(rowKey), change });

const insert = (rowKey: string, properties: Properties = []): KeyedChange =>
  keyed(rowKey, { kind: 'insert', properties });
const upsert = (kind: 'replace' | 'merge', rowKey: string, properties: Properties): KeyedChange =>
  keyed(rowKey, { kind, ifMatch: null, properties });
const update = (kind: 'replace' | 'merge', rowKey: string, properties: Properties): KeyedChange =>
  keyed(rowKey, { kind, ifMatch: { kind: 'any' }, properties });
const remove = (rowKey: string): KeyedChange => keyed(rowKey, { kind: 'delete', ifMatch: { kind: 'any' } });
const removeOnly = (rowKey: string, tag: string): KeyedChange =>
  keyed(rowKey, { kind: 'delete', ifMatch: { kind: 'tag', tag } });

const change = (store: TestStore, ...changes: readonly KeyedChange[]): Promise<ChangesOutcome> =>
  changeEntities(store.storage, NAME, changes);

async function done(store: TestStore, ...changes: readonly KeyedChange[]): Promise<readonly Changed[]> {
  const outcome = await change(store, ...changes);
  assert.ok('changed' in outcome, JSON.stringify(outcome));
  return outcome.changed;
}

/** Null where there is none. */
async function read(store: TestStore, rowKey: string): Promise<Properties | null> {
  try {
    return decodeEntity((await getEntity(store.storage, NAME, key(rowKey))).entity.value).properties;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'ResourceNotFound') return null;
    throw error;
  }
}

const tagOf = (changed: Changed | undefined): string => entityTag(ticksOf(changed as Uint8Array));

describe('a change', () => {
  test('says how the entity is stored now, and after a delete that it is not', async () => {
    const store = await openTable();
    const [inserted] = await done(store, insert('a', [['x', number(1)]]));
    assert.deepEqual(inserted, (await getEntity(store.storage, NAME, key('a'))).entity.value);
    assert.deepEqual(await done(store, remove('a')), [null]);
    assert.equal(await read(store, 'a'), null);
  });

  test('inserts, replaces and merges', async () => {
    const store = await openTable();
    const [x, y, z] = [1, 2, 3].map(number) as [EdmValue, EdmValue, EdmValue];
    for (const [changed, want] of [
      [
        insert('a', [
          ['x', x],
          ['y', y],
        ]),
        [
          ['x', x],
          ['y', y],
        ],
      ],
      [
        update('merge', 'a', [
          ['z', z],
          ['x', y],
        ]),
        [
          ['x', y],
          ['y', y],
          ['z', z],
        ],
      ],
      [
        update('merge', 'a', []),
        [
          ['x', y],
          ['y', y],
          ['z', z],
        ],
      ],
      [update('replace', 'a', [['z', x]]), [['z', x]]],
      [
        upsert('merge', 'a', [['y', y]]),
        [
          ['z', x],
          ['y', y],
        ],
      ],
      [upsert('replace', 'a', []), []],
      [upsert('merge', 'b', [['x', x]]), [['x', x]]],
      [upsert('replace', 'c', [['x', x]]), [['x', x]]],
    ] as const) {
      await done(store, changed);
      assert.deepEqual(await read(store, changed.key.rowKey), want);
    }
  });

  test('alone throws what refuses it', async () => {
    const store = await openTable();
    await changeEntity(store.storage, NAME, insert('a'));
    const refusal = changeEntity(store.storage, NAME, insert('a'));
    await assert.rejects(refusal, (error) => error instanceof StorageError && error.code === 'EntityAlreadyExists');
  });

  test('of a table that is not there is refused', async () => {
    const store = await openTable();
    const refusal = changeEntities(store.storage, { account: ACCOUNT, table: 'other' }, [insert('a')]);
    await assert.rejects(refusal, (error) => error instanceof StorageError && error.code === 'TableNotFound');
  });

  test('finds its table in any case', async () => {
    const store = await openTable();
    await changeEntity(store.storage, { account: ACCOUNT, table: 'PeoPle' }, insert('a', [['x', number(1)]]));
    assert.deepEqual(await read(store, 'a'), [['x', number(1)]]);
  });

  test('is seen only in its own partition', async () => {
    const store = await openTable();
    await done(store, { key: { partitionKey: '', rowKey: 'p' }, change: { kind: 'insert', properties: [] } });
    for (const other of [
      { partitionKey: 'p', rowKey: '' },
      { partitionKey: '', rowKey: '' },
    ]) {
      await assert.rejects(getEntity(store.storage, NAME, other), /ResourceNotFound/);
    }
  });

  test('costs one question to the engine and one commit, once the table is known', async () => {
    const { store, engine } = await openCounted();
    await done(store, insert('a'));
    const cost = await engine.costOf(() => done(store, update('merge', 'a', [['x', number(1)]])));
    const { keysAsked, rangesAsked, commits, puts } = cost;
    assert.deepEqual({ keysAsked, rangesAsked, commits, puts }, { keysAsked: 2, rangesAsked: 0, commits: 1, puts: 1 });
  });
});

describe('changes of one transaction', () => {
  test('are made together', async () => {
    const { store, engine } = await openCounted();
    await done(store, insert('a'), insert('b'), insert('c', [['x', number(1)]]));
    const cost = await engine.costOf(() =>
      done(store, remove('a'), update('replace', 'b', [['y', number(2)]]), update('merge', 'c', []), insert('d')),
    );
    assert.equal(cost.commits, 1);
    assert.equal(await read(store, 'a'), null);
    assert.deepEqual(await read(store, 'b'), [['y', number(2)]]);
    assert.deepEqual(await read(store, 'c'), [['x', number(1)]]);
    assert.deepEqual(await read(store, 'd'), []);
  });

  test('are all left undone because of the first that is refused, which is named', async () => {
    const store = await openTable();
    const [before] = await done(store, insert('there', [['x', number(1)]]));
    const stale = entityTag(ticksOf(before as Uint8Array) - 1n);
    const good = [insert('new'), update('merge', 'there', [['x', number(2)]])] as const;
    for (const [bad, refusal] of [
      [insert('there'), 'EntityAlreadyExists'],
      [update('replace', 'absent', []), 'ResourceNotFound'],
      [update('merge', 'absent', []), 'ResourceNotFound'],
      [remove('absent'), 'ResourceNotFound'],
      [removeOnly('there', stale), 'UpdateConditionNotSatisfied'],
    ] as const) {
      const records = await store.records();
      const others = good.filter(({ key: { rowKey } }) => rowKey !== bad.key.rowKey);
      for (const index of [0, 1, others.length]) {
        const changes = others.toSpliced(index, 0, bad);
        assert.deepEqual(await change(store, ...changes), { refusal, index: changes.indexOf(bad) });
        assert.deepEqual(await store.records(), records);
        assert.deepEqual(await read(store, 'there'), [['x', number(1)]]);
      }
    }
  });

  test('of which several are refused name the first', async () => {
    const store = await openTable();
    const outcome = await change(store, insert('a'), remove('b'), update('merge', 'c', []));
    assert.deepEqual(outcome, { refusal: 'ResourceNotFound', index: 1 });
  });

  test('have tags that grow from one to the next, though the clock stands still', async () => {
    const store = await openTable();
    const rows = Array.from({ length: 100 }, (_, index) => String(index));
    const first = (await done(store, ...rows.map((row) => insert(row)))).map((changed) => tagOf(changed));
    const second = (await done(store, ...rows.map((row) => update('merge', row, [])))).map((changed) => tagOf(changed));
    const all = [...first, ...second];
    assert.deepEqual(all, [...new Set(all)].toSorted());
  });

  test('that others make meanwhile are judged again', async () => {
    const hooks = new Hooks();
    const store = await openTable({ engine: hookEngine(openMemoryEngine(), hooks) });
    const [before] = await done(store, insert('a', [['x', number(1)]]));
    hooks.before = async ({ what }) => {
      if (what !== 'commit') return;
      hooks.clear();
      await done(store, update('merge', 'a', [['y', number(2)]]));
    };
    assert.deepEqual(await change(store, insert('b'), removeOnly('a', tagOf(before))), {
      refusal: 'UpdateConditionNotSatisfied',
      index: 1,
    });
    assert.equal(await read(store, 'b'), null);
    hooks.before = async ({ what }) => {
      if (what !== 'commit') return;
      hooks.clear();
      await done(store, update('merge', 'a', [['z', number(3)]]));
    };
    await done(store, update('merge', 'a', [['x', number(4)]]));
    assert.deepEqual(await read(store, 'a'), [
      ['x', number(4)],
      ['y', number(2)],
      ['z', number(3)],
    ]);
  });

  test('fail as a whole when their table is deleted meanwhile', async () => {
    const hooks = new Hooks();
    const store = await openTable({ engine: hookEngine(openMemoryEngine(), hooks) });
    await done(store, insert('a'));
    hooks.before = async ({ what }) => {
      if (what !== 'commit') return;
      hooks.clear();
      await deleteTable(store.storage, NAME);
    };
    await assert.rejects(change(store, insert('b'), insert('c')), /TableNotFound/);
    await store.sweep();
    assert.deepEqual(
      (await store.records()).filter((record) => record.startsWith('e')),
      [],
    );
  });
});

describe('a tag', () => {
  test('is never given again: not to the same entity, nor to another of its name', async () => {
    const store = await openTable();
    const tags: string[] = [];
    for (let round = 0; round < 20; round++) {
      tags.push(tagOf((await done(store, insert('a')))[0]));
      tags.push(tagOf((await done(store, update('replace', 'a', [])))[0]));
      await done(store, removeOnly('a', tags.at(-1) as string));
    }
    assert.deepEqual(tags, [...new Set(tags)].toSorted());
    await done(store, insert('a'));
    for (const tag of tags) {
      assert.deepEqual(await change(store, removeOnly('a', tag)), { refusal: 'UpdateConditionNotSatisfied', index: 0 });
    }
  });

  test('grows though the clock is set back', async () => {
    const store = await openTable();
    const [first] = await done(store, insert('a'));
    await store.reopen();
    store.clock.advance({ seconds: -86_400 });
    const [second] = await done(store, update('merge', 'a', []));
    assert.ok(ticksOf(second as Uint8Array) > ticksOf(first as Uint8Array));
  });

  test('differs between nodes that change entities at one time', async () => {
    const engine = openMemoryEngine();
    const [one, other] = [await openTable({ engine, slot: () => 1 }), await TestStore.open({ engine, slot: () => 2 })];
    const [first] = await done(one, insert('a'));
    const [second] = await done(other, insert('b'));
    assert.notEqual(tagOf(first), tagOf(second));
    const [third] = await done(one, update('merge', 'b', []));
    assert.ok(ticksOf(third as Uint8Array) > ticksOf(second as Uint8Array));
  });
});

const names = (from: number, to: number): Properties =>
  Array.from({ length: to - from }, (_, index) => [`p${from + index}`, number(index)] as const);
const bytes = (from: number, to: number): Properties =>
  Array.from({ length: to - from }, (_, index) => [`p${from + index}`, binary(64 * 1024)] as const);

describe('a merge that makes an entity too much is refused, and changes nothing:', () => {
  for (const [what, before, merged, refusal] of [
    ['253 properties', names(0, 252), names(252, 253), 'TooManyProperties'],
    ['253 properties of two halves', names(0, 126), names(126, 253), 'TooManyProperties'],
    ['more than 1 MiB', bytes(0, 10), bytes(10, 17), 'EntityTooLarge'],
  ] as const) {
    for (const merge of [update, upsert]) {
      test(`${what}, by ${merge === update ? 'a merge' : 'an insert or merge'}`, async () => {
        const store = await openTable();
        const [inserted] = await done(store, insert('a', before));
        assert.deepEqual(await change(store, insert('b'), merge('merge', 'a', merged)), { refusal, index: 1 });
        assert.deepEqual((await getEntity(store.storage, NAME, key('a'))).entity.value, inserted);
        assert.equal(await read(store, 'b'), null);
      });
    }
  }

  test('up to that it is not', async () => {
    const store = await openTable();
    await done(store, insert('a', names(0, 126)));
    await done(store, update('merge', 'a', names(100, 252)));
    assert.equal((await read(store, 'a'))?.length, 252);
  });
});
