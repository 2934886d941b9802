/** The Queue service as a whole: what a new account has, the secondary, ways to address it, versions, and how it refuses. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { headOf, type RawRequest, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue, queueService } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, type QueueResponse, sendQueue } from '../harness/queue-http.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const queue = await freshQueue(server);
await queue.sendMessage('witness');

const raw = (request: RawRequest): Promise<QueueResponse> => sendQueue(server.queueUrl, request);
const METADATA = `/${queue.name}?comp=metadata`;
const PEEK = messagesPath(queue.name, { peekonly: 'true' });
const PROPERTIES = '/?restype=service&comp=properties';

test('service properties of a new account are off', async () => {
  const properties = await queueService(server, SECOND_ACCOUNT).getProperties();
  assert.deepEqual(properties.cors ?? [], []);
  const { queueAnalyticsLogging: logging, hourMetrics, minuteMetrics } = properties;
  assert.deepEqual([logging?.version, logging?.read, logging?.write], ['1.0', false, false]);
  assert.deepEqual([hourMetrics?.version, minuteMetrics?.enabled], ['1.0', false]);
});

describe('the secondary', () => {
  const pathAccount = `${DEVELOPMENT_ACCOUNT.name}-secondary`;

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
