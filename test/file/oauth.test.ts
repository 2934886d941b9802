/**
 * Bearer tokens of a real, if tiny, issuer at the file door: the official client over TLS in each role against every
 * operation, the word that each request with such a token has to say, and what is told to whoever brings one that is not good.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  generateFileSASQueryParameters,
  type ShareClient,
  type ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import type { RunningServer } from '../../src/main.ts';
import { Command } from '../admin/command.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { credentialOf, oauthServers } from '../harness/oauth-servers.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { missingTool } from '../packages.ts';
import { NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import {
  assertOutcomes,
  assertUntouched,
  CONTRIBUTOR,
  DELEGATOR,
  fileOf,
  furnish,
  type Guest,
  MANAGER,
  type Place,
  READER,
} from './operations.ts';

const { issuer, oauth: OAUTH, startWith, startOverTls, inSeconds } = await oauthServers();

const OF_SMB = [
  'Storage File Data SMB Share Reader',
  'Storage File Data SMB Share Contributor',
  'Storage File Data SMB Share Elevated Contributor',
];

/** As issuers may write it that allow neither spaces nor capitals. */
const plain = (role: string): string => role.toLowerCase().replaceAll(' ', '');

const KEY = new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key);

const opened = (file: ShareFileClient): string => {
  const values = { shareName: file.shareName, permissions: ShareSASPermissions.parse('r'), expiresOn: inSeconds(3600) };
  return `${file.url}?${generateFileSASQueryParameters(values, KEY).toString()}`;
};

describe('the official client with a bearer token', { skip: missingTool('openssl') }, () => {
  let endpoint: string;
  let options: StoragePipelineOptions;
  let owner: ShareServiceClient;

  before(async () => {
    const { server, ca } = await startOverTls();
    endpoint = `https://localhost:${new URL(server.origins.file).port}/${SECOND_ACCOUNT.name}`;
    options = { ...FILE_CLIENT_OPTIONS, tlsOptions: { ca } } as StoragePipelineOptions;
    owner = new ShareServiceClient(endpoint, KEY, options);
  });

  /** One of its own, of the account's owner. */
  async function freshPlace(): Promise<Place> {
    const share = owner.getShareClient(`test-${randomUUID()}`);
    await share.create();
    return furnish(share, opened);
  }

  const withToken = (token: string, intent: { fileRequestIntent?: 'backup' } = { fileRequestIntent: 'backup' }) =>
    new ShareServiceClient(endpoint, credentialOf(token), { ...options, ...intent });
  const guestIn = async (roles: readonly string[], { name }: ShareClient): Promise<Guest> => {
    const service = withToken(await issuer.sign({ roles }));
    return { service, share: service.getShareClient(name) };
  };

  for (const roles of [
    [CONTRIBUTOR],
    [READER],
    [MANAGER],
    [DELEGATOR],
    [MANAGER, READER],
    [MANAGER, CONTRIBUTOR],
    [DELEGATOR, READER],
    ['storagefiledataprivilegedcontributor'],
    OF_SMB,
    ['Storage Blob Data Owner', 'Storage Queue Data Contributor', 'Storage Table Data Contributor'],
    ['Reader'],
    [],
  ]) {
    test(`does what is open to ${roles.join(' and ') || 'no role'}, and nothing else`, async () => {
      const place = await freshPlace();
      const has = roles.map(plain);
      await assertOutcomes(await guestIn(roles, place.share), place, ({ byRoles }) =>
        byRoles.some((role) => has.includes(plain(role))) ? 'ok' : NOT_PERMITTED,
      );
    });
  }

  test('does nothing with files without saying that it means to, whatever its role', async () => {
    for (const roles of [[CONTRIBUTOR], [MANAGER, CONTRIBUTOR], [DELEGATOR]]) {
      const place = await freshPlace();
      const service = withToken(await issuer.sign({ roles }), {});
      const guest = { service, share: service.getShareClient(place.share.name) };
      await assertOutcomes(guest, place, ({ byRoles }) => {
        if (!byRoles.includes(MANAGER)) return '400 MissingRequiredHeader';
        return roles.includes(MANAGER) ? 'ok' : NOT_PERMITTED;
      });
      if (!roles.includes(MANAGER)) await assertUntouched(place);
    }
  });

  test('is let in by a token for storage, for the account’s files or for this server’s', async () => {
    const { share } = await freshPlace();
    const { port } = new URL(endpoint);
    for (const [aud, want] of [
      ['https://storage.azure.com', 'ok'],
      ['https://storage.azure.com/', 'ok'],
      [`https://${SECOND_ACCOUNT.name}.file.core.windows.net`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.file.core.windows.net/`, 'ok'],
      [`https://127.0.0.1:${port}/${SECOND_ACCOUNT.name}`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.blob.core.windows.net`, '401 InvalidAuthenticationInfo'],
      ['https://other.file.core.windows.net', '401 InvalidAuthenticationInfo'],
      ['https://vault.azure.net', '401 InvalidAuthenticationInfo'],
    ] as const) {
      const guest = withToken(await issuer.sign({ roles: [READER], aud })).getShareClient(share.name);
      assert.equal(await outcome(fileOf(guest).getProperties()), want, aud);
    }
  });

  test('reads a snapshot of the share', async () => {
    const { share } = await freshPlace();
    const { snapshot = '' } = await share.createSnapshot();
    await fileOf(share).delete();
    const { share: guest } = await guestIn([READER], share);
    const content = await fileOf(guest.withSnapshot(snapshot)).downloadToBuffer(0, 12);
    assert.equal(content.toString(), 'of the owner');
    assert.equal(await refusal(fileOf(guest).getProperties()), '404 ResourceNotFound');
  });
});

const CHALLENGE = `Bearer authorization_uri=${issuer.url}/oauth2/authorize resource_id=https://storage.azure.com`;
const VERSION = '2026-02-06';
const INTENT = 'x-ms-file-request-intent';

describe('a request by hand', () => {
  let server: RunningServer;
  const share = `test-${randomUUID()}`;
  before(async () => {
    server = await startWith({ oauth: OAUTH });
    await as(null, { method: 'PUT', path: `/${share}?restype=share`, account: SECOND_ACCOUNT });
  });

  interface Asked {
    readonly method?: string;
    readonly path?: string;
    readonly version?: string;
    readonly account?: typeof SECOND_ACCOUNT;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const as = (token: string | null, { method = 'GET', path = LIST, version = VERSION, ...rest }: Asked = {}) =>
    send(server.origins.file, {
      method,
      path,
      account: rest.account ?? null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: {
        'x-ms-version': version,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...rest.headers,
      },
    });
  const LIST = `/${share}?restype=directory&comp=list`;
  const MEANT = { [INTENT]: 'backup' };

  test('is served over plain HTTP on the same machine', async () => {
    const { status, body } = await as(await issuer.sign({ roles: [READER] }), { headers: MEANT });
    assert.equal(status, 200);
    assert.match(body.toString(), /<EnumerationResults /);
  });

  test('says what for, in the one word that there is', async () => {
    const token = await issuer.sign({ roles: [READER] });
    assertRefused(await as(token), '400 MissingRequiredHeader', { HeaderName: INTENT });
    assertRefused(await as(token, { headers: { [INTENT]: 'restore' } }), '400 InvalidHeaderValue', {
      HeaderName: INTENT,
      HeaderValue: 'restore',
    });
    assert.equal((await as(token, { headers: { [INTENT]: 'Backup' } })).status, 200);
  });

  test('renames by its role, without a token for the source', async () => {
    const create = { method: 'PUT', headers: { 'x-ms-type': 'file', 'x-ms-content-length': '0' } };
    await as(null, { ...create, path: `/${share}/from`, account: SECOND_ACCOUNT });
    const source = `${server.origins.file}/${SECOND_ACCOUNT.name}/${share}/from`;
    const rename = {
      method: 'PUT',
      path: `/${share}/to?comp=rename`,
      headers: { ...MEANT, 'x-ms-file-rename-source': source },
    };
    assertRefused(await as(await issuer.sign({ roles: [READER] }), rename), NOT_PERMITTED);
    const contributor = await issuer.sign({ roles: [CONTRIBUTOR] });
    assertRefused(
      await as(contributor, { ...rename, headers: { 'x-ms-file-rename-source': source } }),
      '400 MissingRequiredHeader',
      { HeaderName: INTENT },
    );
    assert.equal((await as(contributor, rename)).status, 200);
  });

  test('reads data since 2022-11-02, and shares since 2024-11-04', async () => {
    const token = await issuer.sign({ roles: [MANAGER, CONTRIBUTOR] });
    const ask = async (path: string, version: string) => (await as(token, { path, version, headers: MEANT })).outcome;
    const [properties, service] = [`/${share}?restype=share`, '/?comp=list'];
    assert.equal(await ask(LIST, '2021-12-02'), NOT_AUTHENTIC);
    assert.equal(await ask(properties, '2021-12-02'), NOT_AUTHENTIC);
    assert.equal(await ask(LIST, '2022-11-02'), '200');
    for (const path of [properties, service]) {
      assert.equal(await ask(path, '2024-08-04'), '409 FileOAuthManagementApiRestrictedToSrp');
      assert.equal(await ask(path, '2024-11-04'), '200');
    }
  });

  test('with a token that is not good is told where good ones come from', async () => {
    for (const token of [
      await issuer.sign({ exp: 1 }),
      await issuer.sign({ aud: 'https://vault.azure.net' }),
      await issuer.sign({ iss: 'https://other' }),
      'token',
    ]) {
      const refused = await as(token, { headers: MEANT });
      assertRefused(refused, '401 InvalidAuthenticationInfo');
      assert.equal(refused.headers['www-authenticate'], CHALLENGE);
      for (const part of token.split('.').slice(1)) assert.ok(!refused.body.toString().includes(part));
    }
  });

  test('without credentials is told the same, or that there is nothing where it speaks an old version', async () => {
    const refused = await as(null);
    assertRefused(refused, '401 NoAuthenticationInformation');
    assert.equal(refused.headers['www-authenticate'], CHALLENGE);
    assertRefused(await as(null, { version: '2019-10-10' }), '404 ResourceNotFound');
  });
});

test('larimar serve gives tokens without a role what it was told to', async (t) => {
  const ports = [
    '--blob-port=0',
    '--queue-port=0',
    '--table-port=0',
    '--file-port=0',
    '--admin-port=off',
    '--web-port=off',
  ];
  const oauth = ['--oauth-issuer', issuer.url, '--oauth-default-role', MANAGER];
  const command = new Command(['serve', ...ports, '--memory', '--log=json', ...oauth]);
  t.after(() => command.stop());
  const [, url = ''] = await command.printed(/"service":"file","url":"([^"]+)"/);
  const headers = { authorization: `Bearer ${await issuer.sign()}`, [INTENT]: 'backup' };
  assert.equal((await send(url, { method: 'GET', path: '/?comp=list', account: null, headers })).status, 200);
  const list = { method: 'GET', path: '/letters?restype=directory&comp=list', account: null };
  assert.equal((await send(url, { ...list, headers })).outcome, NOT_PERMITTED);
  // A role that is worth nothing here is a role all the same.
  const mounter = { ...headers, authorization: `Bearer ${await issuer.sign({ roles: [OF_SMB[0]] })}` };
  assert.equal(
    (await send(url, { method: 'GET', path: '/?comp=list', account: null, headers: mounter })).outcome,
    NOT_PERMITTED,
  );
});
