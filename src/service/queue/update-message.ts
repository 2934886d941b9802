import { transact } from '../../engine/transact.ts';
import { type Place, refuseUpdate, visibleFrom } from '../../rules/message.ts';
import { encodeMessage } from '../records/message-record.ts';
import { placeKey, textKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { invalidQuery } from '../storage-error.ts';
import { type Hold, loadHeld } from './held-message.ts';
import { instantOf, type QueueName } from './load.ts';

export interface MessageUpdate {
  readonly hold: Hold;
  readonly hiddenSeconds: number;
  /** Null: stays as it is. */
  readonly text: string | null;
}

export interface UpdatedMessage {
  readonly place: Place;
  readonly nextVisibleMs: number;
}

/** Update Message: a new place, by which alone it can be held from now on; maybe a new text. */
export async function updateMessage(storage: Storage, name: QueueName, update: MessageUpdate): Promise<UpdatedMessage> {
  const { hold, hiddenSeconds, text } = update;
  return transact(storage.engine, async (tx): Promise<UpdatedMessage> => {
    const { message, content, key } = await loadHeld(storage, tx, { name, hold });
    const now = instantOf(storage);
    const nextVisibleMs = now.nowMs + hiddenSeconds * 1000;
    if (refuseUpdate(message, nextVisibleMs) !== null) {
      throw invalidQuery('visibilitytimeout', String(hiddenSeconds), 'The message expires before that.');
    }
    const place: Place = { visibleMs: visibleFrom(now, hiddenSeconds), tick: storage.ids.next() };
    tx.delete(key);
    tx.put(placeKey(content, place), encodeMessage(message));
    if (text !== null) tx.put(textKey(content, message.messageId), Buffer.from(text));
    return { place, nextVisibleMs };
  });
}
