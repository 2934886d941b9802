/**
 * The numbers in the query of message operations: their ranges, and what they are where none is named. Each is read once.
 * https://learn.microsoft.com/rest/api/storageservices/operations-on-messages
 */
import {
  DEFAULT_GET_VISIBILITY_SECONDS,
  DEFAULT_TTL_SECONDS,
  GET_COUNT_MAX,
  OLD_TTL_SECONDS_MAX,
  OLD_VISIBILITY_SECONDS_MAX,
  refusePut,
  TTL_SECONDS_MAX,
  VISIBILITY_SECONDS_MAX,
} from '../../rules/message.ts';
import type { GetRequest } from '../../service/queue/hand-out.ts';
import type { NewMessage } from '../../service/queue/put-message.ts';
import { invalidQuery, outOfRangeQuery, StorageError } from '../../service/storage-error.ts';
import type { Query } from '../exchange.ts';

/** A message may be hidden for days. */
const SINCE_LONG_VISIBILITY = '2011-08-18';
/** A message may live longer than a week, and for ever. */
const SINCE_ANY_TTL = '2017-07-29';

/** A parameter and what it may be. */
interface Limits {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

const COUNT: Limits = { name: 'numofmessages', min: 1, max: GET_COUNT_MAX };
const HIDDEN: Limits = { name: 'visibilitytimeout', min: 0, max: VISIBILITY_SECONDS_MAX };
/** Of a Get: a message that is handed out is hidden for a while at least. */
const HIDDEN_BY_GET: Limits = { ...HIDDEN, min: 1 };
const HIDDEN_BY_OLD_GET: Limits = { ...HIDDEN, min: 1, max: OLD_VISIBILITY_SECONDS_MAX };
const TTL: Limits = { name: 'messagettl', min: 1, max: TTL_SECONDS_MAX };
const OLD_TTL: Limits = { ...TTL, max: OLD_TTL_SECONDS_MAX };
const FOR_EVER = '-1';

export function parsePut(query: Query, version: string): Pick<NewMessage, 'hiddenSeconds' | 'ttlSeconds'> {
  const hiddenSeconds = parseWithin(HIDDEN, query.get(HIDDEN.name)) ?? 0;
  const ttlSeconds = parseTtl(query.get(TTL.name), version);
  if (refusePut(hiddenSeconds, ttlSeconds) !== null) {
    throw invalidQuery(HIDDEN.name, String(hiddenSeconds), 'The message would expire before it becomes visible.');
  }
  return { hiddenSeconds, ttlSeconds };
}

function parseTtl(text: string | null, version: string): number | null {
  if (text === null) return DEFAULT_TTL_SECONDS;
  const limits = version < SINCE_ANY_TTL ? OLD_TTL : TTL;
  if (text === FOR_EVER && limits === TTL) return null;
  const seconds = parseInteger(limits.name, text);
  if (seconds < limits.min) throw invalidQuery(limits.name, text, 'Not a time to live.');
  if (seconds > limits.max) throw outOfRangeQuery(limits.name, text, limits);
  return seconds;
}

export function parseGet(query: Query, version: string): GetRequest {
  const limits = version < SINCE_LONG_VISIBILITY ? HIDDEN_BY_OLD_GET : HIDDEN_BY_GET;
  return {
    count: parsePeek(query),
    hiddenSeconds: parseWithin(limits, query.get(limits.name)) ?? DEFAULT_GET_VISIBILITY_SECONDS,
  };
}

/** How many messages. */
export const parsePeek = (query: Query): number => parseWithin(COUNT, query.get(COUNT.name)) ?? 1;

/** For how long the message stays hidden, in seconds. */
export const parseUpdate = (query: Query): number => parseWithin(HIDDEN, requireWord(query, HIDDEN.name)) as number;

export function requireWord(query: Query, name: string): string {
  const text = query.get(name);
  if (text !== null) return text;
  throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: name } });
}

/** Null where there is none. */
function parseWithin(limits: Limits, text: string | null): number | null {
  if (text === null) return null;
  const value = parseInteger(limits.name, text);
  if (value < limits.min || value > limits.max) throw outOfRangeQuery(limits.name, text, limits);
  return value;
}

const INTEGER = /^-?\d{1,10}$/;

function parseInteger(name: string, text: string): number {
  if (!INTEGER.test(text)) throw invalidQuery(name, text, 'Not a number.');
  return Number(text);
}
