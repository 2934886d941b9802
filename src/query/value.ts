/**
 * The values of a query. INT is a bigint and FLOAT a number, so that one look at a value tells its type; what JSON adds
 * are objects and arrays. A field that a record does not have is missing, which most operators take like null.
 */
import type { Timestamp } from './timestamp.ts';

export type JsonObject = ReadonlyMap<string, Value>;
export type JsonArray = readonly Value[];

/** undefined: missing. */
export type Value = undefined | null | boolean | bigint | number | string | Timestamp | JsonArray | JsonObject;

export const isAbsent = (value: Value): value is null | undefined => value === null || value === undefined;

const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;

export const isInt64 = (value: bigint): boolean => value >= INT_MIN && value <= INT_MAX;
