import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generateQueueSASQueryParameters,
  QueueSASPermissions,
  type QueueSASSignatureValues,
  SASProtocol,
  type UserDelegationKey,
} from '@azure/storage-queue';
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
import { sign } from './signature.ts';
import { type DelegationKey, deriveDelegationKey } from './user-delegation-key.ts';

const NOW_MS = Date.parse('2025-09-02T00:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A contributor who may delegate. */
const HOLDER: DelegationKey = {
  account: ACCOUNT.name,
  service: 'q',
  objectId: 'holder',
  tenantId: 'tenant',
  delegatedTenantId: '',
  permissions: 'racwdlpu',
  startMs: NOW_MS - DAY_MS,
  expiryMs: NOW_MS + DAY_MS,
  version: '2025-07-05',
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

const sdkToken = (values: Partial<QueueSASSignatureValues> = {}, key = keyOf()): string =>
  generateQueueSASQueryParameters(
    {
      queueName: 'letters',
      permissions: QueueSASPermissions.parse('raup'),
      expiresOn: new Date(NOW_MS + HOUR_MS),
      version: '2025-07-05',
      ...values,
    },
    key,
    ACCOUNT.name,
  ).toString();

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
  readonly endpoint?: string;
  readonly nowMs?: number;
  readonly authorization?: string;
}

function use(token: string, { resource = ['letters', 'messages'], endpoint = PATH_STYLE, ...rest }: Use = {}) {
  const { nowMs = NOW_MS, authorization } = rest;
  const headers = authorization === undefined ? [] : [['authorization', authorization] as const];
  const url = `${endpoint}/${resource.join('/')}?${token}`;
  const request = signedRequest({ method: 'GET', url, service: 'q', headers });
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: NOW_MS, resource, loadAcl, bearer });
}

const asAccepted = (permissions = 'raup', holderPermissions = HOLDER.permissions): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
  holderPermissions,
});

for (const version of ['2025-07-05', '2026-02-06', '2026-04-06', '2026-06-06']) {
  test(`the SDK's tokens of ${version} open their queue and its messages, and no other`, async () => {
    const token = sdkToken({ version, protocol: SASProtocol.HttpsAndHttp, ipRange: { start: '127.0.0.1' } });
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      for (const resource of [['letters'], ['letters', 'messages'], ['letters', 'messages', 'an-id']]) {
        assert.deepEqual(await use(token, { endpoint, resource }), asAccepted());
      }
    }
    for (const resource of [['letter'], ['letters2', 'messages'], []]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });
}

test('a key that was derived from the second key of the account is as good', async () => {
  assert.deepEqual(await use(sdkToken({}, keyOf({}, SECOND_KEY))), asAccepted());
});

for (const [ofHolder, permissions] of [
  ['racwdlpu', 'raup'],
  ['ralp', 'rap'],
  ['ral', 'ra'],
  ['rap', 'rap'],
  ['rlp', 'rp'],
  ['rl', 'r'],
  ['rp', 'rp'],
  ['a', 'a'],
  ['', ''],
] as const) {
  test(`a token with all letters by a holder with "${ofHolder}" is worth "${permissions}"`, async () => {
    assert.deepEqual(await use(sdkToken({}, keyOf({ permissions: ofHolder }))), asAccepted(permissions, ofHolder));
  });
}

test('it is worth nothing by letters that no roles add up to', async () => {
  assert.equal(await codeOf(use(sdkToken({}, keyOf({ permissions: 'raup' })))), 'AuthenticationFailed');
});

test('a key of another service signs none', async () => {
  for (const service of ['b', 't'] as const) {
    const key = keyOf({ service, permissions: 'rl' });
    assert.equal(await codeOf(use(sdkToken({}, key))), 'AuthenticationFailed');
    assert.equal(await codeOf(use(sdkToken({}, { ...key, signedService: 'q' }))), 'AuthenticationFailed');
  }
});

/** Signed by hand, with these lines between the key's and the token's own. */
function handMade(between: readonly string[], fields: Readonly<Record<string, string>> = {}): string {
  const [skt, ske, se] = ['2025-09-01T00:00:00Z', '2025-09-03T00:00:00Z', '2025-09-02T01:00:00Z'];
  const head = ['r', '', se, `/queue/${ACCOUNT.name}/letters`, 'holder', 'tenant', skt, ske, 'q', '2025-07-05'];
  const lines = [...head, ...between, '', '', '', '', '2025-07-05'];
  const sig = sign(deriveDelegationKey(FIRST_KEY, HOLDER), lines.join('\n'));
  const own = { skoid: 'holder', sktid: 'tenant', skt, ske, sks: 'q', skv: '2025-07-05' };
  return new URLSearchParams({ sv: '2025-07-05', sp: 'r', se, ...own, ...fields, sig }).toString();
}

test('it may be signed with the lines of the agents, as the SDK for Go does, but cannot have any', async () => {
  assert.deepEqual(await use(handMade([])), asAccepted('r'));
  assert.deepEqual(await use(handMade(['', '', ''])), asAccepted('r'));
  assert.equal(await codeOf(use(handMade(['agent', '', ''], { saoid: 'agent' }))), 'AuthenticationFailed');
  assert.equal(await codeOf(use(handMade(['agent', '', '']))), 'AuthenticationFailed');
  assert.equal(await codeOf(use(handMade(['', '']))), 'AuthenticationFailed');
});

test('it fails once any of it is touched', async () => {
  const token = new URLSearchParams(sdkToken());
  for (const [name, value] of [
    ['sp', 'r'],
    ['st', '2025-09-01T00:00:00Z'],
    ['se', '2025-09-02T02:00:00Z'],
    ['skoid', 'another'],
    ['sktid', 'another'],
    ['skt', '2025-09-01T00:00:01Z'],
    ['ske', '2025-09-04T00:00:00Z'],
    ['skv', '2026-04-06'],
    ['skdutid', 'another'],
    ['sip', '127.0.0.1'],
    ['spr', 'https,http'],
    ['sv', '2026-04-06'],
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
    'a version before there were such tokens for queues',
    sdkToken().replace(/\bsv=[\d-]+/, 'sv=2025-05-05'),
    /2025-07-05 or later/,
  ],
  ['a stored access policy', `${sdkToken()}&si=policy`, /stored access policy/],
  ['a letter that queues do not have', sdkToken().replace('sp=raup', 'sp=rl'), /'l' is repeated or is not one of/],
  ['no letters', sdkToken().replace(/&sp=\w+/, ''), /lacks the mandatory field sp/],
  ['an agent', `${sdkToken()}&saoid=agent`, /saoid is not allowed in tokens for queues/],
  ['signed headers', `${sdkToken()}&srh=x-ms-version`, /srh is not allowed in tokens for queues/],
  ['a key of another service', sdkToken().replace('sks=q', 'sks=t'), /another service/],
] as const) {
  test(`a token with ${what} is refused, and told why`, async () => {
    const refused = await use(token).catch((error: unknown) => error);
    assert.ok(refused instanceof StorageError, String(refused));
    assert.equal(refused.code, 'AuthenticationFailed');
    assert.match(refused.details.elements?.['AuthenticationErrorDetail'] ?? '', detail);
  });
}
