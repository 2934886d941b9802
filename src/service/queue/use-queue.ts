/** Operations on a queue that exists: finding it, its metadata and access policies, how many messages it holds. */
import { type Transaction, transact } from '../../engine/transact.ts';
import type { AccessPolicy } from '../../rules/acl.ts';
import type { Metadata } from '../../rules/names.ts';
import { encodeJson } from '../records/codec.ts';
import { queueKey } from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { findQueue, loadQueue, type QueueName } from './load.ts';
import { countMessages } from './message-count.ts';

/** Null where there is none. */
export async function lookUpQueue(storage: Storage, name: QueueName): Promise<QueueRecord | null> {
  const snapshot = storage.engine.snapshot();
  return findQueue(snapshotReader(snapshot), name).finally(() => snapshot.close());
}

/** Get Queue ACL. */
export async function getQueue(storage: Storage, name: QueueName): Promise<QueueRecord> {
  const snapshot = storage.engine.snapshot();
  return loadQueue(snapshotReader(snapshot), name).finally(() => snapshot.close());
}

export interface CountedQueue {
  readonly queue: QueueRecord;
  /** Visible or hidden, and those that have expired and were not collected yet. */
  readonly messageCount: number;
}

/** Get Queue Metadata. */
export async function getCountedQueue(storage: Storage, name: QueueName): Promise<CountedQueue> {
  const snapshot = storage.engine.snapshot();
  try {
    const queue = await loadQueue(snapshotReader(snapshot), name);
    const { account } = name;
    return { queue, messageCount: await countMessages(snapshot, { account, contentId: queue.contentId }) };
  } finally {
    snapshot.close();
  }
}

/** Set Queue Metadata: replaces all of it. */
export async function setQueueMetadata(storage: Storage, name: QueueName, metadata: Metadata): Promise<void> {
  await changeQueue(storage, name, (queue) => ({ ...queue, metadata }));
}

/** Set Queue ACL: replaces all policies, effective for the very next request. */
export async function setQueueAcl(storage: Storage, name: QueueName, policies: readonly AccessPolicy[]): Promise<void> {
  await changeQueue(storage, name, (queue) => ({ ...queue, policies }));
}

async function changeQueue(
  storage: Storage,
  name: QueueName,
  change: (queue: QueueRecord) => QueueRecord,
): Promise<void> {
  await transact(storage.engine, async (tx: Transaction) => {
    tx.put(queueKey(name.account, name.queue), encodeJson(change(await loadQueue(tx, name))));
  });
}
