/**
 * Who signs for files with the account's key: the official client, whatever names are made of, and requests by hand in both
 * schemes and of versions from the first of this service on; and what is told to whoever signs wrongly, or not at all.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  generateFileSASQueryParameters,
  type ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS, freshShare } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { assertRefused } from '../harness/queue-http.ts';
import {
  assertOutcomes,
  assertUntouched,
  fileOf,
  furnish,
  type Guest,
  NOT_AUTHENTIC,
  type Place,
} from './operations.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const keyOf = ({ name, key }: TestAccount = DEVELOPMENT_ACCOUNT): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, key);

const guestBy = (signer: StorageSharedKeyCredential, name: string, endpoint = server.fileEndpoint()): Guest => {
  const service = new ShareServiceClient(endpoint, signer, FILE_CLIENT_OPTIONS);
  return { service, share: service.getShareClient(name) };
};

const opened = (file: ShareFileClient): string => {
  const expiresOn = new Date(server.clock.nowMs() + 3_600_000);
  const values = { shareName: file.shareName, permissions: ShareSASPermissions.parse('r'), expiresOn };
  return `${file.url}?${generateFileSASQueryParameters(values, keyOf()).toString()}`;
};

const freshPlace = async (): Promise<Place> => furnish(await freshShare(server), opened);

describe('the official client', () => {
  test('signs everything that it can ask for', async () => {
    const place = await freshPlace();
    await assertOutcomes(guestBy(keyOf(), place.share.name), place, () => 'ok');
  });

  test('signs paths of whatever names there can be', async () => {
    const share = await freshShare(server);
    const names = ['a b', ' b', 'ü文😀', "o'b+1%20&c=d;e,f@g!h$(i)[j]{k}^l~m`n#o", '100%', 'straße', '%2F'];
    let directory = share.rootDirectoryClient;
    for (const name of names) {
      directory = directory.getDirectoryClient(name);
      await directory.create();
      const file = directory.getFileClient(`${name}.txt`);
      await file.create(3);
      await file.uploadRange('abc', 0, 3);
      assert.equal((await file.downloadToBuffer()).toString(), 'abc', name);
      const listed: string[] = [];
      for await (const entry of directory.listFilesAndDirectories({ prefix: name })) listed.push(entry.name);
      assert.deepEqual(listed, [`${name}.txt`]);
    }
  });

  test('signs metadata whose names and values are hard to sort and to trim', async () => {
    const metadata = { a: '1', ab: ' two  spaces', a_b: 'x', a0: '"a  b"', b: 'y', b_: 'z' };
    const share = await freshShare(server);
    const file = share.rootDirectoryClient.getFileClient('odd');
    await file.create(0, { metadata });
    assert.deepEqual((await file.getProperties()).metadata, { ...metadata, ab: 'two  spaces' });
  });

  test('is refused with the key of another account, and with none that fits', async () => {
    const place = await freshPlace();
    for (const signer of [
      new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, SECOND_ACCOUNT.key),
      keyOf(SECOND_ACCOUNT),
      new StorageSharedKeyCredential('nobody', SECOND_ACCOUNT.key),
    ]) {
      await assertOutcomes(guestBy(signer, place.share.name), place, () => NOT_AUTHENTIC);
    }
    await assertUntouched(place);
  });

  test('reads at the secondary, and writes nothing there', async () => {
    const { share } = await freshPlace();
    const { share: secondary } = guestBy(keyOf(), share.name, `${server.fileEndpoint()}-secondary`);
    assert.equal((await fileOf(secondary).downloadToBuffer(0, 12)).toString(), 'of the owner');
    for (const write of [
      () => fileOf(secondary).create(1),
      () => fileOf(secondary).uploadRange('x', 0, 1),
      () => fileOf(secondary).delete(),
      () => secondary.delete(),
    ]) {
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

function liteText({ method, path, headers }: Signable, account: string, version: string): string {
  const [bare = '', query = ''] = path.split('?');
  const comp = new URLSearchParams(query).get('comp');
  const resource = `/${account}/${account}${bare}${comp === null ? '' : `?comp=${comp}`}`;
  return `${method}\n\n${headers['content-type'] ?? ''}\n\n${extensionLines(headers, version)}${resource}`;
}

/** The length of an empty body is 0 before 2015-02-21, and nothing since. */
function fullText({ method, path, headers }: Signable, account: string, version: string): string {
  const { 'content-length': length = '', 'content-type': type = '', range = '' } = headers;
  const lengthLine = length === '0' && version >= '2015-02-21' ? '' : length;
  const [bare = '', query = ''] = path.split('?');
  const words = new URLSearchParams(query);
  words.sort();
  const parameters = [...words].map(([name, value]) => `\n${name}:${value}`);
  const head = `${method}\n\n\n${lengthLine}\n\n${type}\n\n\n\n\n\n${range}\n`;
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
  const textOf = scheme === 'SharedKeyLite' ? liteText : fullText;
  const authorization = `${scheme} ${account.name}:${signatureOf(textOf(signable, account.name, asOf), key)}`;
  return send(server.fileUrl, {
    method,
    path,
    account: null,
    pathAccount: account.name,
    headers: { ...headers, authorization },
    ...(body === undefined ? {} : { body }),
  });
}

const NEW_FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '10' };

describe('a request by hand', () => {
  for (const scheme of ['SharedKey', 'SharedKeyLite'] as const) {
    test(`by ${scheme} is served, whatever its path and query`, async () => {
      const { share } = await freshPlace();
      const { name } = share;
      const file = new URL(fileOf(share).url).pathname.slice(DEVELOPMENT_ACCOUNT.name.length + 1);
      for (const path of [
        '/?comp=list',
        '/?comp=list&prefix=a%20b%2Bc&maxresults=1&include=metadata,snapshots&timeout=5',
        '/?restype=service&comp=properties',
        `/${name}?restype=share`,
        `/${name}?restype=directory&comp=list`,
        `/${name}/?restype=directory&comp=list`,
        `/${name}/?restype=directory&comp=list&include=Timestamps,Etag%2CAttributes&prefix=R%C3%A4ume%20(`,
        file,
        `${file}?comp=rangelist`,
        `${file}?comp=metadata&timeout=5`,
      ]) {
        assert.equal((await ask({ scheme, path })).status, 200, path);
      }
      assert.equal((await ask({ scheme, path: '/?comp=list', account: SECOND_ACCOUNT })).status, 200);
      const range = { 'x-ms-write': 'update', range: 'bytes=0-3', 'content-type': 'text/plain' };
      const put = await ask({ scheme, method: 'PUT', path: `${file}?comp=range`, headers: range, body: 'text' });
      assert.equal(put.status, 201, put.body.toString());
    });

    test(`by ${scheme} and a wrong key, path, verb or date is told so`, async () => {
      const { name } = (await freshPlace()).share;
      const longAgo = new Date(Date.now() - 16 * 60_000).toUTCString();
      for (const [what, wrong] of [
        ['another key', { key: SECOND_ACCOUNT.key }],
        ['another path', { signed: { path: `/${name}x/?restype=directory&comp=list` } }],
        ['the path without its slash', { signed: { path: `/${name}?restype=directory&comp=list` } }],
        ['another comp', { signed: { path: `/${name}/?restype=directory&comp=metadata` } }],
        ['no comp', { signed: { path: `/${name}/?restype=directory` } }],
        ['another verb', { signed: { method: 'PUT' } }],
        ['an old date', { date: longAgo }],
        ['no date', { date: 'today' }],
      ] as const) {
        const refused = await ask({ scheme, path: `/${name}/?restype=directory&comp=list`, ...wrong });
        assertRefused(refused, NOT_AUTHENTIC);
        assert.match(refused.body.toString(), /<AuthenticationErrorDetail>[^<]+</, what);
      }
    });
  }

  test('has its query, range and length signed by Shared Key, and not by Shared Key Lite', async () => {
    const { share } = await freshPlace();
    const path = `/${share.name}/new`;
    assert.equal((await ask({ method: 'PUT', path, headers: NEW_FILE })).status, 201);
    const headers = { 'x-ms-write': 'update', range: 'bytes=0-3', 'content-type': 'text/plain' };
    const request = { method: 'PUT', path: `${path}?comp=range&timeout=20`, headers, body: 'text' };
    for (const [scheme, signed, status] of [
      ['SharedKey', { path: `${path}?comp=range&timeout=30` }, 403],
      ['SharedKeyLite', { path: `${path}?comp=range&timeout=30` }, 201],
      ['SharedKey', { headers: { range: 'bytes=4-7' } }, 403],
      ['SharedKeyLite', { headers: { range: 'bytes=4-7' } }, 201],
      ['SharedKey', { headers: { 'content-length': '1' } }, 403],
      ['SharedKeyLite', { headers: { 'content-length': '1' } }, 201],
      ['SharedKey', { headers: { 'x-ms-write': 'clear' } }, 403],
      ['SharedKeyLite', { headers: { 'x-ms-write': 'clear' } }, 403],
    ] as const) {
      assert.equal((await ask({ ...request, scheme })).status, 201);
      assert.equal((await ask({ ...request, scheme, signed })).status, status, `${scheme} ${JSON.stringify(signed)}`);
    }
  });

  /** Versions by the recipe that they have in common: the first of files, and the last. */
  const RECIPES = [
    ['2014-02-14', '2014-02-14'],
    ['2015-02-21', '2015-12-11'],
    ['2016-05-31', '2027-03-07'],
  ] as const;
  for (const versions of RECIPES) {
    test(`of ${versions.join(' to ')} signs an empty body and an empty header as was done then`, async () => {
      for (const version of versions) {
        const path = `/old-${randomUUID()}?restype=share`;
        const create = { method: 'PUT', path, version, headers: { 'x-ms-client-request-id': '' } };
        for (const [asOf] of RECIPES.filter((others) => others !== versions)) {
          assert.equal((await ask({ ...create, signed: { asOf } })).outcome, NOT_AUTHENTIC, `${version} as ${asOf}`);
        }
        assert.equal((await ask(create)).status, 201, version);
        assert.equal((await ask({ path, version })).status, 200, version);
        assert.equal((await ask({ method: 'DELETE', path, version, scheme: 'SharedKeyLite' })).status, 202, version);
      }
    });
  }

  test('that cannot be read is a bad one', async () => {
    for (const authorization of ['SharedKey', 'SharedKey nobody', 'Basic YTpi', 'SharedKeyLite devstoreaccount1']) {
      const headers = { authorization };
      const refused = await send(server.fileUrl, { method: 'GET', path: '/?comp=list', headers });
      assertRefused(refused, '400 InvalidAuthenticationInfo');
    }
  });

  test('with a signature and a token is refused: one of them is enough', async () => {
    const path = '/?comp=list&sv=2019-02-02&sig=x';
    assertRefused(await send(server.fileUrl, { method: 'GET', path }), NOT_AUTHENTIC);
  });

  test('without any credentials is asked for some, whatever it is about', async () => {
    const { name } = (await freshPlace()).share;
    for (const [method, path] of [
      ['GET', '/?comp=list'],
      ['PUT', `/${name}-new?restype=share`],
      ['DELETE', `/${name}?restype=share`],
      ['GET', `/${name}?restype=directory&comp=list`],
      ['GET', `/${name}/source`],
      ['GET', `/${name}/nothing`],
      ['GET', '/nosuchshare/nothing'],
      ['PUT', `/${name}/new`],
    ] as const) {
      const refused = await send(server.fileUrl, { method, path, account: null });
      assertRefused(refused, '401 NoAuthenticationInformation');
      assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=\S+ resource_id=\S+$/);
      const old = { 'x-ms-version': '2019-10-10' };
      assertRefused(await send(server.fileUrl, { method, path, account: null, headers: old }), '404 ResourceNotFound');
    }
  });
});
