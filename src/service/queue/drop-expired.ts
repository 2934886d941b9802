/**
 * Takes expired messages away. Nobody sees them any more, so nothing hangs on when: a Get takes those it meets, the
 * leader walks all places now and then for the rest.
 */
import type { Key } from '../../engine/engine.ts';
import { transact } from '../../engine/transact.ts';
import { isExpired } from '../../rules/message.ts';
import { decodeMessage } from '../records/message-record.ts';
import { type ContentAddress, countKey, textKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { addToCount } from './message-count.ts';

/** Those of these places, all of one content, where an expired message still stands. */
export async function dropExpired(storage: Storage, content: ContentAddress, places: readonly Key[]): Promise<void> {
  await storage.counting.use((shard) =>
    transact(storage.engine, async (tx) => {
      const [count = null, ...values] = await tx.getMany([countKey(content, shard), ...places]);
      const nowMs = storage.clock.nowMs();
      let droppedCount = 0;
      for (const [index, value] of values.entries()) {
        const message = value === null ? null : decodeMessage(value);
        if (message === null || !isExpired(message, nowMs)) continue;
        tx.delete(places[index] as Key);
        tx.delete(textKey(content, message.messageId));
        droppedCount++;
      }
      if (droppedCount > 0) addToCount(tx, { key: countKey(content, shard), value: count }, -droppedCount);
    }),
  );
}

/** One walk over all queues. */
export async function dropAllExpired(_storage: Storage, _signal: AbortSignal): Promise<void> {
  throw new Error('to come');
}
