/** The Queue service as tests of credentials see it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  AccountSASPermissions,
  type AccountSASSignatureValues,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
  type QueueClient,
  QueueSASPermissions,
  type QueueSASSignatureValues,
  QueueServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import type { TestAccount } from '../harness/accounts.ts';
import { outcome } from '../harness/clients.ts';
import { credentialOf } from '../harness/oauth-servers.ts';
import { QUEUE_CLIENT_OPTIONS } from '../harness/queue-clients.ts';
import type { Access, CredentialService, DelegationPeriod, Resource, UserDelegation } from '../services/credentials.ts';
import { assertOutcomes } from './operations.ts';

const keyOf = ({ name, key }: TestAccount): StorageSharedKeyCredential => new StorageSharedKeyCredential(name, key);

export function connect({ endpoint, key, bearer, sas, ca }: Access): QueueServiceClient {
  const options = { ...QUEUE_CLIENT_OPTIONS, ...(ca === undefined ? {} : { tlsOptions: { ca } }) };
  const url = sas === undefined ? endpoint : `${endpoint}?${sas}`;
  if (key !== undefined) {
    return new QueueServiceClient(url, keyOf(key), options);
  }
  const credential = bearer === undefined ? undefined : credentialOf(bearer);
  return new QueueServiceClient(url, credential, options);
}

const queueOf = (guest: Access, name: string): QueueClient => connect(guest).getQueueClient(name);

/** With a message in it. */
async function fresh(owner: Access, name = `test-${randomUUID()}`): Promise<Resource> {
  const queue = queueOf(owner, name);
  await queue.create();
  await queue.sendMessage('of the owner');
  let messageCount = 1;
  let policyCount = 0;
  return {
    name,
    async assertOutcomes(guest, wanted) {
      const service = connect(guest);
      const secondary = connect({ ...guest, endpoint: `${guest.endpoint}-secondary` });
      messageCount += await assertOutcomes({ service, secondary, queue: service.getQueueClient(name) }, queue, wanted);
    },
    async assertUntouched() {
      const { metadata, approximateMessagesCount } = await queue.getProperties();
      assert.deepEqual([metadata, approximateMessagesCount], [{}, messageCount]);
      assert.equal((await queue.getAccessPolicy()).signedIdentifiers.length, policyCount);
      const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
      assert.equal(peekedMessageItems.length, messageCount);
      for (const { messageText, dequeueCount } of peekedMessageItems) {
        assert.deepEqual([messageText, dequeueCount], ['of the owner', 0]);
      }
    },
    async assertShown(guest) {
      const { peekedMessageItems } = await queueOf(guest, name).peekMessages();
      assert.deepEqual(
        peekedMessageItems.map(({ messageText }) => messageText),
        ['of the owner'],
      );
      assert.equal((await queueOf(guest, name).getProperties()).approximateMessagesCount, 1);
    },
    setPolicies(policies) {
      policyCount = policies.length;
      return queue.setAccessPolicy(policies.map(({ id, ...accessPolicy }) => ({ id, accessPolicy })));
    },
  };
}

export async function delegate(guest: Access, { startsOn, expiresOn }: DelegationPeriod): Promise<UserDelegation> {
  const key = await connect(guest).getUserDelegationKey(startsOn, expiresOn);
  return {
    key,
    makeSas(name, letters, values) {
      const all = { queueName: name, permissions: QueueSASPermissions.parse(letters), ...values };
      const account = new URL(guest.endpoint).pathname.slice(1);
      return generateQueueSASQueryParameters(all as QueueSASSignatureValues, key, account).toString();
    },
  };
}

export const QUEUES: CredentialService = {
  door: 'queue',
  resource: 'queue',
  fresh,
  outcome,
  notFound: '404 QueueNotFound',
  sasLetters: 'raup',
  makeSas(signer, name, letters, values) {
    const permissions = letters === '' ? {} : { permissions: QueueSASPermissions.parse(letters) };
    const all = { queueName: name, ...permissions, ...values } as QueueSASSignatureValues;
    return generateQueueSASQueryParameters(all, keyOf(signer)).toString();
  },
  sasParts: [{}],
  serviceLetter: 'q',
  accountSasLetters: [...'rwdlacup'.split(''), 'rwdlacup'],
  makeAccountSas(signer, letters, values) {
    const all = { permissions: AccountSASPermissions.parse(letters), ...values } as AccountSASSignatureValues;
    return generateAccountSASQueryParameters(all, keyOf(signer)).toString();
  },
  read: (guest, name) => queueOf(guest, name).peekMessages(),
  writeLetters: 'a',
  writes: [(guest, name) => queueOf(guest, name).sendMessage('of a guest')],
  changes: [
    (guest, name) => queueOf(guest, name).clearMessages(),
    (guest, name) => queueOf(guest, name).setMetadata({ by: 'guest' }),
    (guest, name) => queueOf(guest, name).delete(),
  ],
};
