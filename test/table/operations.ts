/**
 * Every operation of the Table service as the official client asks for it, each with whom the protocol's tables let do it:
 * by a token for the account or for the table, and in which roles. Tests of credentials walk over all of them.
 */
import assert from 'node:assert/strict';
import type { TableClient, TableServiceClient } from '@azure/data-tables';
import { tableOutcomes } from '../harness/table-clients.ts';
import { compareOutcomes, type Operation } from '../services/credentials.ts';

export const CONTRIBUTOR = 'Storage Table Data Contributor';
export const READER = 'Storage Table Data Reader';
export const DELEGATOR = 'Storage Table Delegator';

/** Clients that have nothing but the credential in question. */
export interface Guest {
  readonly service: TableServiceClient;
  readonly table: TableClient;
}

export type Key = { partitionKey: string; rowKey: string };

/** `ok`, or the refusal. */
export async function outcome(request: Promise<unknown>): Promise<string> {
  const [settled = ''] = tableOutcomes(await Promise.allSettled([request]));
  return settled;
}

interface EntityUse {
  readonly operation: string;
  /** Letters of which all are needed. */
  readonly needs: string;
  /** On an entity that exists, except for an insert. */
  readonly use: (table: TableClient, key: Key) => Promise<unknown>;
}

export const READS: readonly EntityUse[] = [
  { needs: 'r', operation: 'Query Entity', use: (table, key) => table.getEntity(key.partitionKey, key.rowKey) },
  { needs: 'r', operation: 'Query Entities', use: (table) => table.listEntities().next() },
];

export const WRITES: readonly EntityUse[] = [
  { needs: 'a', operation: 'Insert Entity', use: (table, key) => table.createEntity({ ...key, x: 1 }) },
  { needs: 'u', operation: 'Update Entity', use: (table, key) => table.updateEntity({ ...key, x: 1 }, 'Replace') },
  { needs: 'u', operation: 'Merge Entity', use: (table, key) => table.updateEntity({ ...key, x: 1 }, 'Merge') },
  { needs: 'au', operation: 'Insert Or Replace', use: (table, key) => table.upsertEntity({ ...key, x: 1 }, 'Replace') },
  { needs: 'au', operation: 'Insert Or Merge', use: (table, key) => table.upsertEntity({ ...key, x: 1 }, 'Merge') },
  { needs: 'd', operation: 'Delete Entity', use: (table, key) => table.deleteEntity(key.partitionKey, key.rowKey) },
];

export const WRITES_IN_BATCH: readonly EntityUse[] = [
  {
    needs: 'a',
    operation: 'insert in a batch',
    use: (table, key) => table.submitTransaction([['create', { ...key, x: 1 }]]),
  },
  {
    needs: 'u',
    operation: 'update in a batch',
    use: (table, key) => table.submitTransaction([['update', { ...key, x: 1 }, 'Replace']]),
  },
  {
    needs: 'au',
    operation: 'upsert in a batch',
    use: (table, key) => table.submitTransaction([['upsert', { ...key, x: 1 }, 'Merge']]),
  },
  { needs: 'd', operation: 'delete in a batch', use: (table, key) => table.submitTransaction([['delete', key]]) },
];

/** Makes sure that the entity is as the operation wants to find it. */
export async function prepare(owner: TableClient, { operation }: Pick<Operation, 'operation'>, key: Key) {
  if (!/^insert /i.test(operation)) await owner.upsertEntity(key, 'Replace');
  else await owner.deleteEntity(key.partitionKey, key.rowKey).catch(() => undefined);
}

interface TableOperation extends Operation {
  readonly ask: (guest: Guest, key: Key) => Promise<unknown>;
}

const ofEntities = (uses: readonly EntityUse[], byRoles: readonly string[]): TableOperation[] =>
  uses.map(({ operation, needs, use }) => ({
    operation,
    type: 'o',
    byAccountSas: [needs],
    bySas: [needs],
    byRoles,
    ask: ({ table }, key) => use(table, key),
  }));

/** In an order in which each finds what it needs. */
const TABLE_OPERATIONS: readonly TableOperation[] = [
  {
    operation: 'Get Table Service Properties',
    type: 's',
    byAccountSas: ['r'],
    bySas: [],
    byRoles: [],
    ask: ({ service }) => service.getProperties(),
  },
  {
    operation: 'Set Table Service Properties',
    type: 's',
    byAccountSas: ['w'],
    bySas: [],
    byRoles: [],
    ask: ({ service }) => service.setProperties({ cors: [] }),
  },
  {
    operation: 'Query Tables',
    type: 'c',
    byAccountSas: ['l'],
    bySas: [],
    byRoles: [CONTRIBUTOR, READER],
    ask: ({ service }) => service.listTables().next(),
  },
  {
    operation: 'Create Table',
    type: 'c',
    byAccountSas: ['c', 'w'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ service, table }) => service.createTable(`${table.tableName}x`),
  },
  {
    // As it is already: the client takes the conflict for success.
    operation: 'Create Table, its own',
    type: 'c',
    byAccountSas: ['c', 'w'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ table }) => table.createTable(),
  },
  {
    operation: 'Get Table ACL',
    type: 'c',
    byAccountSas: [],
    bySas: [],
    byRoles: [],
    ask: ({ table }) => table.getAccessPolicy(),
  },
  {
    operation: 'Set Table ACL',
    type: 'c',
    byAccountSas: [],
    bySas: [],
    byRoles: [],
    ask: ({ table }) => table.setAccessPolicy([]),
  },
  ...ofEntities(READS, [CONTRIBUTOR, READER]),
  ...ofEntities([...WRITES, ...WRITES_IN_BATCH], [CONTRIBUTOR]),
  {
    operation: 'Delete Table',
    type: 'c',
    byAccountSas: ['d'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ table }) => table.deleteTable(),
  },
];

/** Asks for every operation, each on an entity of its own, and compares what comes with `wanted`. */
export const assertOutcomes = (
  guest: Guest,
  owner: TableClient,
  wanted: (operation: Operation) => string,
): Promise<void> =>
  compareOutcomes(
    TABLE_OPERATIONS,
    async (operation, index) => {
      const key = { partitionKey: 'p', rowKey: String(index) };
      await prepare(owner, operation, key);
      return outcome(operation.ask(guest, key));
    },
    wanted,
  );

/** The rows in partition `p` that the owner has prepared for a walk over all operations. */
const PREPARED = TABLE_OPERATIONS.flatMap(({ operation }, index) =>
  /^insert /i.test(operation) ? [] : [String(index)],
);

/** Nobody has added an entity to those of the owner, removed or changed one. */
export async function assertUntouched(owner: TableClient, { isPrepared }: { isPrepared: boolean }): Promise<void> {
  const rows: string[] = [];
  for await (const { rowKey, x } of owner.listEntities({ queryOptions: { filter: "PartitionKey eq 'p'" } })) {
    assert.equal(x, undefined, `${rowKey} was written`);
    rows.push(rowKey as string);
  }
  assert.deepEqual(rows.sort(), isPrepared ? PREPARED.toSorted() : []);
}
