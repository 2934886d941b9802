/**
 * A queue that all clients put to and get from at once, hiding what they get for a moment only. Whatever the moment of a
 * crash, every acknowledged message is there, once, until its Delete was acknowledged, and from then on never again; every
 * Get has counted, so no two of them were told the same number.
 */
import assert from 'node:assert/strict';
import type { QueueClient, ReceivedMessageItem } from '@azure/storage-queue';
import { outcome, type Reachable } from '../harness/clients.ts';
import { queueClient } from '../harness/queue-clients.ts';
import type { Random } from '../harness/random.ts';
import type { Client } from './client.ts';
import { messageText, numberIn, SHORT_SECONDS } from './queue-journal.ts';
import { getAll, messageCountOf } from './queue-reading.ts';

const NAME = 'shared';
const LIVE_COUNT_MAX = 30;
const GET_COUNT_MAX = 8;
const TEXT_BYTES_MAX = 4 * 1024;

interface SharedMessage {
  readonly text: string;
  /** Puts and Deletes of it that are under way, or were at the crash. */
  pendingCount: number;
  /** What those were told who got it. */
  readonly dequeueCounts: Set<number>;
  /** What the one was told who deleted it; null: nobody has. */
  deletedAtCount: number | null;
}

interface InHand {
  readonly number: number;
  readonly id: string;
  readonly receipt: string;
  readonly dequeueCount: number;
}

export class SharedQueue {
  readonly #messages = new Map<number, SharedMessage>();
  /** Got and not done with. */
  #inHand: InHand[] = [];
  #pendingGetCount = 0;
  #serial = 0;

  async create(server: Reachable): Promise<void> {
    await queueClient(server, NAME).create();
  }

  async remove(server: Reachable): Promise<void> {
    await queueClient(server, NAME).delete();
  }

  async act(client: Client, server: Reachable, random: Random): Promise<void> {
    const queue = queueClient(server, NAME);
    const dice = random.next();
    const liveCount = [...this.#messages.values()].filter(({ deletedAtCount }) => deletedAtCount === null).length;
    if (liveCount === 0 || (dice < 0.35 && liveCount < LIVE_COUNT_MAX)) await this.#put(client, queue, random);
    else if (dice < 0.6 || this.#inHand.length === 0) await this.#get(client, queue, random);
    else await this.#finish(client, queue, random);
    client.kill.countAcknowledged();
  }

  async #put(client: Client, queue: QueueClient, random: Random): Promise<void> {
    const number = this.#serial++;
    const text = messageText(number, { turn: 0, letter: 'a', lengthBytes: random.below(TEXT_BYTES_MAX) });
    const message: SharedMessage = { text, pendingCount: 1, dequeueCounts: new Set(), deletedAtCount: null };
    this.#messages.set(number, message);
    await client.answerTo(queue.sendMessage(text));
    message.pendingCount -= 1;
  }

  async #get(client: Client, queue: QueueClient, random: Random): Promise<void> {
    const options = { numberOfMessages: 1 + random.below(GET_COUNT_MAX), visibilityTimeout: SHORT_SECONDS };
    this.#pendingGetCount += 1;
    const { receivedMessageItems } = await client.answerTo(queue.receiveMessages(options));
    this.#pendingGetCount -= 1;
    for (const item of receivedMessageItems) {
      const { messageId: id, popReceipt: receipt, dequeueCount } = item;
      assert.equal(this.#note(item), null);
      this.#inHand.push({ number: numberIn(item.messageText), id, receipt, dequeueCount });
    }
  }

  /** Deletes one that was got, or gives it back, unless its time was over and somebody else has got it. */
  async #finish(client: Client, queue: QueueClient, random: Random): Promise<void> {
    const [held] = this.#inHand.splice(random.below(this.#inHand.length), 1);
    const { number, id, receipt, dequeueCount } = held as InHand;
    const message = this.#messages.get(number) as SharedMessage;
    const isDelete = random.chance(0.7);
    if (isDelete) message.pendingCount += 1;
    const request = isDelete ? queue.deleteMessage(id, receipt) : queue.updateMessage(id, receipt, undefined, 0);
    const said = await client.answerTo(outcome(request));
    assert.match(said, /^(?:ok|404 MessageNotFound)$/);
    if (!isDelete) return;
    message.pendingCount -= 1;
    if (said === 'ok') message.deletedAtCount = dequeueCount;
  }

  /** What is wrong, a sentence each. What was under way and was done counts as acknowledged from now on. */
  async findings(server: Reachable): Promise<string[]> {
    const queue = queueClient(server, NAME);
    const messageCount = await messageCountOf(queue);
    const items = await getAll(queue, messageCount ?? 0);
    const findings = items.map((item) => this.#note(item) ?? this.#countProblem(item)).filter((one) => one !== null);
    if (items.length !== messageCount) findings.push(`a count of ${messageCount}, and ${items.length} were got`);
    const found = new Set(items.map((item) => numberIn(item.messageText)));
    if (found.size !== items.length) findings.push('a message is there twice');
    for (const [number, message] of this.#messages) {
      if (message.deletedAtCount !== null || found.has(number)) continue;
      if (message.pendingCount === 0) findings.push(`message ${number} was acknowledged and is missing`);
      this.#messages.delete(number);
    }
    for (const number of found) Object.assign(this.#messages.get(number) ?? {}, { pendingCount: 0 });
    this.#inHand = [];
    this.#pendingGetCount = 0;
    await Promise.all(items.map((item) => queue.updateMessage(item.messageId, item.popReceipt, undefined, 0)));
    return findings.map((one) => `shared queue: ${one}`);
  }

  /** Notes that it was got. What is wrong with that; null: nothing. */
  #note({ messageText: text, dequeueCount }: ReceivedMessageItem): string | null {
    const number = numberIn(text);
    const message = this.#messages.get(number);
    if (message === undefined || message.text !== text) return `“${text.slice(0, 30)}” was never put so`;
    const { dequeueCounts, deletedAtCount } = message;
    // The answer to an earlier Get may come later than that to the Delete.
    if (deletedAtCount !== null && dequeueCount > deletedAtCount) return `message ${number} came back`;
    if (dequeueCounts.has(dequeueCount)) return `message ${number} was got twice for time ${dequeueCount}`;
    dequeueCounts.add(dequeueCount);
    return null;
  }

  /** Every Get that was not answered may have counted too. From now on they all have. */
  #countProblem({ messageText: text, dequeueCount }: ReceivedMessageItem): string | null {
    const number = numberIn(text);
    const { dequeueCounts } = this.#messages.get(number) as SharedMessage;
    const unknownCount = dequeueCount - dequeueCounts.size;
    for (let count = 1; count <= dequeueCount; count++) dequeueCounts.add(count);
    if (unknownCount >= 0 && unknownCount <= this.#pendingGetCount) return null;
    return `message ${number} was got ${dequeueCount} times, ${unknownCount} of them by nobody`;
  }
}
