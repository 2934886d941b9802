/**
 * Keys as columns. An index takes no entry beyond about 2,700 bytes, and a key may have 3,900: so a key is cut into a head,
 * which the index orders by, and a tail, for which a digest stands in the index. Nearly every key is all head. Since a
 * head with a tail behind it has the full length, ordering by head and then tail orders as the whole keys do.
 */
import { createHash } from 'node:crypto';
import { compareBytes } from '../../base/bytes.ts';
import { isVolatile, type Key, type KeyRange, VOLATILE_PREFIX } from '../engine.ts';

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

export type Table = 'larimar_records' | 'larimar_volatile';

export const tableOf = (key: Key): Table => (isVolatile(key) ? 'larimar_volatile' : 'larimar_records');

export interface Stretch extends KeyRange {
  readonly table: Table;
}

const VOLATILE_FROM = Uint8Array.of(VOLATILE_PREFIX);
const VOLATILE_TO = Uint8Array.of(VOLATILE_PREFIX + 1);

/** Volatile keys are contiguous, so a range is at most three stretches, in order; one of them volatile. */
export function stretchesOf({ from, to }: KeyRange): Stretch[] {
  const stretches: Stretch[] = [
    { from, to: least(to, VOLATILE_FROM), table: 'larimar_records' },
    { from: greatest(from, VOLATILE_FROM), to: least(to, VOLATILE_TO), table: 'larimar_volatile' },
    { from: greatest(from, VOLATILE_TO), to, table: 'larimar_records' },
  ];
  return stretches.filter((stretch) => compareBytes(stretch.from, stretch.to) < 0);
}

const least = (a: Key, b: Key): Key => (compareBytes(a, b) <= 0 ? a : b);
const greatest = (a: Key, b: Key): Key => (compareBytes(a, b) >= 0 ? a : b);
