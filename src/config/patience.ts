/**
 * Opening what may not be there yet: containers start in any order. Tries again while the place is out of reach, and
 * says what it waits for, at once and then every ten seconds.
 */
import { setTimeout as delayMs } from 'node:timers/promises';
import { StoreUnreachable } from './store-failure.ts';

export interface PatienceOptions {
  /** For everything that is opened; 0: one try. */
  readonly limitSeconds: number;
  readonly onWaiting: (message: string) => void;
  readonly time?: { nowMs(): number; delay(ms: number): Promise<unknown> };
}

const PAUSE_MS = 500;
const TELL_EVERY_MS = 10_000;
const REAL_TIME = { nowMs: () => performance.now(), delay: (ms: number) => delayMs(ms) };

export class Patience {
  readonly #options: PatienceOptions;
  readonly #time: { nowMs(): number; delay(ms: number): Promise<unknown> };
  readonly #startedMs: number;

  constructor(options: PatienceOptions) {
    this.#options = options;
    this.#time = options.time ?? REAL_TIME;
    this.#startedMs = this.#time.nowMs();
  }

  /** Rejects with StoreUnreachable when the time is up, with any other error at once. */
  async open<T>(attempt: () => Promise<T>): Promise<T> {
    const { limitSeconds, onWaiting } = this.#options;
    let toldMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StoreUnreachable)) throw error;
        const nowMs = this.#time.nowMs();
        if (nowMs - this.#startedMs >= limitSeconds * 1000) throw error.after(limitSeconds);
        if (nowMs - toldMs >= TELL_EVERY_MS) {
          toldMs = nowMs;
          onWaiting(`waiting for ${error.place}: ${error.reason}`);
        }
        await this.#time.delay(PAUSE_MS);
      }
    }
  }
}
