/** Holds the store against the model: every message of every queue with its text and place, and the counts. */
import assert from 'node:assert/strict';
import { type Engine, type Entry, VOLATILE_PREFIX } from '../../src/engine/engine.ts';
import { openMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { getCountedQueue } from '../../src/service/queue/use-queue.ts';
import { decodeJson } from '../../src/service/records/codec.ts';
import { ownNameOf, tableRange } from '../../src/service/records/keys.ts';
import { decodeMessage } from '../../src/service/records/message-record.ts';
import { contentOf, placeOf, textMessageIdOf } from '../../src/service/records/queue-keys.ts';
import type { QueueRecord } from '../../src/service/records/queue-record.ts';
import type { Storage } from '../../src/service/storage.ts';
import { nameOf } from './queue-action.ts';
import { type ModelMessage, QueueModel, told } from './queue-model.ts';

const RECORDS_MAX = 1_000_000;

export interface StoredQueue {
  readonly metadata: string;
  /** By message id: the message in words, or several where it stands at several places. */
  readonly messages: ReadonlyMap<string, string>;
}

export type StoredQueues = ReadonlyMap<string, StoredQueue>;

/** What a queue held before it was cleared or deleted awaits the sweeper, and is left out. */
export async function storedQueues(engine: Engine): Promise<StoredQueues> {
  const snapshot = engine.snapshot();
  const read = (table: string): Promise<Entry[]> => snapshot.range(tableRange(table), { limit: RECORDS_MAX });
  try {
    const [queues, texts, places] = [await read('q'), await read('m'), await read('v')];
    const textOf = new Map(
      texts.map(({ key, value }) => [`${contentOf(key).contentId} ${textMessageIdOf(key)}`, Buffer.from(value)]),
    );
    const byContent = new Map<string, Map<string, string>>();
    const stored = new Map<string, StoredQueue>();
    for (const { key, value } of queues) {
      const { contentId, metadata } = decodeJson<QueueRecord>(value);
      const messages = new Map<string, string>();
      byContent.set(contentId, messages);
      stored.set(ownNameOf(key), { metadata: JSON.stringify(metadata), messages });
    }
    for (const { key, value } of places) {
      const { contentId } = contentOf(key);
      const messages = byContent.get(contentId);
      const message = decodeMessage(value);
      const text = textOf.get(`${contentId} ${message.messageId}`)?.toString() ?? 'no text';
      const words = told({ ...message, text, place: placeOf(key) });
      const before = messages?.get(message.messageId);
      messages?.set(message.messageId, before === undefined ? words : `${before} and ${words}`);
    }
    return stored;
  } finally {
    snapshot.close();
  }
}

/** All that lives is stored as it is; what has expired may be stored, as it was. */
export function isStored(model: QueueModel, stored: StoredQueues): boolean {
  if (model.queues.size !== stored.size) return false;
  return [...model.queues.values()].every(({ name, metadata, messages }) => {
    const found = stored.get(name);
    if (found?.metadata !== JSON.stringify(metadata)) return false;
    const isAsStored = (message: ModelMessage): boolean => {
      const words = found.messages.get(message.messageId);
      return words === undefined ? !model.lives(message) : words === told(message);
    };
    return [...messages.values()].every(isAsStored) && [...found.messages.keys()].every((id) => messages.has(id));
  });
}

/** Without what has expired and is gone. */
export function settled(model: QueueModel, stored: StoredQueues): QueueModel {
  const queues = [...model.queues].map(([name, queue]) => {
    const messages = [...queue.messages].filter(([messageId]) => stored.get(name)?.messages.has(messageId));
    return [name, { ...queue, messages: new Map(messages) }] as const;
  });
  return new QueueModel(model.nowMs, new Map(queues));
}

/** As it is at one moment, at rest, whatever goes on beside. */
export async function frozen(engine: Engine): Promise<Engine> {
  const snapshot = engine.snapshot();
  const everything = { from: Uint8Array.of(0), to: Uint8Array.of(VOLATILE_PREFIX) };
  const puts = await snapshot.range(everything, { limit: RECORDS_MAX }).finally(() => snapshot.close());
  const copy = openMemoryEngine();
  await copy.commit({ checks: [], puts, deletes: [] });
  return copy;
}

/** Every queue counts exactly what is stored. Nobody else writes meanwhile. */
export async function compareCounts(storage: Storage, stored: StoredQueues): Promise<void> {
  for (const [name, { messages }] of stored) {
    const { messageCount } = await getCountedQueue(storage, nameOf(name));
    assert.equal(messageCount, messages.size, `the count of ${name}`);
  }
}
