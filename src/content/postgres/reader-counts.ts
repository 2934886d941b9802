/** Who reads what in this process: an extent that is freed meanwhile goes when its last reader is done. */
import type { Placement } from '../content.ts';

export class ReaderCounts {
  readonly #counts = new Map<Placement, number>();
  readonly #freed = new Set<Placement>();

  enter(placement: Placement): void {
    this.#counts.set(placement, (this.#counts.get(placement) ?? 0) + 1);
  }

  /** Whether it was the last reader of what has been freed, and so has to remove it. */
  leave(placement: Placement): boolean {
    const left = (this.#counts.get(placement) as number) - 1;
    if (left > 0) {
      this.#counts.set(placement, left);
      return false;
    }
    this.#counts.delete(placement);
    return this.#freed.delete(placement);
  }

  /** Whether removing it is left to its last reader; false when nobody reads it. */
  freeLater(placement: Placement): boolean {
    const isRead = this.has(placement);
    if (isRead) this.#freed.add(placement);
    return isRead;
  }

  has(placement: Placement): boolean {
    return this.#counts.has(placement);
  }
}
