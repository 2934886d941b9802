/**
 * Who signs for queues with the account's key: the official client and requests by hand in both schemes and of versions
 * from the first on; and what is told to whoever signs wrongly, or not at all.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue, QUEUE_CLIENT_OPTIONS, queueClient, queueService } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, sendQueue } from '../harness/queue-http.ts';
import { assertOutcomes, type Guest, NOT_AUTHENTIC } from './operations.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const guestBy = (signer: StorageSharedKeyCredential, name: string): Guest => {
  const service = new QueueServiceClient(server.queueEndpoint(), signer, QUEUE_CLIENT_OPTIONS);
  const secondary = new QueueServiceClient(`${server.queueEndpoint()}-secondary`, signer, QUEUE_CLIENT_OPTIONS);
  return { service, secondary, queue: service.getQueueClient(name) };
};
const keyOf = ({ name, key }: TestAccount = DEVELOPMENT_ACCOUNT): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, key);

describe('the official client', () => {
  test('signs everything that it can ask for', async () => {
    const queue = await freshQueue(server);
    await assertOutcomes(guestBy(keyOf(), queue.name), queue, () => 'ok');
  });

  test('signs metadata whose names and values are hard to sort and to trim', async () => {
    const metadata = { a: '1', ab: ' two  spaces', a_b: 'x', a0: '"a  b"', b: 'y', b_: 'z' };
    const queue = queueClient(server, `odd-${randomUUID()}`);
    await queue.create({ metadata });
    assert.deepEqual((await queue.getProperties()).metadata, { ...metadata, ab: 'two  spaces' });
  });

  test('is refused with the key of another account, and with none that fits', async () => {
    const queue = await freshQueue(server);
    for (const signer of [
      new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, SECOND_ACCOUNT.key),
      keyOf(SECOND_ACCOUNT),
      new StorageSharedKeyCredential('nobody', SECOND_ACCOUNT.key),
    ]) {
      await assertOutcomes(guestBy(signer, queue.name), queue, () => NOT_AUTHENTIC);
    }
  });

  test('reads at the secondary, and writes nothing there', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('x');
    const secondary = guestBy(keyOf(), queue.name).secondary.getQueueClient(queue.name);
    assert.equal((await secondary.peekMessages()).peekedMessageItems.length, 1);
    assert.equal((await secondary.getProperties()).approximateMessagesCount, 1);
    for (const write of [() => secondary.sendMessage('y'), () => secondary.clearMessages(), () => secondary.delete()]) {
      assert.equal(await refusal(write()), '403 InsufficientAccountPermissions');
    }
  });
});

type Headers = Readonly<Record<string, string>>;

interface Signable {
  readonly method: string;
  /** Behind the account. */
  readonly path: string;
  readonly headers: Headers;
}

interface Signed extends Partial<Signable> {
  readonly path: string;
  readonly scheme?: 'SharedKey' | 'SharedKeyLite';
  readonly version?: string;
  readonly body?: string;
  readonly date?: string;
  readonly account?: TestAccount;
  readonly key?: string;
  /** What is signed in place of what is sent, or by the recipe of which version. */
  readonly signed?: Partial<Signable> & { readonly asOf?: string };
}

const VERSION = '2024-11-04';

const signatureOf = (text: string, key: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');

/** Of `x-ms-` headers. Empty ones count since 2016-05-31. */
const extensionLines = (headers: Headers, version: string): string =>
  Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-') && (headers[name] !== '' || version >= '2016-05-31'))
    .sort()
    .map((name) => `${name}:${headers[name]}\n`)
    .join('');

/** All that Shared Key signed before 2009-09-19. */
function liteText({ method, path, headers }: Signable, account: string, version: string): string {
  const [bare = '', query = ''] = path.split('?');
  const comp = new URLSearchParams(query).get('comp');
  const resource = `/${account}/${account}${bare}${comp === null ? '' : `?comp=${comp}`}`;
  return `${method}\n\n${headers['content-type'] ?? ''}\n\n${extensionLines(headers, version)}${resource}`;
}

/** The length of an empty body is 0 before 2015-02-21, and nothing since. */
function fullText({ method, path, headers }: Signable, account: string, version: string): string {
  const { 'content-length': length = '', 'content-type': type = '' } = headers;
  const lengthLine = length === '0' && version >= '2015-02-21' ? '' : length;
  const [bare = '', query = ''] = path.split('?');
  const words = new URLSearchParams(query);
  words.sort();
  const parameters = [...words].map(([name, value]) => `\n${name}:${value}`);
  const head = `${method}\n\n\n${lengthLine}\n\n${type}\n\n\n\n\n\n\n`;
  return `${head}${extensionLines(headers, version)}/${account}/${account}${bare}${parameters.join('')}`;
}

/** A request, signed by the published recipe. */
function ask({ method = 'GET', path, scheme = 'SharedKey', version = VERSION, ...rest }: Signed) {
  const { account = DEVELOPMENT_ACCOUNT, key = account.key, body, date = new Date().toUTCString() } = rest;
  const hasLength = method !== 'GET' || body !== undefined;
  const headers: Headers = {
    ...rest.headers,
    ...(hasLength ? { 'content-length': String(Buffer.byteLength(body ?? '')) } : {}),
    'x-ms-date': date,
    'x-ms-version': version,
  };
  const { asOf = version, ...instead } = rest.signed ?? {};
  const signable = { method, path, ...instead, headers: { ...headers, ...instead.headers } };
  const textOf = scheme === 'SharedKeyLite' || asOf < '2009-09-19' ? liteText : fullText;
  const authorization = `${scheme} ${account.name}:${signatureOf(textOf(signable, account.name, asOf), key)}`;
  return sendQueue(server.queueUrl, {
    method,
    path,
    account: null,
    pathAccount: account.name,
    headers: { ...headers, authorization },
    ...(body === undefined ? {} : { body }),
  });
}

describe('a request by hand', () => {
  for (const scheme of ['SharedKey', 'SharedKeyLite'] as const) {
    test(`by ${scheme} is served, whatever its path and query`, async () => {
      const { name } = await freshQueue(server);
      for (const path of [
        '/?comp=list',
        '/?comp=list&prefix=a%20b%2Bc&maxresults=1&include=metadata&timeout=5',
        '/?restype=service&comp=properties',
        `/${name}?comp=metadata`,
        `/${name}?comp=acl&timeout=5`,
        `/${name}/messages`,
        `/${name}/messages?peekonly=true&numofmessages=32`,
        `/${name}/%6Dessages?numofmessages=2&visibilitytimeout=5`,
      ]) {
        assert.equal((await ask({ scheme, path })).status, 200, path);
      }
      assert.equal((await ask({ scheme, path: '/?comp=list', account: SECOND_ACCOUNT })).status, 200);
      const put = { scheme, method: 'POST', path: `/${name}/messages`, headers: { 'content-type': 'application/xml' } };
      assert.equal((await ask({ ...put, body: messageOf('text') })).status, 201);
    });

    test(`by ${scheme} and a wrong key, path, verb or date is told so`, async () => {
      const { name } = await freshQueue(server);
      const longAgo = new Date(Date.now() - 16 * 60_000).toUTCString();
      for (const [what, wrong] of [
        ['another key', { key: SECOND_ACCOUNT.key }],
        ['another path', { signed: { path: `/${name}x?comp=metadata` } }],
        ['another comp', { signed: { path: `/${name}?comp=acl` } }],
        ['no comp', { signed: { path: `/${name}` } }],
        ['another verb', { signed: { method: 'PUT' } }],
        ['an old date', { date: longAgo }],
        ['no date', { date: 'today' }],
      ] as const) {
        const refused = await ask({ scheme, path: `/${name}?comp=metadata`, ...wrong });
        assertRefused(refused, NOT_AUTHENTIC);
        assert.match(refused.body.toString(), /<AuthenticationErrorDetail>[^<]+</, what);
      }
    });
  }

  test('has its query, type and length signed by Shared Key, and not by Shared Key Lite but for the type', async () => {
    const { name } = await freshQueue(server);
    const path = messagesPath(name, { messagettl: 60 });
    const request = { method: 'POST', path, headers: { 'content-type': 'application/xml' }, body: messageOf('x') };
    for (const [scheme, signed, status] of [
      ['SharedKey', { path: `/${name}/messages` }, 403],
      ['SharedKeyLite', { path: `/${name}/messages` }, 201],
      ['SharedKey', { headers: { 'content-length': '1' } }, 403],
      ['SharedKeyLite', { headers: { 'content-length': '1' } }, 201],
      ['SharedKey', { headers: { 'content-type': 'text/plain' } }, 403],
      ['SharedKeyLite', { headers: { 'content-type': 'text/plain' } }, 403],
    ] as const) {
      assert.equal((await ask({ ...request, scheme })).status, 201);
      assert.equal((await ask({ ...request, scheme, signed })).status, status, `${scheme} ${JSON.stringify(signed)}`);
    }
  });

  /** Versions by the recipe that they have in common: its first and its last. */
  const RECIPES = [
    ['2008-10-27', '2009-07-17'],
    ['2009-09-19', '2014-02-14'],
    ['2015-02-21', '2015-12-11'],
    ['2016-05-31', '2027-03-07'],
  ] as const;
  for (const versions of RECIPES) {
    test(`of ${versions.join(' to ')} signs an empty body and an empty header as was done then`, async () => {
      for (const version of versions) {
        const path = `/old-${randomUUID()}`;
        const create = { method: 'PUT', path, version, headers: { 'x-ms-client-request-id': '' } };
        for (const [asOf] of RECIPES.filter((others) => others !== versions)) {
          assert.equal((await ask({ ...create, signed: { asOf } })).outcome, NOT_AUTHENTIC, `${version} as ${asOf}`);
        }
        assert.equal((await ask(create)).status, 201, version);
        assert.equal((await ask({ path: `${path}/messages`, version })).status, 200, version);
        assert.equal((await ask({ method: 'DELETE', path, version, scheme: 'SharedKeyLite' })).status, 204, version);
      }
    });
  }

  test('is dated by Date where it has no x-ms-date', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const date = new Date().toUTCString();
    const text = `GET\n\n\n\n\n\n${date}\n\n\n\n\n\nx-ms-version:${VERSION}\n/${name}/${name}/\ncomp:list`;
    const authorization = `SharedKey ${name}:${signatureOf(text, key)}`;
    const headers = { date, 'x-ms-version': VERSION, authorization };
    const response = await fetch(`${server.queueEndpoint()}/?comp=list`, { headers });
    assert.equal(response.status, 200, await response.text());
  });

  test('that cannot be read is a bad one', async () => {
    for (const authorization of ['SharedKey', 'SharedKey nobody', 'Basic YTpi', 'SharedKeyLite devstoreaccount1']) {
      const refused = await sendQueue(server.queueUrl, {
        method: 'GET',
        path: '/?comp=list',
        headers: { authorization },
      });
      assertRefused(refused, '400 InvalidAuthenticationInfo');
    }
  });

  test('with a signature and a token is refused: one of them is enough', async () => {
    const path = '/?comp=list&sv=2019-02-02&sig=x';
    assertRefused(await sendQueue(server.queueUrl, { method: 'GET', path }), NOT_AUTHENTIC);
  });

  test('is not taken for a table’s, whose string is shorter', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const date = new Date().toUTCString();
    const signature = signatureOf(`${date}\n/${name}/${name}/?comp=list`, key);
    const headers = { 'x-ms-date': date, authorization: `SharedKeyLite ${name}:${signature}` };
    assertRefused(await sendQueue(server.queueUrl, { method: 'GET', path: '/?comp=list', headers }), NOT_AUTHENTIC);
  });

  test('without any credentials is asked for some, whatever it is about', async () => {
    const { name } = await freshQueue(server);
    const requests = [
      ['GET', '/?comp=list'],
      ['PUT', `/${name}-new`],
      ['DELETE', `/${name}`],
      ['GET', `/${name}?comp=metadata`],
      ['GET', `/${name}/messages?peekonly=true`],
      ['GET', '/nosuchqueue/messages'],
      ['POST', `/${name}/messages`],
    ] as const;
    for (const [method, path] of requests) {
      const refused = await sendQueue(server.queueUrl, { method, path, account: null });
      assertRefused(refused, '401 NoAuthenticationInformation');
      assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=\S+ resource_id=\S+$/);
      const old = { 'x-ms-version': '2019-10-10' };
      assertRefused(
        await sendQueue(server.queueUrl, { method, path, account: null, headers: old }),
        '404 ResourceNotFound',
      );
    }
    assert.equal((await queueService(server).getQueueClient(name).getProperties()).approximateMessagesCount, 0);
  });
});
