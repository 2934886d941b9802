/** A message as its consumer holds it: by the place that a Put, Get or Update told, for as long as it stands there. */
import type { Key } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import { type Message, type Place, refuseHold } from '../../rules/message.ts';
import { decodeMessage } from '../records/message-record.ts';
import { type ContentAddress, placeKey } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type LoadedContent, loadContent, type QueueName } from './load.ts';

export interface Hold {
  readonly messageId: string;
  readonly place: Place;
}

export interface HeldMessage {
  readonly message: Message;
  readonly content: ContentAddress;
  readonly key: Key;
  /** What else was asked for. */
  readonly others: LoadedContent['records'];
}

/** Refused where somebody else got or changed it since, and where it is gone. `alsoKeys`: read in the same round trip. */
export async function loadHeld(
  storage: Storage,
  tx: Transaction,
  request: {
    readonly name: QueueName;
    readonly hold: Hold;
    readonly alsoKeys?: (content: ContentAddress) => readonly Key[];
  },
): Promise<HeldMessage> {
  const { name, hold, alsoKeys = () => [] } = request;
  const { content, records } = await loadContent(tx, name, {
    known: storage.known,
    keysIn: (content) => [placeKey(content, hold.place), ...alsoKeys(content)],
  });
  const [{ key, value }, ...others] = records as [LoadedContent['records'][number]];
  const message = value === null ? null : decodeMessage(value);
  const refusal = refuseHold(message, { messageId: hold.messageId, nowMs: storage.clock.nowMs() });
  if (message === null || refusal !== null) throw new StorageError(refusal ?? 'MessageNotFound');
  return { message, content, key, others };
}
