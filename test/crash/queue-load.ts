/** Random requests to queues of a client's own: what each may hold after a crash is then known. */
import assert from 'node:assert/strict';
import type { QueueClient, ReceivedMessageItem } from '@azure/storage-queue';
import { type Reachable, refusal } from '../harness/clients.ts';
import { queueClient } from '../harness/queue-clients.ts';
import type { Random } from '../harness/random.ts';
import type { Client } from './client.ts';
import {
  type Hold,
  heldNumbers,
  holdOf,
  isJust,
  type KnownMessage,
  LONG_SECONDS,
  type Messages,
  mayBeSeen,
  messageText,
  NO_MESSAGES,
  numberIn,
  type PendingRequest,
  type QueueEntry,
  SHORT_SECONDS,
  takenCounts,
} from './queue-journal.ts';

const MESSAGE_COUNT_MAX = 8;
const GET_COUNT_MAX = 4;
const PASSING_MESSAGE_COUNT = 3;
const KIB = 1024;
const TEXT_BYTES_MAX = 64 * KIB;
/** Of one, two and three bytes. */
const LETTERS = ['a', 'é', '€'];
const MONTH_SECONDS = 30 * 24 * 3600;
/** For ever, long, and what holds where nothing is said. */
const TTL_SECONDS = [-1, MONTH_SECONDS, undefined];

export class QueueLoad {
  readonly #client: Client;
  readonly #random: Random;
  readonly #server: Reachable;
  readonly #clients = new Map<string, QueueClient>();

  constructor({ client, random, server }: { client: Client; random: Random; server: Reachable }) {
    this.#client = client;
    this.#random = random;
    this.#server = server;
  }

  async change(queue: QueueEntry): Promise<void> {
    const { acknowledged, spent } = queue;
    const held = heldNumbers(acknowledged);
    const dice = this.#random.next();
    if (dice < 0.02) return this.#clear(queue);
    if (dice < 0.06 && spent.length > 0) return this.#beRefused(queue, this.#random.pick(spent));
    if (acknowledged.size >= MESSAGE_COUNT_MAX) {
      if (held.length === 0) return this.#clear(queue);
      if (dice < 0.6) return this.#delete(queue, this.#random.pick(held));
    } else if (dice < 0.35 || held.length === 0) return this.#put(queue);
    if (dice < 0.65) return this.#get(queue);
    return this.#random.chance(0.65)
      ? this.#update(queue, this.#random.pick(held))
      : this.#delete(queue, this.#random.pick(held));
  }

  /** Makes the queue anew, with messages in it, or deletes it with all that it holds. */
  async pass(queue: QueueEntry): Promise<void> {
    const client = this.#queueClient(queue);
    if (queue.exists) {
      await this.#setExists(queue, false, client.delete());
      spend(queue, heldNumbers(queue.acknowledged));
      queue.acknowledged = NO_MESSAGES;
      return;
    }
    await this.#setExists(queue, true, client.create());
    const { peekedMessageItems } = await this.#client.answerTo(client.peekMessages());
    assert.equal(peekedMessageItems.length, 0, `a new queue ${queue.name} holds messages`);
    for (let count = 0; count < PASSING_MESSAGE_COUNT; count++) await this.#put(queue);
  }

  async #setExists(queue: QueueEntry, exists: boolean, request: Promise<unknown>): Promise<void> {
    queue.pendingExists = exists;
    await this.#client.answerTo(request);
    queue.exists = exists;
    queue.pendingExists = null;
    this.#client.kill.countAcknowledged();
  }

  async #put(queue: QueueEntry): Promise<void> {
    const { acknowledged } = queue;
    const number = queue.putCount++;
    const text = this.#newText(number);
    const hiddenSeconds = this.#random.pick([0, 0, SHORT_SECONDS, LONG_SECONDS]);
    const messageTimeToLive = this.#random.pick(TTL_SECONDS);
    const sentMs = Date.now();
    const put: KnownMessage = { id: null, text, dequeueCount: 0, receipt: null, sentMs, hiddenSeconds };
    const { messageId, popReceipt } = await this.#request(
      queue,
      { after: (moved) => (moved.size === 0 ? withMessage(acknowledged, number, put) : null) },
      this.#queueClient(queue).sendMessage(text, {
        visibilityTimeout: hiddenSeconds,
        ...(messageTimeToLive === undefined ? {} : { messageTimeToLive }),
      }),
    );
    queue.acknowledged = withMessage(acknowledged, number, { ...put, id: messageId, receipt: popReceipt });
  }

  async #get(queue: QueueEntry): Promise<void> {
    const { acknowledged } = queue;
    const wantedCount = 1 + this.#random.below(GET_COUNT_MAX);
    const hiddenSeconds = this.#random.pick([SHORT_SECONDS, LONG_SECONDS]);
    const sentMs = Date.now();
    const got = (message: KnownMessage, receipt: string | null): KnownMessage => ({
      ...message,
      dequeueCount: message.dequeueCount + 1,
      receipt,
      sentMs,
      hiddenSeconds,
    });
    const { least } = takenCounts(acknowledged, { wantedCount, nowMs: sentMs });
    const after = (moved: ReadonlySet<number>): Messages | null => {
      const nowMs = Date.now();
      const { most } = takenCounts(acknowledged, { wantedCount, nowMs });
      if (moved.size < least || moved.size > most) return null;
      if ([...moved].some((number) => !mayBeSeen(acknowledged.get(number) as KnownMessage, nowMs))) return null;
      return new Map(
        [...acknowledged].map(([number, message]) => [number, moved.has(number) ? got(message, null) : message]),
      );
    };
    const { receivedMessageItems: items } = await this.#request(
      queue,
      { after },
      this.#queueClient(queue).receiveMessages({ numberOfMessages: wantedCount, visibilityTimeout: hiddenSeconds }),
    );
    assert.ok(items.length >= least && items.length <= wantedCount, `got ${items.length} of ${least} messages`);
    assert.equal(
      new Set(items.map(({ messageId }) => messageId)).size,
      items.length,
      'a message was got twice at once',
    );
    const next = new Map(acknowledged);
    for (const item of items) {
      const { number, message } = expected(queue, item);
      spend(queue, [number]);
      next.set(number, got(message, item.popReceipt));
    }
    queue.acknowledged = next;
  }

  async #update(queue: QueueEntry, number: number): Promise<void> {
    const { acknowledged } = queue;
    const message = acknowledged.get(number) as KnownMessage;
    const { id, receipt } = holdOf(message) as Hold;
    const text = this.#random.chance(0.5) ? this.#newText(number) : undefined;
    const hiddenSeconds = this.#random.pick([0, SHORT_SECONDS, LONG_SECONDS]);
    const updated = { ...message, text: text ?? message.text, receipt: null, sentMs: Date.now(), hiddenSeconds };
    const { popReceipt = '' } = await this.#request(
      queue,
      { after: (moved) => (isJust(moved, [number]) ? withMessage(acknowledged, number, updated) : null) },
      this.#queueClient(queue).updateMessage(id, receipt, text, hiddenSeconds),
    );
    assert.ok(popReceipt !== '' && popReceipt !== receipt, `an Update must bring a new receipt, not ${popReceipt}`);
    spend(queue, [number]);
    queue.acknowledged = withMessage(acknowledged, number, { ...updated, receipt: popReceipt });
  }

  async #delete(queue: QueueEntry, number: number): Promise<void> {
    const { acknowledged } = queue;
    const { id, receipt } = holdOf(acknowledged.get(number) as KnownMessage) as Hold;
    const next = new Map(acknowledged);
    next.delete(number);
    const after = (moved: ReadonlySet<number>): Messages | null => (isJust(moved, [number]) ? next : null);
    await this.#request(queue, { after }, this.#queueClient(queue).deleteMessage(id, receipt));
    spend(queue, [number]);
    queue.acknowledged = next;
  }

  async #clear(queue: QueueEntry): Promise<void> {
    const held = heldNumbers(queue.acknowledged);
    const after = (moved: ReadonlySet<number>): Messages | null => (isJust(moved, held) ? NO_MESSAGES : null);
    await this.#request(queue, { after }, this.#queueClient(queue).clearMessages());
    spend(queue, held);
    queue.acknowledged = NO_MESSAGES;
  }

  /** Whatever the moment of the crash, this changes nothing. */
  async #beRefused(queue: QueueEntry, { id, receipt }: Hold): Promise<void> {
    const client = this.#queueClient(queue);
    const request = this.#random.chance(0.5)
      ? client.deleteMessage(id, receipt)
      : client.updateMessage(id, receipt, 'refused', 0);
    assert.equal(await this.#request(queue, { after: () => null }, refusal(request)), '404 MessageNotFound');
  }

  async #request<T>(queue: QueueEntry, pending: PendingRequest, request: Promise<T>): Promise<T> {
    queue.pending = pending;
    const answer = await this.#client.answerTo(request);
    queue.pending = null;
    this.#client.kill.countAcknowledged();
    return answer;
  }

  #queueClient({ name, account }: QueueEntry): QueueClient {
    const client = this.#clients.get(name) ?? queueClient(this.#server, name, account);
    this.#clients.set(name, client);
    return client;
  }

  #newText(number: number): string {
    const turn = this.#random.below(1_000_000_000);
    return messageText(number, { turn, letter: this.#random.pick(LETTERS), lengthBytes: this.#textLength() });
  }

  #textLength(): number {
    const dice = this.#random.next();
    if (dice < 0.7) return this.#random.below(200);
    if (dice < 0.85) return this.#random.below(8 * KIB);
    return dice < 0.92 ? this.#random.below(TEXT_BYTES_MAX) : TEXT_BYTES_MAX;
  }
}

/** The message that was got, which is just as it was known. */
function expected(queue: QueueEntry, item: ReceivedMessageItem): { number: number; message: KnownMessage } {
  const { messageId, messageText: text, dequeueCount } = item;
  const number = numberIn(text);
  const message = queue.acknowledged.get(number);
  const isTime = message !== undefined && mayBeSeen(message, Date.now());
  assert.ok(isTime, `message ${number} of ${queue.name} must not be got now`);
  const known = { messageId: message.id, text: message.text, dequeueCount: message.dequeueCount + 1 };
  assert.deepEqual({ messageId, text, dequeueCount }, known);
  return { number, message };
}

const withMessage = (messages: Messages, number: number, message: KnownMessage): Messages =>
  new Map([...messages, [number, message]]);

/** By an acknowledged request: their receipts hold no longer. */
function spend(queue: QueueEntry, numbers: readonly number[]): void {
  for (const number of numbers) {
    const hold = holdOf(queue.acknowledged.get(number) as KnownMessage);
    if (hold !== null) queue.spent.push(hold);
  }
}
