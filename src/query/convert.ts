/**
 * From one type to another, as CAST asks for it or as an operator needs it. Delimited text has nothing but strings, so
 * these stand in almost every evaluation; what cannot be converted is an error of its record.
 */
import { invalidConversion, RecordError } from './query-error.ts';
import { parseTimestamp, Timestamp } from './timestamp.ts';
import { isInt64, type Value } from './value.ts';

/** Longer text is no number that anybody wrote, and not worth the time to look. */
const NUMBER_TEXT_LENGTH_MAX = 400;
const INTEGER_DIGITS_MAX = 40;
const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** An INT where it is written as one, else a FLOAT; null for text that is neither. */
export function parseNumber(text: string): bigint | number | null {
  if (text.length > NUMBER_TEXT_LENGTH_MAX) return null;
  const trimmed = text.trim();
  if (INTEGER.test(trimmed) && trimmed.length <= INTEGER_DIGITS_MAX) return BigInt(trimmed.replace(/^\+/, ''));
  if (!DECIMAL.test(trimmed)) return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : null;
}

type Present = Exclude<Value, null | undefined>;

export function toNumber(value: Present): bigint | number {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  const parsed = typeof value === 'string' ? parseNumber(value) : null;
  if (parsed === null) throw invalidConversion();
  return parsed;
}

export function toBoolean(value: Present): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'number') return value !== 0;
  if (typeof value !== 'string') throw invalidConversion();
  const word = value.length > 8 ? '' : value.trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  if (word === 'false' || word === '0') return false;
  throw invalidConversion();
}

export function toTimestamp(value: Present): Timestamp {
  if (value instanceof Timestamp) return value;
  const parsed = typeof value === 'string' ? parseTimestamp(value) : null;
  if (parsed === null) throw invalidConversion();
  return parsed;
}

/** Objects and arrays have no text: they are told as JSON, by whoever writes them. */
export function toText(value: Present): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && !(value instanceof Timestamp)) throw invalidConversion();
  return scalarText(value);
}

export const scalarText = (value: boolean | bigint | number | Timestamp): string => value.toString();

/** For repetitions, lengths and places: a number without a fraction, clipped to what can be counted. */
export function toCount(value: Present): number {
  return Math.trunc(Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(toNumber(value)))));
}

export type CastTarget =
  | { readonly type: 'int' | 'float' | 'timestamp' | 'boolean' }
  /** Null: any length. A longer text is cut. */
  | { readonly type: 'string'; readonly lengthMax: number | null }
  /** Digits behind the point; null: as they are. */
  | { readonly type: 'decimal'; readonly scale: number | null };

export function cast(value: Present, target: CastTarget): Present {
  switch (target.type) {
    case 'int':
      return toInt(value);
    case 'float':
      return Number(toNumber(value));
    case 'decimal':
      return toDecimal(value, target.scale);
    case 'boolean':
      return toBoolean(value);
    case 'timestamp':
      return toTimestamp(value);
    case 'string': {
      const text = toText(value);
      return target.lengthMax === null ? text : text.slice(0, target.lengthMax);
    }
  }
}

function toInt(value: Present): bigint {
  const number = toNumber(value);
  const whole = typeof number === 'bigint' ? number : BigInt(Math.trunc(number));
  if (!isInt64(whole)) throw new RecordError('ArithmeticOverflow', 'The value does not fit into an INT.');
  return whole;
}

const EXPONENT_FREE_MAX = 1e21;

function toDecimal(value: Present, scale: number | null): bigint | number {
  const number = toNumber(value);
  if (scale === null || typeof number === 'bigint' || Math.abs(number) >= EXPONENT_FREE_MAX) return number;
  return Number(number.toFixed(scale));
}
