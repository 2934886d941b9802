/** Randomness that replays: a test prints its seed, and LARIMAR_SEED (or the runner's --seed) brings it back. */
import { isSystemTier } from './tier.ts';

const given = process.env['LARIMAR_SEED'];

/** For fast-check, which prints the seed of a failure itself. */
export const seeded = given === undefined ? {} : { seed: Number(given) };

const QUICK_TIER_FIXED_MAX = 2;
const SYSTEM_TIER_FRESH = 4;

/**
 * The seeds of a simulation. The quick tier has two fixed ones and a fresh one, the system tier all fixed ones and several
 * fresh ones. A seed that was given comes alone.
 */
export function simulationSeeds(...fixed: readonly number[]): { seeds: readonly number[]; freshSeed: number } {
  const freshSeed = new Random().seed;
  if (given !== undefined) return { seeds: [freshSeed], freshSeed };
  if (!isSystemTier()) return { seeds: [...fixed.slice(0, QUICK_TIER_FIXED_MAX), freshSeed], freshSeed };
  const further = Array.from({ length: SYSTEM_TIER_FRESH - 1 }, () => new Random().seed);
  return { seeds: [...fixed, freshSeed, ...further], freshSeed };
}

export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number = Number(given ?? Math.floor(Math.random() * 2 ** 31))) {
    this.seed = seed;
    this.#state = seed;
  }

  /** In [0, 1); the mulberry32 generator. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('nothing to pick from');
    return choices[this.below(choices.length)] as T;
  }

  bytes(length: number): Buffer {
    const words = new Uint32Array(Math.ceil(length / 4));
    for (let index = 0; index < words.length; index++) words[index] = this.next() * 2 ** 32;
    return Buffer.from(words.buffer, 0, length);
  }
}
