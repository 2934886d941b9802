/**
 * What a test process tells the runner: one JSON line per finished test, appended to a file as it happens, so that
 * nothing is lost when the process crashes or is stopped.
 */

export interface Finished {
  readonly kind: 'finished';
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The names of the enclosing suites and of the test, outermost first. */
  readonly path: readonly string[];
  /** The file the test is written in, where Node tells. */
  readonly file: string | null;
  /** The failure, or why it was skipped. */
  readonly reason: string | null;
}

/** Something a test has to say whether it passes or not, such as its seed. */
export interface Remark {
  readonly kind: 'remark';
  readonly text: string;
}

/** A test has begun: without its end, it is the one that hung. */
export interface Started {
  readonly kind: 'started';
  readonly path: readonly string[];
}

export type RunnerEvent = Finished | Remark | Started;

export const EVENT_FILE_VARIABLE = 'LARIMAR_TEST_EVENTS';
