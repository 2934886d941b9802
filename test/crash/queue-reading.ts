/** Looking through a queue after a restart: what is in it that nobody hides. */
import { setTimeout as delay } from 'node:timers/promises';
import type { PeekedMessageItem, QueueClient, ReceivedMessageItem } from '@azure/storage-queue';
import { refusalOf } from '../harness/clients.ts';
import { LONG_SECONDS, READ_COUNT_MAX } from './queue-journal.ts';

const LIMIT_SECONDS = 15;
const PAUSE_MS = 50;

/** Null: there is no such queue. */
export async function messageCountOf(queue: QueueClient): Promise<number | null> {
  try {
    return (await queue.getProperties()).approximateMessagesCount ?? Number.NaN;
  } catch (error) {
    if (refusalOf(error).code === 'QueueNotFound') return null;
    throw error;
  }
}

export async function peekAll(queue: QueueClient): Promise<readonly PeekedMessageItem[]> {
  return (await queue.peekMessages({ numberOfMessages: READ_COUNT_MAX })).peekedMessageItems;
}

/** Gets, and hides for long, until there were so many and no more are seen; what there was, when that takes too long. */
export async function getAll(queue: QueueClient, count: number): Promise<readonly ReceivedMessageItem[]> {
  const all: ReceivedMessageItem[] = [];
  await tryUntil(async () => {
    const options = { numberOfMessages: READ_COUNT_MAX, visibilityTimeout: LONG_SECONDS };
    const { receivedMessageItems } = await queue.receiveMessages(options);
    all.push(...receivedMessageItems);
    return receivedMessageItems.length === 0 && all.length >= count;
  });
  return all;
}

/** Waits for hidden messages to come back: until the answer is yes, or the limit is over. */
export async function tryUntil(ask: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + LIMIT_SECONDS * 1000;
  while (!(await ask()) && performance.now() < deadlineMs) await delay(PAUSE_MS);
}
