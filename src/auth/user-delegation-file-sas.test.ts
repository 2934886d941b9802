import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FileSASPermissions,
  type FileSASSignatureValues,
  generateFileSASQueryParameters,
  SASProtocol,
  ShareSASPermissions,
  type UserDelegationKey,
} from '@azure/storage-file-share';
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
import type { Identity } from './identity.ts';
import { verifySas } from './sas.ts';
import { type DelegationKey, deriveDelegationKey } from './user-delegation-key.ts';

const NOW_MS = Date.parse('2026-09-02T00:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A contributor who may delegate. */
const HOLDER: DelegationKey = {
  account: ACCOUNT.name,
  service: 'f',
  objectId: 'holder',
  tenantId: 'tenant',
  delegatedTenantId: '',
  permissions: 'rcwdl',
  startMs: NOW_MS - DAY_MS,
  expiryMs: NOW_MS + DAY_MS,
  version: '2026-02-06',
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

/** For the share `docs`, or for a file of it where there is a `filePath`. */
function sdkToken(values: Partial<FileSASSignatureValues> = {}, key = keyOf()): string {
  const permissions =
    values.filePath === undefined ? ShareSASPermissions.parse('rcwdl') : FileSASPermissions.parse('rcwd');
  const usual = { shareName: 'docs', permissions, expiresOn: new Date(NOW_MS + HOUR_MS), version: '2026-02-06' };
  return generateFileSASQueryParameters({ ...usual, ...values }, key, ACCOUNT.name).toString();
}

/** An issuer whose every token speaks for its own text: `user@tenant`. */
const bearer: BearerTokens = {
  challenge: 'Bearer',
  verify: async (token) => {
    const [objectId = '', tenantId = ''] = token.split('@');
    return { objectId, tenantId, roles: [] };
  },
};

const loadAcl = () => Promise.reject(new Error('A user delegation SAS has no policy'));

interface Use {
  readonly resource?: readonly string[];
  readonly query?: string;
  readonly endpoint?: string;
  readonly nowMs?: number;
  readonly authorization?: string;
}

function use(token: string, { resource = ['docs', 'a/b.txt'], endpoint = PATH_STYLE, query = '', ...rest }: Use = {}) {
  const { nowMs = NOW_MS, authorization } = rest;
  const version = ['x-ms-version', '2026-02-06'] as const;
  const headers = authorization === undefined ? [version] : [version, ['authorization', authorization] as const];
  const url = `${endpoint}/${resource.join('/')}?${query}${token}`;
  const request = signedRequest({ method: 'GET', url, service: 'f', headers });
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: NOW_MS, resource, loadAcl, bearer });
}

const asAccepted = (permissions: string, holderPermissions = HOLDER.permissions): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
  holderPermissions,
});

for (const version of ['2025-07-05', '2026-02-06', '2026-04-06', '2026-06-06']) {
  const limits = { version, protocol: SASProtocol.HttpsAndHttp, ipRange: { start: '127.0.0.1' } };

  test(`the SDK's share tokens of ${version} open their share and all that is in it, and no other`, async () => {
    const token = sdkToken(limits);
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      for (const resource of [['docs'], ['docs', 'file'], ['docs', 'a/b/c']]) {
        assert.deepEqual(await use(token, { endpoint, resource }), asAccepted('rcwdl'));
      }
    }
    for (const resource of [['doc'], ['docs2', 'a/b.txt'], []]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });

  test(`the SDK's file tokens of ${version} open their file and no other`, async () => {
    const token = sdkToken({ ...limits, filePath: 'a/b.txt' });
    assert.deepEqual(await use(token), asAccepted('rcwd'));
    for (const resource of [['docs'], ['docs', 'a'], ['docs', 'a/b.txt/c'], ['docs2', 'a/b.txt']]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
    assert.equal(await codeOf(use(token, { query: 'restype=directory&' })), 'AuthenticationFailed', 'a directory');
  });
}

test('it overrides headers of the answer', async () => {
  const identity = await use(sdkToken({ filePath: 'a/b.txt', contentType: 'text/plain', cacheControl: 'no-store' }));
  assert.deepEqual(identity.kind === 'serviceSas' && identity.overrides, {
    'Cache-Control': 'no-store',
    'Content-Type': 'text/plain',
  });
});

test('a key that was derived from the second key of the account is as good', async () => {
  assert.deepEqual(await use(sdkToken({}, keyOf({}, SECOND_KEY))), asAccepted('rcwdl'));
});

for (const ofHolder of ['rcwdl', 'rl', '']) {
  test(`a token with all letters by a holder with "${ofHolder}" is worth just those`, async () => {
    assert.deepEqual(await use(sdkToken({}, keyOf({ permissions: ofHolder }))), asAccepted(ofHolder, ofHolder));
  });
}

test('it is worth nothing by letters that no roles add up to', async () => {
  assert.equal(await codeOf(use(sdkToken({}, keyOf({ permissions: 'rcwd' })))), 'AuthenticationFailed');
});

test('a key of another service signs none', async () => {
  for (const service of ['b', 'q', 't'] as const) {
    const key = keyOf({ service, permissions: 'rl' });
    assert.equal(await codeOf(use(sdkToken({}, key))), 'AuthenticationFailed');
    assert.equal(await codeOf(use(sdkToken({}, { ...key, signedService: 'f' }))), 'AuthenticationFailed');
  }
});

test('it fails once any of it is touched', async () => {
  const token = new URLSearchParams(sdkToken({ filePath: 'a/b.txt', contentType: 'text/plain' }));
  for (const [name, value] of [
    ['sr', 's'],
    ['sp', 'r'],
    ['st', '2026-09-01T00:00:00Z'],
    ['se', '2026-09-02T02:00:00Z'],
    ['skoid', 'another'],
    ['sktid', 'another'],
    ['skt', '2026-09-01T00:00:01Z'],
    ['ske', '2026-09-04T00:00:00Z'],
    ['skv', '2026-04-06'],
    ['skdutid', 'another'],
    ['sip', '127.0.0.1'],
    ['spr', 'https,http'],
    ['sv', '2026-04-06'],
    ['rsct', 'text/html'],
    ['rscd', 'attachment'],
    ['sig', Buffer.alloc(32).toString('base64')],
  ] as const) {
    const touched = new URLSearchParams(token);
    touched.set(name, value);
    assert.equal(await codeOf(use(touched.toString())), 'AuthenticationFailed', name);
  }
});

test('it ends with itself and with its key', async () => {
  const nowMs = NOW_MS + HOUR_MS;
  assert.equal(await codeOf(use(sdkToken(), { nowMs: nowMs - 1 })), 'accepted');
  assert.equal(await codeOf(use(sdkToken(), { nowMs })), 'AuthenticationFailed');
  const beyond = sdkToken({ expiresOn: new Date(NOW_MS + 7 * DAY_MS) });
  assert.equal(await codeOf(use(beyond, { nowMs: HOLDER.expiryMs - 1 })), 'accepted');
  assert.equal(await codeOf(use(beyond, { nowMs: HOLDER.expiryMs })), 'AuthenticationFailed');
});

test('one that is bound to a user counts with the bearer token of that user', async () => {
  const own = sdkToken({ delegatedUserObjectId: 'user' });
  const foreign = sdkToken({ delegatedUserObjectId: 'user' }, keyOf({ delegatedTenantId: 'elsewhere' }));
  for (const [token, authorization, code] of [
    [own, 'Bearer user@tenant', 'accepted'],
    [own, 'Bearer other@tenant', 'AuthenticationFailed'],
    [own, 'Bearer user@elsewhere', 'AuthenticationFailed'],
    [foreign, 'Bearer user@elsewhere', 'accepted'],
    [foreign, 'Bearer user@tenant', 'AuthenticationFailed'],
  ] as const) {
    assert.equal(await codeOf(use(token, { authorization })), code, authorization);
  }
  assert.equal(await codeOf(use(own)), 'AuthenticationFailed');
});

for (const [what, token, detail] of [
  [
    'a version before there were such tokens for files',
    sdkToken().replace(/\bsv=[\d-]+/, 'sv=2025-05-05'),
    /2025-07-05 or later/,
  ],
  ['nothing that it is for', sdkToken().replace(/&sr=s/, ''), /lacks the mandatory field sr/],
  ['a stored access policy', `${sdkToken()}&si=policy`, /stored access policy/],
  ['a letter that files do not have', sdkToken().replace('sp=rcwdl', 'sp=ra'), /'a' is repeated or is not one of/],
  ['an agent', `${sdkToken()}&saoid=agent`, /saoid is not allowed in tokens for files/],
  ['signed headers', `${sdkToken()}&srh=x-ms-version`, /srh is not allowed in tokens for files/],
  ['a key of another service', sdkToken().replace('sks=f', 'sks=b'), /another service/],
] as const) {
  test(`a token with ${what} is refused, and told why`, async () => {
    const refused = await use(token).catch((error: unknown) => error);
    assert.ok(refused instanceof StorageError, String(refused));
    assert.equal(refused.code, 'AuthenticationFailed');
    assert.match(refused.details.elements?.['AuthenticationErrorDetail'] ?? '', detail);
  });
}
