/**
 * Every operation of the Queue service as the official client asks for it, each with whom the protocol's tables let do it:
 * by a token for the account or for the queue, and in which roles. Tests of credentials walk over all of them.
 */
import assert from 'node:assert/strict';
import type { QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { outcome } from '../harness/clients.ts';

export const CONTRIBUTOR = 'Storage Queue Data Contributor';
export const READER = 'Storage Queue Data Reader';
export const PROCESSOR = 'Storage Queue Data Message Processor';
export const SENDER = 'Storage Queue Data Message Sender';
export const DELEGATOR = 'Storage Queue Delegator';

export const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';
export const NOT_AUTHENTIC = '403 AuthenticationFailed';
/** No token is ever enough. */
export const NEVER = '403 AuthorizationFailure';

/** Clients that have nothing but the credential in question. */
export interface Guest {
  readonly service: QueueServiceClient;
  readonly secondary: QueueServiceClient;
  readonly queue: QueueClient;
}

interface Held {
  readonly messageId: string;
  readonly popReceipt: string;
}

interface QueueOperation {
  readonly operation: string;
  /** Of a token for the account. */
  readonly type: 's' | 'c' | 'o';
  /** Letters of such a token of which one is enough; none: it never is. */
  readonly byAccountSas: string;
  /** The same of a token for the queue. */
  readonly byQueueSas: string;
  readonly byRoles: readonly string[];
  /** `hold` puts a message for the guest to name. */
  readonly ask: (guest: Guest, hold: () => Promise<Held>) => Promise<unknown>;
}

/** In an order in which each finds what it needs. */
const QUEUE_OPERATIONS: readonly QueueOperation[] = [
  {
    operation: 'Get Queue Service Properties',
    type: 's',
    byAccountSas: 'r',
    byQueueSas: '',
    byRoles: [],
    ask: ({ service }) => service.getProperties(),
  },
  {
    operation: 'Set Queue Service Properties',
    type: 's',
    byAccountSas: 'w',
    byQueueSas: '',
    byRoles: [],
    ask: ({ service }) => service.setProperties({ cors: [] }),
  },
  {
    operation: 'Get Queue Service Stats',
    type: 's',
    byAccountSas: 'r',
    byQueueSas: '',
    byRoles: [],
    ask: ({ secondary }) => secondary.getStatistics(),
  },
  {
    operation: 'List Queues',
    type: 's',
    byAccountSas: 'l',
    byQueueSas: '',
    byRoles: [CONTRIBUTOR, READER],
    ask: ({ service }) => service.listQueues().next(),
  },
  {
    operation: 'Create Queue',
    type: 'c',
    byAccountSas: 'cw',
    byQueueSas: '',
    byRoles: [CONTRIBUTOR],
    // As it is already: 204.
    ask: ({ queue }) => queue.create(),
  },
  {
    operation: 'Get Queue Metadata',
    type: 'c',
    byAccountSas: 'r',
    byQueueSas: 'r',
    byRoles: [CONTRIBUTOR, READER],
    ask: ({ queue }) => queue.getProperties(),
  },
  {
    operation: 'Set Queue Metadata',
    type: 'c',
    byAccountSas: 'w',
    byQueueSas: '',
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.setMetadata({ by: 'guest' }),
  },
  {
    operation: 'Get Queue ACL',
    type: 'c',
    byAccountSas: '',
    byQueueSas: '',
    byRoles: [],
    ask: ({ queue }) => queue.getAccessPolicy(),
  },
  {
    operation: 'Set Queue ACL',
    type: 'c',
    byAccountSas: '',
    byQueueSas: '',
    byRoles: [],
    ask: ({ queue }) => queue.setAccessPolicy([]),
  },
  {
    operation: 'Put Message',
    type: 'o',
    byAccountSas: 'a',
    byQueueSas: 'a',
    byRoles: [CONTRIBUTOR, SENDER],
    ask: ({ queue }) => queue.sendMessage('of a guest'),
  },
  {
    operation: 'Get Messages',
    type: 'o',
    byAccountSas: 'p',
    byQueueSas: 'p',
    byRoles: [CONTRIBUTOR, PROCESSOR],
    ask: ({ queue }) => queue.receiveMessages(),
  },
  {
    operation: 'Peek Messages',
    type: 'o',
    byAccountSas: 'r',
    byQueueSas: 'r',
    byRoles: [CONTRIBUTOR, READER, PROCESSOR],
    ask: ({ queue }) => queue.peekMessages(),
  },
  {
    operation: 'Update Message',
    type: 'o',
    byAccountSas: 'u',
    byQueueSas: 'u',
    byRoles: [CONTRIBUTOR],
    async ask({ queue }, hold) {
      const { messageId, popReceipt } = await hold();
      return queue.updateMessage(messageId, popReceipt, 'of a guest', 1);
    },
  },
  {
    operation: 'Delete Message',
    type: 'o',
    byAccountSas: 'p',
    byQueueSas: 'p',
    byRoles: [CONTRIBUTOR, PROCESSOR],
    async ask({ queue }, hold) {
      const { messageId, popReceipt } = await hold();
      return queue.deleteMessage(messageId, popReceipt);
    },
  },
  {
    operation: 'Clear Messages',
    type: 'o',
    byAccountSas: 'd',
    byQueueSas: '',
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.clearMessages(),
  },
  {
    operation: 'Delete Queue',
    type: 'c',
    byAccountSas: 'd',
    byQueueSas: '',
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.delete(),
  },
];

/** What a token for the queue gets, where `opens` tells what it is worth. */
export const byQueueToken =
  (opens: (operation: QueueOperation) => boolean) =>
  (operation: QueueOperation): string => {
    // A path without a queue is not what was signed.
    if (operation.type === 's') return NOT_AUTHENTIC;
    if (operation.byQueueSas === '') return NEVER;
    return opens(operation) ? 'ok' : NOT_PERMITTED;
  };

/** Asks for every operation and compares what comes with `wanted`. Resolves to how many messages the owner put for it. */
export async function assertOutcomes(
  guest: Guest,
  owner: QueueClient,
  wanted: (operation: QueueOperation) => string,
): Promise<number> {
  const got: Record<string, string> = {};
  let messageCount = 0;
  const hold = (): Promise<Held> => {
    messageCount++;
    return owner.sendMessage('of the owner');
  };
  for (const { operation, ask } of QUEUE_OPERATIONS) got[operation] = await outcome(ask(guest, hold));
  const want = Object.fromEntries(QUEUE_OPERATIONS.map((operation) => [operation.operation, wanted(operation)]));
  assert.deepEqual(got, want);
  return messageCount;
}
