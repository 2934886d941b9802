/** Reading the records that queue and message operations start from, in a transaction or in a snapshot. */
import type { Key } from '../../engine/engine.ts';
import type { Instant } from '../../rules/message.ts';
import type { Known } from '../known.ts';
import { decodeJson } from '../records/codec.ts';
import { type ContentAddress, queueKey } from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';

export interface QueueName {
  readonly account: string;
  readonly queue: string;
}

export async function findQueue(reader: RecordReader, { account, queue }: QueueName): Promise<QueueRecord | null> {
  const [value] = await reader.getMany([queueKey(account, queue)]);
  return value ? decodeJson<QueueRecord>(value) : null;
}

export async function loadQueue(reader: RecordReader, name: QueueName): Promise<QueueRecord> {
  const queue = await findQueue(reader, name);
  if (queue === null) throw new StorageError('QueueNotFound');
  return queue;
}

export interface LoadedContent {
  readonly content: ContentAddress;
  /** In the order asked for; null where there is none. */
  readonly records: readonly { readonly key: Key; readonly value: Uint8Array | null }[];
}

/** Some records of what the queue holds, in one round trip where the content's id is known. */
export async function loadContent(
  reader: RecordReader,
  { account, queue: name }: QueueName,
  { known, keysIn }: { readonly known: Known; readonly keysIn: (content: ContentAddress) => readonly Key[] },
): Promise<LoadedContent> {
  const guessedId = known.queues.idOf(account, name);
  const guessed = guessedId === null ? [] : keysIn({ account, contentId: guessedId });
  const [found, ...values] = await reader.getMany([queueKey(account, name), ...guessed]);
  if (found === null || found === undefined) throw new StorageError('QueueNotFound');
  const { contentId } = decodeJson<QueueRecord>(found);
  const content = { account, contentId };
  if (contentId === guessedId) return { content, records: paired(guessed, values) };
  known.queues.note(account, name, contentId);
  const keys = keysIn(content);
  return { content, records: paired(keys, await reader.getMany(keys)) };
}

const paired = (keys: readonly Key[], values: readonly (Uint8Array | null)[]): LoadedContent['records'] =>
  keys.map((key, index) => ({ key, value: values[index] ?? null }));

export const instantOf = ({ clock }: Storage): Instant => ({
  nowMs: clock.nowMs(),
  uncertaintyMs: clock.uncertaintyMs?.() ?? 0,
});
