import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlobSASPermissions, generateBlobSASQueryParameters } from '@azure/storage-blob';
import {
  ACCOUNT,
  captureFromSdk,
  credential,
  HOST_STYLE,
  PATH_STYLE,
  signedRequest,
  type WireRequest,
} from '../../test/vectors/signed-requests.ts';
import type { RoleName } from '../rules/roles.ts';
import { StorageError } from '../service/storage-error.ts';
import { authenticate } from './authenticate.ts';
import type { BearerTokens } from './bearer.ts';
import type { Account, Identity, ResourceAcl } from './identity.ts';
import { deriveDelegationKey } from './user-delegation-key.ts';

const NOW_MS = Date.now();

interface Circumstances {
  readonly account?: Account;
  readonly resource?: readonly string[];
  readonly acl?: ResourceAcl | null;
  readonly bearer?: BearerTokens;
}

async function act(wire: WireRequest, { account = ACCOUNT, resource = ['c', 'b'], acl, bearer }: Circumstances = {}) {
  const loaded: unknown[] = [];
  const identity = await authenticate(signedRequest(wire), {
    accounts: new Map([[account.name, account]]),
    nowMs: NOW_MS,
    wallNowMs: NOW_MS,
    resource,
    bearer: bearer ?? null,
    loadAcl: (...asked) => {
      loaded.push(asked);
      return Promise.resolve(acl ?? null);
    },
  });
  return { identity, loaded };
}

async function refusalOf(acted: Promise<unknown>): Promise<{ code: string; detail: string }> {
  try {
    await acted;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { code: error.code, detail: error.details.elements?.['AuthenticationErrorDetail'] ?? '' };
  }
  return { code: 'accepted', detail: '' };
}

const signedBySdk = (endpoint = PATH_STYLE): Promise<WireRequest> =>
  captureFromSdk((client) => client.getContainerClient('c').getBlobClient('b').getProperties(), { endpoint });

const token = generateBlobSASQueryParameters(
  {
    containerName: 'c',
    blobName: 'b',
    permissions: BlobSASPermissions.parse('r'),
    expiresOn: new Date(NOW_MS + 60_000),
  },
  credential(),
).toString();

const OWNER: Identity = { kind: 'owner', account: ACCOUNT.name };
const plain: WireRequest = { method: 'GET', url: `${PATH_STYLE}/c/b` };
const withHeader = (authorization: string): WireRequest => ({ ...plain, headers: [['Authorization', authorization]] });

test('a request signed with a key speaks for the owner, and no ACL is loaded', async () => {
  for (const endpoint of [PATH_STYLE, HOST_STYLE]) {
    assert.deepEqual(await act(await signedBySdk(endpoint)), { identity: OWNER, loaded: [] });
  }
});

test('a token speaks for itself, and no ACL is loaded unless it names a policy', async () => {
  const { identity, loaded } = await act({ method: 'GET', url: `${PATH_STYLE}/c/b?${token}` });
  assert.equal(identity.kind, 'serviceSas');
  assert.deepEqual(loaded, []);
});

test('a request with both a header and a token is refused, however good each is', async () => {
  const wire = await signedBySdk();
  const { code } = await refusalOf(act({ ...wire, url: `${wire.url}?${token}` }));
  assert.equal(code, 'AuthenticationFailed');
});

for (const authorization of [
  '',
  'SharedKey',
  'SharedKey larimartest',
  'SharedKey larimartest:',
  'SharedKey :c2ln',
  'SharedKey larimartest:c2ln extra',
  'SharedKeyFull larimartest:c2ln',
  'Basic dXNlcjpwYXNz',
  'larimartest:c2ln',
  'Bearer token',
]) {
  test(`'Authorization: ${authorization}' gets InvalidAuthenticationInfo`, async () => {
    assert.equal((await refusalOf(act(withHeader(authorization)))).code, 'InvalidAuthenticationInfo');
  });
}

test('a bearer token is refused with the way out, where no issuer is configured', async () => {
  assert.match((await refusalOf(act(withHeader('Bearer token')))).detail, /--oauth-issuer.*Shared Key/);
});

/** An issuer whose every token speaks for its own text. */
const believing = (...roles: RoleName[]): BearerTokens => ({
  challenge: 'Bearer',
  verify: async (token) => ({ objectId: token, tenantId: 'tenant', roles }),
});
const withToken: WireRequest = {
  ...plain,
  headers: [...(withHeader('Bearer me').headers ?? []), ['x-ms-version', '2024-11-04']],
};

test('a bearer token speaks for its subject, with what its roles allow at this service', async () => {
  const { identity, loaded } = await act(withToken, { bearer: believing('Storage Blob Data Reader') });
  assert.ok(identity.kind === 'bearer');
  const { delegationKey, ...rest } = identity;
  const holder = { account: ACCOUNT.name, objectId: 'me', tenantId: 'tenant', permissions: 'rl' };
  assert.deepEqual({ rest, loaded }, { rest: { kind: 'bearer', ...holder, controls: false }, loaded: [] });
  const terms = { startMs: NOW_MS, expiryMs: NOW_MS + 1000, version: '2024-11-04', delegatedTenantId: '' };
  const [firstKey] = ACCOUNT.keys as readonly [Buffer];
  const derived = deriveDelegationKey(firstKey, { ...holder, ...terms, service: 'b' });
  assert.equal(delegationKey?.(terms), derived.toString('base64'));

  const elsewhere = await act({ ...withToken, service: 'q' }, { bearer: believing('Storage Blob Data Owner') });
  assert.ok(elsewhere.identity.kind === 'bearer' && elsewhere.identity.delegationKey === null);
  assert.equal(elsewhere.identity.permissions, '');
});

test('a bearer token for an account that is not there is refused', async () => {
  const account = { ...ACCOUNT, name: 'another' };
  const { code, detail } = await refusalOf(act(withToken, { account, bearer: believing('Storage Blob Data Owner') }));
  assert.equal(code, 'AuthenticationFailed');
  assert.match(detail, /no account larimartest/);
});

test('a bearer token beside a SAS is refused, unless the SAS is bound to a user', async () => {
  for (const [bound, detail] of [
    ['', /both an Authorization header and a shared access signature/],
    ['&sduoid=', /both an Authorization header and a shared access signature/],
    ['&sduoid=me', /lacks the mandatory field skoid/],
  ] as const) {
    const url = `${plain.url}?${token}${bound}`;
    assert.match((await refusalOf(act({ ...withToken, url }, { bearer: believing() }))).detail, detail);
    assert.match((await refusalOf(act({ ...withHeader('SharedKey a:b'), url }))).detail, /both/);
  }
});

test('a signature by another account is refused', async () => {
  const { code, detail } = await refusalOf(act(withHeader('SharedKey other:c2ln')));
  assert.equal(code, 'AuthenticationFailed');
  assert.match(detail, /signed by other/);
});

test('an account that is not there is refused with the way to have one, by key and by token', async () => {
  const account = { ...ACCOUNT, name: 'another' };
  for (const wire of [await signedBySdk(), { ...plain, url: `${PATH_STYLE}/c/b?${token}` }]) {
    const { code, detail } = await refusalOf(act(wire, { account }));
    assert.equal(code, 'AuthenticationFailed');
    assert.match(detail, /no account larimartest.*--account/);
  }
});

const DEVELOPMENT: Account = { ...ACCOUNT, loopbackOnly: true };

test('the development account serves callers on the same machine', async () => {
  const wire = await signedBySdk();
  for (const clientAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    assert.deepEqual((await act({ ...wire, clientAddress }, { account: DEVELOPMENT })).identity, OWNER);
  }
});

test('the development account is refused to callers from elsewhere with the way out, whatever they bring', async () => {
  for (const wire of [await signedBySdk(), { ...plain, url: `${PATH_STYLE}/c/b?${token}` }, plain]) {
    for (const clientAddress of ['192.168.1.2', '::ffff:10.0.0.1', '2001:db8::1']) {
      const { code, detail } = await refusalOf(act({ ...wire, clientAddress }, { account: DEVELOPMENT }));
      assert.equal(code, 'AuthenticationFailed');
      assert.match(detail, /--account NAME:KEY.*--allow-development-account/);
      assert.equal((await refusalOf(act({ ...wire, clientAddress }))).code, 'accepted');
    }
  }
});

for (const [what, circumstances, publicAccess, loads] of [
  ['a public container', { acl: { publicAccess: 'blob', policies: [] } }, 'blob', 1],
  ['a private container', { acl: { publicAccess: null, policies: [] } }, null, 1],
  ['a container that is not there', { acl: null }, null, 1],
  ['no container', { resource: [], acl: { publicAccess: 'container', policies: [] } }, null, 0],
  ['an account that is not there', { account: { ...ACCOUNT, name: 'another' } }, null, 0],
] as const) {
  test(`an anonymous caller of ${what} has public access ${publicAccess}, after ${loads} look at the ACL`, async () => {
    const { identity, loaded } = await act(plain, circumstances);
    assert.deepEqual(identity, { kind: 'anonymous', publicAccess });
    assert.equal(loaded.length, loads);
  });
}

test('only blobs can be public', async () => {
  const acl = { publicAccess: 'container', policies: [] } as const;
  const { identity, loaded } = await act({ ...plain, service: 'q' }, { acl });
  assert.deepEqual({ identity, loaded }, { identity: { kind: 'anonymous', publicAccess: null }, loaded: [] });
});
