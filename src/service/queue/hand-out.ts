/**
 * One round of Get Messages: claims the head of the queue, and hides everything that it hands out in one transaction.
 * Rounds of other nodes claim other messages, so nobody fights over the head; and a round costs what it hands out,
 * whatever waits behind.
 */
import { successor } from '../../base/bytes.ts';
import type { Claim, Key } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import { dequeued, isExpired, type Message, visibleFrom, visibleUntil } from '../../rules/message.ts';
import { decodeMessage, decodeText, encodeMessage, expiresMsOf, messageIdOf } from '../records/message-record.ts';
import { type ContentAddress, placeKey, textKey, visibleRange } from '../records/queue-keys.ts';
import type { Storage } from '../storage.ts';
import { dropExpired, dropExpiredHead } from './drop-expired.ts';
import { instantOf, type LoadedContent, loadContent, type QueueName } from './load.ts';
import type { PlacedMessage } from './put-message.ts';
import { getQueue } from './use-queue.ts';

export interface GetRequest {
  /** At most so many. */
  readonly count: number;
  readonly hiddenSeconds: number;
}

export interface GotMessage extends PlacedMessage {
  readonly text: string;
}

export interface Round {
  readonly requests: readonly GetRequest[];
  /** From here on others can claim what follows. */
  readonly onClaimed: () => void;
}

/** What each request gets, those that came first the first messages; null: it is to be served again. */
export async function handOut(
  storage: Storage,
  name: QueueName,
  { requests, onClaimed }: Round,
): Promise<readonly Share[]> {
  const content = await contentOf(storage, name);
  const wantedCount = requests.reduce((sum, { count }) => sum + count, 0);
  const { claims, claimed } = await claimHead(storage, content, wantedCount);
  onClaimed();
  try {
    return await transact(storage.engine, (tx) => take(storage, tx, { name, content, requests, claimed }));
  } finally {
    for (const claim of claims) claim.release();
  }
}

type Share = readonly GotMessage[] | null;

/** As far as known; whether it is still so is found out with the messages. */
async function contentOf(storage: Storage, name: QueueName): Promise<ContentAddress> {
  const { account, queue } = name;
  const known = storage.known.queues.idOf(account, queue);
  return { account, contentId: known ?? (await getQueue(storage, name)).contentId };
}

interface Claimed {
  readonly place: Key;
  readonly text: Key;
}

interface ClaimedHead {
  readonly claims: readonly Claim[];
  readonly claimed: readonly Claimed[];
}

/** The visible messages that wait longest, and no more than are wanted. Expired ones before them are taken away. */
async function claimHead(storage: Storage, content: ContentAddress, wantedCount: number): Promise<ClaimedHead> {
  const now = instantOf(storage);
  const range = visibleRange(content, visibleUntil(now));
  const claims: Claim[] = [];
  const claimed: Claimed[] = [];
  try {
    for (let from: Key | null = range.from; from !== null && claimed.length < wantedCount; ) {
      const limit = wantedCount - claimed.length;
      const claim = await storage.engine.claim({ from, to: range.to }, limit);
      claims.push(claim);
      const expired: Key[] = [];
      for (const { key, value } of claim.entries) {
        if (isExpired({ expiresMs: expiresMsOf(value) }, now.nowMs)) expired.push(key);
        else claimed.push({ place: key, text: textKey(content, messageIdOf(value)) });
      }
      const last = claim.entries.at(-1);
      from = last === undefined || claim.entries.length < limit ? null : successor(last.key);
      if (expired.length > 0) await dropExpired(storage, content, expired);
      if (from !== null && expired.length > 0) await dropExpiredHead(storage, content, { from, to: range.to });
    }
    return { claims, claimed };
  } catch (error) {
    for (const claim of claims) claim.release();
    throw error;
  }
}

/**
 * Those of the claimed messages that nobody changed or deleted meanwhile, shared among the requests. Where some were, a
 * request that is left with nothing is served again; and so are all where the queue was cleared, or created anew.
 */
async function take(
  storage: Storage,
  tx: Transaction,
  round: {
    readonly name: QueueName;
    readonly content: ContentAddress;
    readonly requests: readonly GetRequest[];
    readonly claimed: readonly Claimed[];
  },
): Promise<Share[]> {
  const { name, content, requests, claimed } = round;
  const { content: present, records } = await loadContent(tx, name, {
    known: storage.known,
    keysIn: ({ contentId }) =>
      contentId === content.contentId ? [...claimed.map(({ place }) => place), ...claimed.map(({ text }) => text)] : [],
  });
  if (present.contentId !== content.contentId) return requests.map(() => null);
  const now = instantOf(storage);
  const waiting = messagesIn(records).filter(({ message }) => !isExpired(message, now.nowMs));
  const isShort = waiting.length < claimed.length;
  return requests.map(({ count, hiddenSeconds }) => {
    if (isShort && waiting.length === 0) return null;
    const visibleMs = visibleFrom(now, hiddenSeconds);
    return waiting.splice(0, count).map(({ key, message, text }): GotMessage => {
      const got = { message: dequeued(message), place: { visibleMs, tick: storage.ids.next() } };
      tx.delete(key);
      tx.put(placeKey(content, got.place), encodeMessage(got.message));
      return { ...got, text, nextVisibleMs: now.nowMs + hiddenSeconds * 1000 };
    });
  });
}

interface WaitingMessage {
  readonly key: Key;
  readonly message: Message;
  readonly text: string;
}

/** From as many places as texts. */
function messagesIn(records: LoadedContent['records']): WaitingMessage[] {
  const texts = records.slice(records.length / 2);
  return texts.flatMap((text, index) => {
    const { key, value } = records[index] as LoadedContent['records'][number];
    return value === null ? [] : [{ key, message: decodeMessage(value), text: decodeText(text.value) }];
  });
}
