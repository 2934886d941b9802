/**
 * How long test files took when `--record-seconds` last wrote it down (test/seconds.json): only for balancing processes
 * and for telling how much time is left. A file that is not listed takes less than a second, or is new.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Tier } from '../harness/tier.ts';

const FILE = 'test/seconds.json';
const LISTED_SECONDS_MIN = 1;
const UNLISTED_SECONDS = 0.3;

type Recorded = Record<Tier, Record<string, number>>;

export class Seconds {
  readonly #tier: Tier;
  readonly #recorded: Recorded;

  constructor(tier: Tier) {
    this.#tier = tier;
    const text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '{}';
    this.#recorded = { quick: {}, system: {}, ...(JSON.parse(text) as Partial<Recorded>) };
  }

  of(name: string): number {
    return this.#recorded[this.#tier][name] ?? UNLISTED_SECONDS;
  }

  record(measured: ReadonlyMap<string, number>): void {
    const listed = [...measured].filter(([, seconds]) => seconds >= LISTED_SECONDS_MIN);
    listed.sort(([a], [b]) => (a < b ? -1 : 1));
    const rounded = listed.map(([name, seconds]) => [name, Math.round(seconds)] as const);
    const recorded = { ...this.#recorded, [this.#tier]: Object.fromEntries(rounded) };
    writeFileSync(FILE, `${JSON.stringify(recorded, null, 2)}\n`);
  }
}
