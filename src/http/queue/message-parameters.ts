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
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';

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

export function parsePut({ target, version }: Exchange): Pick<NewMessage, 'hiddenSeconds' | 'ttlSeconds'> {
  const hiddenSeconds = parseWithin(HIDDEN, target.query.get(HIDDEN.name)) ?? 0;
  const ttlSeconds = parseTtl(target.query.get(TTL.name), version);
  if (refusePut(hiddenSeconds, ttlSeconds) !== null) {
    throw invalidQuery(HIDDEN.name, String(hiddenSeconds), 'The message would expire before anybody sees it.');
  }
  return { hiddenSeconds, ttlSeconds };
}

function parseTtl(text: string | null, version: string): number | null {
  if (text === null) return DEFAULT_TTL_SECONDS;
  const isOld = version < SINCE_ANY_TTL;
  if (text === FOR_EVER && !isOld) return null;
  // Unlike other numbers, one that is too low is not told its range: -1 is lower still, and has a meaning.
  if (parseInteger(TTL.name, text) < 1) throw invalidQuery(TTL.name, text, 'Not a time to live.');
  return parseWithin(isOld ? OLD_TTL : TTL, text);
}

export function parseGet(exchange: Exchange): GetRequest {
  const limits = exchange.version < SINCE_LONG_VISIBILITY ? HIDDEN_BY_OLD_GET : HIDDEN_BY_GET;
  return {
    count: parsePeek(exchange),
    hiddenSeconds: parseWithin(limits, exchange.target.query.get(limits.name)) ?? DEFAULT_GET_VISIBILITY_SECONDS,
  };
}

/** How many messages. */
export const parsePeek = ({ target }: Exchange): number => parseWithin(COUNT, target.query.get(COUNT.name)) ?? 1;

/** For how long the message stays hidden, in seconds. */
export const parseUpdate = (exchange: Exchange): number =>
  parseWithin(HIDDEN, requireWord(exchange, HIDDEN.name)) as number;

export function requireWord({ target }: Exchange, name: string): string {
  const text = target.query.get(name);
  if (text !== null) return text;
  throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: name } });
}

/** Null where there is none. */
function parseWithin({ name, min, max }: Limits, text: string | null): number | null {
  if (text === null) return null;
  const value = parseInteger(name, text);
  if (value >= min && value <= max) return value;
  throw new StorageError('OutOfRangeQueryParameterValue', {
    elements: {
      QueryParameterName: name,
      QueryParameterValue: text,
      MinimumAllowed: String(min),
      MaximumAllowed: String(max),
    },
  });
}

const INTEGER = /^-?\d{1,10}$/;

function parseInteger(name: string, text: string): number {
  if (!INTEGER.test(text)) throw invalidQuery(name, text, 'Not a number.');
  return Number(text);
}
