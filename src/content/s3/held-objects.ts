/**
 * Objects that are being read here. An object server may cut off the readers of what is deleted, and one that takes up
 * a broken read again would find nothing: so an object that is freed while it has readers is removed after the last of
 * them. To newcomers it is gone at once.
 */
import { ExtentMissing, type Placement } from '../content.ts';

interface Held {
  readerCount: number;
  isFreed: boolean;
}

export class HeldObjects {
  readonly #remove: (placement: Placement) => Promise<void>;
  readonly #held = new Map<Placement, Held>();
  readonly #removing = new Set<Promise<void>>();

  constructor(remove: (placement: Placement) => Promise<void>) {
    this.#remove = remove;
  }

  isFreed(placement: Placement): boolean {
    return this.#held.get(placement)?.isFreed ?? false;
  }

  /** One more reader; the caller calls what it gets, once, when it has finished. */
  hold(placement: Placement): () => void {
    const held = this.#held.get(placement) ?? { readerCount: 0, isFreed: false };
    if (held.isFreed) throw new ExtentMissing(placement);
    held.readerCount++;
    this.#held.set(placement, held);
    return () => {
      held.readerCount--;
      if (held.readerCount > 0) return;
      if (!held.isFreed) this.#held.delete(placement);
      // Whoever freed it has gone on. What could not be removed now is found by a recovery, as after a crash.
      else this.#removeNow(placement).catch(() => {});
    };
  }

  async free(placement: Placement): Promise<void> {
    const held = this.#held.get(placement);
    if (held !== undefined && held.readerCount > 0) {
      held.isFreed = true;
      return;
    }
    await this.#removeNow(placement);
  }

  /** Resolves when no removal is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#removing);
  }

  async #removeNow(placement: Placement): Promise<void> {
    this.#held.set(placement, { readerCount: 0, isFreed: true });
    const removing = this.#remove(placement).finally(() => {
      this.#held.delete(placement);
      this.#removing.delete(removing);
    });
    this.#removing.add(removing);
    await removing;
  }
}
