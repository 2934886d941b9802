/** Every operation on the messages of queues, with random arguments. */
import { deleteMessage } from '../../src/service/queue/delete-message.ts';
import { getMessages } from '../../src/service/queue/get-messages.ts';
import type { GotMessage } from '../../src/service/queue/hand-out.ts';
import type { Hold } from '../../src/service/queue/held-message.ts';
import { peekMessages } from '../../src/service/queue/peek-messages.ts';
import { putMessage } from '../../src/service/queue/put-message.ts';
import { updateMessage } from '../../src/service/queue/update-message.ts';
import type { Random } from '../harness/random.ts';
import { codeProblem } from './action.ts';
import { type Action, action, nameOf, type Touched } from './queue-action.ts';
import { missing } from './queue-actions.ts';
import { comparePlaces, type ModelMessage, type ModelQueue, type QueueModel, told } from './queue-model.ts';

/** `since`: holds that were good once, of any queue. */
export interface Consumer {
  readonly random: Random;
  readonly model: QueueModel;
  readonly since: readonly Hold[];
  /** Learns of every hold that is given. */
  readonly learn: (hold: Hold) => void;
}

const HIDDEN_SECONDS = [0, 0, 0, 1, 2, 5, 60];
const TTL_SECONDS = [1, 2, 3, 10, 60, 3_600, null];
const COUNTS = [1, 1, 2, 5, 32];

export function putAction({ random, learn }: Consumer, queue: string): Action {
  const text = random.bytes(random.below(12)).toString('hex');
  const hiddenSeconds = random.pick(HIDDEN_SECONDS);
  const ttlSeconds = random.pick(TTL_SECONDS.filter((ttl) => ttl === null || ttl > hiddenSeconds));
  return action({
    what: `put in ${queue} for ${hiddenSeconds} s of ${ttlSeconds ?? 'all'}`,
    act: async (storage) => {
      const put = await putMessage(storage, nameOf(queue), { text, hiddenSeconds, ttlSeconds });
      learn({ messageId: put.message.messageId, place: put.place });
      return put;
    },
    judge(model, seen) {
      const found = model.find(queue);
      const problem = codeProblem(seen, missing(model, queue));
      if (problem !== null || found === null || !('result' in seen)) return problem ?? model;
      const { message, place, nextVisibleMs } = seen.result;
      const put: ModelMessage = {
        messageId: message.messageId,
        insertedMs: model.nowMs,
        expiresMs: ttlSeconds === null ? Date.UTC(9999, 11, 31, 23, 59, 59) : model.nowMs + ttlSeconds * 1000,
        dequeueCount: 0,
        text,
        place: { visibleMs: model.nowMs + hiddenSeconds * 1000, tick: place.tick },
      };
      const isKnown = found.messages.has(message.messageId);
      if (isKnown || nextVisibleMs !== put.place.visibleMs) return 'an id that was given before, or another time';
      return differs({ ...message, text, place }, put) ?? model.withMessages(found, [put]);
    },
    places: ({ message }) => [message.messageId],
  });
}

export function getAction({ random, learn }: Consumer, queue: string): Action {
  const count = random.pick(COUNTS);
  const hiddenSeconds = random.pick([1, 1, 2, 5, 60]);
  return action<readonly GotMessage[]>({
    what: `get ${count} of ${queue} for ${hiddenSeconds} s`,
    act: async (storage) => {
      const got = await getMessages(storage, nameOf(queue), { count, hiddenSeconds });
      for (const { message, place } of got) learn({ messageId: message.messageId, place });
      return got;
    },
    judge(model, seen, beside) {
      const found = model.find(queue);
      const problem = codeProblem(seen, missing(model, queue));
      if (problem !== null || found === null || !('result' in seen)) return problem ?? model;
      const got = seen.result;
      const unexplained = unexplainedChoice(model.visibleIn(found), { got, count, beside });
      return unexplained ?? handedOut(model, found, { got, hiddenSeconds });
    },
    places: (got) => got.map(({ message }) => message.messageId),
    handsOut: (got) => got.map(({ message, nextVisibleMs: untilMs }) => ({ messageId: message.messageId, untilMs })),
  });
}

/**
 * The first of the visible ones, in their order. Those that others are at may be left out; and for each that was claimed
 * and then taken away by another, one behind them all may be missing.
 */
function unexplainedChoice(
  visible: readonly ModelMessage[],
  request: { readonly got: readonly GotMessage[]; readonly count: number; readonly beside: Touched },
): string | null {
  const { got, count, beside } = request;
  const ids = got.map(({ message }) => message.messageId);
  if (ids.length > count) return `${ids.length} messages, asked for ${count}`;
  const touched = new Set([...beside.placed, ...beside.removed]);
  const mayEndEarly = count - ids.length <= beside.removed.length;
  let next = 0;
  for (const { messageId } of visible) {
    if (next === count || (next === ids.length && mayEndEarly)) break;
    if (ids[next] === messageId) next++;
    else if (!touched.has(messageId)) return `message ${messageId} was passed over`;
  }
  return next === ids.length ? null : `message ${ids[next]} is not visible, or was handed out of turn`;
}

function handedOut(
  model: QueueModel,
  queue: ModelQueue,
  { got, hiddenSeconds }: { readonly got: readonly GotMessage[]; readonly hiddenSeconds: number },
): QueueModel | string {
  const visibleMs = model.nowMs + hiddenSeconds * 1000;
  const after: ModelMessage[] = [];
  for (const { message, text, place, nextVisibleMs } of got) {
    const before = queue.messages.get(message.messageId) as ModelMessage;
    const { tick } = place;
    const expected = { ...before, dequeueCount: before.dequeueCount + 1, place: { visibleMs, tick } };
    const problem = differs({ ...message, text, place }, expected);
    if (problem !== null) return problem;
    if (nextVisibleMs !== visibleMs) return `visible from ${nextVisibleMs}, expected ${visibleMs}`;
    if (comparePlaces(place, before.place) <= 0) return 'a place before the one it had';
    after.push(expected);
  }
  return model.withMessages(queue, after);
}

export function peekAction({ random }: Consumer, queue: string): Action {
  const count = random.pick(COUNTS);
  return action({
    what: `peek at ${count} of ${queue}`,
    act: (storage) => peekMessages(storage, nameOf(queue), count),
    judge(model, seen) {
      const found = model.find(queue);
      const problem = codeProblem(seen, missing(model, queue));
      if (problem !== null || found === null || !('result' in seen)) return problem ?? model;
      const visible = model.visibleIn(found).slice(0, count);
      // It does not tell where they stand.
      const shown = seen.result.map(({ message, text }, index) => ({
        ...message,
        text,
        place: visible[index]?.place ?? NOBODYS.place,
      }));
      const [is, expected] = [shown, visible].map((messages) => messages.map(told).join(' '));
      return is === expected ? model : `${is}, expected ${expected}`;
    },
  });
}

export function updateAction(consumer: Consumer, queue: string): Action {
  const { random, learn } = consumer;
  const hold = someHold(consumer, queue);
  const hiddenSeconds = random.pick(HIDDEN_SECONDS);
  const text = random.chance(0.5) ? null : random.bytes(4).toString('hex');
  return action({
    what: `update ${hold.messageId} in ${queue} for ${hiddenSeconds} s`,
    act: async (storage) => {
      const updated = await updateMessage(storage, nameOf(queue), { hold, hiddenSeconds, text });
      learn({ messageId: hold.messageId, place: updated.place });
      return updated;
    },
    judge(model, seen) {
      const visibleMs = model.nowMs + hiddenSeconds * 1000;
      const [found, held] = [model.find(queue), heldIn(model, queue, hold)];
      const isTooLong = held !== null && visibleMs > held.expiresMs;
      const expected = missing(model, queue) ?? (isTooLong ? 'InvalidQueryParameterValue' : notHeld(held));
      const problem = codeProblem(seen, expected);
      if (problem !== null || found === null || held === null || !('result' in seen)) return problem ?? model;
      const { place, nextVisibleMs } = seen.result;
      if (place.visibleMs !== visibleMs || nextVisibleMs !== visibleMs) return `visible from ${place.visibleMs}`;
      return model.withMessages(found, [{ ...held, text: text ?? held.text, place }]);
    },
    removes: () => [hold.messageId],
  });
}

export function deleteMessageAction(consumer: Consumer, queue: string): Action {
  const hold = someHold(consumer, queue);
  return action({
    what: `delete ${hold.messageId} in ${queue}`,
    act: (storage) => deleteMessage(storage, nameOf(queue), hold),
    judge(model, seen) {
      const [found, held] = [model.find(queue), heldIn(model, queue, hold)];
      const problem = codeProblem(seen, missing(model, queue) ?? notHeld(held));
      if (problem !== null || found === null || held === null) return problem ?? model;
      const messages = [...found.messages].filter(([messageId]) => messageId !== hold.messageId);
      return model.with({ ...found, messages: new Map(messages) });
    },
    removes: () => [hold.messageId],
  });
}

const NOBODYS: Hold = {
  messageId: '00000000-0000-8000-8000-000000000000',
  place: { visibleMs: 1, tick: '0'.repeat(24) },
};

/** Of a message in the queue, or one that is stale, expired, or of another queue. */
function someHold({ random, model, since }: Consumer, queue: string): Hold {
  const messages = [...(model.find(queue)?.messages.values() ?? [])];
  if (messages.length > 0 && random.chance(0.75)) {
    const { messageId, place } = random.pick(messages);
    return { messageId, place };
  }
  return since.length === 0 ? NOBODYS : random.pick(since);
}

function heldIn(model: QueueModel, queue: string, { messageId, place }: Hold): ModelMessage | null {
  const found = model.find(queue)?.messages.get(messageId) ?? null;
  return found !== null && model.lives(found) && comparePlaces(found.place, place) === 0 ? found : null;
}

const notHeld = (held: ModelMessage | null): string | null => (held === null ? 'MessageNotFound' : null);

function differs(is: ModelMessage, expected: ModelMessage): string | null {
  return told(is) === told(expected) ? null : `${told(is)}, expected ${told(expected)}`;
}
