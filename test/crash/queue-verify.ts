/**
 * After a restart: whether every queue is in a state that the journal allows, with what is hidden in it, which comes back
 * by its receipt or when its time is over. What a request under way at the crash did is then known, and the journal goes on.
 */
import type { QueueClient } from '@azure/storage-queue';
import { outcome, type Reachable } from '../harness/clients.ts';
import { queueClient } from '../harness/queue-clients.ts';
import {
  type Hold,
  holdOf,
  isOutOfReach,
  type KnownMessage,
  LONG_SECONDS,
  type Messages,
  mayBeSeen,
  mustBeSeen,
  NO_MESSAGES,
  numberIn,
  type QueueEntry,
} from './queue-journal.ts';
import { getAll, messageCountOf, peekAll, tryUntil } from './queue-reading.ts';

/** By its number. */
type Seen = ReadonlyMap<number, SeenMessage>;

interface SeenMessage {
  readonly messageId: string;
  readonly messageText: string;
  readonly dequeueCount: number;
}

/** All that was read of one queue. */
interface Read {
  readonly messageCount: number;
  /** What nobody hid, before anything was given back, and when that was read. */
  readonly first: Seen;
  readonly firstMs: number;
  /** Whose receipts do not hold. */
  readonly moved: ReadonlySet<number>;
}

export class QueueVerification {
  readonly #server: Reachable;
  readonly findings: string[] = [];
  /** How many queues were found as a request under way at the crash had left them. */
  tookEffectCount = 0;

  constructor(server: Reachable) {
    this.#server = server;
  }

  async queue(queue: QueueEntry): Promise<void> {
    const client = queueClient(this.#server, queue.name, queue.account);
    const messageCount = await messageCountOf(client);
    const exists = messageCount !== null;
    if (exists !== queue.exists && exists !== queue.pendingExists) {
      this.#find(queue, `expected it to ${queue.exists ? '' : 'not '}exist`);
    }
    if (exists !== queue.exists) this.tookEffectCount += 1;
    queue.exists = exists;
    queue.pendingExists = null;
    // All or nothing: a queue goes with everything in it.
    if (messageCount === null) queue.acknowledged = NO_MESSAGES;
    else await this.#messages(queue, client, messageCount);
    queue.pending = null;
    queue.spent = [];
  }

  async #messages(queue: QueueEntry, client: QueueClient, messageCount: number): Promise<void> {
    const first = this.#byNumber(queue, await peekAll(client));
    const firstMs = Date.now();
    await this.#refuseSpent(queue, client);
    const moved = await giveBackAll(queue.acknowledged, client);
    const found = await this.#settle(queue, client, { messageCount, first, firstMs, moved });
    if (found !== null) queue.acknowledged = await this.#takeUp(queue, client, found);
  }

  async #refuseSpent(queue: QueueEntry, client: QueueClient): Promise<void> {
    await Promise.all(
      queue.spent.map(async ({ id, receipt }) => {
        const said = await outcome(client.updateMessage(id, receipt, undefined, 0));
        if (said !== '404 MessageNotFound') this.#find(queue, `a spent receipt of ${id}: ${said}`);
      }),
    );
  }

  /** The state that it is in; null: none that it may be in. */
  async #settle(queue: QueueEntry, client: QueueClient, read: Read): Promise<Messages | null> {
    const { acknowledged, pending } = queue;
    const after = pending?.after(read.moved) ?? null;
    const candidates = [...(read.moved.size === 0 ? [acknowledged] : []), ...(after === null ? [] : [after])];
    let found: Messages | null = null;
    let differences: string[] = [];
    await tryUntil(async () => {
      const last = this.#byNumber(queue, await peekAll(client));
      differences = [];
      for (const candidate of candidates) {
        const difference = differenceOf(candidate, read, last);
        if (difference !== null) differences.push(difference);
        else found ??= candidate;
      }
      return found !== null || candidates.length === 0;
    });
    if (found === null) {
      const receipts = read.moved.size === 0 ? [] : [`the receipts of ${[...read.moved].join()} do not hold`];
      this.#find(queue, [...receipts, ...differences].join('; or: '));
    } else if (found === after) this.tookEffectCount += 1;
    return found;
  }

  /** Gets everything that can be got, so that its receipts are known, and gives half of it back. */
  async #takeUp(queue: QueueEntry, client: QueueClient, found: Messages): Promise<Messages> {
    const next = new Map(found);
    const wanted = new Map([...found].filter(([, message]) => !isOutOfReach(message)));
    const sentMs = Date.now();
    const items = await getAll(client, wanted.size);
    const got = this.#byNumber(queue, items);
    const difference = contentDifference(dequeuedOnce(wanted), got);
    if (difference !== null) this.#find(queue, `when got: ${difference}`);
    await Promise.all(
      items.map(async ({ messageId: id, messageText: text, dequeueCount, popReceipt }) => {
        const number = numberIn(text);
        const receipt = popReceipt;
        const message: KnownMessage = { id, text, dequeueCount, receipt, sentMs, hiddenSeconds: LONG_SECONDS };
        next.set(number, message);
        if (number % 2 === 0) return;
        const { popReceipt: newReceipt = '' } = await client.updateMessage(id, receipt, undefined, 0);
        next.set(number, { ...message, receipt: newReceipt, hiddenSeconds: 0 });
      }),
    );
    return next;
  }

  #byNumber(queue: QueueEntry, items: readonly SeenMessage[]): Map<number, SeenMessage> {
    const seen = new Map<number, SeenMessage>();
    for (const item of items) {
      const number = numberIn(item.messageText);
      if (seen.has(number)) this.#find(queue, `message ${number} is there twice`);
      seen.set(number, item);
    }
    return seen;
  }

  #find(queue: QueueEntry, what: string): void {
    this.findings.push(`queue ${queue.name}: ${what}`);
  }
}

/** By the receipts that are known. The numbers of those that do not hold. */
async function giveBackAll(messages: Messages, client: QueueClient): Promise<ReadonlySet<number>> {
  const held = [...messages].filter(([, message]) => holdOf(message) !== null);
  const said = await Promise.all(
    held.map(([, message]) => {
      const { id, receipt } = holdOf(message) as Hold;
      return outcome(client.updateMessage(id, receipt, undefined, 0));
    }),
  );
  return new Set(held.filter((_, index) => said[index] !== 'ok').map(([number]) => number));
}

/** Where what was read departs from a state; null where it does not. `last`: when everything was given back. */
function differenceOf(wanted: Messages, { messageCount, first, firstMs }: Read, last: Seen): string | null {
  if (messageCount !== wanted.size) return `a count of ${messageCount}, expected ${wanted.size}`;
  for (const [number, message] of wanted) {
    if (first.has(number) && !mayBeSeen(message, firstMs)) return `message ${number} is seen before its time`;
    if (!first.has(number) && mustBeSeen(message)) return `message ${number} is not seen`;
  }
  const inReach = new Map([...wanted].filter(([, message]) => !isOutOfReach(message)));
  return contentDifference(inReach, last);
}

function contentDifference(wanted: Messages, seen: Seen): string | null {
  for (const number of seen.keys()) if (!wanted.has(number)) return `message ${number} is there`;
  for (const [number, { id, text, dequeueCount }] of wanted) {
    const found = seen.get(number);
    if (found === undefined) return `message ${number} is missing`;
    if (id !== null && found.messageId !== id) return `message ${number} has the id ${found.messageId}, not ${id}`;
    if (found.messageText !== text) {
      return `message ${number} is ${start(found.messageText)}, expected ${start(text)}`;
    }
    if (found.dequeueCount !== dequeueCount) {
      return `message ${number} was got ${found.dequeueCount} times, expected ${dequeueCount}`;
    }
  }
  return null;
}

const dequeuedOnce = (messages: Messages): Messages =>
  new Map([...messages].map(([number, message]) => [number, { ...message, dequeueCount: message.dequeueCount + 1 }]));

const start = (text: string): string => `“${text.slice(0, 30)}” of ${text.length} characters`;
