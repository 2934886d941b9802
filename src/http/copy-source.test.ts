import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobSASPermissions,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import {
  FileSASPermissions,
  StorageSharedKeyCredential as FileSharedKeyCredential,
  generateFileSASQueryParameters,
} from '@azure/storage-file-share';
import type { BearerTokens } from '../auth/bearer.ts';
import type { Account, Identity, ResourceAcl } from '../auth/identity.ts';
import type { CopySource } from '../service/copy/copy-source.ts';
import { StorageError } from '../service/storage-error.ts';
import { onLoopback, resolveCopySource } from './copy-source.ts';
import type { AuthorizedExchange } from './exchange.ts';
import { parseRequestTarget } from './request-target.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;
const OWN_PORT = 10_000;
const FILES_PORT = 10_003;

const keyOf = (name: string): Buffer => Buffer.from(`the key of ${name}, which nobody else has`);
const account = (name: string, loopbackOnly = false): Account => ({ name, keys: [keyOf(name)], loopbackOnly });
const ACCOUNTS = new Map(
  [account('first'), account('second'), account('devstoreaccount1', true)].map((one) => [one.name, one]),
);
const acl = (publicAccess: 'blob' | 'container' | null): ResourceAcl => ({ publicAccess, policies: [] });
const CONTAINERS: Readonly<Record<string, ResourceAcl>> = {
  'first/private': acl(null),
  'first/pictures': acl('blob'),
  'second/private': acl(null),
  'second/open': acl('container'),
  'devstoreaccount1/open': acl('blob'),
};

const SHARES: Readonly<Record<string, ResourceAcl>> = { 'first/share': acl(null), 'second/share': acl(null) };

const owner = (name: string): Identity => ({ kind: 'owner', account: name });
const OWNER = owner('first');
const SERVICE_SAS: Identity = { kind: 'serviceSas', account: 'first', permissions: 'racwdl', overrides: {} };
const ACCOUNT_SAS: Identity = {
  kind: 'accountSas',
  account: 'first',
  services: 'b',
  resourceTypes: 'sco',
  permissions: 'rwdlac',
};
const user = (permissions: string): Identity => ({
  kind: 'bearer',
  account: 'first',
  objectId: 'o',
  tenantId: 't',
  permissions,
  controls: false,
  delegationKey: null,
});

interface Asked {
  /** Where the request itself went. */
  readonly at?: string;
  readonly identity?: Identity;
  readonly headers?: Readonly<Record<string, string>>;
  readonly clientAddress?: string;
  readonly version?: string;
  readonly bearer?: BearerTokens;
}

/** Which door a request was sent to. */
const isForFiles = (at: string): boolean => /:10003\/|\.file\./.test(at);

function exchangeOf(source: string | null, asked: Asked): AuthorizedExchange {
  const { at = `http://127.0.0.1:${OWN_PORT}/first/c/new`, identity = OWNER, headers = {} } = asked;
  const { host, protocol, origin, pathname } = new URL(at);
  const all: Readonly<Record<string, string>> = source === null ? headers : { 'x-ms-copy-source': source, ...headers };
  return {
    service: isForFiles(at) ? 'f' : 'b',
    method: 'PUT',
    target: parseRequestTarget({ url: pathname, host, accounts: ACCOUNTS }),
    header: (name) => all[name] ?? null,
    rawHeaders: Object.entries(all),
    headersWithPrefix: () => [],
    version: asked.version ?? '2024-11-04',
    requestId: 'r',
    clientAddress: asked.clientAddress ?? '127.0.0.1',
    secure: protocol === 'https:',
    origin,
    body: () => Readable.from([]),
    wholeBody: () => Promise.resolve(new Uint8Array(0)),
    contentLengthBytes: 0,
    identity,
  };
}

const resolve = (source: string | null, asked: Asked = {}): Promise<CopySource> =>
  resolveCopySource(exchangeOf(source, asked), {
    accounts: ACCOUNTS,
    nowMs: NOW_MS,
    wallNowMs: NOW_MS,
    loadAcl: (name, [first], service) =>
      Promise.resolve((service === 'f' ? SHARES : CONTAINERS)[`${name}/${first}`] ?? null),
    isOurs: (url, service) => onLoopback((port) => port === (service === 'f' ? FILES_PORT : OWN_PORT))(url),
    bearer: asked.bearer ?? null,
  });

async function refusalOf(acted: Promise<unknown>): Promise<StorageError> {
  const error = await acted.then(
    () => assert.fail('it was accepted'),
    (rejection: unknown) => rejection,
  );
  assert.ok(error instanceof StorageError, String(error));
  return error;
}

/** `inside second private/b`, `outside http://…`, or `403 CannotVerifyCopySource AuthenticationFailed`. */
async function outcome(acted: Promise<CopySource>): Promise<string> {
  try {
    const source = await acted;
    if (source.kind === 'outside') return `outside ${source.url}`;
    if (source.kind === 'file') {
      const { account: owner, share, path, snapshot } = source.name;
      return `file ${owner} ${share}/${path.join('/')}${snapshot === null ? '' : ` snapshot ${snapshot}`}`;
    }
    const { name, at } = source;
    const moment = at === null ? '' : ` ${at.kind} ${at.moment}`;
    return `inside ${name.account} ${name.container}/${name.blob}${moment}`;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const { status, elements } = error.details;
    return `${status ?? '-'} ${error.code} ${elements?.['CopySourceErrorCode'] ?? elements?.['HeaderName'] ?? ''}`;
  }
}

const HERE = `http://127.0.0.1:${OWN_PORT}`;
const FILES_HERE = `http://127.0.0.1:${FILES_PORT}`;

// ---- is it here?

for (const [at, source, want] of [
  [`${HERE}/first/c/new`, `${HERE}/first/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `http://localhost:${OWN_PORT}/first/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `http://[::1]:${OWN_PORT}/first/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `http://first.blob.localhost:${OWN_PORT}/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `https://127.0.0.1:${OWN_PORT}/first/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `http://first-secondary.localhost:${OWN_PORT}/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, `${HERE}/first-secondary/private/b`, 'inside first private/b'],
  [`${HERE}/first/c/new`, 'http://127.0.0.1:9999/first/private/b', 'outside http://127.0.0.1:9999/first/private/b'],
  [`${HERE}/first/c/new`, 'http://nas.local:10000/first/private/b', 'outside http://nas.local:10000/first/private/b'],
  ['http://nas.local:10000/first/c/new', 'http://NAS.local:10000/first/private/b', 'inside first private/b'],
  ['http://nas.local/first/c/new', 'http://nas.local:80/first/private/b', 'inside first private/b'],
  // Behind a proxy that ends TLS
  ['http://nas.local/first/c/new', 'https://nas.local/first/private/b', 'inside first private/b'],
  ['http://nas.local/first/c/new', 'http://nas.local/third/private/b', 'outside http://nas.local/third/private/b'],
  ['http://nas.local/first/c/new', 'http://nas.local/', 'outside http://nas.local/'],
  // What az writes for the development account, wherever it is
  [`${HERE}/first/c/new`, 'https://devstoreaccount1.blob.core.windows.net/open/b', 'inside devstoreaccount1 open/b'],
  [
    `${HERE}/first/c/new`,
    'https://first.blob.core.windows.net/private/b',
    'outside https://first.blob.core.windows.net/private/b',
  ],
  ['http://first.blob.example.org/c/new', 'http://first.blob.example.org/private/b', 'inside first private/b'],
  ['http://first.blob.example.org/c/new', 'http://second.blob.example.org/open/b', 'inside second open/b'],
  [
    'http://first.blob.example.org/c/new',
    'http://third.blob.example.org/open/b',
    'outside http://third.blob.example.org/open/b',
  ],
  [
    'http://first.blob.example.org/c/new',
    'http://third.blob.example.org/first/private/b',
    'outside http://third.blob.example.org/first/private/b',
  ],
  ['http://first.blob.example.org/c/new', 'http://first.file.example.org/share/d/f', 'file first share/d/f'],
  [
    'http://first.blob.example.org/c/new',
    'http://second.queue.example.org/open/b',
    'outside http://second.queue.example.org/open/b',
  ],
  // Files: on a port of their own, and beside blobs
  [`${HERE}/first/c/new`, `${FILES_HERE}/first/share/f`, 'file first share/f'],
  [`${FILES_HERE}/first/share/new`, `${FILES_HERE}/first/share/d/f`, 'file first share/d/f'],
  [`${FILES_HERE}/first/share/new`, `${HERE}/first/private/b`, 'inside first private/b'],
  [`${FILES_HERE}/first/share/new`, `${FILES_HERE}/first/share/a%20b/%C3%A4.txt`, 'file first share/a b/ä.txt'],
  [
    `${FILES_HERE}/first/share/new`,
    `${FILES_HERE}/first/share/f?sharesnapshot=2026-01-01T00:00:00.0000000Z`,
    'file first share/f snapshot 2026-01-01T00:00:00.0000000Z',
  ],
  ['http://nas.local:10003/first/share/new', 'http://nas.local:10003/first/share/f', 'file first share/f'],
  ['http://first.file.example.org/share/new', 'http://first.blob.example.org/private/b', 'inside first private/b'],
  [
    `${HERE}/first/c/new`,
    'https://devstoreaccount1.file.core.windows.net/share/f',
    '401 CannotVerifyCopySource NoAuthenticationInformation',
  ],
  [
    'http://nas.local/first/c/new',
    'http://first.blob.example.org/private/b',
    'outside http://first.blob.example.org/private/b',
  ],
  [`${HERE}/first/c/new`, 'https://example.com/%zz?a=b#part', 'outside https://example.com/%zz?a=b'],
] as const) {
  test(`to a request at ${at}, ${source} is ${want}`, async () => {
    assert.equal(await outcome(resolve(source, { at })), want);
  });
}

test('an unknown account at our own address is judged as a read of it would be, and never asked for', async () => {
  assert.equal(
    await outcome(resolve(`${HERE}/third/private/b`)),
    '401 CannotVerifyCopySource NoAuthenticationInformation',
  );
  assert.equal(
    await outcome(resolve(`${HERE}/third/private/b?sig=x`)),
    '403 CannotVerifyCopySource AuthenticationFailed',
  );
});

test('a bearer token for a source outside goes along, and nothing else does', async () => {
  const source = 'https://example.com/c/b';
  assert.deepEqual(await resolve(source, { headers: { 'x-ms-copy-source-authorization': 'Bearer abc.def' } }), {
    kind: 'outside',
    url: source,
    authorization: 'Bearer abc.def',
  });
  assert.deepEqual(await resolve(source), { kind: 'outside', url: source, authorization: null });
});

// ---- which blob?

for (const [path, want] of [
  ['first/private/a%20b%2Fc%3F', 'inside first private/a b/c?'],
  ['first/private/a b', 'inside first private/a b'],
  ['first/private/%C3%BC', 'inside first private/ü'],
  ['first/private/\u00c3\u00bc', 'inside first private/ü'],
  ['first/private/a/../b', 'inside first private/a/../b'],
  ['first/private/a//b/', 'inside first private/a//b/'],
  ['first/private/a+b', 'inside first private/a+b'],
  ['first/private/b#part', 'inside first private/b'],
  ['first/b', 'inside first $root/b'],
  [
    'first/private/b?snapshot=2026-01-01T00:00:00.1234567Z',
    'inside first private/b snapshot 2026-01-01T00:00:00.1234567Z',
  ],
  ['first/private/b?snapshot=2026-01-01T00%3A00%3A00Z', 'inside first private/b snapshot 2026-01-01T00:00:00.0000000Z'],
  [
    'first/private/b?versionid=2026-01-01T00:00:00.1234567Z',
    'inside first private/b version 2026-01-01T00:00:00.1234567Z',
  ],
] as const) {
  test(`${path} names ${want}`, async () => {
    assert.equal(await outcome(resolve(`${HERE}/${path}`)), want);
  });
}

for (const source of [
  '',
  'blob',
  '/first/private/b',
  '//127.0.0.1:10000/first/private/b',
  'ftp://127.0.0.1/first/private/b',
  'http://',
  'http://:10000/first/private/b',
  'http://user:word@127.0.0.1:10000/first/private/b',
  'http://127.0.0.1:10000\\@example.com/first/private/b',
  `${HERE}/`,
  `${HERE}/first`,
  `${HERE}/first/private/`,
  `${HERE}/first/UPPER/b`,
  `${HERE}/first/private/%zz`,
  `${HERE}/first/private/b?snapshot=yesterday`,
  `${HERE}/first/private/b?snapshot=2026-01-01T00:00:00Z&versionid=2026-01-01T00:00:00Z`,
  `${HERE}/first/private?restype=container&comp=list`,
  `${HERE}/first/private/b?comp=blocklist`,
  `http://example.com/${'x'.repeat(2048)}`,
]) {
  test(`${source.slice(0, 80)} is no source`, async () => {
    assert.equal(await outcome(resolve(source)), '- InvalidHeaderValue x-ms-copy-source');
  });
}

test('a source that is not named at all is missing', async () => {
  assert.equal(await outcome(resolve(null)), '- MissingRequiredHeader x-ms-copy-source');
});

test('what is refused is echoed without its secrets', async () => {
  for (const source of ['http://u:SECRET@example.com/c/b?sig=SECRET', 'nonsense?sig=SECRET']) {
    assert.doesNotMatch(JSON.stringify((await refusalOf(resolve(source))).details), /SECRET/);
  }
  const headers = { 'x-ms-copy-source-authorization': 'SharedKey first:SECRET' };
  const { code, details } = await refusalOf(resolve('http://example.com/', { headers }));
  assert.equal(code, 'InvalidHeaderValue');
  assert.doesNotMatch(JSON.stringify(details), /SECRET/);
});

// ---- may the caller read it?

const credentialOf = (name: string): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, keyOf(name).toString('base64'));

interface Token {
  readonly of?: string;
  readonly permissions?: string;
  readonly expiresMs?: number;
  readonly blobName?: string;
  readonly snapshotTime?: string;
}

const serviceSas = ({ of = 'second', permissions = 'r', expiresMs = MINUTE_MS, ...named }: Token = {}): string =>
  generateBlobSASQueryParameters(
    {
      containerName: 'private',
      blobName: 'b',
      permissions: BlobSASPermissions.parse(permissions),
      expiresOn: new Date(NOW_MS + expiresMs),
      ...named,
    },
    credentialOf(of),
  ).toString();

const accountSas = (services: string, permissions: string): string =>
  generateAccountSASQueryParameters(
    {
      services: AccountSASServices.parse(services).toString(),
      resourceTypes: AccountSASResourceTypes.parse('o').toString(),
      permissions: AccountSASPermissions.parse(permissions),
      expiresOn: new Date(NOW_MS + MINUTE_MS),
    },
    credentialOf('second'),
  ).toString();

const SNAPSHOT = '2026-01-01T00:00:00.1234567Z';
const UNKNOWN = '401 CannotVerifyCopySource NoAuthenticationInformation';
const FAILED = '403 CannotVerifyCopySource AuthenticationFailed';
const MISMATCH = '403 CannotVerifyCopySource AuthorizationPermissionMismatch';
const SECOND = 'inside second private/b';

for (const [who, identity, path, want] of [
  ['the owner of its account', OWNER, 'first/private/b', 'inside first private/b'],
  [
    'the owner, whatever the token says',
    OWNER,
    `first/private/b?${serviceSas({ of: 'first', expiresMs: -1 })}`,
    'inside first private/b',
  ],
  ['the owner of another account', OWNER, 'second/private/b', UNKNOWN],
  ['the same with a token', OWNER, `second/private/b?${serviceSas()}`, SECOND],
  ['the same with a token for another blob', OWNER, `second/private/other?${serviceSas()}`, FAILED],
  ['the same with a token of another account', OWNER, `second/private/b?${serviceSas({ of: 'first' })}`, FAILED],
  ['the same with a token that may not read', OWNER, `second/private/b?${serviceSas({ permissions: 'w' })}`, MISMATCH],
  ['the same with a token that has expired', OWNER, `second/private/b?${serviceSas({ expiresMs: -1 })}`, FAILED],
  ['the same with a token for the account', OWNER, `second/private/b?${accountSas('b', 'r')}`, SECOND],
  [
    'the same with a token for queues',
    OWNER,
    `second/private/b?${accountSas('q', 'r')}`,
    '403 CannotVerifyCopySource AuthorizationServiceMismatch',
  ],
  [
    'the same with a token for a snapshot',
    OWNER,
    `second/private/b?snapshot=${SNAPSHOT}&${serviceSas({ snapshotTime: SNAPSHOT })}`,
    `${SECOND} snapshot ${SNAPSHOT}`,
  ],
  ['anybody, if its container is public', OWNER, 'second/open/b', 'inside second open/b'],
  ['anybody, if blobs of its container are public', SERVICE_SAS, 'first/pictures/b', 'inside first pictures/b'],
  ['nobody, if its container is not there', OWNER, 'second/absent/b', UNKNOWN],
  ['a token, which speaks for what it was sent to', SERVICE_SAS, 'first/private/b', UNKNOWN],
  ['a token for the account, which does too', ACCOUNT_SAS, 'first/private/b', UNKNOWN],
  [
    'a token beside another for the source',
    SERVICE_SAS,
    `first/private/b?${serviceSas({ of: 'first' })}`,
    'inside first private/b',
  ],
  ['a user who may read', user('rw'), 'first/private/b', 'inside first private/b'],
  ['a user who may not', user('w'), 'first/private/b', UNKNOWN],
  [
    'a user who may not, with a token',
    user('w'),
    `first/private/b?${serviceSas({ of: 'first' })}`,
    'inside first private/b',
  ],
  ['a user of another account', user('r'), 'second/private/b', UNKNOWN],
] as const) {
  test(`is ${path.replace(/[?&]s[vi].*/, '?…')} read by ${who}: ${want}`, async () => {
    assert.equal(await outcome(resolve(`${HERE}/${path}`, { identity })), want);
  });
}

test('before 2019-12-12 a private source is one that does not exist', async () => {
  const asked = { version: '2019-07-07' };
  assert.equal(
    await outcome(resolve(`${HERE}/second/private/b`, asked)),
    '404 CannotVerifyCopySource ResourceNotFound',
  );
});

test("a refusal says what a read of the source would have been told, and that it is the source's", async () => {
  const { details } = await refusalOf(resolve(`${HERE}/second/private/b?${serviceSas({ expiresMs: -1 })}`));
  assert.equal(details.status, 403);
  assert.match(details.message ?? '', /^Server failed to authenticate the request\./);
  assert.deepEqual(details.headers, {
    'x-ms-copy-source-status-code': '403',
    'x-ms-copy-source-error-code': 'AuthenticationFailed',
  });
  assert.equal(details.elements?.['CopySourceErrorMessage'], details.message);
  assert.match(details.elements?.['AuthenticationErrorDetail'] ?? '', /The token expired at/);
});

test('a stranger cannot read the development account through a copy, though everybody can sign for it', async () => {
  const source = `${HERE}/devstoreaccount1/private/b?${serviceSas({ of: 'devstoreaccount1' })}`;
  assert.equal(await outcome(resolve(source)), 'inside devstoreaccount1 private/b');
  assert.equal(await outcome(resolve(source, { clientAddress: '10.0.0.7' })), FAILED);
});

test('a bearer token for a source here is judged as one on a read of it', async () => {
  const seen: unknown[] = [];
  const bearer: BearerTokens = {
    challenge: 'Bearer',
    verify: (token, { account: name }) => {
      seen.push([token, name]);
      return Promise.resolve({ objectId: 'o', tenantId: 't', roles: ['Storage Blob Data Reader'] });
    },
  };
  const headers = { 'x-ms-copy-source-authorization': 'Bearer abc.def' };
  assert.equal(await outcome(resolve(`${HERE}/second/private/b`, { headers, bearer })), SECOND);
  assert.deepEqual(seen, [['abc.def', 'second']]);
  const both = `${HERE}/second/private/b?${serviceSas()}`;
  assert.equal(await outcome(resolve(both, { headers, bearer })), FAILED);
});

for (const [permissions, ifTags, want] of [
  ['r', '', 'no tags'],
  ['rt', '', 'tags'],
  ['rt', "a = 'b'", 'tags'],
  ['r', "a = 'b'", MISMATCH],
] as const) {
  test(`a token with ${permissions} and the condition '${ifTags}' on tags gives ${want}`, async () => {
    const acted = resolve(`${HERE}/second/private/b?${serviceSas({ permissions })}`, {
      headers: { 'x-ms-source-if-tags': ifTags },
    });
    const refused = want === MISMATCH;
    if (refused) assert.equal(await outcome(acted), want);
    else assert.equal(((await acted) as { mayReadTags: boolean }).mayReadTags, want === 'tags');
  });
}

// ---- files

const signFile = (permissions: string, shareName = 'share', filePath = 'd/f', signer = 'first'): string => {
  const credential = new FileSharedKeyCredential(signer, keyOf(signer).toString('base64'));
  const expiresOn = new Date(NOW_MS + MINUTE_MS);
  const asked = { shareName, filePath, permissions: FileSASPermissions.parse(permissions), expiresOn };
  return generateFileSASQueryParameters(asked, credential).toString();
};

describe('of a file', () => {
  const AT = `${FILES_HERE}/first/share/new`;
  const DENIED = '403 CannotVerifyCopySource';

  for (const [who, source, identity, want] of [
    ['its owner', '/first/share/d/f', OWNER, 'file first share/d/f'],
    ['another account', '/second/share/d/f', OWNER, '401 CannotVerifyCopySource NoAuthenticationInformation'],
    [
      'a SAS that is for the destination',
      '/first/share/d/f',
      SERVICE_SAS,
      '401 CannotVerifyCopySource NoAuthenticationInformation',
    ],
    ['a SAS in the URL', `/first/share/d/f?${signFile('r')}`, SERVICE_SAS, 'file first share/d/f'],
    [
      'another account with a SAS',
      `/second/share/d/f?${signFile('r', 'share', 'd/f', 'second')}`,
      OWNER,
      'file second share/d/f',
    ],
    [
      'a SAS that may only write',
      `/first/share/d/f?${signFile('w')}`,
      SERVICE_SAS,
      `${DENIED} AuthorizationPermissionMismatch`,
    ],
    [
      'a SAS of another file',
      `/first/share/d/f?${signFile('r', 'share', 'd/g')}`,
      SERVICE_SAS,
      `${DENIED} AuthenticationFailed`,
    ],
    ['what is a share', '/first/share', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
    ['what ends in a slash', '/first/share/d/', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
    ['what no file is called', '/first/share/a%3Ab', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
    ['no share', '/first/s/f', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
    ['no moment', '/first/share/f?sharesnapshot=yesterday', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
    ['what is no read', '/first/share/f?comp=metadata', OWNER, '- InvalidHeaderValue x-ms-copy-source'],
  ] as const) {
    test(`${who} gets ${want}`, async () => {
      assert.equal(await outcome(resolve(`${FILES_HERE}${source}`, { at: AT, identity })), want);
    });
  }

  test('trailing dots are the name only where the source has a header that says so', async () => {
    const source = `${FILES_HERE}/first/share/d./f..`;
    const headers = { 'x-ms-source-allow-trailing-dot': 'true' };
    assert.equal(await outcome(resolve(source, { at: AT })), 'file first share/d/f');
    assert.equal(await outcome(resolve(source, { at: AT, headers })), 'file first share/d./f..');
    const others = { 'x-ms-allow-trailing-dot': 'true' };
    assert.equal(await outcome(resolve(source, { at: AT, headers: others })), 'file first share/d/f');
  });

  test('the roles of a bearer at one service open nothing at the other', async () => {
    const identity = user('rw');
    assert.equal(await outcome(resolve(`${FILES_HERE}/first/share/f`, { at: AT, identity })), 'file first share/f');
    assert.equal(
      await outcome(resolve(`${HERE}/first/private/b`, { at: AT, identity })),
      '401 CannotVerifyCopySource NoAuthenticationInformation',
    );
  });
});
