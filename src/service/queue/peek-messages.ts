import type { Key, Snapshot } from '../../engine/engine.ts';
import { isExpired, type Message, visibleUntil } from '../../rules/message.ts';
import { decodeMessage, decodeText, expiresMsOf } from '../records/message-record.ts';
import { type ContentAddress, textKey, visibleRange } from '../records/queue-keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { instantOf, loadQueue, type QueueName } from './load.ts';

export interface PeekedMessage {
  readonly message: Message;
  readonly text: string;
}

/** Where expired messages stand before those to be shown, so many more are looked at in a step. */
const EXPIRED_STEP_RECORDS = 1_000;
/** Places are small. */
const STEP_BYTES_MAX = 1024 * 1024;

/** Peek Messages: those that a Get would hand out now; nothing changes. */
export async function peekMessages(storage: Storage, name: QueueName, count: number): Promise<PeekedMessage[]> {
  const snapshot = storage.engine.snapshot();
  try {
    const { contentId } = await loadQueue(snapshotReader(snapshot), name);
    const content = { account: name.account, contentId };
    const messages = await visibleMessages(storage, snapshot, { content, count });
    const texts = await snapshot.get(messages.map(({ messageId }) => textKey(content, messageId)));
    return messages.map((message, index) => ({ message, text: decodeText(texts[index]?.value) }));
  } finally {
    snapshot.close();
  }
}

async function visibleMessages(
  storage: Storage,
  snapshot: Snapshot,
  { content, count }: { readonly content: ContentAddress; readonly count: number },
): Promise<Message[]> {
  const now = instantOf(storage);
  const range = visibleRange(content, visibleUntil(now));
  const messages: Message[] = [];
  const show = (_place: Key, value: Uint8Array): boolean => {
    if (messages.length === count) return false;
    if (!isExpired({ expiresMs: expiresMsOf(value) }, now.nowMs)) messages.push(decodeMessage(value));
    return true;
  };
  let limit = count;
  for (let from: Key | null = range.from; from !== null && messages.length < count; ) {
    from = await snapshot.scan({ from, to: range.to }, { limit, bytesMax: STEP_BYTES_MAX }, show);
    limit = EXPIRED_STEP_RECORDS;
  }
  return messages;
}
