/**
 * The database's time, which all nodes judge deadlines by, whatever their own clocks say. It is asked now and then, and
 * carried on in between by this machine's monotonic clock, so that reading it costs nothing. Off by at most half of the
 * round trip it was asked with and what the two clocks drift apart until it is asked again; it never goes back.
 */
import type { Clock } from '../../base/clock.ts';

/** Quartz is better than this. */
const DRIFT_PER_MS = 200e-6;

export class DatabaseClock implements Clock {
  readonly #monotonicMs: () => number;
  #offsetMs = 0;
  /** How far off the offset may have been when it was taken. */
  #uncertaintyMs = Number.POSITIVE_INFINITY;
  #takenAtMs = 0;
  #lastMs = 0;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  nowMs(): number {
    this.#lastMs = Math.max(this.#lastMs, Math.floor(this.#estimateMs()));
    return this.#lastMs;
  }

  /** How far off `nowMs` may be: it tells whole milliseconds, and stands still where it was ahead of what is known now. */
  uncertaintyMs(): number {
    return this.#estimateErrorMs() + 1 + Math.max(0, this.#lastMs - this.#estimateMs());
  }

  #estimateMs(): number {
    return this.#monotonicMs() + this.#offsetMs;
  }

  #estimateErrorMs(): number {
    return this.#uncertaintyMs + (this.#monotonicMs() - this.#takenAtMs) * DRIFT_PER_MS;
  }

  /** Asks for the time once; an answer that took long is kept only while there is none better. */
  async ask(databaseNowMs: () => Promise<number>): Promise<void> {
    const askedAtMs = this.#monotonicMs();
    const saidMs = await databaseNowMs();
    const heardAtMs = this.#monotonicMs();
    const uncertaintyMs = (heardAtMs - askedAtMs) / 2;
    const offsetMs = saidMs - (askedAtMs + heardAtMs) / 2;
    const hasMoved = Math.abs(offsetMs - this.#offsetMs) > uncertaintyMs + this.#estimateErrorMs();
    if (!hasMoved && uncertaintyMs > this.#estimateErrorMs()) return;
    this.#offsetMs = offsetMs;
    this.#uncertaintyMs = uncertaintyMs;
    this.#takenAtMs = heardAtMs;
  }
}
