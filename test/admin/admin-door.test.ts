/** The admin door over real HTTP: what it answers to whom, and that it answers nothing else. */
// engines: embedded
import assert from 'node:assert/strict';
import { get } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { type RunningServer, startServer } from '../../src/main.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { firstStatus, sendBytes } from '../harness/http.ts';

describe('the admin door', () => {
  let server: RunningServer;
  let origin: string;
  before(async () => {
    server = await startServer({ memory: true, adminPort: 0 });
    origin = server.origins.admin ?? assert.fail('no admin door');
  });
  after(() => server.close());

  const rows: readonly (readonly [path: string, body: object])[] = [
    ['/health', { status: 'alive' }],
    ['/healthz', { status: 'alive' }],
    ['/livez', { status: 'alive' }],
    ['/ready', { status: 'ready' }],
    ['/readyz', { status: 'ready' }],
    ['/ready?verbose', { status: 'ready' }],
  ];
  for (const [path, body] of rows) {
    test(`answers GET ${path} with ${JSON.stringify(body)}, and HEAD with as much of it as HEAD may`, async () => {
      const response = await fetch(origin + path);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'application/json');
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.deepEqual(await response.json(), body);
      const head = await fetch(origin + path, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.headers.get('content-length'), response.headers.get('content-length'));
      assert.equal(await head.text(), '');
    });
  }

  for (const path of [
    '/',
    '/health/',
    '/health/x',
    '/HEALTH',
    '/metrics',
    `/${DEVELOPMENT_ACCOUNT.name}`,
    `/${DEVELOPMENT_ACCOUNT.name}?comp=list`,
    '/..%2Fready',
    '/__proto__',
    '/constructor',
  ]) {
    test(`has nothing at ${path}`, async () => {
      const response = await fetch(origin + path);
      assert.deepEqual([response.status, await response.json()], [404, { status: 'not found' }]);
    });
  }

  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    test(`refuses ${method}, and says what it takes`, async () => {
      const body = method === 'POST' ? 'x'.repeat(100_000) : null;
      const response = await fetch(`${origin}/ready`, { method, body });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get('allow'), 'GET, HEAD');
    });
  }

  test('answers a probe that names no host, in HTTP/1.0 and 1.1', async () => {
    for (const version of ['1.0', '1.1']) {
      const received = await sendBytes(origin, `GET /ready HTTP/${version}\r\nConnection: close\r\n\r\n`);
      assert.equal(firstStatus(received), 200, received);
    }
  });

  test('refuses what is not HTTP, and goes on', async () => {
    assert.equal(firstStatus(await sendBytes(origin, 'nonsense\r\n\r\n')), 400);
    assert.equal(firstStatus(await sendBytes(origin, `GET /ready HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)), 431);
    assert.equal((await fetch(`${origin}/ready`)).status, 200);
  });

  test('answers many at once', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => fetch(`${origin}/ready`)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  });
});

test('a server in a program’s own process opens no admin door unless it is asked to', async () => {
  const server = await startServer({ memory: true });
  assert.equal(server.origins.admin, null);
  await server.close();
});

test('the admin door is closed with the server, its port free again', async () => {
  const first = await startServer({ memory: true, adminPort: 0 });
  const origin = first.origins.admin as string;
  await first.close();
  await assert.rejects(fetch(`${origin}/health`));
  const second = await startServer({ memory: true, adminPort: Number(new URL(origin).port) });
  assert.equal((await fetch(`${second.origins.admin}/health`)).status, 200);
  await second.close();
});

test('a server that cannot open its blob door closes the admin door too', async () => {
  const other = await startServer({ memory: true, adminPort: 0 });
  const taken = Number(new URL(other.origins.blob).port);
  await assert.rejects(startServer({ memory: true, adminPort: 0, blobPort: taken }), {
    code: 'EADDRINUSE',
    port: taken,
  });
  const adminTaken = Number(new URL(other.origins.admin as string).port);
  await assert.rejects(startServer({ memory: true, adminPort: adminTaken }), { code: 'EADDRINUSE', port: adminTaken });
  await other.close();
});

test('with a certificate the admin door speaks HTTPS, as the others do', async (t) => {
  const tls = makeCertificate('127.0.0.1');
  const server = await startServer({ memory: true, adminPort: 0, tls });
  t.after(() => server.close());
  assert.match(server.origins.admin ?? '', /^https:\/\/127\.0\.0\.1:\d+$/);
  const status = await new Promise((resolve, reject) => {
    get(`${server.origins.admin}/ready`, { ca: tls.cert, agent: false }, (response) => {
      resolve(response.resume().statusCode);
    }).on('error', reject);
  });
  assert.equal(status, 200);
});
