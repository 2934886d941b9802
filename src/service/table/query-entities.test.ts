import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { type EntityPage, queryPage } from '../../../test/harness/query-page.ts';
import { seeded } from '../../../test/harness/random.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { type Engine, KEY_BYTES_MAX } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { EdmValue, EntityKey, Properties } from '../../rules/edm.ts';
import { type Filter, matchesFilter } from '../../rules/entity-filter.ts';
import { type EntityScope, isInScope } from '../../rules/entity-scope.ts';
import { decodeEntity } from '../records/entity-record.ts';
import { StorageError } from '../storage-error.ts';
import { changeEntities } from './change-entities.ts';
import { createTable } from './create-table.ts';
import { deleteTable } from './delete-table.ts';
import { QUERY_LIMITS, type QueryEntitiesRequest, type QueryLimits } from './query-entities.ts';

const NAME = { account: ACCOUNT, table: 'people' };
const PAGES_MAX = 10_000;

const text = (value: string): EdmValue => ({ type: 'Edm.String', value });
const number = (value: number): EdmValue => ({ type: 'Edm.Int32', value });
const compare = (property: string, operator: 'eq' | 'ge' | 'gt' | 'le' | 'lt' | 'ne', literal: EdmValue): Filter => ({
  kind: 'compare',
  property,
  operator,
  literal,
});

interface Given {
  readonly key: EntityKey;
  readonly properties: Properties;
}

async function openTable(given: readonly Given[], engine: Engine = openMemoryEngine()): Promise<TestStore> {
  const store = await TestStore.open({ engine });
  // So that nothing but the test asks the engine.
  await store.sweeper.close();
  await createTable(store.storage, NAME);
  await insert(store, given);
  return store;
}

async function insert(store: TestStore, given: readonly Given[]): Promise<void> {
  const changes = given.map(({ key, properties }) => ({ key, change: { kind: 'insert', properties } as const }));
  assert.ok('changed' in (await changeEntities(store.storage, NAME, changes)));
}

async function remove(store: TestStore, keys: readonly EntityKey[]): Promise<void> {
  const changes = keys.map((key) => ({ key, change: { kind: 'delete', ifMatch: { kind: 'any' } } as const }));
  assert.ok('changed' in (await changeEntities(store.storage, NAME, changes)));
}

const keyAt = (partition: number, row: number): EntityKey => ({
  partitionKey: `p${String(partition).padStart(4, '0')}`,
  rowKey: `r${String(row).padStart(4, '0')}`,
});

/** `p0 r0`, `p0 r1`, …: so many rows in each of so many partitions. */
function grid(partitionCount: number, rowCount: number): Given[] {
  return Array.from({ length: partitionCount }, (_, partition) =>
    Array.from({ length: rowCount }, (__, row) => ({
      key: keyAt(partition, row),
      properties: [['number', number(row)]] as const,
    })),
  ).flat();
}

const keysOf = (entities: readonly EntityKey[]): string[] =>
  entities.map(({ partitionKey, rowKey }) => `${partitionKey} ${rowKey}`);
const keysGiven = (given: readonly Given[]): string[] => keysOf(given.map(({ key }) => key));

type Question = Partial<Omit<QueryEntitiesRequest, 'name'>>;

const ask = (store: TestStore, question: Question, limits?: QueryLimits): Promise<EntityPage> =>
  queryPage(
    store.storage,
    { name: NAME, filter: null, limit: 1_000, from: null, scope: null, ...question },
    limits ?? QUERY_LIMITS,
  );

/** Every page until one has no next. */
async function askAll(store: TestStore, question: Question, limits?: QueryLimits): Promise<EntityPage[]> {
  const pages: EntityPage[] = [];
  for (let from: EntityKey | null = null; pages.length < PAGES_MAX; ) {
    const page: EntityPage = await ask(store, { ...question, from }, limits);
    pages.push(page);
    if (page.next === null) return pages;
    from = page.next;
  }
  assert.fail('the pages have no end');
}

const sizesOf = (pages: readonly EntityPage[]): number[] => pages.map(({ entities }) => entities.length);
const keysIn = (pages: readonly EntityPage[]): string[] => pages.flatMap(({ entities }) => keysOf(entities));

const isMissing = (error: unknown): boolean => error instanceof StorageError && error.code === 'TableNotFound';

/** A clock that is over after every step. */
const IMPATIENT: QueryLimits = { ...QUERY_LIMITS, scanMsMax: 0 };

describe('a page', () => {
  test('ends with its count, and the next one goes on where it ended', async () => {
    const given = grid(3, 5);
    const store = await openTable(given);
    for (const [limit, sizes] of [
      [1, Array.from({ length: 15 }, () => 1)],
      [4, [4, 4, 4, 3]],
      [5, [5, 5, 5]],
      [14, [14, 1]],
      [15, [15]],
      [1_000, [15]],
    ] as const) {
      const pages = await askAll(store, { limit });
      assert.deepEqual(sizesOf(pages), sizes, `${limit} at a time`);
      assert.deepEqual(keysIn(pages), keysGiven(given));
    }
  });

  test('that is full asks for no entity behind it twice', async () => {
    const store = await openTable(grid(1, 3));
    const { next } = await ask(store, { limit: 2 });
    assert.deepEqual(next, { partitionKey: 'p0000', rowKey: 'r0002' });
  });

  test('ends with its bytes, but not before its first entity', async () => {
    const given = grid(1, 5).map(({ key }, index) => ({
      key,
      properties: [['bytes', { type: 'Edm.Binary', value: Buffer.alloc(index === 3 ? 5_000 : 1_000) }]] as Properties,
    }));
    const store = await openTable(given);
    const pages = await askAll(store, {}, { ...QUERY_LIMITS, pageBytesMax: 3_000 });
    assert.deepEqual(sizesOf(pages), [2, 1, 1, 1]);
    assert.deepEqual(keysIn(pages), keysGiven(given));
  });

  test('holds entities of 4 MiB together', async () => {
    const large: Properties = Array.from({ length: 15 }, (_, index) => [
      `bytes${index}`,
      { type: 'Edm.Binary', value: Buffer.alloc(64 * 1024) },
    ]);
    const store = await openTable(grid(1, 9).map(({ key }) => ({ key, properties: large })));
    assert.deepEqual(sizesOf(await askAll(store, {})), [4, 4, 1]);
  });

  test('ends with its time, and following the pages shows everything once and in order', async () => {
    const given = grid(4, 700);
    const store = await openTable(given);
    const pages = await askAll(store, {}, IMPATIENT);
    assert.deepEqual(sizesOf(pages), [512, 512, 512, 512, 512, 240]);
    assert.deepEqual(keysIn(pages), keysGiven(given));
  });

  test('whose time is over goes on behind keys of every kind', async () => {
    const rowKeys = ['', ' ', '  ', '!', 'a', 'a ', 'a!', 'a'.repeat(512), '\ud83d\ude00', '\ue000', '\uffff'];
    const given = ['', ' ', 'a', 'a ', '\ud83d\ude00', '\uffff'].flatMap((partitionKey) =>
      rowKeys.map((rowKey) => ({ key: { partitionKey, rowKey }, properties: [] })),
    );
    const store = await openTable(given);
    const pages = await askAll(store, { limit: 1 }, IMPATIENT);
    assert.deepEqual(keysIn(pages), keysGiven(given));
  });

  test('has five seconds, counted from its start', async () => {
    const store = await openTable(grid(1, 1_300));
    let nowMs = 1_000;
    const slow: QueryLimits = { ...QUERY_LIMITS, monotonicMs: () => nowMs };
    const hooks = new Hooks();
    const watched = { ...store.storage, engine: hookEngine(store.engine, hooks) };
    hooks.before = ({ what }) => {
      if (what === 'ranged') nowMs += 2_500;
    };
    const request = { name: NAME, filter: null, limit: 5_000, from: null, scope: null };
    const { entities, next } = await queryPage(watched, request, slow);
    assert.equal(entities.length, 2 * 512);
    assert.deepEqual(next, { partitionKey: 'p0000', rowKey: 'r1023 ' });
  });

  test('of a table that is not there is refused, and so is one of a table that was deleted', async () => {
    const store = await openTable(grid(1, 1));
    const request = { filter: null, limit: 1, from: null, scope: null };
    const other = { ...request, name: { account: ACCOUNT, table: 'other' } };
    await assert.rejects(queryPage(store.storage, other), isMissing);
    await deleteTable(store.storage, NAME);
    await assert.rejects(ask(store, {}), isMissing);
  });

  test('names the table as it was created, whatever the case it was asked for in', async () => {
    const store = await openTable(grid(1, 1));
    const request = { filter: null, limit: 1, from: null, scope: null };
    const page = await queryPage(store.storage, { ...request, name: { account: ACCOUNT, table: 'PEOPLE' } });
    assert.equal(page.table.name, 'people');
    assert.equal(page.entities.length, 1);
  });

  test('shows nothing of tables beside it', async () => {
    const store = await openTable([]);
    for (const table of ['people0', 'peopl', 'peoplf']) {
      const name = { account: ACCOUNT, table };
      await createTable(store.storage, name);
      const change = { kind: 'insert', properties: [] } as const;
      await changeEntities(store.storage, name, [{ key: { partitionKey: table, rowKey: '' }, change }]);
    }
    assert.deepEqual(keysIn(await askAll(store, {})), []);
  });
});

describe('a page with a filter', () => {
  const NOTHING = compare('nothing', 'eq', number(1));

  test('counts what matches, and not what is looked at', async () => {
    const given = grid(1, 400);
    const store = await openTable(given);
    const pages = await askAll(store, { filter: compare('number', 'ge', number(395)), limit: 3 });
    assert.deepEqual(sizesOf(pages), [3, 2]);
  });

  test('may be empty and go on, when its time is over', async () => {
    const store = await openTable(grid(4, 700));
    const pages = await askAll(store, { filter: NOTHING }, IMPATIENT);
    assert.ok(pages.length > 3, `${pages.length} pages`);
    assert.deepEqual(keysIn(pages), []);
    const found = await askAll(store, { filter: compare('number', 'eq', number(249)) }, IMPATIENT);
    assert.equal(keysIn(found).length, 4);
  });

  test('reads only the part of the table that its keys can be in', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const store = await openTable(grid(10, 50), engine);
    const inPartition = compare('PartitionKey', 'eq', text('p0004'));
    const rows: readonly (readonly [what: string, filter: Filter, mostRead: number, found: number])[] = [
      ['one key', { kind: 'and', left: inPartition, right: compare('RowKey', 'eq', text('r0007')) }, 1, 1],
      ['one partition', inPartition, 50, 50],
      [
        'two partitions',
        { kind: 'or', left: inPartition, right: compare('PartitionKey', 'eq', text('p0008')) },
        100,
        100,
      ],
      [
        'a prefix of keys in a partition',
        {
          kind: 'and',
          left: inPartition,
          right: {
            kind: 'and',
            left: compare('RowKey', 'ge', text('r001')),
            right: compare('RowKey', 'lt', text('r002')),
          },
        },
        10,
        10,
      ],
      ['a partition, and something else', { kind: 'and', left: inPartition, right: NOTHING }, 50, 0],
    ];
    for (const [what, filter, mostRead, found] of rows) {
      let count = 0;
      const cost = await engine.costOf(async () => {
        count = (await ask(store, { filter })).entities.length;
      });
      assert.equal(count, found, what);
      // And the table's own record.
      assert.ok(cost.entriesRead <= mostRead + 1, `${what}: ${cost.entriesRead} records`);
    }
  });

  test('takes literals longer than any key', async () => {
    const given = grid(3, 1);
    const hooks = new Hooks();
    const store = await openTable(given, hookEngine(openMemoryEngine(), hooks));
    let longestBytes = 0;
    hooks.before = (call) => {
      if (call.what === 'range') longestBytes = Math.max(longestBytes, call.from.length);
    };
    const long = `p0000${'\uffff'.repeat(10_000)}`;
    for (const [operator, want] of [
      ['lt', ['p0000 r0000']],
      ['ge', ['p0001 r0000', 'p0002 r0000']],
      ['eq', []],
    ] as const) {
      const filter = compare('PartitionKey', operator, text(long));
      assert.deepEqual(keysIn(await askAll(store, { filter })), want, operator);
    }
    const scope = { table: 'people', from: { partitionKey: long, rowKey: long }, to: null };
    assert.deepEqual(keysIn(await askAll(store, { scope })), ['p0001 r0000', 'p0002 r0000']);
    const from = { partitionKey: 'p0001', rowKey: long.replace('p', 'r') };
    assert.deepEqual(keysIn([await ask(store, { from })]), ['p0002 r0000']);
    assert.ok(longestBytes > 0 && longestBytes <= KEY_BYTES_MAX + 1, `${longestBytes} bytes`);
  });
});

describe('while others write', () => {
  test('a page shows one state of the table', async () => {
    const given = grid(2, 200);
    const hooks = new Hooks();
    const store = await openTable(given, hookEngine(openMemoryEngine(), hooks));
    let writes = 0;
    hooks.before = async (call) => {
      if (call.what !== 'ranged' || call.from[0] !== 'e'.charCodeAt(0)) return;
      hooks.clear();
      writes++;
      const [first, last] = [given[0] as Given, given.at(-1) as Given];
      await remove(store, [first.key, last.key]);
      await insert(store, [{ key: { partitionKey: 'p0001', rowKey: 'r0199a' }, properties: [] }]);
    };
    const { entities } = await ask(store, {});
    assert.equal(writes, 1);
    assert.deepEqual(keysOf(entities), keysGiven(given));
  });

  test('pages that follow each other show each entity at most once, and all that stay', async () => {
    const given = grid(1, 30);
    const store = await openTable(given);
    const seen: string[] = [];
    let from: EntityKey | null = null;
    for (let turn = 0; ; turn++) {
      const page: EntityPage = await ask(store, { limit: 4, from });
      seen.push(...keysOf(page.entities));
      if (page.next === null) break;
      from = page.next;
      await insert(store, [{ key: { partitionKey: 'p', rowKey: `before ${turn}` }, properties: [] }]);
      await remove(store, [page.next]);
    }
    assert.deepEqual(seen, [...new Set(seen)]);
    assert.deepEqual(
      seen,
      keysGiven(given).filter((_, index) => index % 5 !== 4),
    );
  });

  test('a long scan lets all other work have its turn', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const store = await openTable(grid(10, 300), engine);
    let turnCount = 0;
    let turn = setImmediate(function next() {
      turnCount++;
      turn = setImmediate(next);
    });
    const cost = await engine.costOf(() => ask(store, { filter: compare('nothing', 'eq', number(1)) }));
    clearImmediate(turn);
    const stepCount = Math.ceil(3_000 / 512);
    assert.ok(cost.rangesAsked >= stepCount, `${cost.rangesAsked} steps`);
    assert.ok(turnCount >= stepCount - 1, `${turnCount} turns in ${stepCount} steps`);
  });

  test('a scan of large entities goes in small steps', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const properties: Properties = [
      ['first', { type: 'Edm.Binary', value: Buffer.alloc(50 * 1024) }],
      ['second', { type: 'Edm.Binary', value: Buffer.alloc(50 * 1024) }],
    ];
    const store = await openTable(
      grid(1, 100).map(({ key }) => ({ key, properties })),
      engine,
    );
    const cost = await engine.costOf(() => ask(store, { filter: compare('nothing', 'eq', number(1)) }));
    assert.ok(cost.rangesAsked >= 7, `${cost.rangesAsked} steps`);
  });
});

/** Few characters, so that keys are equal, prefixes of each other, or neighbours. */
const keyTexts = fc
  .array(fc.constantFrom(' ', '!', 'a', 'b', "'", '\ud83d\ude00', '\ue000', '\uffff'), { maxLength: 3 })
  .map((characters) => characters.join(''));
const keys = fc.record({ partitionKey: keyTexts, rowKey: keyTexts }, { noNullPrototype: true });
const values: fc.Arbitrary<EdmValue> = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map(number),
  fc.boolean().map((value): EdmValue => ({ type: 'Edm.Boolean', value })),
  keyTexts.map(text),
);
const tables = fc.uniqueArray(
  fc.record(
    {
      key: keys,
      properties: fc
        .uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 })
        .chain((names) => fc.tuple(...names.map((name) => values.map((value) => [name, value] as const)))),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 30, selector: ({ key }) => JSON.stringify(key) },
);
const comparisons: fc.Arbitrary<Filter> = fc.oneof(
  fc
    .record({
      property: fc.constantFrom('PartitionKey', 'RowKey'),
      operator: fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le'),
      literal: keyTexts.map(text),
    })
    .map((rest): Filter => ({ kind: 'compare', ...rest })),
  fc
    .record({
      property: fc.constantFrom('a', 'b', 'c'),
      operator: fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le'),
      literal: fc.integer({ min: 0, max: 3 }).map(number),
    })
    .map((rest): Filter => ({ kind: 'compare', ...rest })),
  fc.constantFrom('a', 'b').map((property): Filter => ({ kind: 'isTrue', property })),
  fc.boolean().map((value): Filter => ({ kind: 'constant', value })),
);
const { filters } = fc.letrec<{ filters: Filter }>((tie) => ({
  filters: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    comparisons,
    fc
      .record({ kind: fc.constantFrom('and' as const, 'or' as const), left: tie('filters'), right: tie('filters') })
      .map((parts): Filter => ({ ...parts })),
    tie('filters').map((operand): Filter => ({ kind: 'not', operand })),
  ),
}));
const scopes: fc.Arbitrary<EntityScope> = fc.record({
  table: fc.constant('people'),
  from: fc.option(keys),
  to: fc.option(fc.record({ partitionKey: keyTexts, rowKey: fc.option(keyTexts) })),
});

const inOrder = (a: Given, b: Given): number =>
  byUnits(a.key.partitionKey, b.key.partitionKey) || byUnits(a.key.rowKey, b.key.rowKey);
const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const propertyOf =
  ({ key, properties }: Given) =>
  (name: string): EdmValue | null => {
    if (name === 'PartitionKey') return text(key.partitionKey);
    if (name === 'RowKey') return text(key.rowKey);
    return properties.find(([other]) => other === name)?.[1] ?? null;
  };

test('the pages of any query are together what its filter and scope leave of the table, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        table: tables,
        filter: fc.option(filters),
        scope: fc.option(scopes),
        limit: fc.integer({ min: 1, max: 7 }),
        scanMsMax: fc.constantFrom(0, Number.POSITIVE_INFINITY),
        pageBytesMax: fc.constantFrom(1, 60, 1_000_000),
      }),
      async ({ table, filter, scope, limit, scanMsMax, pageBytesMax }) => {
        const store = await openTable(table);
        const pages = await askAll(store, { filter, scope, limit }, { ...QUERY_LIMITS, scanMsMax, pageBytesMax });
        const expected = table
          .filter((given) => filter === null || matchesFilter(filter, propertyOf(given)))
          .filter(({ key }) => scope === null || isInScope(scope, key))
          .toSorted(inOrder);
        assert.deepEqual(keysIn(pages), keysGiven(expected));
        assert.deepEqual(
          pages.flatMap(({ entities }) => entities.map(({ value }) => decodeEntity(value).properties)),
          expected.map(({ properties }) => properties),
        );
        for (const { entities } of pages) assert.ok(entities.length <= limit);
        await store.close();
      },
    ),
    { numRuns: 300, ...seeded },
  );
});
