/** The Table service as a whole: what a new account has, the secondary, ways to address it, versions, and how it refuses. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { headOf, type RawRequest, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable, tableService } from '../harness/table-clients.ts';
import { assertRefused, entityPath, sendTable, signedForTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const table = await freshTable(server);
await table.createEntity({ partitionKey: 'p', rowKey: 'r', n: 1 });

const raw = (request: RawRequest): Promise<TableResponse> => sendTable(server.tableUrl, request);
const ENTITY = entityPath(table.tableName, 'p', 'r');
const PROPERTIES = '/?restype=service&comp=properties';

test('service properties of a new account are off', async () => {
  const properties = await tableService(server, SECOND_ACCOUNT).getProperties();
  assert.deepEqual(properties.cors ?? [], []);
  assert.equal(properties.logging?.version, '1.0');
  assert.equal(properties.logging.read, false);
  assert.equal(properties.minuteMetrics?.enabled, false);
});

describe('the secondary', () => {
  const pathAccount = `${DEVELOPMENT_ACCOUNT.name}-secondary`;

  test('shows what the primary has', async () => {
    const { status, json } = await raw({ method: 'GET', path: ENTITY, pathAccount });
    assert.equal(status, 200);
    assert.equal((json as { n: number }).n, 1);
  });
});

describe('an account in the host name', () => {
  const port = new URL(server.tableUrl).port;
  const host = `${DEVELOPMENT_ACCOUNT.name}.table.localhost:${port}`;
  /** The path is the whole one. */
  const atHost = ({ path, headers, ...request }: RawRequest): Promise<TableResponse> =>
    raw({ ...request, path: path.slice(1), pathAccount: '', headers: { ...headers, host } });

  test('is found there, and URLs in answers are of the same form', async () => {
    const name = `Host${randomBytes(6).toString('hex')}`;
    const created = await atHost({ method: 'POST', path: '/Tables', body: JSON.stringify({ TableName: name }) });
    assert.equal(created.status, 201, created.body.toString());
    assert.equal(created.headers.location, `http://${host}/Tables('${name}')`);
    const body = JSON.stringify({ PartitionKey: 'p', RowKey: 'r', n: 1 });
    const headers = { accept: 'application/json;odata=fullmetadata' };
    const inserted = await atHost({ method: 'POST', path: `/${name}`, headers, body });
    const entity = inserted.json as Record<string, string>;
    assert.equal(entity['odata.id'], `http://${host}/${name}(PartitionKey='p',RowKey='r')`);
    assert.equal(entity['odata.metadata'], `http://${host}/$metadata#${name}/@Element`);
    // The same table, path-style.
    const { json } = await raw({ method: 'GET', path: entityPath(name, 'p', 'r') });
    assert.equal((json as { n: number }).n, 1);
  });
});

describe('versions', () => {
  for (const version of ['2015-12-11', '2018-03-28', '2019-02-02', '2024-11-04', '2026-06-06']) {
    test(`${version} is served, and named in the answer`, async () => {
      const answer = await raw({ method: 'GET', path: ENTITY, headers: { 'x-ms-version': version } });
      assert.deepEqual([answer.status, answer.headers['x-ms-version']], [200, version]);
    });
  }

  test('that are none get 400', async () => {
    const answer = await raw({ method: 'GET', path: ENTITY, headers: { 'x-ms-version': 'yesterday' } });
    assertRefused(answer, '400 InvalidHeaderValue');
  });

  test('may be left out', async () => {
    const headers = { connection: 'close' };
    const head = headOf(server.tableUrl, signedForTable({ method: 'GET', path: ENTITY, headers }));
    const received = await sendBytes(server.tableUrl, head.replace(/x-ms-version: .*\r\n/, ''));
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.match(received, /"n":1/);
  });
});

describe('every answer', () => {
  test('has an id of its own, a date, and the id that the client gave', async () => {
    const ids = new Set<unknown>();
    for (const path of [ENTITY, '/Tables', '/nowhere()', "/x(PartitionKey='p')", PROPERTIES]) {
      const { headers } = await raw({ method: 'GET', path, headers: { 'x-ms-client-request-id': `for ${path}` } });
      ids.add(headers['x-ms-request-id']);
      assert.equal(headers['x-ms-client-request-id'], `for ${path}`);
      assert.ok(headers.date !== undefined);
    }
    assert.equal(ids.size, 5);
    assert.ok(!ids.has(undefined));
  });
});

describe('a refusal', () => {
  for (const [what, request, want] of [
    [
      'an entity that is not there',
      { method: 'GET', path: entityPath(table.tableName, 'p', 'x') },
      '404 ResourceNotFound',
    ],
    [
      'a wrong key',
      { method: 'GET', path: ENTITY, account: { ...DEVELOPMENT_ACCOUNT, key: SECOND_ACCOUNT.key } },
      '403 AuthenticationFailed',
    ],
    ['a path that is none', { method: 'GET', path: `/${table.tableName}(PartitionKey='p')` }, '400 InvalidUri'],
    ['a method that is not for this', { method: 'DELETE', path: `/${table.tableName}()` }, '405 MethodNotAllowed'],
    [
      'a comp that there is not',
      { method: 'GET', path: `/${table.tableName}?comp=nonsense` },
      '400 InvalidQueryParameterValue',
    ],
    [
      'a restype that there is not',
      { method: 'GET', path: `/${table.tableName}?restype=nonsense` },
      '400 InvalidQueryParameterValue',
    ],
  ] as const) {
    test(`of ${what} says ${want}`, async () => {
      const answer = await raw(request);
      assert.equal(answer.outcome, want);
      if (!request.path.includes('comp=')) assertRefused(answer, want);
    });
  }

  test('of a request that is signed as for blobs is 403', async () => {
    assert.equal((await send(server.tableUrl, { method: 'GET', path: ENTITY })).outcome, '403 AuthenticationFailed');
  });

  test('of a request that nobody signed is a refusal, in JSON', async () => {
    const answer = await raw({ method: 'GET', path: ENTITY, account: null });
    assert.ok(answer.status === 401 || answer.status === 403 || answer.status === 404, String(answer.status));
    assertRefused(answer, answer.outcome);
  });

  test('of a request for an account that there is not is a refusal, in JSON', async () => {
    const answer = await raw({ method: 'GET', path: ENTITY, pathAccount: 'nobodysaccount' });
    assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status));
    assertRefused(answer, answer.outcome);
  });
});
