/** What is particular to queues in shared access signatures; what they share with other services is in test/services. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import type { QueueClient } from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, sendQueue } from '../harness/queue-http.ts';
import { NEVER, NOT_AUTHENTIC, NOT_PERMITTED } from '../services/credentials.ts';
import { connect, QUEUES } from './credentials.ts';

const server = await startInProcess();

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const tokenFor = ({ name }: QueueClient, letters: string): string =>
  QUEUES.makeSas(DEVELOPMENT_ACCOUNT, name, letters, { expiresOn: inSeconds(60) });

const guestWith = (sas: string) => ({ endpoint: server.queueEndpoint(), sas });

/** A client that has nothing but the token. */
const guestOf = ({ name }: QueueClient, token: string): QueueClient => connect(guestWith(token)).getQueueClient(name);

describe('a token for a queue', () => {
  test('reads metadata and the count of messages also by HEAD, and no access policies', async () => {
    const queue = await freshQueue(server);
    const token = tokenFor(queue, 'r');
    const ask = (comp: string, by = token) =>
      sendQueue(server.queueUrl, { method: 'HEAD', path: `/${queue.name}?comp=${comp}&${by}`, account: null });
    assert.equal((await ask('metadata')).headers['x-ms-approximate-messages-count'], '0');
    assert.equal((await ask('metadata', tokenFor(queue, 'aup'))).outcome, NOT_PERMITTED);
    assert.equal((await ask('acl')).outcome, NEVER);
  });

  test('lets messages be taken, given back and deleted by whoever knows their receipt', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('work');
    const worker = guestOf(queue, tokenFor(queue, 'up'));
    const [taken] = (await worker.receiveMessages()).receivedMessageItems;
    assert.ok(taken);
    const { popReceipt = '' } = await worker.updateMessage(taken.messageId, taken.popReceipt, 'half done', 0);
    assert.equal(await refusal(worker.deleteMessage(taken.messageId, taken.popReceipt)), '404 MessageNotFound');
    await worker.deleteMessage(taken.messageId, popReceipt);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
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

test('a stored policy goes with its queue: one made anew under the name has none', async () => {
  const queue = await freshQueue(server);
  await queue.setAccessPolicy([{ id: 'guests', accessPolicy: { permissions: 'r', expiresOn: inSeconds(60) } }]);
  const guest = guestOf(queue, QUEUES.makeSas(DEVELOPMENT_ACCOUNT, queue.name, '', { identifier: 'guests' }));
  assert.equal(await outcome(guest.peekMessages()), 'ok');
  await queue.delete();
  await queue.create();
  assert.equal(await outcome(guest.peekMessages()), NOT_AUTHENTIC);
});

describe('a token for the account', () => {
  test('with letters that only blobs have opens nothing', async () => {
    const values = { services: 'bq', resourceTypes: 'sco', expiresOn: inSeconds(60) };
    const token = generateAccountSASQueryParameters(
      { permissions: AccountSASPermissions.parse('xytfi'), ...values },
      new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
    ).toString();
    const queue = await QUEUES.fresh({ endpoint: server.queueEndpoint(), key: DEVELOPMENT_ACCOUNT });
    await queue.assertOutcomes(guestWith(token), ({ byAccountSas }) =>
      byAccountSas.length === 0 ? NEVER : NOT_PERMITTED,
    );
  });

  test('gets no user delegation key', async () => {
    const values = { services: 'q', resourceTypes: 'sco', expiresOn: inSeconds(60) };
    const guest = connect(guestWith(QUEUES.makeAccountSas(DEVELOPMENT_ACCOUNT, 'rwdlacup', values)));
    assert.equal(await refusal(guest.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
  });
});
