/** The Queue service as a whole: its properties, CORS, stats, ways to address it, versions, and how it refuses. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { QueueServiceProperties } from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, refusal } from '../harness/clients.ts';
import { headOf, type RawRequest, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue, queueService } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, type QueueResponse, sendQueue } from '../harness/queue-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = queueService(server);
const queue = await freshQueue(server);
await queue.sendMessage('witness');

const raw = (request: RawRequest): Promise<QueueResponse> => sendQueue(server.queueUrl, request);
const METADATA = `/${queue.name}?comp=metadata`;
const PEEK = messagesPath(queue.name, { peekonly: 'true' });
const PROPERTIES = '/?restype=service&comp=properties';

const rules = (count: number): NonNullable<QueueServiceProperties['cors']> =>
  Array.from({ length: count }, (_, index) => ({
    allowedOrigins: `http://${index}.example`,
    allowedMethods: 'GET',
    allowedHeaders: '',
    exposedHeaders: '',
    maxAgeInSeconds: 0,
  }));

describe('service properties', () => {
  test('of a new account are off', async () => {
    const properties = await queueService(server, SECOND_ACCOUNT).getProperties();
    assert.deepEqual(properties.cors ?? [], []);
    const { queueAnalyticsLogging: logging, hourMetrics, minuteMetrics } = properties;
    assert.deepEqual([logging?.version, logging?.read, logging?.write], ['1.0', false, false]);
    assert.deepEqual([hourMetrics?.version, minuteMetrics?.enabled], ['1.0', false]);
  });

  test('come back as they were set, and what is not sent stays', async () => {
    const wanted: QueueServiceProperties = {
      queueAnalyticsLogging: {
        version: '1.0',
        deleteProperty: true,
        read: true,
        write: false,
        retentionPolicy: { enabled: true, days: 5 },
      },
      hourMetrics: { enabled: true, includeAPIs: true, version: '1.0', retentionPolicy: { enabled: true, days: 4 } },
      minuteMetrics: { enabled: true, includeAPIs: false, version: '1.0', retentionPolicy: { enabled: true, days: 1 } },
      cors: [
        {
          allowedOrigins: 'http://one.example',
          allowedMethods: 'GET,PUT,DELETE',
          allowedHeaders: 'x-ms-*',
          exposedHeaders: 'x-ms-popreceipt',
          maxAgeInSeconds: 60,
        },
      ],
    };
    await service.setProperties(wanted);
    const { queueAnalyticsLogging, hourMetrics, minuteMetrics, cors } = await service.getProperties();
    assert.deepEqual({ queueAnalyticsLogging, hourMetrics, minuteMetrics, cors }, wanted);
    await service.setProperties({ cors: [] });
    const after = await service.getProperties();
    assert.deepEqual([after.cors ?? [], after.queueAnalyticsLogging], [[], wanted.queueAnalyticsLogging]);
    await service.setProperties({ cors: wanted.cors as [] });
    assert.deepEqual(
      (await blobService(server).getProperties()).cors ?? [],
      [],
      'those of the Blob service are others',
    );
  });

  test('answer 202 to a change and 200 to a question', async () => {
    const set = await raw({ method: 'PUT', path: PROPERTIES, body: '<StorageServiceProperties/>' });
    assert.deepEqual([set.status, set.body.length], [202, 0]);
    const get = await raw({ method: 'GET', path: PROPERTIES });
    assert.equal(get.status, 200);
    assert.match(get.headers['content-type'] ?? '', /^application\/xml/);
    assert.match(get.body.toString(), /<Logging>.*<HourMetrics>.*<MinuteMetrics>.*<Cors/s);
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
    test(`with ${part} are refused`, async () => {
      const body = part === 'x' ? part : `<StorageServiceProperties>${part}</StorageServiceProperties>`;
      const answer = await raw({ method: 'PUT', path: PROPERTIES, body });
      assert.match(answer.outcome, /^400 (InvalidXmlDocument|UnsupportedXmlNode|MissingRequiredXmlNode)$/);
      assertRefused(answer, answer.outcome);
    });
  }

  test('hold five CORS rules and not six', async () => {
    assert.match(await refusal(service.setProperties({ cors: rules(6) })), /^400 /);
    await service.setProperties({ cors: rules(5) });
    assert.equal((await service.getProperties()).cors?.length, 5);
  });
});

const preflight = (headers: Record<string, string>, path = PEEK): Promise<QueueResponse> =>
  raw({ method: 'OPTIONS', path, headers, account: null });

describe('CORS', () => {
  const RULE = {
    allowedOrigins: 'http://one.example',
    allowedMethods: 'GET,POST',
    allowedHeaders: 'x-ms-*,content-type',
    exposedHeaders: 'x-ms-approximate-messages-count',
    maxAgeInSeconds: 77,
  };
  const ASK = {
    origin: 'http://one.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-ms-date,Content-Type',
  };

  test('a preflight is answered by the rules of this service', async () => {
    await service.setProperties({ cors: [] });
    assert.equal((await preflight(ASK)).outcome, '403 CorsPreflightFailure');
    await service.setProperties({ cors: [RULE] });
    const allowed = await preflight(ASK);
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers['access-control-allow-origin'], 'http://one.example');
    assert.equal(allowed.headers['access-control-allow-methods'], 'POST');
    assert.equal(allowed.headers['access-control-max-age'], '77');
    for (const path of ['/', `/${queue.name}`, messagesPath(queue.name, {}, 'id')]) {
      assert.equal((await preflight(ASK, path)).status, 200, path);
    }
    const headers = { ...ASK, 'access-control-request-method': 'GET' };
    const blob = await send(server.url, { method: 'OPTIONS', path: '/container/blob', headers, account: null });
    assert.equal(blob.outcome, '403 CorsPreflightFailure', 'the Blob service has none');
  });

  for (const [what, change] of [
    ['another method', { 'access-control-request-method': 'DELETE' }],
    ['another origin', { origin: 'http://two.example' }],
    ['another header', { 'access-control-request-headers': 'x-other' }],
  ] as const) {
    test(`a preflight for ${what} gets 403`, async () => {
      await service.setProperties({ cors: [RULE] });
      assert.equal((await preflight({ ...ASK, ...change })).outcome, '403 CorsPreflightFailure');
    });
  }

  test('the answer to a request carries the headers of the rule', async () => {
    await service.setProperties({ cors: [RULE] });
    const { headers } = await raw({ method: 'GET', path: METADATA, headers: { origin: 'http://one.example' } });
    assert.equal(headers['access-control-allow-origin'], 'http://one.example');
    assert.equal(headers['access-control-expose-headers'], 'x-ms-approximate-messages-count');
  });
});

describe('the secondary', () => {
  const pathAccount = `${DEVELOPMENT_ACCOUNT.name}-secondary`;

  test('tells its stats, and the primary does not', async () => {
    const path = '/?restype=service&comp=stats';
    const { status, body } = await raw({ method: 'GET', path, pathAccount });
    assert.equal(status, 200);
    const live = /<StorageServiceStats><GeoReplication><Status>live<\/Status><LastSyncTime>[^<]+ GMT<\/LastSyncTime>/;
    assert.match(body.toString(), live);
    assertRefused(await raw({ method: 'GET', path }), '400 InvalidQueryParameterValue');
  });

  test('shows what the primary has, and takes no changes', async () => {
    const { status, messages } = await raw({ method: 'GET', path: PEEK, pathAccount });
    assert.deepEqual([status, messages[0]?.['MessageText']], [200, 'witness']);
    assert.equal((await raw({ method: 'HEAD', path: METADATA, pathAccount })).status, 200);
    assert.equal((await raw({ method: 'GET', path: '/?comp=list', pathAccount })).status, 200);
    const path = messagesPath(queue.name);
    const put = await raw({ method: 'POST', path, pathAccount, body: messageOf('x') });
    assertRefused(put, '403 InsufficientAccountPermissions');
    // A Get hides what it gives: a change too.
    assertRefused(await raw({ method: 'GET', path, pathAccount }), '403 InsufficientAccountPermissions');
    assert.equal((await raw({ method: 'GET', path: PEEK })).messages[0]?.['DequeueCount'], '0');
  });
});

describe('an account in the host name', () => {
  const port = new URL(server.queueUrl).port;
  const host = `${DEVELOPMENT_ACCOUNT.name}.queue.localhost:${port}`;
  /** The path is the whole one. */
  const atHost = ({ path, headers, ...request }: RawRequest): Promise<QueueResponse> =>
    raw({ ...request, path: path.slice(1), pathAccount: '', headers: { ...headers, host } });

  test('is found there, and the list names its endpoint in the same form', async () => {
    const { status, body } = await atHost({ method: 'GET', path: '/?comp=list' });
    assert.equal(status, 200, body.toString());
    assert.ok(body.toString().includes(`ServiceEndpoint="http://${host}/"`), body.toString());
    assert.ok(body.toString().includes(`<Name>${queue.name}</Name>`));
    assert.equal((await atHost({ method: 'GET', path: PEEK })).messages[0]?.['MessageText'], 'witness');
  });

  test('serves stats under the secondary’s name', async () => {
    const headers = { host: `${DEVELOPMENT_ACCOUNT.name}-secondary.queue.localhost:${port}` };
    const path = '?restype=service&comp=stats';
    assert.equal((await raw({ method: 'GET', path, pathAccount: '', headers })).status, 200);
  });
});

describe('versions', () => {
  for (const version of [
    '2009-09-19',
    '2011-08-18',
    '2015-04-05',
    '2018-03-28',
    '2019-02-02',
    '2024-11-04',
    '2026-06-06',
  ]) {
    test(`${version} is served, and named in the answer`, async () => {
      const answer = await raw({ method: 'GET', path: PEEK, headers: { 'x-ms-version': version } });
      assert.deepEqual([answer.status, answer.headers['x-ms-version']], [200, version]);
      assert.equal(answer.messages[0]?.['MessageText'], 'witness');
    });
  }

  test('that are none get 400', async () => {
    const answer = await raw({ method: 'GET', path: PEEK, headers: { 'x-ms-version': 'yesterday' } });
    assertRefused(answer, '400 InvalidHeaderValue', { HeaderName: 'x-ms-version', HeaderValue: 'yesterday' });
  });
});

describe('every answer', () => {
  test('has an id of its own, a date, a version, and the id that the client gave', async () => {
    const ids = new Set<unknown>();
    const requests: RawRequest[] = [
      { method: 'GET', path: PEEK },
      { method: 'GET', path: METADATA },
      { method: 'GET', path: '/?comp=list' },
      { method: 'GET', path: PROPERTIES },
      { method: 'PUT', path: METADATA },
      { method: 'POST', path: messagesPath(queue.name, { messagettl: 1 }), body: messageOf('x') },
      { method: 'GET', path: messagesPath('nowhere') },
      { method: 'GET', path: '/UPPER/messages' },
    ];
    for (const { path, ...request } of requests) {
      const headers = { 'x-ms-client-request-id': `for ${path}` };
      const answer = await raw({ ...request, path, headers });
      ids.add(answer.headers['x-ms-request-id']);
      assert.equal(answer.headers['x-ms-client-request-id'], `for ${path}`);
      assert.ok(answer.headers.date !== undefined);
      assert.ok(answer.headers['x-ms-version'] !== undefined);
    }
    assert.equal(ids.size, requests.length);
    assert.ok(!ids.has(undefined));
  });

  test('comes to a request with a timeout too', async () => {
    assert.equal((await raw({ method: 'GET', path: `${PEEK}&timeout=30` })).status, 200);
    assertRefused(await raw({ method: 'GET', path: `${PEEK}&timeout=soon` }), '400 InvalidQueryParameterValue', {
      QueryParameterName: 'timeout',
      QueryParameterValue: 'soon',
    });
  });
});

describe('a refusal', () => {
  const id = '00000000-0000-0000-0000-000000000000';
  for (const [what, request, want] of [
    ['a queue that is not there', { method: 'GET', path: '/nowhere/messages' }, '404 QueueNotFound'],
    [
      'a wrong key',
      { method: 'GET', path: PEEK, account: { ...DEVELOPMENT_ACCOUNT, key: SECOND_ACCOUNT.key } },
      '403 AuthenticationFailed',
    ],
    ['PUT to the list of messages', { method: 'PUT', path: messagesPath(queue.name) }, '405 UnsupportedHttpVerb'],
    ['POST to a message', { method: 'POST', path: messagesPath(queue.name, {}, id) }, '405 UnsupportedHttpVerb'],
    ['GET of a message', { method: 'GET', path: messagesPath(queue.name, {}, id) }, '405 UnsupportedHttpVerb'],
    ['POST to a queue', { method: 'POST', path: `/${queue.name}` }, '405 UnsupportedHttpVerb'],
    ['DELETE of metadata', { method: 'DELETE', path: METADATA }, '405 UnsupportedHttpVerb'],
    ['POST to the list of queues', { method: 'POST', path: '/?comp=list' }, '405 UnsupportedHttpVerb'],
    ['a verb that there is not', { method: 'PROPFIND', path: METADATA }, '400 InvalidHttpVerb'],
    ['a path of other words', { method: 'GET', path: `/${queue.name}/letters` }, '400 InvalidUri'],
    ['a path that is too deep', { method: 'GET', path: messagesPath(queue.name, {}, `${id}/x`) }, '400 InvalidUri'],
    [
      'a comp that there is not',
      { method: 'GET', path: `/${queue.name}?comp=nonsense` },
      '400 InvalidQueryParameterValue',
    ],
    [
      'a restype that there is not',
      { method: 'GET', path: '/?restype=nonsense&comp=list' },
      '400 InvalidQueryParameterValue',
    ],
  ] as const) {
    test(`of ${what} says ${want}`, async () => {
      assertRefused(await raw(request), want);
    });
  }

  test('of a queue without an operation is 400 or 405', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status } = await raw({ method, path: `/${queue.name}` });
      assert.ok(status === 400 || status === 405, `${method}: ${status}`);
    }
  });

  test('of a request that nobody signed says how to', async () => {
    const answer = await raw({ method: 'GET', path: PEEK, account: null });
    assertRefused(answer, '401 NoAuthenticationInformation');
    assert.match(answer.headers['www-authenticate'] ?? '', /^Bearer /);
  });

  test('of a request for an account that there is not is a refusal', async () => {
    const answer = await raw({ method: 'GET', path: PEEK, pathAccount: 'nobodysaccount' });
    assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status));
    assertRefused(answer, answer.outcome);
  });

  test('of a HEAD has its code in a header alone', async () => {
    const { outcome, body } = await raw({ method: 'HEAD', path: '/nowhere?comp=metadata' });
    assert.deepEqual([outcome, body.length], ['404 QueueNotFound', 0]);
  });

  test('of what is no request for an account leaves the connection’s next request in peace', async () => {
    const first = headOf(server.queueUrl, { method: 'GET', path: '/nowhere?comp=metadata' });
    const second = headOf(server.queueUrl, { method: 'GET', path: METADATA, headers: { connection: 'close' } });
    const received = await sendBytes(server.queueUrl, first + second);
    assert.deepEqual(
      [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status),
      ['404', '200'],
    );
  });
});
