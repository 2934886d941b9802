/**
 * Who holds what: counted from the records that hold it, and compared with the rows that say how many there are
 * (extents/references.ts). Whoever takes itself for the only holder must be the only one: it would let go of everything.
 */
import type { Id } from '../../base/ids.ts';

interface Held {
  count: number;
  /** Of these the sweeper has not counted so many yet. */
  uncountedCount: number;
  isUnmarked: boolean;
}

export class Holders {
  readonly #findings: string[];
  readonly #held = new Map<Id, Held>();

  constructor(findings: string[]) {
    this.#findings = findings;
  }

  /** `isShared`: the holder knows that there may be others. */
  add(id: Id, { isShared, count = 1 }: { isShared: boolean; count?: number }): void {
    const held = this.#of(id);
    held.count += count;
    held.isUnmarked ||= !isShared;
  }

  /** One of the holders is not counted yet. */
  addUncounted(id: Id): void {
    this.#of(id).uncountedCount++;
  }

  has(id: Id): boolean {
    return (this.#held.get(id)?.count ?? 0) > 0;
  }

  /** A row says that so many hold it. */
  compare(id: Id, countedCount: number): void {
    const { count, uncountedCount, isUnmarked } = this.#of(id);
    if (count - uncountedCount !== countedCount) {
      this.#findings.push(`the reference count of ${id} is ${countedCount}, but should be ${count - uncountedCount}`);
    }
    this.#refuseUnmarked(id, { count, isUnmarked });
    this.#held.delete(id);
  }

  /** All rows have come: what has none has one holder. */
  end(): void {
    for (const [id, { count, uncountedCount, isUnmarked }] of this.#held) {
      if (count - uncountedCount > 1) {
        this.#findings.push(`the reference count of ${id} is 1, but should be ${count - uncountedCount}`);
      }
      this.#refuseUnmarked(id, { count, isUnmarked });
    }
  }

  #refuseUnmarked(id: Id, { count, isUnmarked }: Pick<Held, 'count' | 'isUnmarked'>): void {
    if (count > 1 && isUnmarked)
      this.#findings.push(`${id} has ${count} references, but one of them is not marked as shared`);
  }

  #of(id: Id): Held {
    const known = this.#held.get(id);
    if (known !== undefined) return known;
    const held: Held = { count: 0, uncountedCount: 0, isUnmarked: false };
    this.#held.set(id, held);
    return held;
  }
}
