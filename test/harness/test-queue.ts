/** A queue of a test store, without any HTTP before it: short forms of the operations on messages. */
import { DEFAULT_TTL_SECONDS, type Place } from '../../src/rules/message.ts';
import { clearMessages } from '../../src/service/queue/clear-messages.ts';
import { createQueue } from '../../src/service/queue/create-queue.ts';
import { deleteMessage } from '../../src/service/queue/delete-message.ts';
import { deleteQueue } from '../../src/service/queue/delete-queue.ts';
import { getMessages } from '../../src/service/queue/get-messages.ts';
import type { GotMessage } from '../../src/service/queue/hand-out.ts';
import type { Hold } from '../../src/service/queue/held-message.ts';
import type { QueueName } from '../../src/service/queue/load.ts';
import { peekMessages } from '../../src/service/queue/peek-messages.ts';
import { type PlacedMessage, putMessage } from '../../src/service/queue/put-message.ts';
import { type UpdatedMessage, updateMessage } from '../../src/service/queue/update-message.ts';
import { getCountedQueue } from '../../src/service/queue/use-queue.ts';
import type { Storage } from '../../src/service/storage.ts';
import { StorageError } from '../../src/service/storage-error.ts';
import { ACCOUNT } from './store.ts';

const PEEK_COUNT_MAX = 32;

export class TestQueue {
  readonly name: QueueName;
  /** Its storage is another one after a restart. */
  readonly #store: { readonly storage: Storage };

  constructor(store: { readonly storage: Storage }, queue = 'queue') {
    this.#store = store;
    this.name = { account: ACCOUNT, queue };
  }

  static async create(store: { readonly storage: Storage }, name?: string): Promise<TestQueue> {
    const queue = new TestQueue(store, name);
    await queue.create();
    return queue;
  }

  create(): Promise<boolean> {
    return createQueue(this.#store.storage, this.name, []);
  }

  put(
    text: string,
    {
      hiddenSeconds = 0,
      ttlSeconds = DEFAULT_TTL_SECONDS,
    }: { hiddenSeconds?: number; ttlSeconds?: number | null } = {},
  ): Promise<PlacedMessage> {
    return putMessage(this.#store.storage, this.name, { text, hiddenSeconds, ttlSeconds });
  }

  /** One after the other. */
  async putAll(texts: readonly string[], options?: Parameters<TestQueue['put']>[1]): Promise<void> {
    for (const text of texts) await this.put(text, options);
  }

  get(count = 1, hiddenSeconds = 30): Promise<readonly GotMessage[]> {
    return getMessages(this.#store.storage, this.name, { count, hiddenSeconds });
  }

  /** Of one that must be there. */
  async getOne(hiddenSeconds?: number): Promise<GotMessage> {
    const [message] = await this.get(1, hiddenSeconds);
    if (message === undefined) throw new Error('no message is visible');
    return message;
  }

  async getTexts(count?: number, hiddenSeconds?: number): Promise<string[]> {
    return (await this.get(count, hiddenSeconds)).map(({ text }) => text);
  }

  async peek(count = PEEK_COUNT_MAX): Promise<string[]> {
    return (await peekMessages(this.#store.storage, this.name, count)).map(({ text }) => text);
  }

  update(hold: Hold, hiddenSeconds = 30, text: string | null = null): Promise<UpdatedMessage> {
    return updateMessage(this.#store.storage, this.name, { hold, hiddenSeconds, text });
  }

  delete(hold: Hold): Promise<void> {
    return deleteMessage(this.#store.storage, this.name, hold);
  }

  clear(): Promise<void> {
    return clearMessages(this.#store.storage, this.name);
  }

  remove(): Promise<void> {
    return deleteQueue(this.#store.storage, this.name);
  }

  async count(): Promise<number> {
    return (await getCountedQueue(this.#store.storage, this.name)).messageCount;
  }
}

/** What a consumer knows of a message that it put or got. */
export const holdOf = ({ message: { messageId }, place }: PlacedMessage): Hold => ({ messageId, place });

/** The same message, by another place. */
export const heldAt = ({ messageId }: Hold, { place }: { readonly place: Place }): Hold => ({ messageId, place });

/** For assert.rejects. */
export const refusedAs = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

/** `first`, `first + 1` … as texts. */
export const numbered = (count: number, first = 0): string[] =>
  Array.from({ length: count }, (_, index) => String(first + index));
