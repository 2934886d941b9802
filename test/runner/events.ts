/**
 * What a test process tells the runner: one JSON line per finished test, appended to a file as it happens, so that
 * nothing is lost when the process crashes or is stopped.
 */

export interface Finished {
  readonly kind: 'finished';
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The compiled test file that ran. */
  readonly file: string;
  /** The names of the enclosing suites and of the test, outermost first; empty for the file as such. */
  readonly path: readonly string[];
  /** The failure, or why it was skipped. */
  readonly reason: string | null;
}

/** All of a file has run. */
export interface FileEnded {
  readonly kind: 'fileEnded';
  readonly file: string;
  readonly seconds: number;
}

/** Something a test has to say whether it passes or not, such as its seed. */
export interface Remark {
  readonly kind: 'remark';
  readonly file: string;
  readonly text: string;
}

/** A test has begun: without its end, it is the one that hung. */
export interface Started {
  readonly kind: 'started';
  readonly file: string;
  readonly path: readonly string[];
}

export type RunnerEvent = Finished | FileEnded | Remark | Started;

export const EVENT_FILE_VARIABLE = 'LARIMAR_TEST_EVENTS';
