/**
 * Order and equality. Where two types meet, the lower one is converted to the higher, in T-SQL's order: timestamp,
 * number, boolean, string. Whatever is compared with null or with what is missing is unknown.
 * https://learn.microsoft.com/sql/t-sql/data-types/data-type-precedence-transact-sql
 */
import { toBoolean, toNumber, toTimestamp } from './convert.ts';
import { invalidConversion } from './query-error.ts';
import { Timestamp } from './timestamp.ts';
import { isAbsent, type Value } from './value.ts';

/** Below, at or above zero as the first is less than, equal to or greater than the second; null: unknown. */
export function compare(left: Value, right: Value): number | null {
  if (isAbsent(left) || isAbsent(right)) return null;
  if (typeof left === 'string' && typeof right === 'string') return order(left, right);
  if (left instanceof Timestamp || right instanceof Timestamp) {
    return order(toTimestamp(left).epochMs, toTimestamp(right).epochMs);
  }
  if (typeof left === 'object' || typeof right === 'object') throw invalidConversion();
  if (isNumber(left) || isNumber(right)) return order(toNumber(left), toNumber(right));
  return order(toBoolean(left), toBoolean(right));
}

export function areEqual(left: Value, right: Value): boolean | null {
  const compared = compare(left, right);
  return compared === null ? null : compared === 0;
}

const isNumber = (value: Value): boolean => typeof value === 'bigint' || typeof value === 'number';

/** A bigint and a number compare exactly. */
function order<T extends string | boolean | number | bigint>(left: T, right: T): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}
