/**
 * Bearer tokens of a real, if tiny, issuer: the official client over TLS in each role, user delegation keys and the SAS
 * tokens made with them, and what is told to whoever brings a token that is not good.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { before, describe, test } from 'node:test';
import {
  BlobClient,
  BlobSASPermissions,
  type BlobSASSignatureValues,
  BlobServiceClient,
  BlockBlobClient,
  type ContainerClient,
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
  type UserDelegationKey,
} from '@azure/storage-blob';
import type { RunningServer } from '../../src/main.ts';
import { Command, runCommand } from '../admin/command.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { RAW_VERSION, type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { type Claims, makeSigningKey, signToken, TENANT, USER } from '../harness/oauth-issuer.ts';
import { credentialOf, oauthServers } from '../harness/oauth-servers.ts';

const OWNER = 'Storage Blob Data Owner';
const CONTRIBUTOR = 'Storage Blob Data Contributor';
const READER = 'Storage Blob Data Reader';
const DELEGATOR = 'Storage Blob Delegator';
const DAY_SECONDS = 86_400;

const { clock, issuer, oauth: OAUTH, startWith, startOverTls, inSeconds } = await oauthServers();

/** The container that requests are about, made with the key of the account. */
async function makeLetters(server: RunningServer): Promise<ContainerClient> {
  const connectionString = () => server.connectionStringFor(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key);
  const letters = blobService({ connectionString }).getContainerClient('letters');
  await letters.create();
  return letters;
}

/** So many seconds from now, as text. */
const time = (seconds: number): string => inSeconds(seconds).toISOString();

describe('the official client with a bearer token', () => {
  let endpoint: string;
  let options: StoragePipelineOptions;
  let container: ContainerClient;

  before(async () => {
    const { server, ca } = await startOverTls();
    endpoint = `https://localhost:${new URL(server.origins.blob).port}/${SECOND_ACCOUNT.name}`;
    options = { ...NO_RETRIES, tlsOptions: { ca } } as StoragePipelineOptions;
    container = (await as(OWNER)).getContainerClient('letters');
    await container.create();
    await container.getBlockBlobClient('first').upload('first', 5);
  });

  const withToken = (token: string): BlobServiceClient => new BlobServiceClient(endpoint, credentialOf(token), options);
  const as = async (...roles: string[]): Promise<BlobServiceClient> => withToken(await issuer.sign({ roles }));
  const by = async (...roles: string[]): Promise<ContainerClient> => (await as(...roles)).getContainerClient('letters');
  const keyFor = async (role: string): Promise<UserDelegationKey> =>
    (await as(role)).getUserDelegationKey(inSeconds(-60), inSeconds(DAY_SECONDS));
  const atBlob = (url: string): BlockBlobClient => new BlockBlobClient(url, undefined, options);

  test('does everything as an owner', async () => {
    const blob = (await by(OWNER)).getBlockBlobClient('second');
    await blob.upload('second', 6, { metadata: { a: 'b' } });
    assert.equal((await blob.downloadToBuffer()).toString(), 'second');
    assert.equal((await blob.getProperties()).metadata?.['a'], 'b');
    const names: string[] = [];
    for await (const { name } of container.listBlobsFlat()) names.push(name);
    assert.deepEqual(names, ['first', 'second']);
    await blob.delete();
    await container.setAccessPolicy(undefined, []);
    assert.deepEqual((await container.getAccessPolicy()).signedIdentifiers, []);
    assert.equal(await outcome((await as(OWNER)).getProperties()), 'ok');
  });

  test('does as a contributor everything but what decides over others', async () => {
    const service = await as(CONTRIBUTOR);
    const own = service.getContainerClient(`own-${randomUUID()}`);
    await own.create();
    const blob = own.getBlockBlobClient('x');
    await blob.upload('x', 1);
    await blob.setMetadata({ a: 'b' });
    await blob.delete();
    assert.equal(await refusal(own.getAccessPolicy()), '403 AuthorizationPermissionMismatch');
    assert.equal(await refusal(own.setAccessPolicy('blob')), '403 AuthorizationPermissionMismatch');
    assert.equal(await refusal(service.setProperties({ cors: [] })), '403 AuthorizationPermissionMismatch');
    await own.delete();
  });

  test('reads and lists as a reader, and changes nothing', async () => {
    const service = await as(READER);
    const letters = service.getContainerClient('letters');
    assert.equal((await letters.getBlobClient('first').downloadToBuffer()).toString(), 'first');
    assert.equal(await outcome(letters.listBlobsFlat().next()), 'ok');
    assert.equal(await outcome(service.listContainers().next()), 'ok');
    const blob = letters.getBlockBlobClient('first');
    const changes = [
      blob.upload('x', 1),
      blob.setMetadata({ a: 'b' }),
      blob.delete(),
      blob.getBlobLeaseClient().acquireLease(15),
      letters.setMetadata({ a: 'b' }),
      letters.delete(),
      service.getContainerClient('another').create(),
    ];
    for (const refused of await Promise.all(changes.map(refusal))) {
      assert.equal(refused, '403 AuthorizationPermissionMismatch');
    }
    assert.equal((await blob.downloadToBuffer()).toString(), 'first');
  });

  test('does nothing without a role', async () => {
    for (const roles of [[], ['Reader'], [DELEGATOR]]) {
      const letters = await by(...roles);
      assert.equal(await refusal(letters.getBlobClient('first').download()), '403 AuthorizationPermissionMismatch');
      assert.equal(await refusal(letters.listBlobsFlat().next()), '403 AuthorizationPermissionMismatch');
    }
    assert.equal(
      await refusal((await as()).getUserDelegationKey(inSeconds(0), inSeconds(60))),
      '403 AuthorizationPermissionMismatch',
    );
  });

  test('asks for another token when it is told that one is not good', async () => {
    const [expired, good] = [await issuer.sign({ roles: [READER], exp: 1 }), await issuer.sign({ roles: [READER] })];
    const asked: (string | undefined)[] = [];
    const credential = {
      getToken: async (_scopes: string | string[], { tenantId }: { tenantId?: string } = {}) => {
        asked.push(tenantId);
        return { token: tenantId === undefined ? expired : good, expiresOnTimestamp: Date.now() + 3_600_000 };
      },
    };
    const blob = new BlobClient(`${endpoint}/letters/first`, credential, options);
    assert.equal(await outcome(blob.download()), 'ok');
    assert.deepEqual(asked, [undefined, TENANT]);
  });

  test('sends a batch, each part of it with a token', async () => {
    const letters = await by(CONTRIBUTOR);
    const blobs = ['x', 'y'].map((name) => letters.getBlockBlobClient(name));
    for (const blob of blobs) await blob.upload('x', 1);
    const { subResponses } = await (await as(CONTRIBUTOR)).getBlobBatchClient().deleteBlobs(blobs);
    assert.deepEqual(
      subResponses.map(({ status }) => status),
      [202, 202],
    );
  });

  test('is served after the issuer has changed its keys, and no longer with the old ones', async () => {
    const old = await by(READER);
    assert.equal(await outcome(old.getProperties()), 'ok');
    await issuer.rotate();
    assert.equal(await outcome((await by(READER)).getProperties()), 'ok');
    assert.equal(await refusal(old.getProperties()), '401 InvalidAuthenticationInfo');
    container = await by(OWNER);
  });

  describe('and a user delegation key', () => {
    let key: UserDelegationKey;
    before(async () => {
      key = await keyFor(OWNER);
    });

    const urlOf = (values: Partial<BlobSASSignatureValues> = {}, signer = key): string => {
      const all = {
        containerName: 'letters',
        blobName: 'first',
        permissions: BlobSASPermissions.parse('r'),
        expiresOn: inSeconds(3600),
        ...values,
      };
      const sas = generateBlobSASQueryParameters(all, signer, SECOND_ACCOUNT.name).toString();
      return `${endpoint}/letters/${all.blobName}?${sas}`;
    };

    test('gets what names its holder and its time', () => {
      assert.equal(key.signedObjectId, USER);
      assert.equal(key.signedTenantId, TENANT);
      assert.equal(key.signedService, 'b');
      assert.equal(key.signedExpiresOn.getTime() - key.signedStartsOn.getTime(), (DAY_SECONDS + 60) * 1000);
      assert.match(key.value, /^[\w+/]{43}=$/);
    });

    test('makes tokens that open their blob and do what they say', async () => {
      const reading = atBlob(urlOf({ contentType: 'text/html' }));
      const read = await reading.download();
      assert.equal(read.contentType, 'text/html');
      assert.equal(await refusal(reading.upload('x', 1)), '403 AuthorizationPermissionMismatch');
      const writing = atBlob(urlOf({ blobName: 'third', permissions: BlobSASPermissions.parse('cw') }));
      assert.equal(await outcome(writing.upload('third', 5)), 'ok');
      assert.equal(await refusal(writing.download()), '403 AuthorizationPermissionMismatch');
      const { blobName: _, ...listing } = { blobName: '', containerName: 'letters', expiresOn: inSeconds(60) };
      const values = { ...listing, permissions: ContainerSASPermissions.parse('l') };
      const sas = generateBlobSASQueryParameters(values, key, SECOND_ACCOUNT.name).toString();
      const service = new BlobServiceClient(`${endpoint}?${sas}`, undefined, options);
      assert.equal((await service.getContainerClient('letters').listBlobsFlat().next()).value?.name, 'first');
    });

    test('makes no tokens that go beyond its holder', async () => {
      const permissions = BlobSASPermissions.parse('rwd');
      const ofReader = atBlob(urlOf({ permissions }, await keyFor(READER)));
      assert.equal(await outcome(ofReader.download()), 'ok');
      assert.equal(await refusal(ofReader.delete()), '403 AuthorizationPermissionMismatch');
      const ofDelegator = atBlob(urlOf({ permissions }, await keyFor(DELEGATOR)));
      assert.equal(await refusal(ofDelegator.download()), '403 AuthorizationPermissionMismatch');
    });

    test('makes tokens that fail once they are touched', async () => {
      for (const [name, value] of [
        ['sp', 'rw'],
        ['se', inSeconds(7200).toISOString()],
        ['skoid', randomUUID()],
        ['ske', inSeconds(2 * DAY_SECONDS).toISOString()],
        ['sig', Buffer.alloc(32).toString('base64')],
        ['sr', 'c'],
      ] as const) {
        const url = new URL(urlOf());
        url.searchParams.set(name, value);
        assert.equal(await refusal(atBlob(url.href).download()), '403 AuthenticationFailed', name);
      }
    });

    test('makes tokens that are bound to a user, who must show a bearer token', async () => {
      const user = randomUUID();
      const url = urlOf({ version: '2025-07-05', delegatedUserObjectId: user });
      const asUser = (token: string): BlobClient => new BlobClient(url, credentialOf(token), options);
      // The user has no role: the token alone would open nothing.
      assert.equal(await outcome(asUser(await issuer.sign({ oid: user })).download()), 'ok');
      assert.equal(await refusal(asUser(await issuer.sign()).download()), '403 AuthenticationFailed');
      assert.equal(await refusal(atBlob(url).download()), '403 AuthenticationFailed');
      const expired = await issuer.sign({ oid: user, exp: 1 });
      assert.equal(await refusal(asUser(expired).download()), '401 InvalidAuthenticationInfo');
    });

    test('makes tokens that end, and ends itself', async () => {
      const [brief, beyond] = [urlOf({ expiresOn: inSeconds(60) }), urlOf({ expiresOn: inSeconds(3 * DAY_SECONDS) })];
      assert.equal(await outcome(atBlob(brief).download()), 'ok');
      clock.advance({ seconds: 61 });
      assert.equal(await refusal(atBlob(brief).download()), '403 AuthenticationFailed');
      assert.equal(await outcome(atBlob(beyond).download()), 'ok');
      clock.advance({ seconds: DAY_SECONDS });
      assert.equal(await refusal(atBlob(beyond).download()), '403 AuthenticationFailed');
    });
  });

  test('gets no user delegation key by the key of the account', async () => {
    const credential = new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key);
    const service = new BlobServiceClient(endpoint, credential, options);
    assert.equal(await refusal(service.getUserDelegationKey(inSeconds(0), inSeconds(60))), '403 AuthenticationFailed');
  });

  test('finds the address of the server itself among the audiences', async () => {
    const own = `https://127.0.0.1:${new URL(endpoint).port}/${SECOND_ACCOUNT.name}`;
    const blob = withToken(await issuer.sign({ roles: [READER], aud: own }))
      .getContainerClient('letters')
      .getBlobClient('first');
    assert.equal(await outcome(blob.download()), 'ok');
    // What a caller says that our name is, counts for nothing.
    const { port } = new URL(endpoint);
    const token = await issuer.sign({ roles: [READER], aud: `https://other.example.org/${SECOND_ACCOUNT.name}` });
    const headers = { host: 'other.example.org', authorization: `Bearer ${token}`, 'x-ms-version': RAW_VERSION };
    const status = await new Promise((resolve, reject) => {
      const path = `/${SECOND_ACCOUNT.name}/letters/first`;
      const asked = {
        host: 'localhost',
        port,
        path,
        headers,
        ca: (options as { tlsOptions: { ca: Buffer } }).tlsOptions.ca,
      };
      httpsRequest({ ...asked, servername: 'localhost', agent: false }, (response) =>
        resolve(response.resume().statusCode),
      )
        .on('error', reject)
        .end();
    });
    assert.equal(status, 401);
  });
});

describe('a request by hand', () => {
  let server: RunningServer;
  before(async () => {
    server = await startWith({ oauth: OAUTH });
    await makeLetters(server);
  });

  const ask = async (
    token: string,
    request: Partial<RawRequest> = {},
    { at = server }: { at?: RunningServer } = {},
  ): Promise<RawResponse> => {
    const { headers, ...rest } = request;
    return send(at.origins.blob, {
      method: 'GET',
      path: '/?comp=list',
      account: null,
      pathAccount: SECOND_ACCOUNT.name,
      ...rest,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
  };

  const askKey = async (body: string, claims: Claims = {}): Promise<RawResponse> =>
    ask(await issuer.sign({ roles: [DELEGATOR], ...claims }), {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      body,
    });

  test('over plain HTTP is served on the same machine', async () => {
    const { status, body } = await ask(await issuer.sign({ roles: [READER] }));
    assert.equal(status, 200);
    assert.match(body.toString(), /<Name>letters<\/Name>/);
  });

  test('with a token that is not good is told why, and where good ones come from', async () => {
    const stranger = await makeSigningKey();
    const rows: readonly (readonly [what: string, token: string, detail: RegExp])[] = [
      ['expired', await issuer.sign({ exp: 1 }), /Lifetime validation failed/],
      ['for another', await issuer.sign({ aud: 'https://vault.azure.net' }), /Audience validation failed/],
      ['of another', await issuer.sign({ iss: 'https://other' }), /Issuer validation failed/],
      ['of a stranger', await signToken(issuer.url, stranger), /Signature validation failed/],
      ['none', 'token', /not a JSON Web Token/],
    ];
    for (const [what, token, detail] of rows) {
      const { outcome, headers, body } = await ask(token);
      assert.equal(outcome, '401 InvalidAuthenticationInfo', what);
      assert.match(body.toString(), detail, what);
      assert.equal(
        headers['www-authenticate'],
        `Bearer authorization_uri=${issuer.url}/oauth2/authorize resource_id=https://storage.azure.com`,
      );
      assert.ok(
        token.split('.').every((part) => !body.toString().includes(part) || part === 'token'),
        what,
      );
    }
  });

  test('without any credentials is told the same address', async () => {
    const { outcome, headers } = await send(server.origins.blob, { method: 'GET', path: '/letters/b', account: null });
    assert.equal(outcome, '401 NoAuthenticationInformation');
    assert.match(headers['www-authenticate'] ?? '', new RegExp(`^Bearer authorization_uri=${issuer.url}/`));
  });

  test('of a version before there were tokens is refused', async () => {
    const { outcome, body } = await ask(await issuer.sign({ roles: [OWNER] }), {
      headers: { 'x-ms-version': '2017-07-29' },
    });
    assert.equal(outcome, '403 AuthenticationFailed');
    assert.match(body.toString(), /not supported in this version/);
  });

  test('is served 503 while the issuer was never reached, and 401 where there is none', async () => {
    const unreachable = await startWith({ oauth: { issuer: 'http://127.0.0.1:1/tenant' } });
    const token = await signToken('http://127.0.0.1:1/tenant', await makeSigningKey(), { roles: [OWNER] });
    const waiting = await ask(token, {}, { at: unreachable });
    assert.equal(waiting.outcome, '503 ServerBusy');
    assert.equal(waiting.headers['retry-after'], '1');
    assert.doesNotMatch(waiting.body.toString(), /127\.0\.0\.1:1/);
    const without = await startWith({});
    const refused = await ask(token, {}, { at: without });
    assert.equal(refused.outcome, '401 InvalidAuthenticationInfo');
    assert.match(refused.body.toString(), /--oauth-issuer/);
    assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=/);
  });

  describe('for a user delegation key', () => {
    test('gets one that begins now, where it names no start', async () => {
      const { status, headers, body } = await askKey(`<KeyInfo><Expiry>${time(60)}</Expiry></KeyInfo>`);
      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'application/xml');
      const start = time(0).replace(/\.\d+Z$/, 'Z');
      assert.match(
        body.toString(),
        new RegExp(
          `<UserDelegationKey><SignedOid>${USER}</SignedOid><SignedTid>${TENANT}</SignedTid><SignedStart>${start}</SignedStart>` +
            `<SignedExpiry>[^<]+Z</SignedExpiry><SignedService>b</SignedService><SignedVersion>${RAW_VERSION}</SignedVersion>` +
            '<Value>[^<]{44}</Value></UserDelegationKey>$',
        ),
      );
    });

    test('gets one for a user of another tenant', async () => {
      const asked = `<KeyInfo><Expiry>${time(60)}</Expiry><DelegatedUserTid>${TENANT}</DelegatedUserTid></KeyInfo>`;
      assert.match((await askKey(asked)).body.toString(), new RegExp(`<SignedDelegatedUserTid>${TENANT}<`));
    });

    for (const [what, body, outcome] of [
      ['nothing', () => '', '400 InvalidXmlDocument'],
      ['another document', () => '<Keys />', '400 InvalidXmlDocument'],
      ['no expiry', () => `<KeyInfo><Start>${time(0)}</Start></KeyInfo>`, '400 MissingRequiredXmlNode'],
      ['an expiry that is no time', () => '<KeyInfo><Expiry>soon</Expiry></KeyInfo>', '400 InvalidXmlNodeValue'],
      ['an expiry that has passed', () => `<KeyInfo><Expiry>${time(-1)}</Expiry></KeyInfo>`, '400 InvalidXmlNodeValue'],
      [
        'more than seven days',
        () => `<KeyInfo><Start>${time(0)}</Start><Expiry>${time(8 * DAY_SECONDS)}</Expiry></KeyInfo>`,
        '400 InvalidXmlNodeValue',
      ],
      [
        'an end before the start',
        () => `<KeyInfo><Start>${time(120)}</Start><Expiry>${time(60)}</Expiry></KeyInfo>`,
        '400 InvalidXmlNodeValue',
      ],
      ['too much', () => `<KeyInfo>${' '.repeat(5000)}</KeyInfo>`, '413 RequestBodyTooLarge'],
    ] as const) {
      test(`that asks for ${what} gets ${outcome}`, async () => assert.equal((await askKey(body())).outcome, outcome));
    }

    test('gets one that another server of the same account accepts, since nobody stores it', async () => {
      const other = await startWith({ oauth: OAUTH });
      const blob = (await makeLetters(other)).getBlockBlobClient('b');
      await blob.upload('b', 1);
      const { body } = await askKey(`<KeyInfo><Expiry>${time(60)}</Expiry></KeyInfo>`, { roles: [READER] });
      const text = (name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(body.toString())?.[1] ?? '';
      const key: UserDelegationKey = {
        signedObjectId: text('SignedOid'),
        signedTenantId: text('SignedTid'),
        signedStartsOn: new Date(text('SignedStart')),
        signedExpiresOn: new Date(text('SignedExpiry')),
        signedService: text('SignedService'),
        signedVersion: text('SignedVersion'),
        value: text('Value'),
      };
      const permissions = BlobSASPermissions.parse('r');
      const values = { containerName: 'letters', blobName: 'b', permissions, expiresOn: inSeconds(30) };
      const sas = generateBlobSASQueryParameters(values, key, SECOND_ACCOUNT.name).toString();
      assert.equal(
        (await new BlobClient(`${blob.url}?${sas}`, undefined, NO_RETRIES).downloadToBuffer()).toString(),
        'b',
      );
    });
  });
});

describe('larimar serve', () => {
  test('takes an issuer, gives tokens without a role what it was told to, and logs none of them', async (t) => {
    const args = [
      'serve',
      '--blob-port=0',
      '--queue-port=0',
      '--table-port=0',
      '--file-port=0',
      '--admin-port=off',
      '--memory',
      '--log=json',
    ];
    const oauth = ['--oauth-issuer', issuer.url, '--oauth-audience', 'api://larimar', '--oauth-default-role', READER];
    const command = new Command([...args, ...oauth]);
    t.after(() => command.stop());
    const [, url = ''] = await command.printed(/"service":"blob","url":"([^"]+)"/);
    const token = await issuer.sign({ aud: 'api://larimar' });
    const headers = { authorization: `Bearer ${token}` };
    const asked = { path: '/?comp=list', method: 'GET', account: null, headers };
    assert.equal((await send(url, asked)).status, 200);
    const expiry = new Date(Date.now() + 60_000).toISOString();
    const body = `<KeyInfo><Expiry>${expiry}</Expiry></KeyInfo>`;
    const path = '/?restype=service&comp=userdelegationkey';
    const made = await send(url, { ...asked, method: 'POST', path, body });
    const value = /<Value>([^<]+)</.exec(made.body.toString())?.[1] as string;
    assert.equal(
      (await send(url, { ...asked, method: 'PUT', path: '/letters?restype=container' })).outcome,
      '403 AuthorizationPermissionMismatch',
    );
    await command.printed(/"operation":"Create Container"/);
    for (const secret of [token, ...token.split('.'), value]) assert.ok(!command.output.includes(secret));
  });

  for (const [option, message] of [
    [['--oauth-issuer', 'nonsense'], /--oauth-issuer takes a URL/],
    [['--oauth-issuer', 'https://x.example.org', '--oauth-keys', '/no/such/file'], /cannot be read \(ENOENT\)/],
    [['--oauth-issuer', 'https://x.example.org', '--oauth-default-role', 'King'], /--oauth-default-role takes one of/],
  ] as const) {
    test(`ends with 2 for ${option.join(' ')}`, async () => {
      const { ended, output } = await runCommand([
        'serve',
        '--memory',
        '--blob-port=0',
        '--queue-port=0',
        '--table-port=0',
        '--file-port=0',
        '--admin-port=off',
        ...option,
      ]);
      assert.equal(ended, 2);
      assert.match(output, message);
    });
  }
});
