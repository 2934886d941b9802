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
import { StorageError } from '../service/storage-error.ts';
import { authenticate } from './authenticate.ts';
import type { Account, Identity, ResourceAcl } from './identity.ts';

const NOW_MS = Date.now();

interface Circumstances {
  readonly account?: Account;
  readonly resource?: readonly string[];
  readonly acl?: ResourceAcl | null;
}

async function act(wire: WireRequest, { account = ACCOUNT, resource = ['c', 'b'], acl }: Circumstances = {}) {
  const loaded: unknown[] = [];
  const identity = await authenticate(signedRequest(wire), {
    accounts: new Map([[account.name, account]]),
    nowMs: NOW_MS,
    wallNowMs: NOW_MS,
    resource,
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

test('a bearer token is refused with the way out', async () => {
  assert.match((await refusalOf(act(withHeader('Bearer token')))).detail, /Shared Key/);
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
