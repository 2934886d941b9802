import { transact } from '../../engine/transact.ts';
import { encodeJson } from '../records/codec.ts';
import { queueKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { loadQueue, type QueueName } from './load.ts';

/** Clear Messages: all of them at one moment, however many there are; they are swept later. */
export async function clearMessages(storage: Storage, name: QueueName): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const queue = await loadQueue(tx, name);
    storage.extents.discardLater(tx, { kind: 'messages', account: name.account, id: queue.contentId });
    tx.put(queueKey(name.account, name.queue), encodeJson({ ...queue, contentId: storage.ids.next() }));
  });
}
