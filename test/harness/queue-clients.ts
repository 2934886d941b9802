/** The official Queue client as tests use it: never retrying, so that every answer of the server is seen. */
import { randomUUID } from 'node:crypto';
import { type QueueClient, QueueServiceClient, type StoragePipelineOptions } from '@azure/storage-queue';
import type { TestAccount } from './accounts.ts';
import type { Reachable } from './clients.ts';

export const QUEUE_CLIENT_OPTIONS: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

export const queueService = (server: Reachable, account?: TestAccount): QueueServiceClient =>
  QueueServiceClient.fromConnectionString(server.connectionString(account), QUEUE_CLIENT_OPTIONS);

export const queueClient = (server: Reachable, queue: string, account?: TestAccount): QueueClient =>
  queueService(server, account).getQueueClient(queue);

/** A queue of its own for a test, so that tests of one server do not meet. */
export async function freshQueue(server: Reachable, purpose = 'test'): Promise<QueueClient> {
  const queue = queueClient(server, `${purpose}-${randomUUID()}`);
  await queue.create();
  return queue;
}
