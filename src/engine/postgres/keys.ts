/**
 * Keys as columns. An index takes no entry beyond about 2,700 bytes, and a key may have 3,900: so a key is cut into a head,
 * which the index orders by, and a tail, for which a digest stands in the index. Nearly every key is all head. Since a
 * head with a tail behind it has the full length, ordering by head and then tail orders as the whole keys do.
 */
import { createHash } from 'node:crypto';
import { isVolatile, type Key, type KeyRange } from '../engine.ts';
import { stretchesOf as partsOf } from '../stretches.ts';

const HEAD_BYTES_MAX = 2_000;

const NOTHING = Buffer.alloc(0);

export interface KeyColumns {
  readonly head: Uint8Array;
  readonly digest: Uint8Array;
  readonly tail: Uint8Array;
}

export function columnsOf(key: Key): KeyColumns {
  if (key.length <= HEAD_BYTES_MAX) return { head: key, digest: NOTHING, tail: NOTHING };
  const tail = key.subarray(HEAD_BYTES_MAX);
  return { head: key.subarray(0, HEAD_BYTES_MAX), digest: createHash('sha256').update(tail).digest(), tail };
}

export const keyOf = (head: Buffer, tail: Buffer): Key => (tail.length === 0 ? head : Buffer.concat([head, tail]));

/** For a Map. */
export const nameOf = (key: Key): string => Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');

export const TABLES = ['larimar_records', 'larimar_volatile'] as const;
export type Table = (typeof TABLES)[number];

export const tableOf = (key: Key): Table => (isVolatile(key) ? 'larimar_volatile' : 'larimar_records');

/** A part of a range, in the table that holds it. */
export interface Stretch extends KeyRange {
  readonly table: Table;
}

export const stretchesOf = (range: KeyRange): Stretch[] =>
  partsOf(range).map(({ from, to, isVolatile }) => ({ from, to, table: TABLES[isVolatile ? 1 : 0] }));
