import { transact } from '../../engine/transact.ts';
import { isSameMetadata, type Metadata } from '../../rules/names.ts';
import { encodeJson } from '../records/codec.ts';
import { queueKey } from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findQueue, type QueueName } from './load.ts';

/** Create Queue. False: there is one with the same metadata, which is as good. */
export async function createQueue(storage: Storage, name: QueueName, metadata: Metadata): Promise<boolean> {
  return transact(storage.engine, async (tx) => {
    const queue = await findQueue(tx, name);
    if (queue !== null && !isSameMetadata(queue.metadata, metadata)) throw new StorageError('QueueAlreadyExists');
    if (queue !== null) return false;
    const createdMs = storage.clock.nowMs();
    const record: QueueRecord = { contentId: storage.ids.next(), createdMs, metadata, policies: [] };
    tx.put(queueKey(name.account, name.queue), encodeJson(record));
    return true;
  });
}
