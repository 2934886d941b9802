/**
 * What the test process knows of a client's own queues: the messages by its last acknowledged request and, while one is
 * under way, what that would lead to. Which messages a Get takes is the server's choice, so this depends on whose receipts
 * no longer hold after the crash.
 */
import type { TestAccount } from '../harness/accounts.ts';

/** Longer than any run of the test: what hides so long is seen again only by whoever has its receipt. */
export const LONG_SECONDS = 24 * 3600;
/** Over soon after the restart: what comes back then can be looked at without its receipt. */
export const SHORT_SECONDS = 1;
/** What one Get or Peek answers at most. */
export const READ_COUNT_MAX = 32;

export interface KnownMessage {
  /** null: given in an answer that never came. */
  readonly id: string | null;
  readonly text: string;
  readonly dequeueCount: number;
  /** null: given in an answer that never came. */
  readonly receipt: string | null;
  /** When the request was sent that made or hid it last, and for how long it hides from then on. */
  readonly sentMs: number;
  readonly hiddenSeconds: number;
}

/** By the number that the text begins with. */
export type Messages = ReadonlyMap<number, KnownMessage>;

export const NO_MESSAGES: Messages = new Map();

export interface Hold {
  readonly id: string;
  readonly receipt: string;
}

/** The request under way. */
export interface PendingRequest {
  /** What it leads to if the receipts of just these messages no longer hold after it. Null: it cannot have done that. */
  after(moved: ReadonlySet<number>): Messages | null;
}

export interface QueueEntry {
  readonly account: TestAccount;
  readonly name: string;
  exists: boolean;
  pendingExists: boolean | null;
  acknowledged: Messages;
  pending: PendingRequest | null;
  /** Receipts that hold no longer by acknowledged requests, since the last restart. */
  spent: Hold[];
  /** How many messages were put to it, or were to be: each has a number of its own. */
  putCount: number;
}

export const newQueueEntry = (name: string, account: TestAccount): QueueEntry => ({
  account,
  name,
  exists: false,
  pendingExists: null,
  acknowledged: NO_MESSAGES,
  pending: null,
  spent: [],
  putCount: 0,
});

/** For requests that must move one message, or every one, if they do anything. */
export const isJust = (moved: ReadonlySet<number>, numbers: readonly number[]): boolean =>
  moved.size === numbers.length && numbers.every((number) => moved.has(number));

/** Null: nobody can hold it. */
export const holdOf = ({ id, receipt }: KnownMessage): Hold | null =>
  id === null || receipt === null ? null : { id, receipt };

/** Those that whoever has their receipts can hold. */
export const heldNumbers = (messages: Messages): number[] =>
  [...messages].filter(([, message]) => holdOf(message) !== null).map(([number]) => number);

/** Nobody knows its receipt, and it hides for long. */
export const isOutOfReach = (message: KnownMessage): boolean =>
  holdOf(message) === null && message.hiddenSeconds === LONG_SECONDS;

/** The server was asked to hide it no earlier than `sentMs`, by the same clock. */
export const mayBeSeen = ({ sentMs, hiddenSeconds }: KnownMessage, nowMs: number): boolean =>
  nowMs >= sentMs + hiddenSeconds * 1000;

export const mustBeSeen = ({ hiddenSeconds }: KnownMessage): boolean => hiddenSeconds === 0;

/** How many messages a Get of the only consumer takes: the ones whose time is over just now may count or not. */
export function takenCounts(
  messages: Messages,
  { wantedCount, nowMs }: { wantedCount: number; nowMs: number },
): { least: number; most: number } {
  const all = [...messages.values()];
  const least = Math.min(wantedCount, all.filter(mustBeSeen).length);
  const most = Math.min(wantedCount, all.filter((message) => mayBeSeen(message, nowMs)).length);
  return { least, most };
}

// ---- texts

/** Of so many bytes in UTF-8, or a few more where that is not enough for the number. */
export function messageText(number: number, { turn, letter, lengthBytes }: TextOptions): string {
  const start = `${number} in turn ${turn}: `;
  const letterBytes = Buffer.byteLength(letter);
  return start + letter.repeat(Math.max(1, Math.floor((lengthBytes - start.length) / letterBytes)));
}

export interface TextOptions {
  readonly turn: number;
  readonly letter: string;
  readonly lengthBytes: number;
}

/** The number of the message; NaN for a text that is none of ours. */
export const numberIn = (text: string): number => Number(/^(\d+) in turn /.exec(text)?.[1] ?? Number.NaN);
