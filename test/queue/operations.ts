/**
 * Every operation of the Queue service as the official client asks for it, each with whom the protocol's tables let do it:
 * by a token for the account or for the queue, and in which roles. Tests of credentials walk over all of them.
 */
import type { QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { outcome } from '../harness/clients.ts';
import { compareOutcomes, type Operation } from '../services/credentials.ts';

export const CONTRIBUTOR = 'Storage Queue Data Contributor';
export const READER = 'Storage Queue Data Reader';
export const PROCESSOR = 'Storage Queue Data Message Processor';
export const SENDER = 'Storage Queue Data Message Sender';
export const DELEGATOR = 'Storage Queue Delegator';

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

interface QueueOperation extends Operation {
  /** `hold` puts a message for the guest to name. */
  readonly ask: (guest: Guest, hold: () => Promise<Held>) => Promise<unknown>;
}

/** In an order in which each finds what it needs. */
const QUEUE_OPERATIONS: readonly QueueOperation[] = [
  {
    operation: 'Get Queue Service Properties',
    type: 's',
    isElsewhere: true,
    byAccountSas: ['r'],
    bySas: [],
    byRoles: [],
    ask: ({ service }) => service.getProperties(),
  },
  {
    operation: 'Set Queue Service Properties',
    type: 's',
    isElsewhere: true,
    byAccountSas: ['w'],
    bySas: [],
    byRoles: [],
    ask: ({ service }) => service.setProperties({ cors: [] }),
  },
  {
    operation: 'Get Queue Service Stats',
    type: 's',
    isElsewhere: true,
    byAccountSas: ['r'],
    bySas: [],
    byRoles: [],
    ask: ({ secondary }) => secondary.getStatistics(),
  },
  {
    operation: 'List Queues',
    type: 's',
    isElsewhere: true,
    byAccountSas: ['l'],
    bySas: [],
    byRoles: [CONTRIBUTOR, READER],
    ask: ({ service }) => service.listQueues().next(),
  },
  {
    operation: 'Create Queue',
    type: 'c',
    byAccountSas: ['c', 'w'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    // As it is already: 204.
    ask: ({ queue }) => queue.create(),
  },
  {
    operation: 'Get Queue Metadata',
    type: 'c',
    byAccountSas: ['r'],
    bySas: ['r'],
    byRoles: [CONTRIBUTOR, READER],
    ask: ({ queue }) => queue.getProperties(),
  },
  {
    operation: 'Set Queue Metadata',
    type: 'c',
    byAccountSas: ['w'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.setMetadata({ by: 'guest' }),
  },
  {
    operation: 'Get Queue ACL',
    type: 'c',
    byAccountSas: [],
    bySas: [],
    byRoles: [],
    ask: ({ queue }) => queue.getAccessPolicy(),
  },
  {
    operation: 'Set Queue ACL',
    type: 'c',
    byAccountSas: [],
    bySas: [],
    byRoles: [],
    ask: ({ queue }) => queue.setAccessPolicy([]),
  },
  {
    operation: 'Put Message',
    type: 'o',
    byAccountSas: ['a'],
    bySas: ['a'],
    byRoles: [CONTRIBUTOR, SENDER],
    ask: ({ queue }) => queue.sendMessage('of a guest'),
  },
  {
    operation: 'Get Messages',
    type: 'o',
    byAccountSas: ['p'],
    bySas: ['p'],
    byRoles: [CONTRIBUTOR, PROCESSOR],
    ask: ({ queue }) => queue.receiveMessages(),
  },
  {
    operation: 'Peek Messages',
    type: 'o',
    byAccountSas: ['r'],
    bySas: ['r'],
    byRoles: [CONTRIBUTOR, READER, PROCESSOR],
    ask: ({ queue }) => queue.peekMessages(),
  },
  {
    operation: 'Update Message',
    type: 'o',
    byAccountSas: ['u'],
    bySas: ['u'],
    byRoles: [CONTRIBUTOR],
    async ask({ queue }, hold) {
      const { messageId, popReceipt } = await hold();
      return queue.updateMessage(messageId, popReceipt, 'of a guest', 1);
    },
  },
  {
    operation: 'Delete Message',
    type: 'o',
    byAccountSas: ['p'],
    bySas: ['p'],
    byRoles: [CONTRIBUTOR, PROCESSOR],
    async ask({ queue }, hold) {
      const { messageId, popReceipt } = await hold();
      return queue.deleteMessage(messageId, popReceipt);
    },
  },
  {
    operation: 'Clear Messages',
    type: 'o',
    byAccountSas: ['d'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.clearMessages(),
  },
  {
    operation: 'Delete Queue',
    type: 'c',
    byAccountSas: ['d'],
    bySas: [],
    byRoles: [CONTRIBUTOR],
    ask: ({ queue }) => queue.delete(),
  },
];

/** Asks for every operation and compares what comes with `wanted`. Resolves to how many messages the owner put for it. */
export async function assertOutcomes(
  guest: Guest,
  owner: QueueClient,
  wanted: (operation: Operation) => string,
): Promise<number> {
  let messageCount = 0;
  const hold = (): Promise<Held> => {
    messageCount++;
    return owner.sendMessage('of the owner');
  };
  await compareOutcomes(QUEUE_OPERATIONS, ({ ask }) => outcome(ask(guest, hold)), wanted);
  return messageCount;
}
