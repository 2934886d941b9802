import { transact } from '../../engine/transact.ts';
import { queueKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { loadQueue, type QueueName } from './load.ts';

/** Delete Queue: gone at once with all its messages, whoever holds them; they are swept later. */
export async function deleteQueue(storage: Storage, name: QueueName): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const { contentId } = await loadQueue(tx, name);
    storage.extents.discardLater(tx, { kind: 'messages', account: name.account, id: contentId });
    tx.delete(queueKey(name.account, name.queue));
  });
}
