/**
 * Bearer tokens of a real, if tiny, issuer at the queue door: the official client over TLS in each role against every
 * operation, what is told to whoever brings a token that is not good, and user delegation keys with the tokens made of them.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  generateQueueSASQueryParameters,
  type QueueClient,
  QueueSASPermissions,
  type QueueSASSignatureValues,
  QueueServiceClient,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
  type UserDelegationKey,
} from '@azure/storage-queue';
import type { RunningServer } from '../../src/main.ts';
import { Command } from '../admin/command.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { TENANT, USER } from '../harness/oauth-issuer.ts';
import { credentialOf, oauthServers } from '../harness/oauth-servers.ts';
import { QUEUE_CLIENT_OPTIONS } from '../harness/queue-clients.ts';
import { assertRefused, sendQueue } from '../harness/queue-http.ts';
import { missingTool } from '../packages.ts';
import { bySas, NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import { assertOutcomes, CONTRIBUTOR, DELEGATOR, type Guest, PROCESSOR, READER, SENDER } from './operations.ts';

const VERSION = '2025-07-05';

const { clock, issuer, oauth: OAUTH, startWith, startOverTls, inSeconds } = await oauthServers();

/** As issuers may write it that allow neither spaces nor capitals. */
const plain = (role: string): string => role.toLowerCase().replaceAll(' ', '');

function tokenOf(key: UserDelegationKey, { name }: QueueClient, values: Partial<QueueSASSignatureValues> = {}): string {
  const usual = { permissions: QueueSASPermissions.parse('raup'), expiresOn: inSeconds(60) };
  return generateQueueSASQueryParameters({ queueName: name, ...usual, ...values }, key, SECOND_ACCOUNT.name).toString();
}

describe('the official client with a bearer token', { skip: missingTool('openssl') }, () => {
  let endpoint: string;
  let options: StoragePipelineOptions;
  let owner: QueueServiceClient;

  before(async () => {
    const { server, ca } = await startOverTls();
    endpoint = `https://localhost:${new URL(server.origins.queue).port}/${SECOND_ACCOUNT.name}`;
    options = { ...QUEUE_CLIENT_OPTIONS, tlsOptions: { ca } } as StoragePipelineOptions;
    owner = new QueueServiceClient(
      endpoint,
      new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key),
      options,
    );
  });

  /** One of its own, of the account's owner. */
  async function freshQueue(): Promise<QueueClient> {
    const queue = owner.getQueueClient(`test-${randomUUID()}`);
    await queue.create();
    return queue;
  }

  const withToken = (token: string): QueueServiceClient =>
    new QueueServiceClient(endpoint, credentialOf(token), options);
  const as = async (...roles: string[]): Promise<QueueServiceClient> => withToken(await issuer.sign({ roles }));
  const guestIn = async (roles: readonly string[], { name }: QueueClient): Promise<Guest> => {
    const service = await as(...roles);
    const credential = credentialOf(await issuer.sign({ roles }));
    const secondary = new QueueServiceClient(`${endpoint}-secondary`, credential, options);
    return { service, secondary, queue: service.getQueueClient(name) };
  };

  for (const roles of [
    [CONTRIBUTOR],
    [READER],
    [PROCESSOR],
    [SENDER],
    [DELEGATOR],
    [SENDER, PROCESSOR],
    [READER, SENDER],
    [DELEGATOR, READER],
    ['storagequeuedatamessagesender'],
    ['Storage Blob Data Owner', 'Storage Table Data Contributor'],
    ['Reader'],
    [],
  ]) {
    test(`does what is open to ${roles.join(' and ') || 'no role'}, and nothing else`, async () => {
      const queue = await freshQueue();
      const has = roles.map(plain);
      await assertOutcomes(await guestIn(roles, queue), queue, ({ byRoles }) =>
        byRoles.some((role) => has.includes(plain(role))) ? 'ok' : NOT_PERMITTED,
      );
    });
  }

  test('is let in by a token for storage, for the account’s queues or for this server’s', async () => {
    const { name } = await freshQueue();
    const { port } = new URL(endpoint);
    for (const [aud, want] of [
      ['https://storage.azure.com', 'ok'],
      ['https://storage.azure.com/', 'ok'],
      [`https://${SECOND_ACCOUNT.name}.queue.core.windows.net`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.queue.core.windows.net/`, 'ok'],
      [`https://127.0.0.1:${port}/${SECOND_ACCOUNT.name}`, 'ok'],
      [`https://${SECOND_ACCOUNT.name}.blob.core.windows.net`, '401 InvalidAuthenticationInfo'],
      ['https://other.queue.core.windows.net', '401 InvalidAuthenticationInfo'],
      ['https://vault.azure.net', '401 InvalidAuthenticationInfo'],
    ] as const) {
      const queue = withToken(await issuer.sign({ roles: [READER], aud })).getQueueClient(name);
      assert.equal(await outcome(queue.peekMessages()), want, aud);
    }
  });

  const keyFor = async (...roles: string[]): Promise<UserDelegationKey> =>
    (await as(...roles)).getUserDelegationKey(inSeconds(-60), inSeconds(3600));

  const guestBy = (token: string, { name }: QueueClient): Guest => {
    const service = new QueueServiceClient(`${endpoint}?${token}`, undefined, options);
    const secondary = new QueueServiceClient(`${endpoint}-secondary?${token}`, undefined, options);
    return { service, secondary, queue: service.getQueueClient(name) };
  };

  describe('for a user delegation key', () => {
    test('gets one for queues that says who has it', async () => {
      const key = await keyFor(DELEGATOR);
      assert.deepEqual([key.signedObjectId, key.signedTenantId, key.signedService], [USER, TENANT, 'q']);
      assert.equal(key.signedExpiresOn.getTime(), Math.floor(inSeconds(3600).getTime() / 1000) * 1000);
      assert.equal(Buffer.from(key.value, 'base64').length, 32);
    });

    test('gets none in another role, nor with the key of the account', async () => {
      for (const role of [
        CONTRIBUTOR,
        READER,
        PROCESSOR,
        SENDER,
        'Storage Blob Delegator',
        'Storage Table Delegator',
      ]) {
        assert.equal(await refusal(keyFor(role)), NOT_PERMITTED, role);
      }
      assert.equal(await refusal(owner.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
    });

    for (const roles of [[CONTRIBUTOR], [READER], [PROCESSOR], [SENDER], [SENDER, PROCESSOR], []]) {
      test(`makes tokens that are worth what a delegator has who is ${roles.join(' and ') || 'nothing else'}`, async () => {
        const queue = await freshQueue();
        const token = tokenOf(await keyFor(DELEGATOR, ...roles), queue);
        const wanted = bySas(({ byRoles }) => byRoles.some((role) => roles.includes(role)));
        await assertOutcomes(guestBy(token, queue), queue, wanted);
      });
    }

    for (const letters of ['r', 'a', 'u', 'p']) {
      test(`makes tokens with ${letters} that open what that letter stands for`, async () => {
        const queue = await freshQueue();
        const permissions = QueueSASPermissions.parse(letters);
        const token = tokenOf(await keyFor(DELEGATOR, CONTRIBUTOR), queue, { permissions });
        const wanted = bySas(({ bySas }) => bySas.includes(letters));
        await assertOutcomes(guestBy(token, queue), queue, wanted);
      });
    }

    test('makes tokens that are for one queue, and cannot be touched', async () => {
      const [queue, other] = [await freshQueue(), await freshQueue()];
      const token = tokenOf(await keyFor(DELEGATOR, CONTRIBUTOR), queue, {
        permissions: QueueSASPermissions.parse('r'),
      });
      assert.equal(await outcome(guestBy(token, queue).queue.peekMessages()), 'ok');
      assert.equal(await refusal(guestBy(token, other).queue.peekMessages()), NOT_AUTHENTIC);
      for (const [name, value] of [
        ['sp', 'raup'],
        ['se', inSeconds(600).toISOString()],
        ['skoid', 'somebody'],
        ['ske', inSeconds(7200).toISOString()],
        ['sig', Buffer.alloc(32).toString('base64')],
      ] as const) {
        const touched = new URLSearchParams(token);
        touched.set(name, value);
        assert.equal(await refusal(guestBy(touched.toString(), queue).queue.peekMessages()), NOT_AUTHENTIC, name);
      }
    });

    test('makes tokens for one user, who shows a token too', async () => {
      const queue = await freshQueue();
      const token = tokenOf(await keyFor(DELEGATOR, READER), queue, { delegatedUserObjectId: 'guest' });
      const peekAs = async (oid: string): Promise<string> => {
        const credential = credentialOf(await issuer.sign({ oid }));
        const service = new QueueServiceClient(`${endpoint}?${token}`, credential, options);
        return outcome(service.getQueueClient(queue.name).peekMessages());
      };
      assert.equal(await peekAs('guest'), 'ok');
      assert.equal(await peekAs('another'), NOT_AUTHENTIC);
      assert.equal(await outcome(guestBy(token, queue).queue.peekMessages()), NOT_AUTHENTIC);
    });

    test('makes tokens that end', async () => {
      const queue = await freshQueue();
      const { queue: guest } = guestBy(tokenOf(await keyFor(DELEGATOR, READER), queue), queue);
      assert.equal(await outcome(guest.peekMessages()), 'ok');
      clock.advance({ seconds: 61 });
      assert.equal(await outcome(guest.peekMessages()), NOT_AUTHENTIC);
    });
  });
});

const CHALLENGE = `Bearer authorization_uri=${issuer.url}/oauth2/authorize resource_id=https://storage.azure.com`;

describe('a request by hand', () => {
  let server: RunningServer;
  before(async () => {
    server = await startWith({ oauth: OAUTH });
  });

  interface Asked {
    readonly method?: string;
    readonly path?: string;
    readonly body?: string;
    readonly version?: string;
  }
  const ask = (
    token: string | null,
    { method = 'GET', path = '/?comp=list', version = VERSION, ...rest }: Asked = {},
  ) =>
    sendQueue(server.origins.queue, {
      method,
      path,
      account: null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: { 'x-ms-version': version, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      ...rest,
    });

  test('is served over plain HTTP on the same machine', async () => {
    const { status, body } = await ask(await issuer.sign({ roles: [READER] }));
    assert.equal(status, 200);
    assert.match(body.toString(), /<EnumerationResults /);
  });

  test('with a token that is not good is told where good ones come from', async () => {
    for (const token of [
      await issuer.sign({ exp: 1 }),
      await issuer.sign({ aud: 'https://vault.azure.net' }),
      await issuer.sign({ iss: 'https://other' }),
      'token',
    ]) {
      const refused = await ask(token);
      assertRefused(refused, '401 InvalidAuthenticationInfo');
      assert.equal(refused.headers['www-authenticate'], CHALLENGE);
      for (const part of token.split('.').slice(1)) assert.ok(!refused.body.toString().includes(part));
    }
  });

  test('without credentials is told the same, or that there is nothing where it speaks an old version', async () => {
    const refused = await ask(null);
    assertRefused(refused, '401 NoAuthenticationInformation');
    assert.equal(refused.headers['www-authenticate'], CHALLENGE);
    assertRefused(await ask(null, { version: '2019-10-10' }), '404 ResourceNotFound');
  });

  test('of a version before there were bearer tokens is refused', async () => {
    const token = await issuer.sign({ roles: [READER] });
    assert.equal((await ask(token, { version: '2017-11-09' })).status, 200);
    assertRefused(await ask(token, { version: '2017-07-29' }), NOT_AUTHENTIC);
  });

  test('gets a user delegation key since 2025-07-05', async () => {
    const token = await issuer.sign({ roles: [DELEGATOR] });
    const asked = {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      body: `<KeyInfo><Expiry>${inSeconds(3600).toISOString()}</Expiry></KeyInfo>`,
    };
    const { status, headers, body } = await ask(token, asked);
    assert.deepEqual([status, headers['content-type']], [200, 'application/xml']);
    assert.match(
      body.toString(),
      new RegExp(`<SignedService>q</SignedService><SignedVersion>${VERSION}</SignedVersion><Value>[^<]{44}</Value>`),
    );
    assertRefused(await ask(token, { ...asked, version: '2025-05-05' }), '400 InvalidQueryParameterValue');
  });
});

test('larimar serve gives tokens without a role what it was told to', async (t) => {
  const ports = ['--blob-port=0', '--queue-port=0', '--table-port=0', '--admin-port=off'];
  const oauth = ['--oauth-issuer', issuer.url, '--oauth-default-role', READER];
  const command = new Command(['serve', ...ports, '--memory', '--log=json', ...oauth]);
  t.after(() => command.stop());
  const [, url = ''] = await command.printed(/"service":"queue","url":"([^"]+)"/);
  const headers = { authorization: `Bearer ${await issuer.sign()}` };
  assert.equal((await sendQueue(url, { method: 'GET', path: '/?comp=list', account: null, headers })).status, 200);
  const created = await sendQueue(url, { method: 'PUT', path: '/letters', account: null, headers });
  assert.equal(created.outcome, NOT_PERMITTED);
});
