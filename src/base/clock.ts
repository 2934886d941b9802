/** Time as the server sees it. Injected everywhere, so that a test moves it instead of sleeping. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** How far off it may be, where it follows another clock. */
  uncertaintyMs?(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs: number = Date.now()) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advance({ seconds }: { seconds: number }): void {
    this.#nowMs += seconds * 1000;
  }
}
