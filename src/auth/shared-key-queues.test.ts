/** Shared Key as clients of queues sign it: the SDK's requests taken off its pipeline, and those of versions of old. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type QueueClient, QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import {
  ACCOUNT,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
  type WireRequest,
} from '../../test/vectors/signed-requests.ts';
import { StorageError } from '../service/storage-error.ts';
import { type SharedKeyScheme, stringsToSign, verifySharedKey } from './shared-key.ts';
import { sign } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';

const DATE = 'Thu, 02 Jan 2025 00:00:00 GMT';

/** `accepted`, or the code of the refusal. */
function judge(
  request: SignedRequest,
  { scheme = 'SharedKey', signature }: { scheme?: SharedKeyScheme; signature: string },
  { account = ACCOUNT, nowMs = Date.parse(DATE) } = {},
): string {
  try {
    verifySharedKey(request, account, { scheme, signature, nowMs });
    return 'accepted';
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}

interface QueueClients {
  readonly service: QueueServiceClient;
  readonly queue: QueueClient;
}

/** What the SDK would send for this call. */
async function capture(
  call: (clients: QueueClients) => Promise<unknown>,
  { endpoint, key }: { endpoint: string; key: Buffer },
): Promise<WireRequest> {
  let captured: WireRequest | null = null;
  const signer = new StorageSharedKeyCredential(ACCOUNT.name, key.toString('base64'));
  const service = new QueueServiceClient(endpoint, signer, {
    retryOptions: { maxTries: 1 },
    httpClient: {
      sendRequest: ({ method, url, headers }) => {
        captured ??= { method, url, headers: headers.headersArray().map(({ name, value }) => [name, value]) };
        return Promise.reject(new Error('captured'));
      },
    },
  });
  await call({ service, queue: service.getQueueClient('letters') }).catch(() => undefined);
  if (captured === null) throw new Error('The call sent nothing');
  return { ...(captured as WireRequest), service: 'q' };
}

/** Every character that has a meaning in a query. */
const ODD = "o'b +&%25 ü(1)文==";

const SDK_CALLS: Readonly<Record<string, (clients: QueueClients) => Promise<unknown>>> = {
  'a list of queues': ({ service }) => service.listQueues({ prefix: ODD, includeMetadata: true }).next(),
  'the service properties': ({ service }) => service.getProperties(),
  'setting them': ({ service }) => service.setProperties({ cors: [] }),
  'the statistics': ({ service }) => service.getStatistics(),
  'the creation of a queue': ({ queue }) => queue.create({ metadata: { b: '2', a_b: '', a: ' x  y' } }),
  'its deletion': ({ queue }) => queue.delete(),
  'its metadata': ({ queue }) => queue.getProperties(),
  'setting them to none': ({ queue }) => queue.setMetadata(),
  'its access policies': ({ queue }) => queue.getAccessPolicy(),
  'setting those': ({ queue }) => queue.setAccessPolicy([{ id: 'i', accessPolicy: { permissions: 'r' } }]),
  'a new message': ({ queue }) => queue.sendMessage(ODD, { visibilityTimeout: 1, messageTimeToLive: -1 }),
  'getting messages': ({ queue }) => queue.receiveMessages({ numberOfMessages: 2, visibilityTimeout: 5 }),
  'peeking at them': ({ queue }) => queue.peekMessages(),
  'an update with a text': ({ queue }) => queue.updateMessage('an-id', ODD, ODD, 5),
  'an update without': ({ queue }) => queue.updateMessage('an-id', ODD),
  'the deletion of a message': ({ queue }) => queue.deleteMessage('an-id', ODD),
  'clearing the queue': ({ queue }) => queue.clearMessages(),
};

const SDK_TARGETS: Readonly<Record<string, { endpoint: string; key: Buffer }>> = {
  'path-style': { endpoint: PATH_STYLE, key: FIRST_KEY },
  'host-style, by the second key': { endpoint: HOST_STYLE, key: SECOND_KEY },
  'path-style, at the secondary': { endpoint: `${PATH_STYLE}-secondary`, key: FIRST_KEY },
};

for (const [what, call] of Object.entries(SDK_CALLS)) {
  for (const [how, target] of Object.entries(SDK_TARGETS)) {
    test(`the SDK signs ${what} (${how}) as the service wants it`, async () => {
      const request = signedRequest(await capture(call, target));
      const nowMs = Date.parse(request.header('x-ms-date') ?? '');
      const [scheme, signature = ''] = (request.header('authorization') ?? '').split(` ${ACCOUNT.name}:`);
      assert.equal(scheme, 'SharedKey');
      assert.equal(judge(request, { signature }, { nowMs }), 'accepted');
      const stranger = { ...ACCOUNT, keys: [Buffer.from('another key')] };
      assert.equal(judge(request, { signature }, { nowMs, account: stranger }), 'AuthenticationFailed');
      const elsewhere = { ...request, target: { ...request.target, rawPath: `${request.target.rawPath}x` } };
      assert.equal(judge(elsewhere, { signature }, { nowMs }), 'AuthenticationFailed');
    });
  }
}

/** An Update Message without a text, and with a header that is empty. */
const update = (version: string): SignedRequest => ({
  ...signedRequest({
    method: 'PUT',
    url: `${PATH_STYLE}/letters/messages/an-id?popreceipt=a%2Bb&visibilitytimeout=30`,
    service: 'q',
    headers: [
      ['content-length', '0'],
      ['x-ms-date', DATE],
      ['x-ms-client-request-id', ''],
      ['x-ms-version', version],
    ],
  }),
  version,
});

const PATH = '/larimartest/larimartest/letters/messages/an-id';
const FULL_RESOURCE = `${PATH}\npopreceipt:a+b\nvisibilitytimeout:30`;
const EMPTY_ID = 'x-ms-client-request-id:\n';
const dated = (version: string): string => `x-ms-date:${DATE}\nx-ms-version:${version}\n`;

/** The length of an empty body and empty headers came into the string, and out of it, with the versions. */
for (const [version, scheme, text] of [
  ['2009-07-17', 'SharedKey', `PUT\n\n\n\n${dated('2009-07-17')}${PATH}`],
  ['2009-09-19', 'SharedKey', `PUT\n\n\n0\n\n\n\n\n\n\n\n\n${dated('2009-09-19')}${FULL_RESOURCE}`],
  ['2014-02-14', 'SharedKey', `PUT\n\n\n0\n\n\n\n\n\n\n\n\n${dated('2014-02-14')}${FULL_RESOURCE}`],
  ['2015-02-21', 'SharedKey', `PUT\n\n\n\n\n\n\n\n\n\n\n\n${dated('2015-02-21')}${FULL_RESOURCE}`],
  ['2015-12-11', 'SharedKey', `PUT\n\n\n\n\n\n\n\n\n\n\n\n${dated('2015-12-11')}${FULL_RESOURCE}`],
  ['2016-05-31', 'SharedKey', `PUT\n\n\n\n\n\n\n\n\n\n\n\n${EMPTY_ID}${dated('2016-05-31')}${FULL_RESOURCE}`],
  ['2024-11-04', 'SharedKey', `PUT\n\n\n\n\n\n\n\n\n\n\n\n${EMPTY_ID}${dated('2024-11-04')}${FULL_RESOURCE}`],
  ['2014-02-14', 'SharedKeyLite', `PUT\n\n\n\n${dated('2014-02-14')}${PATH}`],
  ['2024-11-04', 'SharedKeyLite', `PUT\n\n\n\n${EMPTY_ID}${dated('2024-11-04')}${PATH}`],
] as const) {
  test(`${scheme} of ${version} signs an update of a message by the lines of its time`, () => {
    const [usual] = stringsToSign(update(version), scheme);
    assert.equal(usual, text);
    assert.equal(judge(update(version), { scheme, signature: sign(FIRST_KEY, text) }), 'accepted');
  });
}
