/** What every operation works with. Made once, in main.ts. */
import type { Clock } from '../base/clock.ts';
import type { IdSource } from '../base/ids.ts';
import type { Engine } from '../engine/engine.ts';
import { nextEtag } from '../rules/etag.ts';
import type { Extents } from './extents/extents.ts';
import type { Readers } from './extents/readers.ts';

export interface Storage {
  readonly engine: Engine;
  readonly extents: Extents;
  readonly readers: Readers;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly etags: EtagSource;
}

/** ETags that grow and are never given twice by this process, not even to a name that is deleted and created again. */
export class EtagSource {
  #last: string | null = null;

  next(previous: string | null, nowMs: number): string {
    const floor = previous === null || (this.#last !== null && this.#last > previous) ? this.#last : previous;
    this.#last = nextEtag(floor, nowMs);
    return this.#last;
  }
}

/** The time of a change to something last changed at `previousMs`: never earlier, though a clock may be set back. */
export const changedAt = (previousMs: number, nowMs: number): number => Math.max(previousMs, nowMs);
