/**
 * Queues and their messages: a queue has a possible name and content of its own; every message stands at one place and has
 * one text, both in a queue that is there or under content that awaits the sweeper; and a queue counts as many as it
 * holds. Messages are not remembered, for there may be very many: texts are looked up from their places, and that the rest
 * fits as well shows in numbers and sums for each content.
 */
import { hash } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import { refuseQueueName } from '../../rules/names.ts';
import { decodeCount } from '../queue/message-count.ts';
import { decodeJson } from '../records/codec.ts';
import { accountOf, ownNameOf } from '../records/keys.ts';
import { decodeMessage } from '../records/message-record.ts';
import {
  type ContentAddress,
  contentOf,
  countKey,
  placeKey,
  placeOf,
  queueKey,
  textKey,
  textMessageIdOf,
} from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';
import type { Awaited } from './awaited.ts';

/** What was met under one content id in one account. */
interface Content extends ContentAddress {
  /** Null: no queue holds it. */
  readonly queue: string | null;
  readonly places: MessageSum;
  readonly texts: MessageSum;
  shardCount: number;
  /** By its shards. */
  messageCount: number;
}

/** How many messages, and which: two sums of the same messages are equal, and of others all but certainly not. */
interface MessageSum {
  count: number;
  digest: number;
}

export class Queues {
  queueCount = 0;
  /** Without those that await the sweeper. */
  messageCount = 0;
  readonly #findings: string[];
  readonly #awaited: Awaited;
  readonly #contentIds = new Set<Id>();
  /** By account and id. */
  readonly #contents = new Map<string, Content>();
  /** Of places of this step. */
  #textsToFind: { readonly key: Key; readonly message: string }[] = [];

  constructor({ findings, awaited }: { readonly findings: string[]; readonly awaited: Awaited }) {
    this.#findings = findings;
    this.#awaited = awaited;
  }

  queue({ key, value }: Entry): void {
    const { contentId } = decodeJson<QueueRecord>(value);
    const [account, name] = [accountOf(key), ownNameOf(key)];
    this.queueCount++;
    if (refuseQueueName(name) !== null || !isSame(queueKey(account, name), key)) {
      this.#findings.push(`${JSON.stringify(name)} is not a valid queue name`);
    }
    if (this.#contentIds.has(contentId)) this.#findings.push(`queue ${name} shares its content with another queue`);
    if (this.#awaited.messages.has(contentId)) {
      this.#findings.push(`queue ${name} exists, but its content is to be swept`);
    }
    this.#contentIds.add(contentId);
    this.#contents.set(nameOf({ account, contentId }), newContent({ account, contentId, queue: name }));
  }

  /** After all queues, like the texts and places. */
  count({ key, value }: Entry): void {
    const address = contentOf(key);
    const messageCount = decodeCount(value);
    if (!isSame(countKey(address, key.at(-1) ?? 0), key)) this.#findings.push('a message count has an invalid key');
    const content = this.#find(address);
    if (content === null) return;
    content.shardCount++;
    content.messageCount += messageCount;
  }

  text({ key }: Entry): void {
    const address = contentOf(key);
    const messageId = textMessageIdOf(key);
    if (!isSame(textKey(address, messageId), key)) this.#findings.push('a message text has an invalid key');
    const content = this.#find(address);
    if (content !== null) add(content.texts, messageId);
  }

  place({ key, value }: Entry): void {
    const address = contentOf(key);
    const { messageId } = decodeMessage(value);
    if (!isSame(placeKey(address, placeOf(key)), key)) {
      this.#findings.push(`message ${messageId} has an invalid place in its queue`);
    }
    const content = this.#find(address);
    if (content === null) return;
    add(content.places, messageId);
    if (content.queue === null) return;
    this.messageCount++;
    this.#textsToFind.push({
      key: textKey(address, messageId),
      message: `message ${messageId} of queue ${content.queue}`,
    });
  }

  /** After each step of places. */
  async lookUpTexts(get: (keys: readonly Key[]) => Promise<(Entry | null)[]>): Promise<void> {
    const texts = this.#textsToFind;
    this.#textsToFind = [];
    const found = await get(texts.map(({ key }) => key));
    for (const [index, { message }] of texts.entries()) {
      if (found[index] === null) this.#findings.push(`${message} has no text`);
    }
  }

  end(): void {
    for (const content of this.#contents.values()) this.#findings.push(...problemsOf(content));
  }

  /** Null: it awaits the sweeper, and until that comes to it, it stays. */
  #find(address: ContentAddress): Content | null {
    if (this.#awaited.messages.has(address.contentId)) return null;
    const name = nameOf(address);
    const content = this.#contents.get(name) ?? newContent({ ...address, queue: null });
    this.#contents.set(name, content);
    return content;
  }
}

function problemsOf({ account, contentId, queue, places, texts, shardCount, messageCount }: Content): string[] {
  if (queue === null) {
    const records = `${places.count} messages, ${texts.count} texts and ${shardCount} counts`;
    return [`${records} under ${contentId} of ${account} belong to no queue`];
  }
  const problems: string[] = [];
  if (places.count !== texts.count) {
    problems.push(`queue ${queue} has ${places.count} message places, but ${texts.count} message texts`);
  } else if (places.digest !== texts.digest) {
    problems.push(`queue ${queue} has ${places.count} message places and as many message texts, but of other messages`);
  }
  if (messageCount !== places.count) {
    problems.push(`the message count of queue ${queue} is ${messageCount}, but it has ${places.count} messages`);
  }
  return problems;
}

const nameOf = ({ account, contentId }: ContentAddress): string => `${account}/${contentId}`;

const newContent = (content: Pick<Content, 'account' | 'contentId' | 'queue'>): Content => ({
  ...content,
  places: { count: 0, digest: 0 },
  texts: { count: 0, digest: 0 },
  shardCount: 0,
  messageCount: 0,
});

const DIGEST_BYTES = 6;

function add(sum: MessageSum, messageId: string): void {
  // Ids that follow each other differ little: plain sums of them could well be equal.
  const digest = hash('sha1', messageId, 'buffer').readUIntBE(0, DIGEST_BYTES);
  sum.count++;
  sum.digest = (sum.digest + digest) % 2 ** (8 * DIGEST_BYTES);
}

const isSame = (a: Key, b: Key): boolean => Buffer.compare(a, b) === 0;
