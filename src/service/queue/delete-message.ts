import { transact } from '../../engine/transact.ts';
import { countKey, textKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { type Hold, loadHeld } from './held-message.ts';
import type { QueueName } from './load.ts';
import { addToCount } from './message-count.ts';

/** Delete Message: by whoever got or changed it last. That its timeout has passed is no matter, if nobody else got it. */
export async function deleteMessage(storage: Storage, name: QueueName, hold: Hold): Promise<void> {
  await storage.counting.use((shard) =>
    transact(storage.engine, async (tx) => {
      const { content, key, others } = await loadHeld(storage, tx, {
        name,
        hold,
        alsoKeys: (content) => [countKey(content, shard)],
      });
      tx.delete(key);
      tx.delete(textKey(content, hold.messageId));
      for (const count of others) addToCount(tx, count, -1);
    }),
  );
}
