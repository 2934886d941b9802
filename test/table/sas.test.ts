/**
 * Who may do what with tables by a shared access signature, as the official client makes them: tokens for a table, letter by
 * letter; ranges of keys; stored policies, also in batches; tokens for the account.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  type AccountSasOptions,
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  generateTableSas,
  odata,
  TableClient,
  type TableSasSignatureValues,
  TableServiceClient,
} from '@azure/data-tables';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import {
  freshTable,
  TABLE_CLIENT_OPTIONS,
  tableClient,
  tableOutcomes,
  tableRefusal,
} from '../harness/table-clients.ts';
import { sendTable } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';
const NOT_AUTHENTIC = '403 AuthenticationFailed';

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const keyOf = ({ name, key }: TestAccount = DEVELOPMENT_ACCOUNT): AzureNamedKeyCredential =>
  new AzureNamedKeyCredential(name, key);

/** The token's letters as the client wants them. */
const tableLetters = (letters: string) => ({
  query: letters.includes('r'),
  add: letters.includes('a'),
  update: letters.includes('u'),
  delete: letters.includes('d'),
});

function tokenFor(table: TableClient, letters: string, values: TableSasSignatureValues = {}): string {
  const usual = { permissions: tableLetters(letters), expiresOn: inSeconds(60) };
  return generateTableSas(table.tableName, keyOf(), { ...usual, ...values });
}

/** A client of the table that has nothing but the token. */
const guestOf = ({ tableName }: Pick<TableClient, 'tableName'>, token: string): TableClient =>
  new TableClient(server.tableEndpoint(), tableName, new AzureSASCredential(token), TABLE_CLIENT_OPTIONS);

const guestOfService = (token: string): TableServiceClient =>
  new TableServiceClient(server.tableEndpoint(), new AzureSASCredential(token), TABLE_CLIENT_OPTIONS);

/** `ok`, or the refusal. */
async function outcome(request: Promise<unknown>): Promise<string> {
  const [settled = ''] = tableOutcomes(await Promise.allSettled([request]));
  return settled;
}

/** Partition and row of every entity that a query shows, page by page. */
async function shown(table: TableClient, { pageSize = 1000, filter = '' } = {}): Promise<string[]> {
  const found: string[] = [];
  const queryOptions = filter === '' ? {} : { filter };
  for await (const page of table.listEntities({ queryOptions }).byPage({ maxPageSize: pageSize })) {
    found.push(...page.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`));
  }
  return found;
}

type Key = { partitionKey: string; rowKey: string };

const keyIn = (entity: string): Key => {
  const [partitionKey = '', rowKey = ''] = entity.split('/');
  return { partitionKey, rowKey };
};

interface Use {
  /** Letters of which all are needed. */
  readonly needs: string;
  readonly operation: string;
  /** On an entity that exists, except for an insert. */
  readonly use: (table: TableClient, key: Key) => Promise<unknown>;
}

const READS: readonly Use[] = [
  { needs: 'r', operation: 'Query Entity', use: (table, key) => table.getEntity(key.partitionKey, key.rowKey) },
  { needs: 'r', operation: 'Query Entities', use: (table) => table.listEntities().next() },
];

const WRITES: readonly Use[] = [
  { needs: 'a', operation: 'Insert Entity', use: (table, key) => table.createEntity(key) },
  { needs: 'u', operation: 'Update Entity', use: (table, key) => table.updateEntity({ ...key, x: 1 }, 'Replace') },
  { needs: 'u', operation: 'Merge Entity', use: (table, key) => table.updateEntity({ ...key, x: 1 }, 'Merge') },
  { needs: 'au', operation: 'Insert Or Replace', use: (table, key) => table.upsertEntity({ ...key, x: 1 }, 'Replace') },
  { needs: 'au', operation: 'Insert Or Merge', use: (table, key) => table.upsertEntity({ ...key, x: 1 }, 'Merge') },
  { needs: 'd', operation: 'Delete Entity', use: (table, key) => table.deleteEntity(key.partitionKey, key.rowKey) },
];

const WRITES_IN_BATCH: readonly Use[] = [
  { needs: 'a', operation: 'insert in a batch', use: (table, key) => table.submitTransaction([['create', key]]) },
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

const ENTITY_USES = [...READS, ...WRITES, ...WRITES_IN_BATCH];

/** Makes sure that the entity is as the operation wants to find it. */
async function prepare(owner: TableClient, { operation }: Pick<Use, 'operation'>, key: Key) {
  if (!/^insert /i.test(operation)) await owner.upsertEntity(key, 'Replace');
  else await owner.deleteEntity(key.partitionKey, key.rowKey).catch(() => undefined);
}

const hasAll = (letters: string, needs: string): boolean => needs.split('').every((letter) => letters.includes(letter));

describe('a token for a table', () => {
  const letterSets = Array.from({ length: 15 }, (_, index) =>
    'raud'
      .split('')
      .filter((_letter, place) => ((index + 1) & (1 << place)) !== 0)
      .join(''),
  );
  for (const letters of letterSets) {
    test(`with ${letters} opens what those letters stand for and nothing else`, async () => {
      const table = await freshTable(server);
      const guest = guestOf(table, tokenFor(table, letters));
      for (const [index, use] of ENTITY_USES.entries()) {
        const key = { partitionKey: 'p', rowKey: String(index) };
        await prepare(table, use, key);
        const want = hasAll(letters, use.needs) ? 'ok' : NOT_PERMITTED;
        assert.equal(await outcome(use.use(guest, key)), want, use.operation);
      }
    });
  }

  test('opens no list of tables, no access policies and no service, whatever its letters', async () => {
    const table = await freshTable(server);
    const token = tokenFor(table, 'raud');
    const [guest, service] = [guestOf(table, token), guestOfService(token)];
    for (const [operation, ask] of [
      ['Create Table', () => service.createTable('another')],
      ['Create Table, its own', () => guest.createTable()],
      ['Delete Table', () => guest.deleteTable()],
      ['Query Tables', () => service.listTables().next()],
      ['Get Table ACL', () => guest.getAccessPolicy()],
      ['Set Table ACL', () => guest.setAccessPolicy([])],
      ['Get Table Service Properties', () => service.getProperties()],
      ['Set Table Service Properties', () => service.setProperties({ cors: [] })],
    ] as const) {
      assert.equal(await outcome(ask()), '403 AuthorizationFailure', operation);
    }
  });

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

  test('is for its account', async () => {
    const table = await freshTable(server);
    const token = generateTableSas(table.tableName, keyOf(SECOND_ACCOUNT), { expiresOn: inSeconds(60) });
    assert.equal(await outcome(guestOf(table, token).listEntities().next()), NOT_AUTHENTIC);
  });

  test('ends and begins to the second, by the server’s clock, also in a batch', async () => {
    const table = await freshTable(server);
    const guest = guestOf(table, tokenFor(table, 'au', { startsOn: inSeconds(20), expiresOn: inSeconds(40) }));
    const both = () => [
      outcome(guest.upsertEntity(keyIn('p/1'))),
      outcome(guest.submitTransaction([['upsert', keyIn('p/2')]])),
    ];
    assert.deepEqual(await Promise.all(both()), [NOT_AUTHENTIC, NOT_AUTHENTIC]);
    server.clock.advance({ seconds: 21 });
    assert.deepEqual(await Promise.all(both()), ['ok', 'ok']);
    server.clock.advance({ seconds: 20 });
    assert.deepEqual(await Promise.all(both()), [NOT_AUTHENTIC, NOT_AUTHENTIC]);
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

  test('that wants https is refused over http, and one for other addresses is refused from here', async () => {
    const table = await freshTable(server);
    for (const [values, want] of [
      [{ protocol: 'https' }, '403 AuthorizationProtocolMismatch'],
      [{ protocol: 'https,http' }, 'ok'],
      [{ ipRange: { start: '10.0.0.1', end: '10.0.0.9' } }, '403 AuthorizationSourceIPMismatch'],
      [{ ipRange: { start: '127.0.0.1' } }, 'ok'],
    ] as const) {
      assert.equal(
        await outcome(
          guestOf(table, tokenFor(table, 'r', values))
            .listEntities()
            .next(),
        ),
        want,
      );
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
const byPolicy = (table: TableClient, values: TableSasSignatureValues = {}): TableClient =>
  guestOf(table, generateTableSas(table.tableName, keyOf(), { identifier: 'guests', ...values }));

describe('a stored policy', () => {
  test('says what its tokens may, and the very next request goes by what it says now', async () => {
    const table = await freshTable(server);
    const guest = byPolicy(table);
    const both = async (): Promise<string[]> => [
      await outcome(guest.upsertEntity(keyIn('p/1'))),
      await outcome(guest.submitTransaction([['upsert', keyIn('p/2')]])),
      await outcome(guest.getEntity('p', '1')),
    ];
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC, NOT_AUTHENTIC], 'no policy yet');
    await table.setAccessPolicy(policy('au'));
    assert.deepEqual(await both(), ['ok', 'ok', NOT_PERMITTED], 'may write');
    await table.setAccessPolicy(policy('r'));
    assert.deepEqual(await both(), [NOT_PERMITTED, NOT_PERMITTED, 'ok'], 'may read');
    await table.setAccessPolicy(policy('raud', inSeconds(-1)));
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC, NOT_AUTHENTIC], 'ended');
    await table.setAccessPolicy(policy('raud'));
    assert.deepEqual(await both(), ['ok', 'ok', 'ok'], 'may all');
    await table.setAccessPolicy([]);
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC, NOT_AUTHENTIC], 'revoked');
  });

  test('goes with the range of a token', async () => {
    const table = await freshTable(server);
    await table.setAccessPolicy(policy('raud'));
    const guest = byPolicy(table, { startPartitionKey: 'b', endPartitionKey: 'b' });
    assert.equal(await outcome(guest.submitTransaction([['create', keyIn('b/1')]])), 'ok');
    assert.equal(await outcome(guest.submitTransaction([['create', keyIn('c/1')]])), NOT_PERMITTED);
  });

  test('is that of the token’s table, and not of another that a batch is about', async () => {
    const [table, other] = [await freshTable(server), await freshTable(server)];
    await other.setAccessPolicy(policy('raud'));
    const token = generateTableSas(table.tableName, keyOf(), { identifier: 'guests' });
    for (const tableName of [table.tableName, other.tableName]) {
      const batch = guestOf({ tableName }, token).submitTransaction([['create', keyIn('p/1')]]);
      assert.equal(await outcome(batch), NOT_AUTHENTIC);
    }
    await table.setAccessPolicy(policy('raud'));
    assert.equal(await outcome(guestOf(table, token).submitTransaction([['create', keyIn('p/1')]])), 'ok');
    assert.equal(await outcome(guestOf(other, token).submitTransaction([['create', keyIn('p/1')]])), NOT_PERMITTED);
  });

  test('and token together say everything once', async () => {
    const table = await freshTable(server);
    await table.setAccessPolicy([{ id: 'guests', accessPolicy: { permission: 'r' } }]);
    const uses = async (values: TableSasSignatureValues): Promise<string> =>
      outcome(byPolicy(table, values).listEntities().next());
    assert.equal(await uses({}), NOT_AUTHENTIC, 'nobody says when it ends');
    assert.equal(await uses({ expiresOn: inSeconds(60) }), 'ok');
    assert.equal(await uses({ expiresOn: inSeconds(60), permissions: { query: true } }), NOT_AUTHENTIC, 'twice');
    assert.equal(await uses({ expiresOn: inSeconds(60), identifier: 'others' }), NOT_AUTHENTIC, 'no such policy');
  });

  test('goes with its table: one made anew under the name has none', async () => {
    const table = await freshTable(server);
    await table.setAccessPolicy(policy('r'));
    const guest = byPolicy(table);
    assert.equal(await outcome(guest.listEntities().next()), 'ok');
    await table.deleteTable();
    await table.createTable();
    assert.equal(await outcome(guest.listEntities().next()), NOT_AUTHENTIC);
  });
});

describe('a token for the account', () => {
  const LETTERS = { r: 'query', w: 'write', d: 'delete', l: 'list', a: 'add', u: 'update' } as const;
  const accountToken = (letters: string, options: AccountSasOptions = {}): string =>
    generateAccountSas(keyOf(), {
      permissions: Object.fromEntries(
        letters.split('').map((letter) => [LETTERS[letter as keyof typeof LETTERS], true]),
      ),
      services: { table: true },
      resourceTypes: 'sco',
      expiresOn: inSeconds(60),
      ...options,
    });

  interface AccountUse {
    readonly operation: string;
    readonly type: 's' | 'c' | 'o';
    /** Letters of which all are needed. */
    readonly needs: string;
    readonly use: (service: TableServiceClient, table: TableClient, key: Key) => Promise<unknown>;
  }
  const uses: readonly AccountUse[] = [
    { operation: 'Get Properties', type: 's', needs: 'r', use: (service) => service.getProperties() },
    { operation: 'Set Properties', type: 's', needs: 'w', use: (service) => service.setProperties({ cors: [] }) },
    { operation: 'Query Tables', type: 'c', needs: 'l', use: (service) => service.listTables().next() },
    {
      operation: 'Create Table',
      type: 'c',
      needs: 'w',
      use: (service, { tableName }) => service.createTable(`${tableName}x`),
    },
    ...ENTITY_USES.map(
      ({ operation, needs, use }): AccountUse => ({
        operation,
        type: 'o',
        needs,
        use: (_, table, key) => use(table, key),
      }),
    ),
    { operation: 'Delete Table', type: 'c', needs: 'd', use: (_, table) => table.deleteTable() },
  ];

  for (const letters of ['r', 'w', 'd', 'l', 'a', 'u', 'au', 'rwdlau']) {
    for (const resourceTypes of ['s', 'c', 'o', 'sco']) {
      test(`with ${letters} for ${resourceTypes} opens what both stand for`, async () => {
        const table = await freshTable(server);
        const token = accountToken(letters, { resourceTypes });
        const [service, guest] = [guestOfService(token), guestOf(table, token)];
        for (const [index, { operation, type, needs, use }] of uses.entries()) {
          const key = { partitionKey: 'p', rowKey: String(index) };
          await prepare(table, { operation }, key);
          const ofLetters = hasAll(letters, needs) ? 'ok' : NOT_PERMITTED;
          const want = resourceTypes.includes(type) ? ofLetters : '403 AuthorizationResourceTypeMismatch';
          assert.equal(await outcome(use(service, guest, key)), want, operation);
        }
      });
    }
  }

  test('with c creates tables, as the client for blobs makes such a token', async () => {
    const token = generateAccountSASQueryParameters(
      {
        permissions: AccountSASPermissions.parse('c'),
        services: AccountSASServices.parse('t').toString(),
        resourceTypes: AccountSASResourceTypes.parse('c').toString(),
        expiresOn: inSeconds(60),
      },
      new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
    ).toString();
    const { tableName } = await freshTable(server);
    assert.equal(await outcome(guestOf({ tableName: `${tableName}x` }, token).createTable()), 'ok');
    assert.equal(await outcome(guestOfService(token).listTables().next()), NOT_PERMITTED);
  });

  test('of another service opens nothing here', async () => {
    const table = await freshTable(server);
    const token = accountToken('rwdlau', { services: { blob: true, queue: true, file: true } });
    for (const { operation, use } of uses) {
      const got = await outcome(use(guestOfService(token), guestOf(table, token), keyIn('p/r')));
      assert.equal(got, '403 AuthorizationServiceMismatch', operation);
    }
  });

  test('never opens access policies', async () => {
    const table = await freshTable(server);
    const guest = guestOf(table, accountToken('rwdlau'));
    assert.equal(await outcome(guest.getAccessPolicy()), '403 AuthorizationFailure');
    assert.equal(await outcome(guest.setAccessPolicy([])), '403 AuthorizationFailure');
  });

  test('of another account opens nothing here, and its own there', async () => {
    const there = tableClient(server, (await freshTable(server)).tableName, SECOND_ACCOUNT);
    await there.createTable();
    const token = generateAccountSas(keyOf(SECOND_ACCOUNT), {
      permissions: { query: true },
      services: { table: true },
      resourceTypes: 'o',
      expiresOn: inSeconds(60),
    });
    assert.equal(await outcome(guestOf(there, token).listEntities().next()), NOT_AUTHENTIC);
    const credential = new AzureSASCredential(token);
    const guest = new TableClient(
      server.tableEndpoint(SECOND_ACCOUNT),
      there.tableName,
      credential,
      TABLE_CLIENT_OPTIONS,
    );
    assert.equal(await outcome(guest.listEntities().next()), 'ok');
  });
});
