/** The Table service as a whole: its properties, CORS, stats, ways to address it, versions, and how it refuses. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import type { ServiceProperties } from '@azure/data-tables';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService } from '../harness/clients.ts';
import { headOf, type RawRequest, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshTable, tableRefusal, tableService } from '../harness/table-clients.ts';
import { assertRefused, entityPath, sendTable, signedForTable, type TableResponse } from '../harness/table-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = tableService(server);
const table = await freshTable(server);
await table.createEntity({ partitionKey: 'p', rowKey: 'r', n: 1 });

const raw = (request: RawRequest): Promise<TableResponse> => sendTable(server.tableUrl, request);
const ENTITY = entityPath(table.tableName, 'p', 'r');
const PROPERTIES = '/?restype=service&comp=properties';
const XML = { 'content-type': 'application/xml' };

const rules = (count: number): NonNullable<ServiceProperties['cors']> =>
  Array.from({ length: count }, (_, index) => ({
    allowedOrigins: `http://${index}.example`,
    allowedMethods: 'GET',
    allowedHeaders: '',
    exposedHeaders: '',
    maxAgeInSeconds: 0,
  }));

describe('service properties', () => {
  test('of a new account are off', async () => {
    const properties = await tableService(server, SECOND_ACCOUNT).getProperties();
    assert.deepEqual(properties.cors ?? [], []);
    assert.equal(properties.logging?.version, '1.0');
    assert.equal(properties.logging.read, false);
    assert.equal(properties.minuteMetrics?.enabled, false);
  });

  test('come back as they were set, and what is not sent stays', async () => {
    const wanted: ServiceProperties = {
      logging: {
        version: '1.0',
        delete: true,
        read: true,
        write: false,
        retentionPolicy: { enabled: true, days: 5 },
      },
      hourMetrics: { enabled: true, includeAPIs: true, version: '1.0', retentionPolicy: { enabled: true, days: 4 } },
      minuteMetrics: { enabled: true, includeAPIs: false, version: '1.0', retentionPolicy: { enabled: true, days: 1 } },
      cors: [
        {
          allowedOrigins: 'http://one.example',
          allowedMethods: 'GET,MERGE,PATCH',
          allowedHeaders: 'x-ms-*',
          exposedHeaders: 'x-ms-continuation-*',
          maxAgeInSeconds: 60,
        },
      ],
    };
    await service.setProperties(wanted);
    const { logging, hourMetrics, minuteMetrics, cors } = await service.getProperties();
    assert.deepEqual({ logging, hourMetrics, minuteMetrics, cors }, wanted);
    await service.setProperties({ cors: [] });
    const after = await service.getProperties();
    assert.deepEqual([after.cors ?? [], after.logging], [[], wanted.logging]);
    await service.setProperties({ cors: wanted.cors as [] });
    assert.deepEqual(
      (await blobService(server).getProperties()).cors ?? [],
      [],
      'those of the Blob service are others',
    );
  });

  test('answer 202 to a change and 200 to a question, in XML', async () => {
    const set = await raw({ method: 'PUT', path: PROPERTIES, headers: XML, body: '<StorageServiceProperties/>' });
    assert.deepEqual([set.status, set.body.length], [202, 0]);
    const get = await raw({ method: 'GET', path: PROPERTIES });
    assert.equal(get.status, 200);
    assert.match(get.headers['content-type'] ?? '', /^application\/xml/);
    assert.doesNotMatch(get.body.toString(), /StaticWebsite|DeleteRetentionPolicy|DefaultServiceVersion/);
  });

  for (const part of [
    '<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>',
    '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>',
    '<StaticWebsite><Enabled>false</Enabled></StaticWebsite>',
    '<Surprise/>',
    '<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins></CorsRule></Cors>',
    'x',
  ]) {
    test(`with ${part} are refused, in XML`, async () => {
      const body = part === 'x' ? part : `<StorageServiceProperties>${part}</StorageServiceProperties>`;
      const answer = await raw({ method: 'PUT', path: PROPERTIES, headers: XML, body });
      assert.match(answer.outcome, /^400 (InvalidXmlDocument|MissingRequiredXmlNode)$/);
      assert.match(answer.body.toString(), /<Error><Code>/);
    });
  }

  test('hold five CORS rules and not six', async () => {
    assert.match(await tableRefusal(service.setProperties({ cors: rules(6) })), /^400 /);
    await service.setProperties({ cors: rules(5) });
    assert.equal((await service.getProperties()).cors?.length, 5);
  });
});

const preflight = (headers: Record<string, string>): Promise<TableResponse> =>
  raw({ method: 'OPTIONS', path: ENTITY, headers, account: null });

describe('CORS', () => {
  const RULE = {
    allowedOrigins: 'http://one.example',
    allowedMethods: 'GET,MERGE',
    allowedHeaders: 'x-ms-*,dataserviceversion',
    exposedHeaders: 'x-ms-continuation-nextpartitionkey',
    maxAgeInSeconds: 77,
  };
  const ASK = {
    origin: 'http://one.example',
    'access-control-request-method': 'MERGE',
    'access-control-request-headers': 'x-ms-date,DataServiceVersion',
  };
  test('a preflight is answered by the rules of this service', async () => {
    await service.setProperties({ cors: [] });
    assert.equal((await preflight(ASK)).outcome, '403 CorsPreflightFailure');
    await service.setProperties({ cors: [RULE] });
    const allowed = await preflight(ASK);
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers['access-control-allow-origin'], 'http://one.example');
    assert.equal(allowed.headers['access-control-allow-methods'], 'MERGE');
    assert.equal(allowed.headers['access-control-max-age'], '77');
    const other = await preflight({ ...ASK, 'access-control-request-method': 'DELETE' });
    assert.equal(other.outcome, '403 CorsPreflightFailure');
    const headers = { ...ASK, 'access-control-request-method': 'GET' };
    const blob = await send(server.url, { method: 'OPTIONS', path: '/container/blob', headers, account: null });
    assert.equal(blob.outcome, '403 CorsPreflightFailure', 'the Blob service has none');
  });

  test('the answer to a request carries the headers of the rule', async () => {
    await service.setProperties({ cors: [RULE] });
    const path = `/${table.tableName}()?$top=1`;
    await table.upsertEntity({ partitionKey: 'p', rowKey: 'second' });
    const { headers } = await raw({ method: 'GET', path, headers: { origin: 'http://one.example' } });
    assert.equal(headers['access-control-allow-origin'], 'http://one.example');
    assert.equal(headers['access-control-expose-headers'], 'x-ms-continuation-nextpartitionkey');
    assert.ok(headers['x-ms-continuation-nextpartitionkey'] !== undefined);
  });
});

describe('the secondary', () => {
  const pathAccount = `${DEVELOPMENT_ACCOUNT.name}-secondary`;

  test('tells its stats, and the primary does not', async () => {
    const path = '/?restype=service&comp=stats';
    const { status, body } = await raw({ method: 'GET', path, pathAccount });
    assert.equal(status, 200);
    assert.match(body.toString(), /<Status>live<\/Status><LastSyncTime>[^<]+ GMT<\/LastSyncTime>/);
    assert.equal((await raw({ method: 'GET', path })).outcome, '400 InvalidQueryParameterValue');
  });

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

  test('serves stats under the secondary’s name', async () => {
    const headers = { host: `${DEVELOPMENT_ACCOUNT.name}-secondary.table.localhost:${port}` };
    const path = '?restype=service&comp=stats';
    assert.equal((await raw({ method: 'GET', path, pathAccount: '', headers })).status, 200);
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
