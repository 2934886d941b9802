/** The parts of a range that are kept apart, for adapters that keep volatile records elsewhere. */
import { compareBytes } from '../base/bytes.ts';
import { type Key, type KeyRange, VOLATILE_PREFIX } from './engine.ts';

export interface Stretch extends KeyRange {
  readonly isVolatile: boolean;
}

export const VOLATILE_RANGE: KeyRange = {
  from: Uint8Array.of(VOLATILE_PREFIX),
  to: Uint8Array.of(VOLATILE_PREFIX + 1),
};

/** Volatile keys are contiguous, so a range is at most three stretches, in order; one of them volatile. */
export function stretchesOf({ from, to }: KeyRange): Stretch[] {
  const stretches = [
    { from, to: least(to, VOLATILE_RANGE.from), isVolatile: false },
    { from: greatest(from, VOLATILE_RANGE.from), to: least(to, VOLATILE_RANGE.to), isVolatile: true },
    { from: greatest(from, VOLATILE_RANGE.to), to, isVolatile: false },
  ];
  return stretches.filter((stretch) => compareBytes(stretch.from, stretch.to) < 0);
}

const least = (a: Key, b: Key): Key => (compareBytes(a, b) <= 0 ? a : b);
const greatest = (a: Key, b: Key): Key => (compareBytes(a, b) >= 0 ? a : b);
