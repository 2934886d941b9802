import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  FileSASPermissions,
  generateAccountSASQueryParameters,
  generateFileSASQueryParameters,
  ShareSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import type { Account, Identity } from '../../auth/identity.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { AuthorizedExchange } from '../exchange.ts';
import { parseRequestTarget } from '../request-target.ts';
import { resolveRenameSource } from './rename-source.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const ORIGIN = 'http://127.0.0.1:10003';

const keyOf = (name: string): Buffer => Buffer.from(`the key of ${name}, which nobody else has`);
const account = (name: string): Account => ({ name, keys: [keyOf(name)], loopbackOnly: false });
const ACCOUNTS = new Map([account('first'), account('second')].map((one) => [one.name, one]));

const OWNER: Identity = { kind: 'owner', account: 'first' };
const SERVICE_SAS: Identity = { kind: 'serviceSas', account: 'first', permissions: 'rcwdl', overrides: {} };
const ACCOUNT_SAS: Identity = {
  kind: 'accountSas',
  account: 'first',
  services: 'f',
  resourceTypes: 'sco',
  permissions: 'rwdlc',
};
const BEARER: Identity = {
  kind: 'bearer',
  account: 'first',
  objectId: 'o',
  tenantId: 't',
  permissions: 'rcwdl',
  controls: false,
  delegationKey: null,
};

const signer = (name: string) => new StorageSharedKeyCredential(name, keyOf(name).toString('base64'));
const EXPIRES = { expiresOn: new Date(NOW_MS + 60_000) };
const shareToken = (letters: string, { share = 'docs', by = 'first' } = {}): string =>
  generateFileSASQueryParameters(
    { shareName: share, permissions: ShareSASPermissions.parse(letters), ...EXPIRES },
    signer(by),
  ).toString();
const fileToken = (filePath: string, letters = 'rcwd'): string =>
  generateFileSASQueryParameters(
    { shareName: 'docs', filePath, permissions: FileSASPermissions.parse(letters), ...EXPIRES },
    signer('first'),
  ).toString();
const accountToken = (letters: string, { services = 'f', types = 'o', by = 'first' } = {}): string =>
  generateAccountSASQueryParameters(
    {
      permissions: AccountSASPermissions.parse(letters),
      services: AccountSASServices.parse(services).toString(),
      resourceTypes: AccountSASResourceTypes.parse(types).toString(),
      ...EXPIRES,
    },
    signer(by),
  ).toString();

interface Asked {
  readonly identity?: Identity;
  readonly headers?: Readonly<Record<string, string>>;
  readonly host?: string;
}

function exchangeOf(source: string | null, { identity = OWNER, headers = {}, host }: Asked): AuthorizedExchange {
  const all = source === null ? headers : { 'x-ms-file-rename-source': source, ...headers };
  const url = host === undefined ? '/first/docs/new?comp=rename' : '/docs/new?comp=rename';
  return {
    service: 'f',
    method: 'PUT',
    target: parseRequestTarget({ url, host: host ?? '127.0.0.1:10003', accounts: ACCOUNTS }),
    header: (name) => all[name] ?? null,
    rawHeaders: Object.entries(all),
    headersWithPrefix: () => [],
    version: '2026-04-06',
    requestId: 'r',
    clientAddress: '127.0.0.1',
    secure: false,
    origin: ORIGIN,
    body: () => Readable.from([]),
    wholeBody: async () => new Uint8Array(),
    contentLengthBytes: 0,
    identity,
  };
}

/** The path that the source names, or the code of the refusal. */
async function resolve(source: string | null, asked: Asked = {}): Promise<string> {
  try {
    const destination = { kind: 'file', share: 'docs', path: ['new'] } as const;
    const path = await resolveRenameSource(exchangeOf(source, asked), destination, {
      accounts: ACCOUNTS,
      nowMs: NOW_MS,
      wallNowMs: NOW_MS,
      loadAcl: async () => null,
    });
    return path.join(' > ');
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}

for (const [source, want] of [
  [`${ORIGIN}/first/docs/old`, 'old'],
  [`${ORIGIN}/first/docs/a/b/old`, 'a > b > old'],
  [`${ORIGIN}/first/docs/a%20b/%C3%BC%2B+.txt`, 'a b > ü++.txt'],
  [`${ORIGIN}/first/docs/a%2Fold`, 'a > old'],
  [`${ORIGIN}/first/docs/a/`, 'a'],
  [`${ORIGIN}/first/docs/a./old...`, 'a > old'],
  // The name of this machine that the caller knows may be another.
  ['https://first.file.core.windows.net/docs/old', 'old'],
  ['http://files.example.org/first/docs/old', 'old'],
] as const) {
  test(`${source} is ${want}`, async () => assert.equal(await resolve(source), want));
}

test('trailing dots stay where the header for sources says so', async () => {
  const headers = { 'x-ms-source-allow-trailing-dot': 'true' };
  assert.equal(await resolve(`${ORIGIN}/first/docs/a./old...`, { headers }), 'a. > old...');
  const other = { 'x-ms-allow-trailing-dot': 'true' };
  assert.equal(await resolve(`${ORIGIN}/first/docs/old...`, { headers: other }), 'old');
});

test('a request whose account stands in the host name is as good', async () => {
  const host = 'first.file.example.org';
  assert.equal(await resolve(`https://${host}/docs/old`, { host }), 'old');
});

test('a source is needed', async () => assert.equal(await resolve(null), 'MissingRequiredHeader'));

for (const source of [
  '',
  '/first/docs/old',
  'old',
  'ftp://127.0.0.1/first/docs/old',
  `http://user:secret@127.0.0.1/first/docs/old`,
  ORIGIN,
  `${ORIGIN}/first`,
  `${ORIGIN}/first/docs`,
  `${ORIGIN}/first/docs/`,
  `${ORIGIN}/first/docs/a//old`,
  `${ORIGIN}/first/docs/old#part`,
  `${ORIGIN}/first/docs/..%2Fold`,
  `${ORIGIN}/first/docs/o%ZZld`,
  `${ORIGIN}/first/docs/o%3Fld`,
  `${ORIGIN}/first/docs/old?sharesnapshot=2025-01-01T00:00:00.0000000Z`,
  `${ORIGIN}/first/other/old`,
  `${ORIGIN}/first/DOCS/old`,
  `${ORIGIN}/second/docs/old`,
  'https://second.file.core.windows.net/docs/old',
  `${ORIGIN}/first/docs/${'a'.repeat(2048)}`,
  `http:${'/'.repeat(1_000_000)}`,
]) {
  test(`"${source.slice(0, 80)}" is no source`, async () => {
    assert.equal(await resolve(source), 'InvalidHeaderValue');
  });
}

test('neither a password nor a signature is echoed', async () => {
  const source = `http://user:secret@127.0.0.1/first/docs/old?sig=secret`;
  const refused = await resolveRenameSource(
    exchangeOf(source, {}),
    { kind: 'file', share: 'docs', path: ['new'] },
    { accounts: ACCOUNTS, nowMs: NOW_MS, wallNowMs: NOW_MS, loadAcl: async () => null },
  ).catch((error: unknown) => error);
  assert.ok(refused instanceof StorageError);
  assert.doesNotMatch(JSON.stringify(refused.details), /secret/);
});

const OLD = `${ORIGIN}/first/docs/a/old`;

test('whoever has the key of the account, or a role in it, needs no token for the source', async () => {
  for (const identity of [OWNER, BEARER]) assert.equal(await resolve(OLD, { identity }), 'a > old');
});

const byToken: readonly (readonly [what: string, token: string, want: string])[] = [
  ['none', '', 'AuthenticationFailed'],
  ['one for the share', shareToken('d'), 'a > old'],
  ['one for the share that does not delete', shareToken('rcwl'), 'AuthorizationPermissionMismatch'],
  ['one for another share', shareToken('rcwdl', { share: 'other' }), 'AuthenticationFailed'],
  ['one of another account', shareToken('rcwdl', { by: 'second' }), 'AuthenticationFailed'],
  ['one for the file', fileToken('a/old'), 'a > old'],
  ['one for the file that does not delete', fileToken('a/old', 'rcw'), 'AuthorizationPermissionMismatch'],
  ['one for where it goes', fileToken('new'), 'AuthenticationFailed'],
  ['one for the account', accountToken('d'), 'a > old'],
  ['one for the account that does not delete', accountToken('rwlc'), 'AuthorizationPermissionMismatch'],
  ['one for its shares', accountToken('d', { types: 'c' }), 'AuthorizationResourceTypeMismatch'],
  ['one for its blobs', accountToken('d', { services: 'b' }), 'AuthorizationServiceMismatch'],
  ['one for another account', accountToken('d', { by: 'second' }), 'AuthenticationFailed'],
];
for (const [what, token, want] of byToken) {
  test(`of those who come with a token, the source is opened by its own (${what}): ${want}`, async () => {
    for (const identity of [SERVICE_SAS, ACCOUNT_SAS]) {
      assert.equal(await resolve(token === '' ? OLD : `${OLD}?${token}`, { identity }), want, identity.kind);
    }
  });
}

test('a token is for the path as it was written', async () => {
  const source = `${ORIGIN}/first/docs/a./old%2B.`;
  assert.equal(await resolve(`${source}?${fileToken('a./old+.')}`, { identity: SERVICE_SAS }), 'a > old+');
  assert.equal(await resolve(`${source}?${fileToken('a/old+')}`, { identity: SERVICE_SAS }), 'AuthenticationFailed');
});
