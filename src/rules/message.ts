/**
 * Messages of a queue: from when to when they are seen. Deadlines are stored, and what holds now is derived from them,
 * never written by a timer. A message's place in its queue is the time from which it may be handed out; among those of
 * one time, the order in which they were placed.
 */
import type { Id } from '../base/ids.ts';
import type { ErrorCode } from './error-code.ts';

export const TEXT_BYTES_MAX = 64 * 1024;
/** Before 2011-08-18. */
export const OLD_TEXT_BYTES_MAX = 8 * 1024;
export const GET_COUNT_MAX = 32;
export const VISIBILITY_SECONDS_MAX = 7 * 24 * 3600;
/** Before 2011-08-18, of a Get. */
export const OLD_VISIBILITY_SECONDS_MAX = 2 * 3600;
export const DEFAULT_GET_VISIBILITY_SECONDS = 30;
export const DEFAULT_TTL_SECONDS = 7 * 24 * 3600;
/** Before 2017-07-29. */
export const OLD_TTL_SECONDS_MAX = 7 * 24 * 3600;
export const TTL_SECONDS_MAX = 2 ** 31 - 1;

/** The end of the year 9999: when a message without an end expires. */
export const NEVER_MS = 253_402_300_799_000;

/** What is known of a message beside its text and its place. */
export interface Message {
  /** A GUID as text; the same for the message's whole life. */
  readonly messageId: string;
  readonly insertedMs: number;
  readonly expiresMs: number;
  /** How often it was handed out. */
  readonly dequeueCount: number;
}

/** Where a message stands until the next Get or Update. Whoever knows the place holds the message. */
export interface Place {
  readonly visibleMs: number;
  readonly tick: Id;
}

/** The time, and how far off the clock that told it may be: 0 where all ask the same clock. */
export interface Instant {
  readonly nowMs: number;
  readonly uncertaintyMs: number;
}

/**
 * More than the clocks of two nodes are ever apart. What is to be seen at once is placed so much earlier: a node whose
 * clock is behind must see it too, as soon as the Put was answered.
 */
const CLOCKS_APART_MS = 1_000;

/** From when on a message that is hidden for so long may be handed out, by any node's clock: rather late than early. */
export function visibleFrom({ nowMs, uncertaintyMs }: Instant, hiddenSeconds: number): number {
  if (hiddenSeconds > 0) return nowMs + hiddenSeconds * 1000 + Math.ceil(uncertaintyMs);
  return uncertaintyMs === 0 ? nowMs : Math.max(0, nowMs - CLOCKS_APART_MS);
}

/** Messages placed at this time or before may be handed out. */
export const visibleUntil = ({ nowMs, uncertaintyMs }: Instant): number =>
  Math.max(0, nowMs - Math.ceil(uncertaintyMs));

export const isExpired = ({ expiresMs }: Pick<Message, 'expiresMs'>, nowMs: number): boolean => nowMs >= expiresMs;

/** `ttlSeconds` null: for ever. */
export const expiresAt = (nowMs: number, ttlSeconds: number | null): number =>
  ttlSeconds === null ? NEVER_MS : Math.min(nowMs + ttlSeconds * 1000, NEVER_MS);

/** A message that would expire before anybody could see it. */
export const refusePut = (hiddenSeconds: number, ttlSeconds: number | null): ErrorCode | null =>
  ttlSeconds !== null && hiddenSeconds >= ttlSeconds ? 'InvalidQueryParameterValue' : null;

/**
 * Update and Delete: the message that stands at the place which the caller knows, if one does. One that somebody else got
 * or changed meanwhile stands elsewhere, so a stale receipt finds nothing.
 */
export function refuseHold(
  found: Message | null,
  { messageId, nowMs }: { readonly messageId: string; readonly nowMs: number },
): ErrorCode | null {
  return found === null || found.messageId !== messageId || isExpired(found, nowMs) ? 'MessageNotFound' : null;
}

/** Unlike a Get, an Update must not hide a message beyond its end. */
export const refuseUpdate = (message: Message, nextVisibleMs: number): ErrorCode | null =>
  nextVisibleMs > message.expiresMs ? 'InvalidQueryParameterValue' : null;

/** As handed out once more. */
export const dequeued = (message: Message): Message => ({ ...message, dequeueCount: message.dequeueCount + 1 });
