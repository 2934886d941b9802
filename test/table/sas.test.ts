/**
 * What is particular to tables in shared access signatures: names in any case, batches, ranges of keys. What they share
 * with other services is in test/services.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { odata, type TableClient, type TableSasSignatureValues } from '@azure/data-tables';
import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable, tableRefusal } from '../harness/table-clients.ts';
import { sendTable } from '../harness/table-http.ts';
import { NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import { connect, TABLES } from './credentials.ts';
import { type Key, outcome, prepare, READS, WRITES, WRITES_IN_BATCH } from './operations.ts';

const server = await startInProcess();

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

/** `values`: also the bounds of a range, which no other service has. */
const tokenFor = ({ tableName }: TableClient, letters: string, values: TableSasSignatureValues = {}): string =>
  TABLES.makeSas(DEVELOPMENT_ACCOUNT, tableName, letters, { expiresOn: inSeconds(60), ...values });

/** A client of the table that has nothing but the token. */
const guestOf = ({ tableName }: Pick<TableClient, 'tableName'>, sas: string): TableClient =>
  connect({ endpoint: server.tableEndpoint(), sas }, tableName).table;

/** Partition and row of every entity that a query shows, page by page. */
async function shown(table: TableClient, { pageSize = 1000, filter = '' } = {}): Promise<string[]> {
  const found: string[] = [];
  const queryOptions = filter === '' ? {} : { filter };
  for await (const page of table.listEntities({ queryOptions }).byPage({ maxPageSize: pageSize })) {
    found.push(...page.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`));
  }
  return found;
}

const keyIn = (entity: string): Key => {
  const [partitionKey = '', rowKey = ''] = entity.split('/');
  return { partitionKey, rowKey };
};

describe('a token for a table', () => {
  test('is for its table, in any case of letters, and for no other', async () => {
    const [table, other] = [await freshTable(server, 'Mixed'), await freshTable(server)];
    const token = tokenFor(table, 'raud');
    for (const tableName of [table.tableName.toUpperCase(), table.tableName.toLowerCase()]) {
      assert.equal(await outcome(guestOf({ tableName }, token).upsertEntity(keyIn('p/r'))), 'ok');
    }
    const stranger = guestOf(other, token);
    for (const { operation, use } of [...READS, ...WRITES]) {
      assert.equal(await outcome(use(stranger, keyIn('p/r'))), NOT_AUTHENTIC, operation);
    }
    // The path of a batch names no table: the operations in it do.
    for (const { operation, use } of WRITES_IN_BATCH) {
      assert.equal(await outcome(use(stranger, keyIn('p/r'))), NOT_PERMITTED, operation);
    }
    assert.deepEqual(await shown(other), []);
  });

  test('reads its table in a batch, and no other', async () => {
    const [table, other] = [await freshTable(server), await freshTable(server)];
    for (const { operation, status, of } of [
      { operation: 'its own', status: 200, of: table },
      { operation: 'another', status: 403, of: other },
    ]) {
      await of.createEntity(keyIn('p/r'));
      for (const path of [`${of.tableName}()`, `${of.tableName}(PartitionKey='p',RowKey='r')`]) {
        const inner = `GET ${server.tableEndpoint()}/${path} HTTP/1.1\r\nAccept: application/json\r\n\r\n`;
        const part = `Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${inner}`;
        const { status: outer, body } = await sendTable(server.tableUrl, {
          method: 'POST',
          path: `/$batch?${tokenFor(table, 'r')}`,
          account: null,
          headers: { 'content-type': 'multipart/mixed; boundary=b' },
          body: `--b\r\n${part}\r\n--b--\r\n`,
        });
        assert.equal(outer, 202);
        assert.match(body.toString(), new RegExp(`HTTP/1\\.1 ${status} `), `${operation}: ${path}`);
      }
    }
  });

  test('that is touched in any part fails', async () => {
    const table = await freshTable(server);
    const token = tokenFor(table, 'r', { startPartitionKey: 'b', endPartitionKey: 'c' });
    for (const [name, value] of [
      ['sp', 'raud'],
      ['se', inSeconds(600).toISOString()],
      ['sv', '2020-12-06'],
      ['tn', 'another'],
      ['spk', 'a'],
      ['epk', 'd'],
      ['spk', ''],
      ['epk', ''],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      assert.equal(await tableRefusal(guestOf(table, touched.toString()).listEntities().next()), NOT_AUTHENTIC, name);
    }
  });

  test('refused is told so in JSON, or in XML where the operation speaks it', async () => {
    const table = await freshTable(server);
    const ask = (path: string) => sendTable(server.tableUrl, { method: 'GET', path, account: null });
    const entities = await ask(`/${table.tableName}()?${tokenFor(table, 'a')}`);
    assert.equal(entities.outcome, NOT_PERMITTED);
    assert.equal(entities.error?.code, 'AuthorizationPermissionMismatch');
    const policies = await ask(`/${table.tableName}?comp=acl&${tokenFor(table, 'r')}`);
    assert.equal(policies.outcome, '403 AuthorizationFailure');
    assert.match(policies.body.toString(), /<Code>AuthorizationFailure<\/Code>/);
  });
});

describe('a range of keys', () => {
  const ENTITIES = ['a/1', 'a/2', 'b/1', 'b/2', 'b/3', 'ba/1', 'c/1', 'c/2', 'd/1'];
  const starts: readonly (readonly [values: TableSasSignatureValues, first: string])[] = [
    [{}, 'a/1'],
    [{ startPartitionKey: 'b' }, 'b/1'],
    [{ startPartitionKey: 'b', startRowKey: '2' }, 'b/2'],
  ];
  const ends: readonly (readonly [values: TableSasSignatureValues, last: string])[] = [
    [{}, 'd/1'],
    [{ endPartitionKey: 'c' }, 'c/2'],
    [{ endPartitionKey: 'c', endRowKey: '1' }, 'c/1'],
  ];
  let table: TableClient;
  before(async () => {
    table = await freshTable(server);
    for (const entity of ENTITIES) await table.createEntity(keyIn(entity));
  });

  for (const [start, first] of starts) {
    for (const [end, last] of ends) {
      const bounds = { ...start, ...end };
      const inside = ENTITIES.slice(ENTITIES.indexOf(first), ENTITIES.indexOf(last) + 1);

      test(`${JSON.stringify(bounds)} shows ${first} to ${last} and lets nothing else be written`, async () => {
        const guest = guestOf(table, tokenFor(table, 'raud', bounds));
        assert.deepEqual(await shown(guest), inside);
        assert.deepEqual(await shown(guest, { pageSize: 2 }), inside);
        const filter = odata`PartitionKey ge ${'a'} and RowKey eq ${'1'}`;
        assert.deepEqual(
          await shown(guest, { filter }),
          inside.filter((entity) => entity.endsWith('/1')),
        );
        for (const entity of ENTITIES) {
          const { partitionKey, rowKey } = keyIn(entity);
          const isInside = inside.includes(entity);
          const got = await outcome(guest.getEntity(partitionKey, rowKey));
          assert.equal(got, isInside ? 'ok' : '404 ResourceNotFound', entity);
          const want = isInside ? 'ok' : NOT_PERMITTED;
          assert.equal(await outcome(guest.upsertEntity(keyIn(entity))), want, entity);
          assert.equal(
            await outcome(guest.submitTransaction([['upsert', keyIn(entity)]])),
            want,
            `${entity} in a batch`,
          );
        }
      });
    }
  }

  test('lets every kind of write in, and none out', async () => {
    const own = await freshTable(server);
    const guest = guestOf(own, tokenFor(own, 'raud', { startPartitionKey: 'b', endPartitionKey: 'b', endRowKey: '2' }));
    for (const [entity, want] of [
      ['a/1', NOT_PERMITTED],
      ['b/1', 'ok'],
      ['b/2', 'ok'],
      ['b/3', NOT_PERMITTED],
    ] as const) {
      for (const use of [...WRITES, ...WRITES_IN_BATCH]) {
        await prepare(own, use, keyIn(entity));
        assert.equal(await outcome(use.use(guest, keyIn(entity))), want, `${use.operation} ${entity}`);
      }
    }
  });

  test('is not left by a place to continue at that lies before it or behind', async () => {
    const guest = guestOf(table, tokenFor(table, 'r', { startPartitionKey: 'b', endPartitionKey: 'b' }));
    const tokens: string[] = [];
    for await (const page of table.listEntities().byPage({ maxPageSize: 1 })) {
      if (page.continuationToken !== undefined) tokens.push(page.continuationToken);
    }
    assert.equal(tokens.length, ENTITIES.length - 1);
    for (const [index, continuationToken] of tokens.entries()) {
      const rest = ENTITIES.slice(index + 1).filter((entity) => entity.startsWith('b/'));
      const found: string[] = [];
      for await (const page of guest.listEntities().byPage({ continuationToken })) {
        found.push(...page.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`));
      }
      assert.deepEqual(found, rest);
    }
  });

  test('refuses a batch as a whole if one of its operations is outside', async () => {
    const own = await freshTable(server);
    const guest = guestOf(own, tokenFor(own, 'raud', { startPartitionKey: 'p', startRowKey: '5' }));
    const batch = ['6', '7', '4'].map((rowKey) => ['create', { partitionKey: 'p', rowKey }] as ['create', Key]);
    await assert.rejects(guest.submitTransaction(batch), ({ message }: Error) => message.startsWith('2:'));
    assert.equal(await tableRefusal(guest.submitTransaction(batch)), NOT_PERMITTED);
    assert.deepEqual(await shown(own), []);
    assert.equal(await outcome(guest.submitTransaction(batch.slice(0, 2))), 'ok');
    assert.deepEqual(await shown(own), ['p/6', 'p/7']);
  });

  test('with a row but no partition is refused', async () => {
    for (const values of [{ startRowKey: '1' }, { endRowKey: '1' }, { startPartitionKey: '', startRowKey: '1' }]) {
      const guest = guestOf(table, tokenFor(table, 'r', values));
      assert.equal(await tableRefusal(guest.listEntities().next()), NOT_AUTHENTIC, JSON.stringify(values));
    }
  });

  test('that ends before it begins holds nothing', async () => {
    const guest = guestOf(table, tokenFor(table, 'raud', { startPartitionKey: 'c', endPartitionKey: 'b' }));
    assert.deepEqual(await shown(guest), []);
    assert.equal(await tableRefusal(guest.upsertEntity(keyIn('b/9'))), NOT_PERMITTED);
  });
});

const policy = (permission: string, expiry = inSeconds(60)) => [{ id: 'guests', accessPolicy: { permission, expiry } }];
/** Neither letters nor an expiry: the policy has them. */
const policyToken = ({ tableName }: TableClient, values: TableSasSignatureValues = {}): string =>
  TABLES.makeSas(DEVELOPMENT_ACCOUNT, tableName, '', { identifier: 'guests', ...values });

describe('a stored policy', () => {
  test('goes with the range of a token', async () => {
    const table = await freshTable(server);
    await table.setAccessPolicy(policy('raud'));
    const guest = guestOf(table, policyToken(table, { startPartitionKey: 'b', endPartitionKey: 'b' }));
    assert.equal(await outcome(guest.submitTransaction([['create', keyIn('b/1')]])), 'ok');
    assert.equal(await outcome(guest.submitTransaction([['create', keyIn('c/1')]])), NOT_PERMITTED);
  });

  test('is that of the token’s table, and not of another that a batch is about', async () => {
    const [table, other] = [await freshTable(server), await freshTable(server)];
    await other.setAccessPolicy(policy('raud'));
    const token = policyToken(table);
    for (const tableName of [table.tableName, other.tableName]) {
      const batch = guestOf({ tableName }, token).submitTransaction([['create', keyIn('p/1')]]);
      assert.equal(await outcome(batch), NOT_AUTHENTIC);
    }
    await table.setAccessPolicy(policy('raud'));
    assert.equal(await outcome(guestOf(table, token).submitTransaction([['create', keyIn('p/1')]])), 'ok');
    assert.equal(await outcome(guestOf(other, token).submitTransaction([['create', keyIn('p/1')]])), NOT_PERMITTED);
  });

  test('goes with its table: one made anew under the name has none', async () => {
    const table = await freshTable(server);
    await table.setAccessPolicy(policy('r'));
    const guest = guestOf(table, policyToken(table));
    assert.equal(await outcome(guest.listEntities().next()), 'ok');
    await table.deleteTable();
    await table.createTable();
    assert.equal(await outcome(guest.listEntities().next()), NOT_AUTHENTIC);
  });
});

test('an account SAS with c creates tables, as the client for blobs makes such a token', async () => {
  const token = generateAccountSASQueryParameters(
    { permissions: AccountSASPermissions.parse('c'), services: 't', resourceTypes: 'c', expiresOn: inSeconds(60) },
    new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
  ).toString();
  const { tableName } = await freshTable(server);
  const { service, table } = connect({ endpoint: server.tableEndpoint(), sas: token }, `${tableName}x`);
  assert.equal(await outcome(table.createTable()), 'ok');
  assert.equal(await outcome(service.listTables().next()), NOT_PERMITTED);
});
