/**
 * Ids that are unique across processes and grow within one: 12 hex digits of milliseconds, 4 of a counter, 8 that
 * are random for the process. Used for everything that is named by us and not by a user: extents, layouts, containers.
 */
import { randomBytes } from 'node:crypto';

export type Id = string;

export const ID_BYTES = 12;

const ID_FORM = /^[0-9a-f]{24}$/;

export const isId = (text: string): boolean => ID_FORM.test(text);

export class IdSource {
  readonly #suffix = randomBytes(4).toString('hex');
  readonly #now: () => number;
  #lastMs = 0;
  #counter = 0;

  /** Wall time, not the injected clock: a test that stops or turns back its clock must still get fresh ids. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** From now on every id sorts after this one (or after nothing, for an empty text). */
  startAfter(id: Id): void {
    const ms = id === '' ? 0 : Number.parseInt(id.slice(0, 12), 16) + 1;
    this.#lastMs = Math.max(this.#lastMs, ms);
  }

  next(): Id {
    const nowMs = this.#now();
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#counter = 0;
    } else if (++this.#counter > 0xffff) {
      this.#lastMs++;
      this.#counter = 0;
    }
    return this.#lastMs.toString(16).padStart(12, '0') + this.#counter.toString(16).padStart(4, '0') + this.#suffix;
  }
}
