import { transact } from '../../engine/transact.ts';
import { expiresAt, type Message, type Place, visibleFrom } from '../../rules/message.ts';
import { encodeMessage } from '../records/message-record.ts';
import { countKey, placeKey, textKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { instantOf, loadContent, type QueueName } from './load.ts';
import { addToCount } from './message-count.ts';
import { nextMessageId } from './message-id.ts';

export interface NewMessage {
  readonly text: string;
  /** Nobody sees it for so long. */
  readonly hiddenSeconds: number;
  /** Null: for ever. */
  readonly ttlSeconds: number | null;
}

/** A message and where it stands now. */
export interface PlacedMessage {
  readonly message: Message;
  readonly place: Place;
  readonly nextVisibleMs: number;
}

/** Put Message: behind all that are visible by now. */
export async function putMessage(storage: Storage, name: QueueName, request: NewMessage): Promise<PlacedMessage> {
  const { ids, known } = storage;
  const { hiddenSeconds, ttlSeconds } = request;
  const messageId = nextMessageId(ids);
  const text = Buffer.from(request.text);
  return storage.counting.use((shard) =>
    transact(storage.engine, async (tx): Promise<PlacedMessage> => {
      const { content, records } = await loadContent(tx, name, {
        known,
        keysIn: (content) => [countKey(content, shard)],
      });
      const now = instantOf(storage);
      const expiresMs = expiresAt(now.nowMs, ttlSeconds);
      const message: Message = { messageId, insertedMs: now.nowMs, expiresMs, dequeueCount: 0 };
      const place: Place = { visibleMs: visibleFrom(now, hiddenSeconds), tick: ids.next() };
      tx.put(textKey(content, messageId), text);
      tx.put(placeKey(content, place), encodeMessage(message));
      for (const count of records) addToCount(tx, count, 1);
      return { message, place, nextVisibleMs: now.nowMs + hiddenSeconds * 1000 };
    }),
  );
}
