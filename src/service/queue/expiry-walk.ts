import type { Chore } from '../nodes/chores.ts';
import type { Storage } from '../storage.ts';
import { dropAllExpired } from './drop-expired.ts';

const MINUTE_MS = 60 * 1000;
/** A walk over many messages must not go on all the time. */
const PAUSE_PER_WALK = 20;

/** The leader's walk for expired messages: every minute, or less often where it takes long. */
export class ExpiryWalk implements Chore {
  readonly firstAfterMs = MINUTE_MS;
  readonly #storage: Storage;
  readonly #monotonicMs: () => number;
  #lastTookMs = 0;

  constructor(storage: Storage, monotonicMs: () => number = () => performance.now()) {
    this.#storage = storage;
    this.#monotonicMs = monotonicMs;
  }

  get everyMs(): number {
    return Math.max(MINUTE_MS, PAUSE_PER_WALK * this.#lastTookMs);
  }

  async run(signal: AbortSignal): Promise<void> {
    const beganMs = this.#monotonicMs();
    try {
      await dropAllExpired(this.#storage, signal);
    } finally {
      this.#lastTookMs = this.#monotonicMs() - beganMs;
    }
  }
}
