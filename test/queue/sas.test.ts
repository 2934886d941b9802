/**
 * Who may do what with queues by a shared access signature, as the official client makes them: tokens for a queue and for the
 * account, letter by letter against every operation; stored policies; and what makes a token worth nothing.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions as BlobAccountPermissions,
  StorageSharedKeyCredential as BlobCredential,
  generateAccountSASQueryParameters as generateBlobAccountSas,
} from '@azure/storage-blob';
import {
  AccountSASPermissions,
  type AccountSASSignatureValues,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
  type QueueClient,
  QueueSASPermissions,
  type QueueSASSignatureValues,
  QueueServiceClient,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue, QUEUE_CLIENT_OPTIONS, queueClient } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, sendQueue } from '../harness/queue-http.ts';
import { bySas, NEVER, NOT_AUTHENTIC, NOT_PERMITTED, opens } from '../services/credentials.ts';
import { assertOutcomes, type Guest } from './operations.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const keyOf = ({ name, key }: TestAccount = DEVELOPMENT_ACCOUNT): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, key);

/** Neither letters nor an expiry where there is a policy, unless they are given. */
function tokenFor(
  { name }: Pick<QueueClient, 'name'>,
  letters: string,
  { key = keyOf(), ...values }: Partial<QueueSASSignatureValues> & { key?: StorageSharedKeyCredential } = {},
): string {
  const permissions = letters === '' ? {} : { permissions: QueueSASPermissions.parse(letters) };
  const expiry = values.identifier === undefined ? { expiresOn: inSeconds(60) } : {};
  return generateQueueSASQueryParameters({ queueName: name, ...permissions, ...expiry, ...values }, key).toString();
}

/** Clients that have nothing but the token. */
function guestOf({ name }: Pick<QueueClient, 'name'>, token: string, account = DEVELOPMENT_ACCOUNT): Guest {
  const at = (endpoint: string) =>
    new QueueServiceClient(`${endpoint}${token === '' ? '' : `?${token}`}`, undefined, QUEUE_CLIENT_OPTIONS);
  const endpoint = server.queueEndpoint(account);
  const service = at(endpoint);
  return { service, secondary: at(`${endpoint}-secondary`), queue: service.getQueueClient(name) };
}

describe('a token for a queue', () => {
  const letterSets = Array.from({ length: 15 }, (_, index) =>
    'raup'
      .split('')
      .filter((_letter, place) => ((index + 1) & (1 << place)) !== 0)
      .join(''),
  );
  for (const letters of letterSets) {
    test(`with ${letters} opens what those letters stand for and nothing else`, async () => {
      const queue = await freshQueue(server);
      const wanted = bySas(({ bySas }) => opens(letters, bySas));
      await assertOutcomes(guestOf(queue, tokenFor(queue, letters)), queue, wanted);
    });
  }

  test('is for its queue and for no other', async () => {
    const [queue, other] = [await freshQueue(server), await freshQueue(server)];
    const guest = guestOf(other, tokenFor(queue, 'raup'));
    const messageCount = await assertOutcomes(guest, other, () => NOT_AUTHENTIC);
    assert.equal((await other.getProperties()).approximateMessagesCount, messageCount);
  });

  test('is for its account', async () => {
    const queue = await freshQueue(server);
    const token = tokenFor(queue, 'raup', { key: keyOf(SECOND_ACCOUNT) });
    assert.equal(await refusal(guestOf(queue, token).queue.peekMessages()), NOT_AUTHENTIC);
    const there = queueClient(server, queue.name, SECOND_ACCOUNT);
    await there.create();
    assert.equal(await outcome(guestOf(queue, token, SECOND_ACCOUNT).queue.peekMessages()), 'ok');
  });

  test('reads metadata and the count of messages also by HEAD, and no access policies', async () => {
    const queue = await freshQueue(server);
    const token = tokenFor(queue, 'r');
    const ask = (comp: string, by = token) =>
      sendQueue(server.queueUrl, { method: 'HEAD', path: `/${queue.name}?comp=${comp}&${by}`, account: null });
    assert.equal((await ask('metadata')).headers['x-ms-approximate-messages-count'], '0');
    assert.equal((await ask('metadata', tokenFor(queue, 'aup'))).outcome, NOT_PERMITTED);
    assert.equal((await ask('acl')).outcome, NEVER);
  });

  test('begins and ends to the second, by the server’s clock', async () => {
    const queue = await freshQueue(server);
    const times = { startsOn: inSeconds(20), expiresOn: inSeconds(40) };
    const { queue: guest } = guestOf(queue, tokenFor(queue, 'raup', times));
    assert.equal(await outcome(guest.sendMessage('x')), NOT_AUTHENTIC, 'not yet');
    server.clock.advance({ seconds: 21 });
    assert.equal(await outcome(guest.sendMessage('x')), 'ok');
    server.clock.advance({ seconds: 20 });
    assert.equal(await outcome(guest.sendMessage('x')), NOT_AUTHENTIC, 'no more');
  });

  test('that is touched in any part fails', async () => {
    const queue = await freshQueue(server);
    const token = tokenFor(queue, 'r', { startsOn: inSeconds(-60), protocol: SASProtocol.HttpsAndHttp });
    assert.equal(await outcome(guestOf(queue, token).queue.peekMessages()), 'ok');
    for (const [name, value] of [
      ['sp', 'raup'],
      ['st', inSeconds(-600).toISOString()],
      ['se', inSeconds(600).toISOString()],
      ['sv', '2020-12-06'],
      ['spr', 'https'],
      ['sip', '127.0.0.1'],
      ['si', 'policy'],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      assert.equal(await refusal(guestOf(queue, touched.toString()).queue.peekMessages()), NOT_AUTHENTIC, name);
    }
    const doubled = `${token}&sp=raup`;
    assert.equal(await refusal(guestOf(queue, doubled).queue.clearMessages()), NOT_AUTHENTIC, 'sp twice');
  });

  test('that wants https is refused over http, and one for other addresses is refused from here', async () => {
    const queue = await freshQueue(server);
    for (const [values, want] of [
      [{ protocol: SASProtocol.Https }, '403 AuthorizationProtocolMismatch'],
      [{ protocol: SASProtocol.HttpsAndHttp }, 'ok'],
      [{ ipRange: { start: '10.0.0.1', end: '10.0.0.9' } }, '403 AuthorizationSourceIPMismatch'],
      [{ ipRange: { start: '127.0.0.1' } }, 'ok'],
    ] as const) {
      const { queue: guest } = guestOf(queue, tokenFor(queue, 'r', values));
      assert.equal(await outcome(guest.peekMessages()), want, JSON.stringify(values));
    }
  });

  test('lets messages be taken, given back and deleted by whoever knows their receipt', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('work');
    const { queue: worker } = guestOf(queue, tokenFor(queue, 'up'));
    const [taken] = (await worker.receiveMessages()).receivedMessageItems;
    assert.ok(taken);
    const { popReceipt = '' } = await worker.updateMessage(taken.messageId, taken.popReceipt, 'half done', 0);
    assert.equal(await refusal(worker.deleteMessage(taken.messageId, taken.popReceipt)), '404 MessageNotFound');
    await worker.deleteMessage(taken.messageId, popReceipt);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  });

  test('does not tell whether a queue is there that it does not open', async () => {
    const queue = await freshQueue(server);
    const token = tokenFor(queue, 'raup');
    const { queue: nowhere } = guestOf({ name: `${queue.name}-x` }, token);
    assert.equal(await refusal(nowhere.peekMessages()), NOT_AUTHENTIC);
    const { queue: gone } = guestOf({ name: `${queue.name}-x` }, tokenFor({ name: `${queue.name}-x` }, 'raup'));
    assert.equal(await refusal(gone.peekMessages()), '404 QueueNotFound', 'its own queue');
  });

  test('refused is told so in XML, before the body is looked at', async () => {
    const queue = await freshQueue(server);
    const post = (token: string, body: string) =>
      sendQueue(server.queueUrl, {
        method: 'POST',
        path: messagesPath(queue.name, {}) + `?${token}`,
        account: null,
        body,
      });
    assertRefused(await post(tokenFor(queue, 'rup'), '<no XML'), NOT_PERMITTED);
    assertRefused(await post(tokenFor(queue, 'a').replace('sp=a', 'sp=raup'), '<no XML'), NOT_AUTHENTIC);
    assert.equal((await post(tokenFor(queue, 'a'), messageOf('text'))).status, 201);
  });
});

const POLICY = 'guests';
const policy = (permissions: string, expiresOn = inSeconds(60)) => [
  { id: POLICY, accessPolicy: { permissions, expiresOn } },
];

describe('a stored policy', () => {
  test('says what its tokens may, and the very next request goes by what it says now', async () => {
    const queue = await freshQueue(server);
    const { queue: guest } = guestOf(queue, tokenFor(queue, '', { identifier: POLICY }));
    const both = async (): Promise<string[]> => [
      await outcome(guest.sendMessage('x')),
      await outcome(guest.peekMessages()),
    ];
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'no policy yet');
    await queue.setAccessPolicy(policy('a'));
    assert.deepEqual(await both(), ['ok', NOT_PERMITTED], 'may write');
    await queue.setAccessPolicy(policy('r'));
    assert.deepEqual(await both(), [NOT_PERMITTED, 'ok'], 'may read');
    await queue.setAccessPolicy(policy('raup', inSeconds(-1)));
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'ended');
    await queue.setAccessPolicy(policy('raup'));
    assert.deepEqual(await both(), ['ok', 'ok'], 'may all');
    await queue.setAccessPolicy(policy('raup').map((one) => ({ ...one, id: 'others' })));
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'under another name');
    await queue.setAccessPolicy([]);
    assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'revoked');
  });

  for (const letters of ['r', 'a', 'u', 'p']) {
    test(`with ${letters} opens what a token with ${letters} does`, async () => {
      const queue = await freshQueue(server);
      await queue.setAccessPolicy(policy(letters));
      const guest = guestOf(queue, tokenFor(queue, '', { identifier: POLICY }));
      await assertOutcomes(
        guest,
        queue,
        bySas(({ bySas }) => opens(letters, bySas)),
      );
    });
  }

  test('is that of the token’s queue', async () => {
    const [queue, other] = [await freshQueue(server), await freshQueue(server)];
    await other.setAccessPolicy(policy('raup'));
    const token = tokenFor(queue, '', { identifier: POLICY });
    for (const { name } of [queue, other]) {
      assert.equal(await outcome(guestOf({ name }, token).queue.peekMessages()), NOT_AUTHENTIC);
    }
  });

  test('and token together say everything once', async () => {
    const queue = await freshQueue(server);
    await queue.setAccessPolicy([{ id: POLICY, accessPolicy: { permissions: 'r' } }]);
    const uses = (letters: string, values: Partial<QueueSASSignatureValues> = {}): Promise<string> =>
      outcome(guestOf(queue, tokenFor(queue, letters, { identifier: POLICY, ...values })).queue.peekMessages());
    assert.equal(await uses(''), NOT_AUTHENTIC, 'nobody says when it ends');
    assert.equal(await uses('', { expiresOn: inSeconds(60) }), 'ok');
    assert.equal(await uses('r', { expiresOn: inSeconds(60) }), NOT_AUTHENTIC, 'twice');
    assert.equal(await uses('', { expiresOn: inSeconds(60), identifier: 'others' }), NOT_AUTHENTIC, 'no such policy');
  });

  test('goes with its queue: one made anew under the name has none', async () => {
    const queue = await freshQueue(server);
    await queue.setAccessPolicy(policy('r'));
    const { queue: guest } = guestOf(queue, tokenFor(queue, '', { identifier: POLICY }));
    assert.equal(await outcome(guest.peekMessages()), 'ok');
    await queue.delete();
    await queue.create();
    assert.equal(await outcome(guest.peekMessages()), NOT_AUTHENTIC);
  });
});

const LETTERS = 'rwdlacup';
const accountToken = (
  letters: string,
  { key = keyOf(), ...values }: Partial<AccountSASSignatureValues> & { key?: StorageSharedKeyCredential } = {},
): string =>
  generateAccountSASQueryParameters(
    {
      permissions: AccountSASPermissions.parse(letters),
      services: 'q',
      resourceTypes: 'sco',
      expiresOn: inSeconds(60),
      ...values,
    },
    key,
  ).toString();

describe('a token for the account', () => {
  for (const letters of [...LETTERS.split(''), LETTERS]) {
    for (const resourceTypes of ['s', 'c', 'o', 'sco']) {
      test(`with ${letters} for ${resourceTypes} opens what both stand for`, async () => {
        const queue = await freshQueue(server);
        const guest = guestOf(queue, accountToken(letters, { resourceTypes }));
        await assertOutcomes(guest, queue, ({ type, byAccountSas }) => {
          if (byAccountSas.length === 0) return NEVER;
          if (!resourceTypes.includes(type)) return '403 AuthorizationResourceTypeMismatch';
          return opens(letters, byAccountSas) ? 'ok' : NOT_PERMITTED;
        });
      });
    }
  }

  test('with letters that only blobs have opens nothing', async () => {
    const queue = await freshQueue(server);
    const token = generateBlobAccountSas(
      {
        permissions: BlobAccountPermissions.parse('xytfi'),
        services: 'bq',
        resourceTypes: 'sco',
        expiresOn: inSeconds(60),
      },
      new BlobCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
    ).toString();
    await assertOutcomes(guestOf(queue, token), queue, ({ byAccountSas }) =>
      byAccountSas.length === 0 ? NEVER : NOT_PERMITTED,
    );
  });

  test('of other services opens nothing here, and changes nothing', async () => {
    const queue = await freshQueue(server);
    await queue.setMetadata({ by: 'owner' });
    await queue.setAccessPolicy(policy('r'));
    let messageCount = 0;
    for (const services of ['b', 'btf']) {
      const guest = guestOf(queue, accountToken(LETTERS, { services }));
      messageCount += await assertOutcomes(guest, queue, () => '403 AuthorizationServiceMismatch');
    }
    const { metadata, approximateMessagesCount } = await queue.getProperties();
    assert.deepEqual(metadata, { by: 'owner' });
    assert.equal(approximateMessagesCount, messageCount);
    assert.equal((await queue.getAccessPolicy()).signedIdentifiers.length, 1);
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    assert.equal(peekedMessageItems.length, messageCount);
    for (const { messageText, dequeueCount } of peekedMessageItems) {
      assert.deepEqual([messageText, dequeueCount], ['of the owner', 0]);
    }
  });

  test('among several services opens queues as well', async () => {
    const queue = await freshQueue(server);
    const { queue: guest } = guestOf(queue, accountToken('a', { services: 'bqtf', resourceTypes: 'o' }));
    assert.equal(await outcome(guest.sendMessage('x')), 'ok');
  });

  test('gets no user delegation key', async () => {
    const { service } = guestOf(await freshQueue(server), accountToken(LETTERS));
    assert.equal(await refusal(service.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
  });

  test('of another account opens nothing here, and its own there', async () => {
    const queue = await freshQueue(server);
    await queueClient(server, queue.name, SECOND_ACCOUNT).create();
    const token = accountToken('r', { key: keyOf(SECOND_ACCOUNT) });
    assert.equal(await outcome(guestOf(queue, token).queue.peekMessages()), NOT_AUTHENTIC);
    assert.equal(await outcome(guestOf(queue, token, SECOND_ACCOUNT).queue.peekMessages()), 'ok');
  });

  for (const [what, values, want] of [
    ['not yet good', () => ({ startsOn: inSeconds(10) }), NOT_AUTHENTIC],
    ['at its end', () => ({ expiresOn: inSeconds(0) }), NOT_AUTHENTIC],
    ['for https', () => ({ protocol: SASProtocol.Https }), '403 AuthorizationProtocolMismatch'],
    ['for other addresses', () => ({ ipRange: { start: '10.0.0.1' } }), '403 AuthorizationSourceIPMismatch'],
    ['for this address', () => ({ ipRange: { start: '127.0.0.1', end: '127.0.0.9' } }), 'ok'],
  ] as const) {
    test(`${what} gets ${want}`, async () => {
      const queue = await freshQueue(server);
      assert.equal(await outcome(guestOf(queue, accountToken('r', values())).queue.peekMessages()), want);
    });
  }

  test('that is touched in any part fails', async () => {
    const queue = await freshQueue(server);
    const token = accountToken('r', { resourceTypes: 'o' });
    for (const [name, value] of [
      ['sp', 'rp'],
      ['ss', 'bq'],
      ['srt', 'co'],
      ['se', inSeconds(600).toISOString()],
      ['sv', '2019-02-02'],
      ['sip', '127.0.0.1'],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      assert.equal(await refusal(guestOf(queue, touched.toString()).queue.peekMessages()), NOT_AUTHENTIC, name);
    }
  });
});

test('nobody is let in without a credential, to anything', async () => {
  const queue = await freshQueue(server);
  await queue.setAccessPolicy(policy('raup'));
  const messageCount = await assertOutcomes(guestOf(queue, ''), queue, () => '401 NoAuthenticationInformation');
  assert.equal((await queue.getProperties()).approximateMessagesCount, messageCount);
});
