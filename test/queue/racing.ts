/** What the races over queues share: clients that set off together, gets that are written down, and what is left at the end. */
import assert from 'node:assert/strict';
import type { QueueClient, ReceivedMessageItem } from '@azure/storage-queue';
import { outcome, type Reachable } from '../harness/clients.ts';
import { together } from '../harness/parallel.ts';
import { queueClient } from '../harness/queue-clients.ts';

export const CLIENTS = 24;

/** Stale, deleted and expired look the same. */
export const GONE = '404 MessageNotFound';
export const NO_QUEUE = '404 QueueNotFound';

/** Longer than any test takes: whoever gets a message keeps it. */
export const HOLD_SECONDS = 3600;

export type Got = ReceivedMessageItem;

/** A message as its holder knows it. */
export type Held = Pick<Got, 'messageId' | 'popReceipt'>;

export const clientsOf = (server: Reachable, { name }: QueueClient, count = CLIENTS): QueueClient[] =>
  Array.from({ length: count }, () => queueClient(server, name));

/** Clients of one queue set off from one starting line; each is a client of its own. */
export function raceOn(server: Reachable) {
  return <T>(
    queue: QueueClient,
    act: (client: QueueClient, index: number) => Promise<T>,
    count = CLIENTS,
  ): Promise<PromiseSettledResult<T>[]> => {
    const clients = clientsOf(server, queue, count);
    return together(count, (index) => act(clients[index] as QueueClient, index));
  };
}

export interface GetOptions {
  readonly count?: number;
  readonly seconds?: number;
}

export async function get(queue: QueueClient, { count = 1, seconds = HOLD_SECONDS }: GetOptions = {}): Promise<Got[]> {
  const request = { numberOfMessages: count, visibilityTimeout: seconds };
  return (await queue.receiveMessages(request)).receivedMessageItems;
}

/** Of a queue that has a visible message. */
export async function getOne(queue: QueueClient, options: Pick<GetOptions, 'seconds'> = {}): Promise<Got> {
  const [got] = await get(queue, options);
  assert.ok(got !== undefined, 'there is a message to get');
  return got;
}

export const remove = (queue: QueueClient, { messageId, popReceipt }: Held): Promise<unknown> =>
  queue.deleteMessage(messageId, popReceipt);

export async function countOf(queue: QueueClient): Promise<number> {
  return (await queue.getProperties()).approximateMessagesCount as number;
}

export const textsOf = (messages: readonly { readonly messageText: string }[]): string[] =>
  messages.map(({ messageText }) => messageText);

export const numbered = (count: number, prefix = 'message'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Each client puts the next as soon as its last was acknowledged. Gives the ids, by text. */
export async function putAll(clients: readonly QueueClient[], texts: readonly string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  let next = 0;
  const put = async (client: QueueClient): Promise<void> => {
    while (next < texts.length) {
      const text = texts[next++] as string;
      ids.set(text, (await client.sendMessage(text)).messageId);
    }
  };
  await Promise.all(clients.map(put));
  return ids;
}

/** Who got what, as long as nobody lets go of a message otherwise than by deleting it. */
export class Journal {
  readonly got: Got[] = [];
  /** How many were got before it was. */
  readonly #numbers = new Map<string, number>();
  peekCount = 0;

  async get(queue: QueueClient, options: GetOptions = {}): Promise<Got[]> {
    const messages = await get(queue, options);
    for (const message of messages) {
      assert.equal(this.#numbers.has(message.messageId), false, `${message.messageText} is handed out twice`);
      assert.equal(message.dequeueCount, 1);
      this.#numbers.set(message.messageId, this.got.length);
      this.got.push(message);
    }
    return messages;
  }

  /** Sees nothing of what somebody got before it was sent. */
  async peek(queue: QueueClient): Promise<void> {
    const gotCount = this.got.length;
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    for (const { messageId, messageText, dequeueCount } of peekedMessageItems) {
      const number = this.#numbers.get(messageId) ?? gotCount;
      assert.ok(number >= gotCount, `${messageText} is hidden, and a peek shows it`);
      assert.equal(dequeueCount, 0);
    }
    this.peekCount++;
  }

  /** Exactly those that were put, each with its id. */
  assertGotAll(ids: ReadonlyMap<string, string>): void {
    const got = new Map(this.got.map(({ messageText, messageId }) => [messageText, messageId]));
    assert.equal(got.size, this.got.length, 'no text twice');
    assert.deepEqual(got, ids);
  }
}

/** Gets and deletes until nothing is left for it; gives what the deletes were answered with. */
export async function consume(queue: QueueClient, journal: Journal, batch: () => number): Promise<string[]> {
  const answers: string[] = [];
  for (;;) {
    const messages = await journal.get(queue, { count: batch() });
    if (messages.length === 0) return answers;
    answers.push(...(await Promise.all(messages.map((message) => outcome(remove(queue, message))))));
  }
}

/** Takes everything away from a queue in which nothing is hidden: as much as it counts. */
export async function drain(queue: QueueClient): Promise<Got[]> {
  const counted = await countOf(queue);
  const found: Got[] = [];
  for (;;) {
    const messages = await get(queue, { count: 32 });
    if (messages.length === 0) break;
    await Promise.all(messages.map((message) => remove(queue, message)));
    found.push(...messages);
  }
  assert.equal(found.length, counted, 'the queue counts what there is');
  assert.equal(await countOf(queue), 0);
  return found;
}
