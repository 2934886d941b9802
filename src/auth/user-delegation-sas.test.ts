import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  BlobSASPermissions,
  type BlobSASSignatureValues,
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  SASProtocol,
  type UserDelegationKey,
} from '@azure/storage-blob';
import { DataLakeSASPermissions, generateDataLakeSASQueryParameters } from '@azure/storage-file-datalake';
import {
  ACCOUNT,
  codeOf,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import { StorageError } from '../service/storage-error.ts';
import type { BearerTokens } from './bearer.ts';
import type { Identity, ServiceLetter } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';
import { type DelegationKey, deriveDelegationKey } from './user-delegation-key.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EVERY_LETTER = 'racwdxyltfmeopi';

const HOLDER: DelegationKey = {
  account: ACCOUNT.name,
  service: 'b',
  objectId: 'holder',
  tenantId: 'tenant',
  delegatedTenantId: '',
  permissions: EVERY_LETTER,
  startMs: NOW_MS - DAY_MS,
  expiryMs: NOW_MS + DAY_MS,
  version: '2024-11-04',
};

/** The key as the SDK gets it from Get User Delegation Key. */
const keyOf = (holder: Partial<DelegationKey> = {}, accountKey = FIRST_KEY): UserDelegationKey => {
  const key = { ...HOLDER, ...holder };
  return {
    signedObjectId: key.objectId,
    signedTenantId: key.tenantId,
    signedStartsOn: new Date(key.startMs),
    signedExpiresOn: new Date(key.expiryMs),
    signedService: key.service,
    signedVersion: key.version,
    ...(key.delegatedTenantId === '' ? {} : { signedDelegatedUserTenantId: key.delegatedTenantId }),
    value: deriveDelegationKey(accountKey, key).toString('base64'),
  };
};

const sdkToken = (values: Partial<BlobSASSignatureValues> = {}, key = keyOf()): string =>
  generateBlobSASQueryParameters(
    {
      containerName: 'c',
      blobName: 'b',
      permissions: BlobSASPermissions.parse('r'),
      startsOn: new Date(NOW_MS - HOUR_MS),
      expiresOn: new Date(NOW_MS + HOUR_MS),
      ...values,
    },
    key,
    ACCOUNT.name,
  ).toString();

const containerToken = (version: string): string =>
  generateBlobSASQueryParameters(
    {
      containerName: 'c',
      permissions: ContainerSASPermissions.parse('rl'),
      expiresOn: new Date(NOW_MS + HOUR_MS),
      version,
    },
    keyOf(),
    ACCOUNT.name,
  ).toString();

/** An issuer whose every token speaks for its own text: `user@tenant`. */
const bearer: BearerTokens = {
  challenge: 'Bearer',
  verify: async (token) => {
    const [objectId = '', tenantId = ''] = token.split('@');
    if (objectId === 'forged') throw new StorageError('InvalidAuthenticationInfo', { status: 401 });
    return { objectId, tenantId, roles: [] };
  },
};

const loadAcl = () => Promise.reject(new Error('A user delegation SAS has no policy'));

interface Use {
  readonly resource?: readonly string[];
  readonly endpoint?: string;
  readonly service?: ServiceLetter;
  readonly clientAddress?: string;
  readonly nowMs?: number;
  /** Further parameters of the request. */
  readonly query?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

function use(token: string, { resource = ['c', 'b'], endpoint = PATH_STYLE, nowMs = NOW_MS, ...rest }: Use = {}) {
  const path = resource.map(encodeURIComponent).join('/');
  const url = `${endpoint}/${path}?${token}${rest.query === undefined ? '' : `&${rest.query}`}`;
  const { service = 'b', clientAddress = '127.0.0.1', headers = [] } = rest;
  const request = signedRequest({ method: 'GET', url, service, clientAddress, headers });
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: NOW_MS, resource, loadAcl, bearer });
}

const asAccepted = (permissions: string, overrides = {}): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides,
  holderPermissions: EVERY_LETTER,
});

/** One of each range of versions that sign the same lines, from its first to its last. */
const VERSIONS =
  '2018-11-09 2019-12-12 2020-02-10 2020-10-02 2020-12-06 2025-05-05 2025-07-05 2026-02-06 2026-04-06 2026-06-06'.split(
    ' ',
  );

for (const version of VERSIONS) {
  test(`the SDK's blob tokens of ${version} open their blob and nothing else`, async () => {
    const token = sdkToken({
      version,
      cacheControl: 'no-cache',
      contentDisposition: 'inline; filename="a b.txt"',
      ipRange: { start: '127.0.0.1', end: '127.0.0.9' },
      protocol: SASProtocol.HttpsAndHttp,
    });
    const accepted = asAccepted('r', {
      'Cache-Control': 'no-cache',
      'Content-Disposition': 'inline; filename="a b.txt"',
    });
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      assert.deepEqual(await use(token, { endpoint }), accepted);
    }
    for (const resource of [['c', 'b2'], ['c2', 'b'], ['c', 'b/b'], ['c', 'B'], ['c'], []]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });

  test(`the SDK's container tokens of ${version} open the container and all of its blobs`, async () => {
    for (const resource of [['c'], ['c', 'b'], ['c', 'a/b c/ü']]) {
      assert.deepEqual(await use(containerToken(version), { resource }), asAccepted('rl'));
    }
    assert.equal(await codeOf(use(containerToken(version), { resource: ['c2', 'b'] })), 'AuthenticationFailed');
  });

  test(`no field of a token of ${version} can be changed, added or left out`, async () => {
    const token = new URLSearchParams(sdkToken({ version, contentType: 'text/plain' }));
    const further = [
      'saoid',
      'suoid',
      'scid',
      'ses',
      'sduoid',
      'skdutid',
      'srh',
      'srq',
      'rscc',
      'sip',
      'si',
      'sdd',
      'ss',
    ];
    const headers = [['x-ms-meta-a', 'x']] as const;
    for (const name of [...token.keys(), ...further]) {
      const changed = new URLSearchParams(token);
      changed.set(name, changedValue(name, token.get(name)));
      const code = await codeOf(use(changed.toString(), { headers, query: 'x=1' }));
      // The depth of a directory means nothing for a blob.
      assert.equal(code, name === 'sdd' ? 'accepted' : 'AuthenticationFailed', name);
      if (!token.has(name)) continue;
      const without = new URLSearchParams(token);
      without.delete(name);
      assert.equal(await codeOf(use(without.toString())), 'AuthenticationFailed', `without ${name}`);
    }
  });
}

function changedValue(name: string, value: string | null): string {
  const another: Readonly<Record<string, string>> = {
    sv: value === '2018-11-09' ? '2019-02-02' : '2018-11-09',
    se: '2025-01-02T02:00:00Z',
    st: '2025-01-01T00:00:00Z',
    ske: '2025-01-04T00:00:00Z',
    skt: '2025-01-01T12:00:00Z',
    sr: 'c',
    sp: 'rw',
    sks: 'q',
    srh: 'x-ms-meta-a',
    srq: 'x',
    sip: '127.0.0.1',
    sdd: '1',
    ss: 'b',
  };
  return another[name] ?? `${value ?? ''}x`;
}

test('keys of both keys of the account sign, and those of another account do not', async () => {
  assert.deepEqual(await use(sdkToken({}, keyOf({}, SECOND_KEY))), asAccepted('r'));
  assert.equal(await codeOf(use(sdkToken({}, keyOf({ account: 'other' })))), 'AuthenticationFailed');
  assert.equal(await codeOf(use(sdkToken({}, keyOf({}, Buffer.alloc(64))))), 'AuthenticationFailed');
});

test("the account's own key signs no user delegation token", async () => {
  const key = { ...keyOf(), value: FIRST_KEY.toString('base64') };
  assert.equal(await codeOf(use(sdkToken({}, key))), 'AuthenticationFailed');
});

test("a token is worth no more than the roles of the key's holder", async () => {
  const permissions = BlobSASPermissions.parse('racwdxyti');
  for (const [ofHolder, effective] of [
    [EVERY_LETTER, 'racwdxtiy'],
    ['racwdltfm', 'racwdt'],
    ['rl', 'r'],
    ['', ''],
  ] as const) {
    const token = sdkToken({ permissions }, keyOf({ permissions: ofHolder }));
    const identity = await use(token);
    assert.ok(identity.kind === 'serviceSas');
    assert.equal(identity.permissions, effective, ofHolder);
  }
  const madeUp = sdkToken({ permissions }, keyOf({ permissions: 'rw' }));
  assert.equal(await codeOf(use(madeUp)), 'AuthenticationFailed', 'no roles add up to that');
});

test('a token counts within its own time and within that of its key', async () => {
  const long = sdkToken({ startsOn: new Date(NOW_MS - 9 * DAY_MS), expiresOn: new Date(NOW_MS + 9 * DAY_MS) });
  for (const [token, hours, code] of [
    [sdkToken(), -1, 'accepted'],
    [sdkToken(), -1.001, 'AuthenticationFailed'],
    [sdkToken(), 0.999, 'accepted'],
    [sdkToken(), 1, 'AuthenticationFailed'],
    [long, -24, 'accepted'],
    [long, -24.001, 'AuthenticationFailed'],
    [long, 23.999, 'accepted'],
    [long, 24, 'AuthenticationFailed'],
  ] as const) {
    assert.equal(await codeOf(use(token, { nowMs: NOW_MS + hours * HOUR_MS })), code, String(hours));
  }
});

test('addresses and protocol limit a token', async () => {
  const elsewhere = sdkToken({ ipRange: { start: '10.0.0.1' } });
  assert.equal(await codeOf(use(elsewhere)), 'AuthorizationSourceIPMismatch');
  assert.equal(await codeOf(use(elsewhere, { clientAddress: '10.0.0.1' })), 'accepted');
  const secure = sdkToken({ protocol: SASProtocol.Https });
  assert.equal(await codeOf(use(secure)), 'AuthorizationProtocolMismatch');
  assert.equal(await codeOf(use(secure, { endpoint: HOST_STYLE })), 'accepted');
});

test('snapshots, versions and directories are signed as in a service SAS', async () => {
  const time = '2024-01-01T00:00:00.1234567Z';
  assert.equal(await codeOf(use(sdkToken({ snapshotTime: time }), { query: `snapshot=${time}` })), 'accepted');
  assert.equal(await codeOf(use(sdkToken({ versionId: time }), { query: `versionid=${time}` })), 'accepted');
  assert.equal(await codeOf(use(sdkToken({ versionId: time }))), 'AuthenticationFailed');
  const directory = generateDataLakeSASQueryParameters(
    {
      fileSystemName: 'c',
      pathName: 'a/b',
      isDirectory: true,
      directoryDepth: 2,
      permissions: DataLakeSASPermissions.parse('r'),
      expiresOn: new Date(NOW_MS + HOUR_MS),
    },
    keyOf(),
    ACCOUNT.name,
  ).toString();
  assert.equal(await codeOf(use(directory, { resource: ['c', 'a/b/c'] })), 'accepted');
  assert.equal(await codeOf(use(directory, { resource: ['c', 'a/c'] })), 'AuthenticationFailed');
});

test('agents, a correlation and an encryption scope are signed, and change nothing else', async () => {
  const token = sdkToken({
    preauthorizedAgentObjectId: 'agent',
    correlationId: 'correlation',
    encryptionScope: 'scope',
  });
  assert.match(token, /saoid=agent.*scid=correlation|scid=correlation.*saoid=agent/);
  assert.deepEqual(await use(token), asAccepted('r'));
});

const bound = (values: Partial<DelegationKey> = {}): string =>
  sdkToken({ version: '2026-04-06', delegatedUserObjectId: 'user' }, keyOf(values));
const by = (token: string): Use => ({
  headers: [
    ['Authorization', `Bearer ${token}`],
    ['x-ms-version', '2026-04-06'],
  ],
});

describe('a token bound to a user', () => {
  for (const [what, token, presented, code] of [
    ['with the bearer token of that user', bound(), by('user@tenant'), 'accepted'],
    ['with that of another user', bound(), by('other@tenant'), 'AuthenticationFailed'],
    ['with that of the holder of the key', bound(), by('holder@tenant'), 'AuthenticationFailed'],
    ['with that of a namesake elsewhere', bound(), by('user@elsewhere'), 'AuthenticationFailed'],
    [
      'with that of the user, who is elsewhere',
      bound({ delegatedTenantId: 'elsewhere' }),
      by('user@elsewhere'),
      'accepted',
    ],
    [
      'with that of a namesake here',
      bound({ delegatedTenantId: 'elsewhere' }),
      by('user@tenant'),
      'AuthenticationFailed',
    ],
    ['with a bearer token that is not good', bound(), by('forged@tenant'), 'InvalidAuthenticationInfo'],
    ['alone', bound(), {}, 'AuthenticationFailed'],
  ] as const) {
    test(`${what}: ${code}`, async () => assert.equal(await codeOf(use(token, presented)), code));
  }
});

describe('a token for requests of one form', () => {
  const token = sdkToken({
    version: '2026-04-06',
    requestHeaders: { 'x-ms-meta-a': 'one', Range: 'bytes=0-9' },
    requestQueryParameters: { comp: 'metadata', prefix: 'a b' },
  });
  const headers = [
    ['X-MS-Meta-A', 'one'],
    ['range', 'bytes=0-9'],
  ] as const;
  const query = 'comp=metadata&prefix=a%20b';

  for (const [what, presented, code] of [
    ['of that form', { headers, query }, 'accepted'],
    ['with one more header', { headers: [...headers, ['x-ms-meta-b', 'two']], query }, 'accepted'],
    [
      'with another value in a header',
      { headers: [['x-ms-meta-a', 'two'], headers[1]], query },
      'AuthenticationFailed',
    ],
    ['without a header', { headers: [headers[0]], query }, 'AuthenticationFailed'],
    ['with another parameter', { headers, query: 'comp=metadata&prefix=a' }, 'AuthenticationFailed'],
    ['without a parameter', { headers, query: 'comp=metadata' }, 'AuthenticationFailed'],
    ['with a parameter of two lines', { headers, query: 'comp=metadata&prefix=a%0Ab' }, 'AuthenticationFailed'],
  ] as const) {
    test(`opens a request ${what}: ${code}`, async () => {
      assert.equal(await codeOf(use(token, presented)), code);
    });
  }

  test('never shows a secret that it claims to sign', async () => {
    for (const [list, name] of [
      ['srh', 'Authorization'],
      ['srh', 'x-ms-encryption-key'],
      ['srh', 'x-ms-copy-source-authorization'],
      ['srq', 'sig'],
    ] as const) {
      const forged = `${sdkToken({ version: '2026-04-06' })}&${list}=${name}`;
      const refused = await use(forged, { headers: [[name, 'secret-value']] }).catch((error: unknown) => error);
      assert.ok(refused instanceof StorageError);
      assert.match(refused.details.elements?.['AuthenticationErrorDetail'] ?? '', /cannot be signed/);
      assert.doesNotMatch(JSON.stringify(refused.details), /secret-value/);
    }
  });
});

describe('refused before its signature is looked at', () => {
  const token = sdkToken();
  for (const [what, text, service, detail] of [
    ['a stored access policy', `${token}&si=policy`, 'b', /stored access policy/],
    ['a key of another service', token.replace('sks=b', 'sks=q'), 'b', /another service/],
    ['another service', token, 'f', /another service/],
    [
      'a version before there were such tokens',
      token.replace(/sv=[\d-]+/, 'sv=2018-03-28'),
      'b',
      /2018-11-09 or later/,
    ],
    ['a key without an end', token.replace(/&ske=[^&]+/, ''), 'b', /lacks the mandatory field ske/],
    ['a key whose end is no time', token.replace(/&ske=[^&]+/, '&ske=soon'), 'b', /expiry time soon/],
    ['letters in no order', token.replace('sp=r', 'sp=wr'), 'b', /must be in the order/],
  ] as const) {
    test(what, async () => {
      const refused = await use(text, { service }).catch((error: unknown) => error);
      assert.ok(refused instanceof StorageError, String(refused));
      assert.match(refused.details.elements?.['AuthenticationErrorDetail'] ?? '', detail);
    });
  }
});

test('strings to sign are those of the protocol, line by line', async () => {
  const fields = {
    sp: 'r',
    st: '2025-01-01T00:00:00Z',
    se: '2025-01-03T00:00:00Z',
    skoid: 'holder',
    sktid: 'tenant',
    skt: '2025-01-01T00:00:00Z',
    ske: '2025-01-03T00:00:00Z',
    sks: 'b',
    skv: '2024-11-04',
    sr: 'b',
    spr: 'https,http',
  };
  const own = `holder\ntenant\n${fields.skt}\n${fields.ske}\nb\n2024-11-04`;
  const head = `r\n${fields.st}\n${fields.se}\n/blob/${ACCOUNT.name}/c/b\n${own}`;
  for (const [sv, further, tail] of [
    ['2018-11-09', {}, '\n\nhttps,http\n2018-11-09\nb\n\n\n\n\n\n'],
    ['2020-02-10', { saoid: 'A', suoid: 'U', scid: 'C' }, '\nA\nU\nC\n\nhttps,http\n2020-02-10\nb\n\n\n\n\n\n'],
    ['2020-12-06', { suoid: 'U', ses: 'E' }, '\n\nU\n\n\nhttps,http\n2020-12-06\nb\n\nE\n\n\n\n\n'],
    ['2025-07-05', { skdutid: 'T' }, '\n\n\n\nT\n\n\nhttps,http\n2025-07-05\nb\n\n\n\n\n\n\n'],
    ['2026-04-06', { srh: 'a', srq: 'x' }, '\n\n\n\n\n\n\nhttps,http\n2026-04-06\nb\n\n\na:1\n\n\nx:1\n\n\n\n\n'],
  ] as const) {
    const delegatedTenantId = 'skdutid' in further ? further.skdutid : '';
    const key = deriveDelegationKey(FIRST_KEY, {
      ...HOLDER,
      delegatedTenantId,
      startMs: Date.parse(fields.skt),
      expiryMs: Date.parse(fields.ske),
    });
    const token = new URLSearchParams({ ...fields, ...further, sv, sig: sign(key, `${head}${tail}`) });
    assert.equal(await codeOf(use(token.toString(), { query: 'x=1', headers: [['A', '1']] })), 'accepted', sv);
  }
});
