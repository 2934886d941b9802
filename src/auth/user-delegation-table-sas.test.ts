import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACCOUNT,
  codeOf,
  FIRST_KEY,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import type { EntityScope } from '../rules/entity-scope.ts';
import { StorageError } from '../service/storage-error.ts';
import type { BearerTokens } from './bearer.ts';
import type { Identity } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';
import { type DelegationKey, deriveDelegationKey } from './user-delegation-key.ts';

const NOW_MS = Date.parse('2025-09-02T00:00:00Z');
const DAY_MS = 86_400_000;

/** A contributor who may delegate. */
const HOLDER: DelegationKey = {
  account: ACCOUNT.name,
  service: 't',
  objectId: 'holder',
  tenantId: 'tenant',
  delegatedTenantId: '',
  permissions: 'racwdlu',
  startMs: NOW_MS - DAY_MS,
  expiryMs: NOW_MS + DAY_MS,
  version: '2025-07-05',
};

const FIELDS = {
  sv: '2025-07-05',
  tn: 'Things',
  sp: 'raud',
  se: '2025-09-02T01:00:00Z',
  skoid: HOLDER.objectId,
  sktid: HOLDER.tenantId,
  skt: '2025-09-01T00:00:00Z',
  ske: '2025-09-03T00:00:00Z',
  sks: 't',
  skv: HOLDER.version,
};

type Fields = Readonly<Record<string, string>>;

/** One line each; the resource stands in place of its name. */
const LINES = 'sp st se resource skoid sktid skt ske sks skv skdutid sduoid sip spr sv spk srk epk erk'.split(' ');

interface Signer {
  readonly holder?: Partial<DelegationKey>;
  readonly accountKey?: Buffer;
}

function handMade(fields: Fields = {}, { holder = {}, accountKey = FIRST_KEY }: Signer = {}): string {
  const all: Fields = { ...FIELDS, ...fields };
  const resource = `/table/${ACCOUNT.name}/${all['tn']?.toLowerCase()}`;
  const lines = LINES.map((name) => (name === 'resource' ? resource : (all[name] ?? '')));
  const sig = sign(deriveDelegationKey(accountKey, { ...HOLDER, ...holder }), lines.join('\n'));
  return new URLSearchParams({ ...all, sig }).toString();
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
  readonly path?: string;
  readonly resource?: readonly string[];
  readonly nowMs?: number;
  readonly authorization?: string;
}

function use(token: string, { path = 'things()', resource = ['things'], nowMs = NOW_MS, authorization }: Use = {}) {
  const headers = authorization === undefined ? [] : [['authorization', authorization] as const];
  const request = signedRequest({ method: 'GET', url: `${PATH_STYLE}/${path}?${token}`, service: 't', headers });
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: NOW_MS, resource, loadAcl, bearer });
}

const asAccepted = (
  permissions = 'raud',
  entities: Partial<EntityScope> = {},
  holderPermissions = HOLDER.permissions,
): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
  holderPermissions,
  entities: { table: 'things', from: null, to: null, ...entities },
});

test('a token signed with a key for tables opens its table, also in a batch, and no other', async () => {
  assert.deepEqual(await use(handMade()), asAccepted());
  assert.deepEqual(await use(handMade({}, { accountKey: SECOND_KEY })), asAccepted());
  assert.deepEqual(await use(handMade({ sv: '2026-04-06' })), asAccepted());
  assert.deepEqual(await use(handMade(), { path: '$batch', resource: [] }), asAccepted());
  assert.equal(await codeOf(use(handMade(), { path: 'others()', resource: ['others'] })), 'AuthenticationFailed');
});

test('it carries a range of keys', async () => {
  const range = { spk: 'b', srk: '2', epk: 'c' };
  const entities = { from: { partitionKey: 'b', rowKey: '2' }, to: { partitionKey: 'c', rowKey: null } };
  assert.deepEqual(await use(handMade(range)), asAccepted('raud', entities));
  assert.equal(await codeOf(use(handMade({ srk: '2' }))), 'AuthenticationFailed');
});

test('it is worth no more than the roles of the holder of the key', async () => {
  assert.deepEqual(await use(handMade({}, { holder: { permissions: 'rl' } })), asAccepted('r', {}, 'rl'));
  assert.deepEqual(await use(handMade({}, { holder: { permissions: '' } })), asAccepted('', {}, ''));
  assert.equal(await codeOf(use(handMade({}, { holder: { permissions: 'raud' } }))), 'AuthenticationFailed', 'no role');
});

test('a key of the Blob service signs none', async () => {
  const holder = { service: 'b', permissions: 'rl' } as const;
  assert.equal(await codeOf(use(handMade({}, { holder }))), 'AuthenticationFailed');
  assert.equal(await codeOf(use(handMade({ sks: 'b' }, { holder }))), 'AuthenticationFailed');
});

test('it fails once any of it is touched', async () => {
  const token = new URLSearchParams(handMade({ spk: 'b' }));
  for (const [name, value] of [
    ['sp', 'r'],
    ['st', '2025-09-01T00:00:00Z'],
    ['se', '2025-09-02T02:00:00Z'],
    ['tn', 'others'],
    ['skoid', 'another'],
    ['sktid', 'another'],
    ['skt', '2025-09-01T00:00:01Z'],
    ['ske', '2025-09-04T00:00:00Z'],
    ['skv', '2026-04-06'],
    ['skdutid', 'another'],
    ['sip', '127.0.0.1'],
    ['spr', 'https,http'],
    ['sv', '2026-04-06'],
    ['spk', 'a'],
    ['epk', 'z'],
  ] as const) {
    const touched = new URLSearchParams(token);
    touched.set(name, value);
    assert.equal(await codeOf(use(touched.toString())), 'AuthenticationFailed', name);
  }
});

test('it ends with itself and with its key', async () => {
  const nowMs = Date.parse(FIELDS.se);
  assert.equal(await codeOf(use(handMade(), { nowMs: nowMs - 1 })), 'accepted');
  assert.equal(await codeOf(use(handMade(), { nowMs })), 'AuthenticationFailed');
  const beyond = handMade({ se: '2025-09-09T00:00:00Z' });
  assert.equal(await codeOf(use(beyond, { nowMs: Date.parse(FIELDS.ske) - 1 })), 'accepted');
  assert.equal(await codeOf(use(beyond, { nowMs: Date.parse(FIELDS.ske) })), 'AuthenticationFailed');
});

test('one that is bound to a user counts with the bearer token of that user', async () => {
  const token = handMade({ sduoid: 'user' });
  assert.equal(await codeOf(use(token, { authorization: 'Bearer user@tenant' })), 'accepted');
  assert.equal(await codeOf(use(token, { authorization: 'Bearer other@tenant' })), 'AuthenticationFailed');
  assert.equal(await codeOf(use(token)), 'AuthenticationFailed');
});

for (const [what, fields, detail] of [
  ['a version before there were such tokens for tables', { sv: '2025-05-05' }, /2025-07-05 or later/],
  ['no table', { tn: '' }, /lacks the mandatory field tn/],
  ['a stored access policy', { si: 'policy' }, /stored access policy/],
  ['a letter that tables do not have', { sp: 'rl' }, /'l' is repeated or is not one of/],
  ['an agent', { saoid: 'agent' }, /saoid is not allowed in tokens for tables/],
  ['signed headers', { sv: '2026-04-06', srh: 'x-ms-version' }, /srh is not allowed in tokens for tables/],
] as const) {
  test(`a token with ${what} is refused, and told why`, async () => {
    const refused = await use(handMade(fields)).catch((error: unknown) => error);
    assert.ok(refused instanceof StorageError, String(refused));
    assert.equal(refused.code, 'AuthenticationFailed');
    assert.match(refused.details.elements?.['AuthenticationErrorDetail'] ?? '', detail);
  });
}
