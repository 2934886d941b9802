/**
 * What queues should hold, as nothing but maps, never changed in place: a write gives another model, so that several
 * orders of the same writes can be tried out. Only what cannot be foretold comes from the store: ids and ticks.
 */
import type { Message, Place } from '../../src/rules/message.ts';
import type { Metadata } from '../../src/rules/names.ts';

export interface ModelMessage extends Message {
  readonly text: string;
  readonly place: Place;
}

export interface ModelQueue {
  readonly name: string;
  readonly metadata: Metadata;
  /** By their ids, in no order. Expired ones stay until they are gone from the store as well. */
  readonly messages: ReadonlyMap<string, ModelMessage>;
}

export class QueueModel {
  readonly queues: ReadonlyMap<string, ModelQueue>;
  /** Everybody's time, which moves between rounds alone. */
  readonly nowMs: number;

  constructor(nowMs: number, queues: ReadonlyMap<string, ModelQueue> = new Map()) {
    this.nowMs = nowMs;
    this.queues = queues;
  }

  at(nowMs: number): QueueModel {
    return new QueueModel(nowMs, this.queues);
  }

  find(name: string): ModelQueue | null {
    return this.queues.get(name) ?? null;
  }

  with(queue: ModelQueue): QueueModel {
    return new QueueModel(this.nowMs, new Map([...this.queues, [queue.name, queue]]));
  }

  without(name: string): QueueModel {
    return new QueueModel(this.nowMs, new Map([...this.queues].filter(([other]) => other !== name)));
  }

  withMessages(queue: ModelQueue, messages: readonly ModelMessage[]): QueueModel {
    const changed = messages.map((message) => [message.messageId, message] as const);
    return this.with({ ...queue, messages: new Map([...queue.messages, ...changed]) });
  }

  lives({ expiresMs }: ModelMessage): boolean {
    return this.nowMs < expiresMs;
  }

  /** Those that may be handed out, in their order. */
  visibleIn({ messages }: ModelQueue): ModelMessage[] {
    return [...messages.values()]
      .filter((message) => this.lives(message) && message.place.visibleMs <= this.nowMs)
      .sort((a, b) => comparePlaces(a.place, b.place));
  }
}

export function comparePlaces(a: Place, b: Place): number {
  if (a.visibleMs !== b.visibleMs) return a.visibleMs - b.visibleMs;
  return a.tick < b.tick ? -1 : a.tick > b.tick ? 1 : 0;
}

/** A message in one line, by which two of them are compared. */
export const told = ({ messageId, insertedMs, expiresMs, dequeueCount, text, place }: ModelMessage): string =>
  JSON.stringify([messageId, insertedMs, expiresMs, dequeueCount, text, place.visibleMs, place.tick]);
