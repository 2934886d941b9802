/** Static websites: switched on with the official client, read as a browser would. */
// engines: embedded
import assert from 'node:assert/strict';
import { get } from 'node:https';
import { networkInterfaces } from 'node:os';
import { after, before, describe, test } from 'node:test';
import {
  type BlobServiceClient,
  type BlobServiceProperties,
  BlockBlobClient,
  type ContainerClient,
} from '@azure/storage-blob';
import { startServer } from '../../src/main.ts';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { blobService, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { freshPlace } from '../harness/engines.ts';
import { send, sendBytes } from '../harness/http.ts';

const place = await freshPlace();
const server = await startServer({
  ...place.store,
  webPort: 0,
  accounts: [DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT].map(({ name, key }) => ({ name, keys: [key] })),
});
after(async () => {
  await server.close();
  await place.remove();
});
const origin = server.origins.web ?? assert.fail('no web door');

const clientOf = (account: TestAccount): BlobServiceClient =>
  blobService({ connectionString: (one = account) => server.connectionStringFor(one.name, one.key) });

const service = clientOf(DEVELOPMENT_ACCOUNT);
const site = `${origin}/${DEVELOPMENT_ACCOUNT.name}`;

type Website = NonNullable<BlobServiceProperties['staticWebsite']>;

const setWebsite = (staticWebsite: Website): Promise<unknown> => service.setProperties({ staticWebsite });

async function publish(
  container: ContainerClient,
  name: string,
  text: string,
  contentType = 'text/html',
): Promise<void> {
  const blobHTTPHeaders = { blobContentType: contentType };
  await container.getBlockBlobClient(name).upload(text, Buffer.byteLength(text), { blobHTTPHeaders });
}

/** `200 text of the page`. */
async function shown(path: string, init?: RequestInit): Promise<string> {
  const response = await fetch(site + path, { redirect: 'manual', ...init });
  return `${response.status} ${await response.text()}`;
}

/** `404 WebContentNotFound`, of a page that the server wrote itself. */
async function refusedPage(url: string, init?: RequestInit): Promise<string> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
  const code = response.headers.get('x-ms-error-code') ?? '';
  assert.match(text, new RegExp(`^<!DOCTYPE html>[^]*HttpStatusCode: ${response.status}<[^]*ErrorCode: ${code}<`));
  return `${response.status} ${code}`;
}

describe('the properties of a service', () => {
  const second = clientOf(SECOND_ACCOUNT);

  /** What the client leaves open is left away. */
  async function kept(): Promise<Pick<BlobServiceProperties, 'staticWebsite' | 'deleteRetentionPolicy'>> {
    const { staticWebsite, deleteRetentionPolicy } = await second.getProperties();
    return JSON.parse(JSON.stringify({ staticWebsite, deleteRetentionPolicy })) as BlobServiceProperties;
  }

  test('hold a website and a retention of what is deleted, each by itself', async () => {
    const staticWebsite: Website = { enabled: true, indexDocument: 'index.html', errorDocument404Path: '404.html' };
    await second.setProperties({ staticWebsite });
    await second.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } });
    assert.deepEqual(await kept(), { staticWebsite, deleteRetentionPolicy: { enabled: true, days: 7 } });
    await second.setProperties({ staticWebsite: { enabled: true, defaultIndexDocumentPath: 'app/index.html' } });
    await second.setProperties({ deleteRetentionPolicy: { enabled: false } });
    assert.deepEqual(await kept(), {
      staticWebsite: { enabled: true, defaultIndexDocumentPath: 'app/index.html' },
      deleteRetentionPolicy: { enabled: false },
    });
    await second.setProperties({ staticWebsite: { enabled: false, indexDocument: 'x' } });
    assert.deepEqual((await kept()).staticWebsite, { enabled: false });
  });

  const path = '/?restype=service&comp=properties';
  const put = (parts: string): Promise<string> =>
    send(server.origins.blob, {
      method: 'PUT',
      path,
      account: SECOND_ACCOUNT,
      body: `<StorageServiceProperties>${parts}</StorageServiceProperties>`,
    }).then((response) => response.outcome);

  test('hold whether permanent deletes are allowed', async () => {
    for (const allowed of ['true', 'false']) {
      const policy = `<Enabled>true</Enabled><Days>365</Days><AllowPermanentDelete>${allowed}</AllowPermanentDelete>`;
      assert.equal(await put(`<DeleteRetentionPolicy>${policy}</DeleteRetentionPolicy>`), '202');
      const { body } = await send(server.origins.blob, { method: 'GET', path, account: SECOND_ACCOUNT });
      assert.ok(body.toString().includes(`<DeleteRetentionPolicy>${policy}</DeleteRetentionPolicy>`));
    }
  });

  for (const [what, parts] of [
    [
      'an index that is a path',
      '<StaticWebsite><Enabled>true</Enabled><IndexDocument>a/b</IndexDocument></StaticWebsite>',
    ],
    [
      'an index of 256 characters',
      `<StaticWebsite><Enabled>true</Enabled><IndexDocument>${'x'.repeat(256)}</IndexDocument></StaticWebsite>`,
    ],
    [
      'two kinds of index',
      '<StaticWebsite><Enabled>true</Enabled><IndexDocument>a</IndexDocument><DefaultIndexDocumentPath>a</DefaultIndexDocumentPath></StaticWebsite>',
    ],
    ['a website neither on nor off', '<StaticWebsite><IndexDocument>a</IndexDocument></StaticWebsite>'],
    ['a retention without days', '<DeleteRetentionPolicy><Enabled>true</Enabled></DeleteRetentionPolicy>'],
    ['a retention of no day', '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>0</Days></DeleteRetentionPolicy>'],
    [
      'a retention of 366 days',
      '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>366</Days></DeleteRetentionPolicy>',
    ],
  ] as const) {
    test(`are refused with ${what}`, async () => {
      assert.match(await put(parts), /^400 (InvalidXmlDocument|InvalidXmlNodeValue|MissingRequiredXmlNode)$/);
    });
  }
});

describe('a website', () => {
  let container: ContainerClient;
  before(async () => {
    await setWebsite({ enabled: true, indexDocument: 'index.html' });
    container = service.getContainerClient('$web');
    await publish(container, 'index.html', 'home');
    await publish(container, 'about/index.html', 'about us');
    await publish(container, 'about/a page & ü.txt', 'words', 'text/plain; charset=utf-8');
    await publish(container, 'error.html', 'nothing here');
  });

  test('has its container as soon as it is switched on, and keeps it when it is switched on again', async () => {
    assert.equal(await outcome(container.create()), '409 ContainerAlreadyExists');
    await setWebsite({ enabled: true, indexDocument: 'index.html' });
    assert.equal(await shown('/'), '200 home');
  });

  for (const [path, page] of [
    ['/', 'home'],
    ['/index.html', 'home'],
    ['/about/', 'about us'],
    ['/about/index.html', 'about us'],
    ['/about/a%20page%20&%20%C3%BC.txt', 'words'],
    ['/about/a%20page%20%26%20ü.txt', 'words'],
    ['/?sig=1&sv=never&se=x&api-version=x', 'home'],
    ['/index.html?snapshot=2020-01-01T00:00:00.0000000Z&versionid=x&comp=metadata&timeout=x', 'home'],
    ['/?comp=list&restype=container', 'home'],
  ] as const) {
    test(`shows ${path}`, async () => assert.equal(await shown(path), `200 ${page}`));
  }

  test('shows what any header that is not the web’s would have changed', async () => {
    const headers = {
      authorization: 'Basic bWU6bWU=',
      'x-ms-version': 'never',
      'x-ms-range': 'bytes=0-0',
      'x-ms-lease-id': 'x',
      'x-ms-encryption-key': 'x',
      'x-ms-if-tags': 'x',
    };
    assert.equal(await shown('/', { headers }), '200 home');
  });

  for (const path of [
    '/missing.html',
    '/about',
    '/missing/',
    '/$web/index.html',
    '/index.html%00',
    `/${'x'.repeat(1100)}`,
    `/${'x/'.repeat(300)}`,
  ]) {
    test(`has no ${path.slice(0, 30)}`, async () => {
      assert.equal(await refusedPage(site + path), '404 WebContentNotFound');
    });
  }

  test('names the headers of its pages, and nothing that is between its owner and the Blob service', async () => {
    const blob = container.getBlockBlobClient('all-headers');
    await blob.upload('x', 1, {
      metadata: { secret: 'value' },
      blobHTTPHeaders: {
        blobContentType: 'text/css',
        blobContentEncoding: 'identity',
        blobContentLanguage: 'de',
        blobCacheControl: 'max-age=60',
        blobContentDisposition: 'inline',
      },
    });
    const { etag, lastModified, contentMD5 } = await blob.getProperties();
    const expected = {
      'accept-ranges': 'bytes',
      'cache-control': 'max-age=60',
      'content-disposition': 'inline',
      'content-encoding': 'identity',
      'content-language': 'de',
      'content-length': '1',
      'content-md5': Buffer.from(contentMD5 ?? []).toString('base64'),
      'content-type': 'text/css',
      etag,
      'last-modified': lastModified?.toUTCString(),
    };
    const common = new Set(['connection', 'date', 'keep-alive', 'server', 'x-ms-request-id', 'x-ms-version']);
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${site}/all-headers`, { method });
      assert.deepEqual(
        Object.fromEntries([...response.headers].filter(([name]) => !common.has(name))),
        expected,
        method,
      );
      assert.equal(await response.text(), method === 'GET' ? 'x' : '');
    }
  });

  test('answers HEAD as it would GET, without the page', async () => {
    for (const [path, status] of [
      ['/', 200],
      ['/missing', 404],
    ] as const) {
      const response = await fetch(site + path, { method: 'HEAD' });
      assert.deepEqual([response.status, await response.text()], [status, '']);
    }
  });

  test('gives a part of a page, and says where there is none', async () => {
    const part = await fetch(`${site}/index.html`, { headers: { range: 'bytes=1-2' } });
    assert.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 1-2/4', 'om']);
    const beyond = await fetch(`${site}/`, { headers: { range: 'bytes=9-' } });
    assert.deepEqual([beyond.status, beyond.headers.get('content-range')], [416, 'bytes */4']);
    assert.match(await beyond.text(), /^<!DOCTYPE html>/);
  });

  test('gives the whole page to whoever wants a part of it only if it is still the same', async () => {
    assert.equal(await shown('/', { headers: { range: 'bytes=1-2', 'if-range': '"0x1"' } }), '200 home');
  });

  test('sends nothing to whoever has the page already', async () => {
    const response = await fetch(`${site}/`);
    const [etag, lastModified] = ['etag', 'last-modified'].map((name) => response.headers.get(name) ?? '');
    assert.ok(etag !== undefined && lastModified !== undefined);
    for (const headers of [
      { 'if-none-match': etag },
      { 'if-modified-since': lastModified },
      { 'if-none-match': etag, 'if-modified-since': lastModified },
    ] as const) {
      assert.equal(await shown('/', { headers }), '304 ');
    }
    assert.equal(await shown('/', { headers: { 'if-none-match': '"0x1"' } }), '200 home');
    assert.equal(await shown('/', { headers: { 'if-modified-since': new Date(0).toUTCString() } }), '200 home');
    assert.equal(await refusedPage(`${site}/`, { headers: { 'if-match': '"0x1"' } }), '412 ConditionNotMet');
  });

  test('streams a large file', async () => {
    const content = Buffer.alloc(5 * 1024 * 1024, 'all work and no play ');
    await container
      .getBlockBlobClient('large')
      .uploadData(content, { blockSize: 1024 * 1024, maxSingleShotSize: 1024 });
    const response = await fetch(`${site}/large`);
    assert.ok(content.equals(Buffer.from(await response.arrayBuffer())));
  });

  test('has an error page, which no condition and no range of the request concerns', async () => {
    await setWebsite({ enabled: true, indexDocument: 'index.html', errorDocument404Path: 'error.html' });
    const { etag = '' } = await container.getBlobClient('error.html').getProperties();
    assert.equal(await shown('/missing'), '404 nothing here');
    assert.equal(await shown('/missing/'), '404 nothing here');
    assert.equal(
      await shown('/missing', { headers: { 'if-none-match': etag, range: 'bytes=1-2' } }),
      '404 nothing here',
    );
    const response = await fetch(`${site}/missing`);
    assert.deepEqual([response.headers.get('content-type'), response.headers.get('etag')], ['text/html', null]);
    assert.equal(await shown('/error.html'), '200 nothing here');
    await setWebsite({ enabled: true, indexDocument: 'index.html', errorDocument404Path: '/gone.html' });
    assert.equal(await refusedPage(`${site}/missing`), '404 WebContentNotFound');
  });

  test('may be one page for all paths', async () => {
    await setWebsite({
      enabled: true,
      defaultIndexDocumentPath: 'about/index.html',
      errorDocument404Path: 'error.html',
    });
    for (const path of ['/', '/any/', '/any/route']) assert.equal(await shown(path), '200 about us');
    assert.equal(await shown('/error.html'), '200 nothing here');
    const { headers } = await fetch(`${site}/any/route`);
    const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
    assert.equal(await shown('/another/route', known), '304 ');
  });

  for (const method of ['PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH']) {
    test(`takes no ${method}`, async () => {
      const response = await fetch(`${site}/index.html`, { method });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
    });
  }

  test('is read behind the slash of its account, so that the names in its pages lead into it', async () => {
    const response = await fetch(`${site}?a=b`, { redirect: 'manual' });
    assert.deepEqual([response.status, response.headers.get('location')], [301, `/${DEVELOPMENT_ACCOUNT.name}/?a=b`]);
    assert.equal((await fetch(site)).url, `${site}/`);
  });

  test('stays private at the Blob service, where its owner lists it', async () => {
    const guest = new BlockBlobClient(container.getBlobClient('index.html').url, undefined, NO_RETRIES);
    assert.equal(await refusal(guest.getProperties()), '401 NoAuthenticationInformation');
    const names: string[] = [];
    for await (const { name } of container.listBlobsFlat({ prefix: 'about/' })) names.push(name);
    assert.deepEqual(names, ['about/a page & ü.txt', 'about/index.html']);
  });

  test('shows a new page from the moment it is there, and none that is deleted', async () => {
    await setWebsite({ enabled: true, indexDocument: 'index.html' });
    await publish(container, 'news.html', 'one');
    assert.equal(await shown('/news.html'), '200 one');
    await publish(container, 'news.html', 'two');
    assert.equal(await shown('/news.html'), '200 two');
    await container.deleteBlob('news.html');
    assert.equal(await refusedPage(`${site}/news.html`), '404 WebContentNotFound');
  });

  test('is gone when it is switched off', async () => {
    await setWebsite({ enabled: false });
    assert.equal(await refusedPage(`${site}/`), '404 WebsiteNotEnabled');
    assert.equal(await refusedPage(`${site}/index.html`), '404 WebsiteNotEnabled');
    await setWebsite({ enabled: true, indexDocument: 'index.html' });
    assert.equal(await shown('/'), '200 home');
  });
});

const askHost = (host: string, path: string): Promise<string> =>
  sendBytes(origin, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

describe('an account', () => {
  const client = clientOf(SECOND_ACCOUNT);
  before(async () => {
    await client.setProperties({ staticWebsite: { enabled: true, indexDocument: 'index.html' } });
    await publish(client.getContainerClient('$web'), 'index.html', 'second home');
    await publish(client.getContainerClient('$web'), 'secondaccount/index.html', 'a directory');
  });

  for (const host of ['secondaccount.web.localhost:10005', 'secondaccount.z1.web.core.windows.net']) {
    test(`may stand in the host name, as in ${host}`, async () => {
      assert.match(await askHost(host, '/'), /^HTTP\/1\.1 200 [^]*\r\n\r\nsecond home$/);
      assert.match(await askHost(host, '/secondaccount/'), /^HTTP\/1\.1 200 [^]*\r\n\r\na directory$/);
      assert.match(await askHost(host, '/secondaccount'), /^HTTP\/1\.1 404 /);
    });
  }

  test('that is not there has no website', async () => {
    assert.equal(await refusedPage(`${origin}/nobody/`), '404 WebsiteNotEnabled');
    assert.equal(await refusedPage(`${origin}/`), '400 InvalidUri');
  });
});

test('what is no HTTP is told so in a page too', async () => {
  assert.match(await sendBytes(origin, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 [^]*\r\n\r\n<!DOCTYPE html>/);
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

test('the development account shows its website to callers on the same machine only, unless it may', {
  skip: ownAddress === undefined && 'this machine has no address beside loopback',
}, async (t) => {
  for (const [allowDevelopmentAccount, expected] of [
    [false, '403 AuthenticationFailed'],
    [true, '404 WebsiteNotEnabled'],
  ] as const) {
    const open = await startServer({ memory: true, host: '0.0.0.0', webPort: 0, allowDevelopmentAccount });
    t.after(() => open.close());
    const { port } = new URL(open.origins.web ?? assert.fail('no web door'));
    assert.equal(await refusedPage(`http://127.0.0.1:${port}/${DEVELOPMENT_ACCOUNT.name}/`), '404 WebsiteNotEnabled');
    assert.equal(await refusedPage(`http://${ownAddress}:${port}/${DEVELOPMENT_ACCOUNT.name}/`), expected);
  }
});

test('without being asked for, there is no web door', async (t) => {
  const closed = await startServer({ memory: true });
  t.after(() => closed.close());
  assert.equal(closed.origins.web, null);
});

test('with a certificate the web door speaks HTTPS, as the others do', async (t) => {
  const tls = makeCertificate('127.0.0.1');
  const secure = await startServer({ memory: true, webPort: 0, tls });
  t.after(() => secure.close());
  assert.match(secure.origins.web ?? '', /^https:\/\/127\.0\.0\.1:\d+$/);
  const status = await new Promise((resolve, reject) => {
    get(`${secure.origins.web}/${DEVELOPMENT_ACCOUNT.name}/`, { ca: tls.cert, agent: false }, (response) => {
      resolve(response.resume().statusCode);
    }).on('error', reject);
  });
  assert.equal(status, 404);
});
