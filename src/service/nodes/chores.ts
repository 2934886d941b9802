/**
 * What the leader does now and then beside sweeping. It looks with every beat what is due, by the store's clock. None of
 * it does harm when two nodes do it at once, because one was paused and does not know yet that it no longer leads.
 */
import type { Clock } from '../../base/clock.ts';

export interface Chore {
  /** From when the node began to lead. */
  readonly firstAfterMs: number;
  /** From the end of one run to the next. */
  readonly everyMs: number;
  /** Ends early when the signal says so. */
  run(signal: AbortSignal): Promise<unknown>;
}

interface Timed {
  readonly chore: Chore;
  /** Null while another node leads. */
  dueMs: number | null;
  running: Promise<void> | null;
}

export class Chores {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #chores: readonly Timed[];
  readonly #stopping = new AbortController();

  constructor(options: { clock: Clock; chores: readonly Chore[]; onError: (error: unknown) => void }) {
    this.#clock = options.clock;
    this.#onError = options.onError;
    this.#chores = options.chores.map((chore) => ({ chore, dueMs: null, running: null }));
  }

  /** Starts what is due and does not wait for it. */
  look({ leads }: { leads: boolean }): void {
    if (this.#stopping.signal.aborted) return;
    const nowMs = this.#clock.nowMs();
    for (const timed of this.#chores) {
      if (!leads) timed.dueMs = null;
      else timed.dueMs ??= nowMs + timed.chore.firstAfterMs;
      if (timed.dueMs !== null && timed.dueMs <= nowMs) timed.running ??= this.#run(timed);
    }
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { running } of this.#chores) await running;
  }

  async #run(timed: Timed): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await timed.chore.run(signal);
    } catch (error) {
      if (!signal.aborted) this.#onError(error);
    } finally {
      if (timed.dueMs !== null) timed.dueMs = this.#clock.nowMs() + timed.chore.everyMs;
      timed.running = null;
    }
  }
}
