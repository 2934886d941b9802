/**
 * The concurrency contract of tables, sentence by sentence (C17 to C21), driven by the official client against a running
 * server whose clock the test moves. Where the client would not send such a request, a policy of its own pipeline takes a
 * header away or puts another in its place; neither is signed.
 */
// engines: both in quick
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { TableClient, TransactionAction, UpdateMode, UpdateTableEntityOptions } from '@azure/data-tables';
import type { BlockBlobClient } from '@azure/storage-blob';
import { LEASE_SECONDS, whileLocked } from '../../examples/while-locked.ts';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { freshTable, tableClient, tableOutcomes, tableRefusal } from '../harness/table-clients.ts';

const server = await startInProcess();
const table = await freshTable(server);
const STALE = '412 UpdateConditionNotSatisfied';
const MISSING = '404 ResourceNotFound';
const CLIENTS = 24;

interface Key {
  readonly partitionKey: string;
  readonly rowKey: string;
}

const freshKey = (): Key => ({ partitionKey: 'p', rowKey: randomUUID() });

async function freshEntity(): Promise<Key> {
  const key = freshKey();
  await table.createEntity({ ...key, first: 1 });
  return key;
}

/** Its ETag, and its properties without the keys and the Timestamp. */
async function look({ partitionKey, rowKey }: Key): Promise<{ etag: string; properties: Record<string, unknown> }> {
  const entity: Record<string, unknown> & { etag: string } = await table.getEntity(partitionKey, rowKey);
  const { etag, timestamp, partitionKey: _, rowKey: __, 'odata.metadata': ___, ...properties } = entity;
  assert.match(etag, /^W\/"datetime'[\dTZ.%A-]+'"$/);
  assert.equal(typeof timestamp, 'string');
  return { etag, properties };
}

const isThere = (key: Key): Promise<boolean> =>
  look(key).then(
    () => true,
    () => false,
  );

/** A client that sends its requests without If-Match, or as of another version. */
function altered(change: { readonly version?: string; readonly withoutIfMatch?: boolean }): TableClient {
  const client = tableClient(server, table.tableName);
  client.pipeline.addPolicy({
    name: 'altered',
    sendRequest(request, next) {
      if (change.withoutIfMatch) request.headers.delete('if-match');
      if (change.version !== undefined) request.headers.set('x-ms-version', change.version);
      return next(request);
    },
  });
  return client;
}

const withoutIfMatch = altered({ withoutIfMatch: true });

const put = (client: TableClient, key: Key, mode: UpdateMode, etag?: string): Promise<{ etag?: string }> =>
  client.updateEntity({ ...key, second: 2 }, mode, etag === undefined ? {} : { etag });

const remove = (client: TableClient, { partitionKey, rowKey }: Key, etag?: string): Promise<unknown> =>
  client.deleteEntity(partitionKey, rowKey, etag === undefined ? {} : { etag });

const inTransaction =
  (mode: UpdateMode) =>
  async (key: Key, etag: string): Promise<void> => {
    const other = freshKey();
    const actions: TransactionAction[] = [
      ['create', { ...other }],
      ['update', { ...key, second: 2 }, mode, { etag }],
    ];
    const { subResponses } = await table.submitTransaction(actions);
    assert.deepEqual(
      subResponses.map(({ status }) => status),
      [204, 204],
    );
  };

describe('entities are checked optimistically', () => {
  /** What each mode makes of an entity whose property `first` is 1, given `second`. */
  const AFTER: readonly [UpdateMode, string, Record<string, unknown>][] = [
    ['Replace', 'insert-or-replace', { second: 2 }],
    ['Merge', 'insert-or-merge', { first: 1, second: 2 }],
  ];

  test('C17 Delete Entity without If-Match is refused and deletes nothing', async () => {
    const key = await freshEntity();
    const before = await look(key);
    assert.match(await tableRefusal(remove(withoutIfMatch, key)), /^400 /);
    assert.deepEqual(await look(key), before);
    assert.match(await tableRefusal(remove(withoutIfMatch, freshKey())), /^400 /, 'whether or not there is one');
  });

  for (const [mode, upsert, merged] of AFTER) {
    const method = mode === 'Replace' ? 'PUT' : 'MERGE';

    test(`C17 a ${method} without If-Match is ${upsert}`, async () => {
      const missing = freshKey();
      assert.equal(await tableRefusal(put(table, missing, mode)), MISSING, 'with If-Match: * it is an update');
      await put(withoutIfMatch, missing, mode);
      assert.deepEqual((await look(missing)).properties, { second: 2 });
      const present = await freshEntity();
      await put(withoutIfMatch, present, mode);
      assert.deepEqual((await look(present)).properties, merged);
    });

    test(`C17 a ${method} without If-Match is refused in versions before 2011-08-18`, async () => {
      const key = await freshEntity();
      const before = await look(key);
      const old = altered({ withoutIfMatch: true, version: '2009-09-19' });
      assert.match(await tableRefusal(put(old, key, mode)), /^400 /);
      assert.deepEqual(await look(key), before);
      const missing = freshKey();
      assert.match(await tableRefusal(put(old, missing, mode)), /^400 /);
      assert.equal(await isThere(missing), false);
      await put(altered({ withoutIfMatch: true, version: '2011-08-18' }), missing, mode);
      assert.equal(await isThere(missing), true);
    });
  }

  const CHANGES: readonly [string, (key: Key, etag: string) => Promise<unknown>, Record<string, unknown> | null][] = [
    ['Update Entity', (key, etag) => put(table, key, 'Replace', etag), { second: 2 }],
    ['Merge Entity', (key, etag) => put(table, key, 'Merge', etag), { first: 1, second: 2 }],
    ['Delete Entity', (key, etag) => remove(table, key, etag), null],
    ['Update Entity in a transaction', inTransaction('Replace'), { second: 2 }],
    ['Merge Entity in a transaction', inTransaction('Merge'), { first: 1, second: 2 }],
  ];
  for (const [operation, change, expected] of CHANGES) {
    const assertChanged = async (key: Key, etagBefore: string): Promise<void> => {
      if (expected === null) {
        assert.equal(await isThere(key), false);
        return;
      }
      const { etag, properties } = await look(key);
      assert.deepEqual(properties, expected);
      assert.notEqual(etag, etagBefore);
    };

    test(`C18 ${operation} with a stale ETag gets 412 and changes nothing`, async () => {
      const key = await freshEntity();
      const { etag: stale } = await look(key);
      await table.updateEntity({ ...key, first: 1 }, 'Replace');
      const before = await look(key);
      assert.notEqual(before.etag, stale, 'the same content, another version');
      assert.equal(await tableRefusal(change(key, stale)), STALE);
      assert.deepEqual(await look(key), before);
    });

    test(`C18 ${operation} with the current ETag succeeds and changes it`, async () => {
      const key = await freshEntity();
      const { etag } = await look(key);
      await change(key, etag);
      await assertChanged(key, etag);
      if (expected !== null) assert.equal(await tableRefusal(change(key, etag)), STALE, 'it was good for one change');
    });

    test(`C18 ${operation} with * succeeds whatever the ETag, if there is an entity`, async () => {
      const key = await freshEntity();
      const { etag } = await look(key);
      await table.updateEntity({ ...key, first: 1 }, 'Replace');
      await change(key, '*');
      await assertChanged(key, etag);
      assert.equal(await tableRefusal(change(freshKey(), '*')), MISSING);
      assert.equal(await tableRefusal(change(freshKey(), etag)), MISSING);
    });
  }

  for (const [mode, upsert, merged] of AFTER) {
    test(`C19 ${upsert} checks nothing`, async () => {
      const key = freshKey();
      const first = await table.upsertEntity({ ...key, first: 1 }, mode);
      const second = await table.upsertEntity({ ...key, second: 2 }, mode);
      assert.notEqual(second.etag, first.etag);
      assert.deepEqual(await look(key), { etag: second.etag, properties: merged });
      await table.submitTransaction([['upsert', { ...key, second: 3 }, mode]]);
      assert.deepEqual((await look(key)).properties, { ...merged, second: 3 });
    });

    test(`C19 of ${CLIENTS} that ${upsert} at once none is refused`, async () => {
      for (const key of [freshKey(), await freshEntity()]) {
        const results = await together(CLIENTS, (index) =>
          tableClient(server, table.tableName).upsertEntity({ ...key, second: index }, mode),
        );
        assert.deepEqual(tally(tableOutcomes(results)), { ok: CLIENTS });
        const { etag, properties } = await look(key);
        const last = results.findIndex((result) => result.status === 'fulfilled' && result.value.etag === etag);
        assert.equal(properties['second'], last, 'it is that of the one who was told this ETag');
      }
    });
  }
});

/** `etag`: of the entity as it is now, for those that need one. */
type RowOptions = Pick<UpdateTableEntityOptions, 'onResponse' | 'etag'>;

interface Row {
  readonly operation: string;
  readonly returnsEtag: boolean;
  readonly needsIfMatch: boolean;
  /** Gives the entity that the answer holds, if it does. */
  readonly run: (key: Key, options: RowOptions) => Promise<unknown>;
}

const ROWS: readonly Row[] = [
  {
    operation: 'Query Entities',
    returnsEtag: true,
    needsIfMatch: false,
    async run({ rowKey }, options) {
      const found = [];
      const queryOptions = { filter: `RowKey eq '${rowKey}'` };
      for await (const entity of table.listEntities({ queryOptions, ...options })) found.push(entity);
      return found[0];
    },
  },
  {
    operation: 'Insert Entity',
    returnsEtag: true,
    needsIfMatch: false,
    async run(key, options) {
      await table.deleteEntity(key.partitionKey, key.rowKey);
      return table.createEntity({ ...key }, options);
    },
  },
  {
    operation: 'Update Entity',
    returnsEtag: true,
    needsIfMatch: true,
    run: (key, options) => table.updateEntity({ ...key, second: 2 }, 'Replace', options),
  },
  {
    operation: 'Merge Entity',
    returnsEtag: true,
    needsIfMatch: true,
    run: (key, options) => table.updateEntity({ ...key, second: 2 }, 'Merge', options),
  },
  {
    operation: 'Delete Entity',
    returnsEtag: false,
    needsIfMatch: true,
    run: (key, options) => table.deleteEntity(key.partitionKey, key.rowKey, options),
  },
  {
    operation: 'Insert Or Replace Entity',
    returnsEtag: true,
    needsIfMatch: false,
    run: (key, options) => table.upsertEntity({ ...key, second: 2 }, 'Replace', options),
  },
  {
    operation: 'Insert Or Merge Entity',
    returnsEtag: true,
    needsIfMatch: false,
    run: (key, options) => table.upsertEntity({ ...key, second: 2 }, 'Merge', options),
  },
];

describe('the table of entity operations', () => {
  for (const { operation, returnsEtag, needsIfMatch, run } of ROWS) {
    const returns = returnsEtag ? 'returns an ETag' : 'returns no ETag';
    const needs = needsIfMatch ? 'needs If-Match' : 'needs no If-Match';

    test(`C20 ${operation} ${returns} and ${needs}`, async () => {
      const key = await freshEntity();
      const before = await look(key);
      if (needsIfMatch) {
        const stale = `W/"datetime'2001-01-01T00%3A00%3A00.0000000Z'"`;
        assert.equal(await tableRefusal(run(key, { etag: stale })), STALE);
        assert.deepEqual(await look(key), before);
      }
      const seen: { ifMatch: string | undefined; etag: string | undefined }[] = [];
      const onResponse: RowOptions['onResponse'] = ({ request, headers }) =>
        void seen.push({ ifMatch: request.headers.get('if-match'), etag: headers.get('etag') });
      const result = await run(key, { onResponse, ...(needsIfMatch && { etag: before.etag }) });
      assert.deepEqual(
        seen.map(({ ifMatch }) => ifMatch),
        [needsIfMatch ? before.etag : undefined],
      );
      // Of entities that were queried, each has its own.
      const etag = seen[0]?.etag ?? (result as { etag?: string } | undefined)?.etag;
      assert.equal(etag !== undefined, returnsEtag);
      if (returnsEtag) assert.equal(etag, (await look(key)).etag, 'the one that the entity has now');
    });
  }
});

describe('a lease on one blob as a lock for a whole table', () => {
  const service = blobService(server);
  const PARTITIONS = ['a', 'b', 'c'];
  type Balance = { readonly balance: number };

  async function freshLock(): Promise<BlockBlobClient> {
    const lock = (await freshContainer(service)).getBlockBlobClient('lock');
    await lock.upload('', 0);
    return lock;
  }

  /** One entity in each of three partitions, 0 in all of them. */
  async function freshBalances(): Promise<TableClient> {
    const balances = await freshTable(server);
    for (const partitionKey of PARTITIONS) await balances.createEntity({ partitionKey, rowKey: 'r', balance: 0 });
    return balances;
  }

  const read = async (balances: TableClient): Promise<number[]> => {
    const entities = PARTITIONS.map((partitionKey) => balances.getEntity<Balance>(partitionKey, 'r'));
    return (await Promise.all(entities)).map(({ balance }) => balance);
  };

  /** Adds one in every partition, by reads and unchecked writes: the lock is all that makes it safe. */
  async function addOne(balances: TableClient): Promise<void> {
    for (const partitionKey of PARTITIONS) {
      const { balance } = await balances.getEntity<Balance>(partitionKey, 'r');
      await balances.updateEntity({ partitionKey, rowKey: 'r', balance: balance + 1 }, 'Replace', { etag: '*' });
    }
  }

  test('C21 the example has one worker at a time in the table, and loses no change of several partitions', async () => {
    const [lock, balances] = [await freshLock(), await freshBalances()];
    let inside = 0;
    const seen: number[][] = [];
    const results = await together(20, async (index) => {
      const ownLock = blobService(server).getContainerClient(lock.containerName).getBlockBlobClient(lock.name);
      const own = tableClient(server, balances.tableName);
      const { attempts } = await whileLocked(ownLock, async () => {
        inside++;
        assert.equal(inside, 1, 'nobody else is inside');
        if (index % 4 === 0) seen.push(await read(own));
        else await addOne(own);
        inside--;
      });
      return attempts;
    });
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 20 });
    assert.deepEqual(await read(balances), [15, 15, 15]);
    for (const state of seen) assert.equal(new Set(state).size, 1, `${state.join()}: all partitions of one moment`);
    const attempts = results.map((result) => (result.status === 'fulfilled' ? result.value : 0));
    assert.ok(
      attempts.some((count) => count > 1),
      'some had to wait',
    );
    assert.equal((await lock.getProperties()).leaseState, 'available');
  });

  test('C21 without the lock the same workers lose changes', async () => {
    const balances = await freshBalances();
    const results = await together(15, () => addOne(tableClient(server, balances.tableName)));
    assert.deepEqual(tally(tableOutcomes(results)), { ok: 15 });
    for (const balance of await read(balances)) assert.ok(balance < 15, `${balance} of 15`);
  });

  test('C21 a holder that renews keeps the lock for longer than a lease lasts', async () => {
    const lock = await freshLock();
    await whileLocked(lock, async (lease) => {
      for (let renewal = 0; renewal < 3; renewal++) {
        server.clock.advance({ seconds: LEASE_SECONDS - 1 });
        assert.equal(await refusal(lock.getBlobLeaseClient().acquireLease(LEASE_SECONDS)), '409 LeaseAlreadyPresent');
        await lease.renewLease();
      }
    });
  });

  test('C21 the lock of a crashed holder ends by itself, and its late requests to the lock are refused', async () => {
    const lock = await freshLock();
    const crashed = lock.getBlobLeaseClient();
    await crashed.acquireLease(LEASE_SECONDS);
    const next = whileLocked(lock, async () => {
      assert.match(await refusal(crashed.renewLease()), /^409 LeaseIdMismatchWithLeaseOperation$/);
      const write = lock.upload('', 0, { conditions: { leaseId: crashed.leaseId } });
      assert.equal(await refusal(write), '412 LeaseIdMismatchWithBlobOperation');
    });
    assert.equal(await refusal(lock.getBlobLeaseClient().acquireLease(LEASE_SECONDS)), '409 LeaseAlreadyPresent');
    server.clock.advance({ seconds: LEASE_SECONDS });
    await next;
  });

  test('C21 work that fails gives the lock back', async () => {
    const lock = await freshLock();
    const failing = whileLocked(lock, async () => {
      throw new RangeError('no such crate');
    });
    await assert.rejects(failing, RangeError);
    assert.equal((await lock.getProperties()).leaseState, 'available');
  });
});
