/**
 * Waiting for SMB clients to give up what they cache. What a transaction or a look at a snapshot cannot tell yet it says by
 * throwing MustWait; whoever runs it has the clients asked, waits until something has changed, and runs it again.
 */
import type { Clock } from '../../../base/clock.ts';
import type { ErrorCode } from '../../../rules/error-code.ts';
import type { UsedNode } from './node-uses.ts';
import type { WantedOfOpen } from './use-record.ts';

export class MustWait extends Error {
  override readonly name = 'MustWait';
  readonly at: UsedNode;
  /** What was seen, and is to change (`NodeUses.state`). */
  readonly state: string;
  readonly breaks: readonly WantedOfOpen[];
  /** What the request is refused with once it has waited for too long. */
  readonly code: ErrorCode;

  constructor(options: {
    at: UsedNode;
    state: string;
    breaks: readonly WantedOfOpen[];
    code: ErrorCode;
  }) {
    super('waiting for SMB clients');
    this.at = options.at;
    this.state = options.state;
    this.breaks = options.breaks;
    this.code = options.code;
  }
}

/** By the injected clock and by the time that passes, whichever is first: a clock may stand still or be set back. */
export class Deadline {
  readonly #clock: Clock;
  readonly #atMs: number;
  readonly #endMs: number;

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#atMs = clock.nowMs() + waitMs;
    this.#endMs = performance.now() + waitMs;
  }

  /** Not below 0, which is when it has passed. */
  get remainingMs(): number {
    return Math.max(0, Math.min(this.#atMs - this.#clock.nowMs(), this.#endMs - performance.now()));
  }
}
