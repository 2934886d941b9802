/**
 * Who signs for tables with the account's key: the official client and requests by hand in both schemes;
 * and what is told to whoever signs wrongly, or not at all.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { AzureNamedKeyCredential, odata, TableClient, TableServiceClient } from '@azure/data-tables';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable, TABLE_CLIENT_OPTIONS, tableClient, tableRefusal, tableService } from '../harness/table-clients.ts';
import { assertRefused, entityPath, sendTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

/** Every character that has a meaning in a path or between quotes. */
const ODD = { partitionKey: "o'b +&%25 ü(1)文", rowKey: `=,;@:$!*~"<>[]{}|^` };

describe('the official client', () => {
  test('signs everything that it can ask for', async () => {
    const service = tableService(server);
    const table = await freshTable(server, 'Signed');
    await table.createEntity({ ...ODD, n: 1 });
    await table.updateEntity({ ...ODD, n: 2 }, 'Merge');
    await table.upsertEntity({ ...ODD, n: 3 }, 'Replace');
    await table.submitTransaction([['update', { ...ODD, n: 4 }, 'Merge']]);
    assert.equal((await table.getEntity(ODD.partitionKey, ODD.rowKey))['n'], 4);
    const filter = odata`PartitionKey eq ${ODD.partitionKey}`;
    const found = await table.listEntities({ queryOptions: { filter } }).next();
    assert.equal((found.value as { n: number }).n, 4);
    await table.setAccessPolicy([{ id: 'one', accessPolicy: { permission: 'r' } }]);
    assert.equal((await table.getAccessPolicy())[0]?.id, 'one');
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
    const names: (string | undefined)[] = [];
    for await (const { name } of service.listTables()) names.push(name);
    assert.ok(names.includes(table.tableName));
    await table.deleteEntity(ODD.partitionKey, ODD.rowKey);
    await table.deleteTable();
  });

  test('is refused with the key of another account, and with none that fits', async () => {
    const { tableName } = await freshTable(server);
    for (const [name, key] of [
      [DEVELOPMENT_ACCOUNT.name, SECOND_ACCOUNT.key],
      [SECOND_ACCOUNT.name, SECOND_ACCOUNT.key],
      ['nobody', SECOND_ACCOUNT.key],
    ] as const) {
      const signer = new AzureNamedKeyCredential(name, key);
      const table = new TableClient(server.tableEndpoint(), tableName, signer, TABLE_CLIENT_OPTIONS);
      assert.equal(await tableRefusal(table.listEntities().next()), '403 AuthenticationFailed', name);
      assert.equal(await tableRefusal(table.submitTransaction([['create', ODD]])), '403 AuthenticationFailed', name);
    }
    assert.equal((await tableClient(server, tableName).listEntities().next()).done, true);
  });

  test('reads at the secondary, and writes nothing there', async () => {
    const table = await freshTable(server);
    await table.createEntity(ODD);
    const signer = new AzureNamedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key);
    const endpoint = `${server.tableEndpoint()}-secondary`;
    const secondary = new TableClient(endpoint, table.tableName, signer, TABLE_CLIENT_OPTIONS);
    assert.equal((await secondary.getEntity(ODD.partitionKey, ODD.rowKey)).rowKey, ODD.rowKey);
    assert.equal(
      (await new TableServiceClient(endpoint, signer, TABLE_CLIENT_OPTIONS).listTables().next()).done,
      false,
    );
    assert.equal(await tableRefusal(secondary.upsertEntity(ODD)), '403 InsufficientAccountPermissions');
    assert.equal(
      await tableRefusal(secondary.submitTransaction([['upsert', ODD]])),
      '403 InsufficientAccountPermissions',
    );
  });
});

interface Signed {
  readonly scheme: 'SharedKey' | 'SharedKeyLite';
  /** Behind the account. */
  readonly path: string;
  readonly account?: TestAccount;
  readonly contentType?: string;
  /** What is signed in place of what is sent. */
  readonly signedPath?: string;
  readonly signedType?: string;
  readonly date?: string;
  readonly key?: string;
}

const signatureOf = (key: string, lines: readonly string[]): string =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(lines.join('\n'), 'utf8').digest('base64');

/** A GET, signed by the published recipe. */
function ask({
  scheme,
  path,
  account = DEVELOPMENT_ACCOUNT,
  contentType = '',
  ...rest
}: Signed): Promise<TableResponse> {
  const { date = new Date().toUTCString(), key = account.key, signedType = contentType, signedPath = path } = rest;
  const [bare = '', query = ''] = signedPath.split('?');
  const comp = /(?:^|&)comp=([^&]*)/.exec(query)?.[1];
  const resource = `/${account.name}/${account.name}${bare}${comp === undefined ? '' : `?comp=${comp}`}`;
  const head = scheme === 'SharedKey' ? ['GET', '', signedType] : [];
  const authorization = `${scheme} ${account.name}:${signatureOf(key, [...head, date, resource])}`;
  const type = contentType === '' ? {} : { 'content-type': contentType };
  const headers = { ...type, 'x-ms-date': date, authorization };
  return sendTable(server.tableUrl, { method: 'GET', path, account: null, pathAccount: account.name, headers });
}

describe('a request by hand', () => {
  for (const scheme of ['SharedKey', 'SharedKeyLite'] as const) {
    test(`by ${scheme} is served, whatever its path and query`, async () => {
      const table = await freshTable(server);
      await table.createEntity(ODD);
      const { tableName } = table;
      for (const path of [
        '/Tables',
        `/Tables('${tableName}')`,
        `/Tables%28%27${tableName}%27%29`,
        `/${tableName}`,
        `/${tableName}()?$top=1&$select=n&timeout=5`,
        entityPath(tableName, ODD.partitionKey, ODD.rowKey),
        `/${tableName}?comp=acl`,
        `/${tableName}?timeout=5&comp=acl`,
        '/?restype=service&comp=properties',
      ]) {
        assert.equal((await ask({ scheme, path })).status, 200, path);
      }
      assert.equal((await ask({ scheme, path: '/Tables', account: SECOND_ACCOUNT })).status, 200);
    });

    test(`by ${scheme} and a wrong key, path or date is told so in JSON`, async () => {
      const longAgo = new Date(Date.now() - 16 * 60_000).toUTCString();
      for (const [what, signed] of [
        ['another key', { key: SECOND_ACCOUNT.key }],
        ['another path', { signedPath: "/Tables('x')" }],
        ['comp that is not there', { signedPath: '/Tables?comp=acl' }],
        ['an old date', { date: longAgo }],
        ['no date', { date: 'today' }],
      ] as const) {
        assertRefused(await ask({ scheme, path: '/Tables', ...signed }), '403 AuthenticationFailed', what);
      }
      // Signed without its comp; access policies speak XML.
      const acl = await ask({ scheme, path: '/letters?comp=acl', signedPath: '/letters' });
      assert.equal(acl.outcome, '403 AuthenticationFailed');
      assert.match(acl.body.toString(), /<AuthenticationErrorDetail>Signature did not match/);
    });
  }

  test('is dated by Date where it has no x-ms-date', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    for (const scheme of ['SharedKey', 'SharedKeyLite'] as const) {
      const date = new Date().toUTCString();
      const head = scheme === 'SharedKey' ? ['GET', '', ''] : [];
      const authorization = `${scheme} ${name}:${signatureOf(key, [...head, date, `/${name}/${name}/Tables`])}`;
      const headers = { date, authorization, 'x-ms-version': '2019-02-02' };
      const response = await fetch(`${server.tableEndpoint()}/Tables`, { headers });
      assert.equal(response.status, 200, scheme);
      await response.arrayBuffer();
    }
  });

  test('has its type signed by Shared Key, and not by Shared Key Lite', async () => {
    const request = { path: '/Tables', contentType: 'application/json' };
    for (const [scheme, status] of [
      ['SharedKey', 403],
      ['SharedKeyLite', 200],
    ] as const) {
      assert.equal((await ask({ ...request, scheme })).status, 200);
      assert.equal((await ask({ ...request, scheme, signedType: 'text/plain' })).status, status);
    }
  });

  test('that cannot be read is a bad one', async () => {
    for (const authorization of ['SharedKey', 'SharedKey nobody', 'Basic YTpi', 'SharedKeyLite devstoreaccount1']) {
      const refused = await sendTable(server.tableUrl, {
        method: 'GET',
        path: '/Tables',
        headers: { authorization },
      });
      assertRefused(refused, '400 InvalidAuthenticationInfo', authorization);
    }
  });

  test('with a signature and a token is refused: one of them is enough', async () => {
    const refused = await sendTable(server.tableUrl, { method: 'GET', path: '/Tables?sv=2019-02-02&sig=x' });
    assertRefused(refused, '403 AuthenticationFailed');
  });

  test('without any credentials is asked for some, whatever it is about', async () => {
    const { tableName } = await freshTable(server);
    for (const [method, path] of [
      ['GET', '/Tables'],
      ['POST', '/Tables'],
      ['DELETE', `/Tables('${tableName}')`],
      ['GET', `/${tableName}()`],
      ['GET', '/nosuchtable()'],
      ['PUT', entityPath(tableName, 'p', 'r')],
      ['POST', '/$batch'],
    ] as const) {
      const refused = await sendTable(server.tableUrl, { method, path, account: null });
      assertRefused(refused, '401 NoAuthenticationInformation', `${method} ${path}`);
      assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=\S+ resource_id=\S+$/);
    }
    const old = { 'x-ms-version': '2019-02-02' };
    const hidden = await sendTable(server.tableUrl, { method: 'GET', path: '/Tables', account: null, headers: old });
    assertRefused(hidden, '404 ResourceNotFound');
  });
});
