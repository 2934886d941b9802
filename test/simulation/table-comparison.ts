/** Holds the store against the model: every record of every table, and queries, of tables and of entities, to their end. */
import assert from 'node:assert/strict';
import type { Engine, Entry } from '../../src/engine/engine.ts';
import type { Filter } from '../../src/rules/entity-filter.ts';
import { decodeJson } from '../../src/service/records/codec.ts';
import { tableRange } from '../../src/service/records/keys.ts';
import { entityTableIdOf, parseEntityKey } from '../../src/service/records/table-keys.ts';
import type { TableRecord } from '../../src/service/records/table-record.ts';
import type { Storage } from '../../src/service/storage.ts';
import { queryTables } from '../../src/service/table/query-tables.ts';
import type { Random } from '../harness/random.ts';
import { ACCOUNT } from '../harness/store.ts';
import { toldOf } from './table-action.ts';
import { type TableModel, told } from './table-model.ts';
import { PagedQuery } from './table-query.ts';
import { TABLES } from './table-values.ts';

const RECORDS_MAX = 1_000_000;
const PAGES_MAX = 2_000;

/** By its name, a table in words: what it says of itself, then an entity each. */
export type StoredTables = ReadonlyMap<string, readonly string[]>;

/** What stood in a table that is gone awaits the sweeper, and is left out. */
export async function storedTables(engine: Engine): Promise<StoredTables> {
  const snapshot = engine.snapshot();
  const read = (table: string): Promise<Entry[]> => snapshot.range(tableRange(table), { limit: RECORDS_MAX });
  try {
    const byId = new Map<string, string[]>();
    const tables = new Map<string, readonly string[]>();
    for (const { value } of await read('t')) {
      const { id, name, policies } = decodeJson<TableRecord>(value);
      const words = [JSON.stringify({ name, policies })];
      byId.set(id, words);
      tables.set(name.toLowerCase(), words);
    }
    for (const { key, value } of await read('e')) {
      byId.get(entityTableIdOf(key))?.push(toldOf({ ...parseEntityKey(key), value }));
    }
    return tables;
  } finally {
    snapshot.close();
  }
}

export function isStored({ tables }: TableModel, stored: StoredTables): boolean {
  if (tables.size !== stored.size) return false;
  return [...tables].every(([lowerName, { name, policies, entities }]) => {
    const words = new Set(stored.get(lowerName));
    if (words.size !== entities.size + 1 || !words.has(JSON.stringify({ name, policies }))) return false;
    return [...entities.values()].every((entity) => words.has(told(entity)));
  });
}

/** Nobody else writes meanwhile. */
export async function compareQueries(storage: Storage, model: TableModel, random: Random): Promise<void> {
  await compareTables(storage, model, random);
  const query = new PagedQuery(random, random.pick(TABLES));
  for (let pages = 0; !query.isAtEnd; pages++) {
    assert.ok(pages < PAGES_MAX, 'a query that never ends');
    const page = query.nextPage();
    await page.run(storage);
    const explained = page.explain(model);
    assert.equal(typeof explained === 'string' ? explained : null, null, page.what);
    if (model.find(query.table) === null) return;
  }
}

async function compareTables(storage: Storage, model: TableModel, random: Random): Promise<void> {
  const name = random.pick(TABLES);
  const isAsked = random.chance(0.5);
  const filter: Filter = {
    kind: 'compare',
    property: 'TableName',
    operator: 'ge',
    literal: { type: 'Edm.String', value: name },
  };
  const limit = 1 + random.below(3);
  const listed: string[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const request = { account: ACCOUNT, filter: isAsked ? filter : null, from, limit };
    const { names, next } = await queryTables(storage, request);
    assert.ok(names.length <= limit && (next === null || names.length === limit), 'the pages of tables are full');
    listed.push(...names);
    from = next;
  }
  const expected = [...model.tables.keys()].sort().map((lowerName) => model.find(lowerName)?.name ?? '');
  assert.deepEqual(
    listed,
    expected.filter((one) => !isAsked || one.toLowerCase() >= name.toLowerCase()),
  );
}
