/** The server's time. It is injected everywhere, so that a test can move it instead of sleeping. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** How far off the time may be, if this clock follows another one. */
  uncertaintyMs?(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;

  /** Starts at the system's time unless `startMs` (since the Unix epoch) is given. */
  constructor(startMs: number = Date.now()) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Moves the clock forward. */
  advance({ seconds }: { seconds: number }): void {
    this.#nowMs += seconds * 1000;
  }
}
