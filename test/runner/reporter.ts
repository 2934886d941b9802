/** The reporter that test processes are started with: turns node:test's events into the lines of events.ts. */
import { appendFileSync } from 'node:fs';
import { Transform } from 'node:stream';
import { inspect } from 'node:util';
import { EVENT_FILE_VARIABLE, type Finished, type RunnerEvent } from './events.ts';

interface TestData {
  readonly name: string;
  readonly nesting: number;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
  readonly message?: string;
  readonly details?: {
    readonly duration_ms?: number;
    readonly type?: string;
    readonly error?: Error & { failureType?: string };
  };
}

/** Node's own totals, which the runner counts itself. */
const TOTALS = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

/** Node 20 reports tests that `--test-name-pattern` leaves out; later versions do not. */
const NOT_ASKED_FOR = 'test name does not match pattern';

const eventFile = process.env[EVENT_FILE_VARIABLE];

/**
 * The names of what is reported and of what runs, outermost first: the file, which entry.ts makes a suite, then suites
 * and the test. Two lists, because results are reported in order, later than they come about.
 */
const reported: string[] = [];
const running: string[] = [];

function enter(names: string[], data: TestData): { file: string; path: string[] } {
  names.length = data.nesting;
  names.push(data.name);
  return { file: names[0] ?? '', path: names.slice(1) };
}

function write(event: RunnerEvent): void {
  if (eventFile !== undefined) appendFileSync(eventFile, `${JSON.stringify(event)}\n`);
}

const reasonText = (flag: boolean | string | undefined): string =>
  typeof flag === 'string' ? flag : 'no reason given';

function describeFailure(error: (Error & { failureType?: string }) | undefined): string {
  const cause = error?.cause;
  return cause instanceof Error ? inspect(cause, { depth: 4 }) : (error?.message ?? 'no error was given');
}

/** What a test:pass or test:fail event counts as; null for suites and what does not count by itself. */
function finishedOf(type: string, data: TestData): Finished | null {
  const named = { kind: 'finished', ...enter(reported, data) } as const;
  if (data.skip === NOT_ASKED_FOR) return null;
  if (data.skip !== undefined && data.skip !== false)
    return { ...named, outcome: 'skipped', reason: reasonText(data.skip) };
  if (data.todo !== undefined && data.todo !== false) return { ...named, outcome: 'skipped', reason: 'still to do' };
  if (type === 'test:fail') {
    const error = data.details?.error;
    const bySubtests = error?.failureType === 'subtestsFailed';
    return bySubtests ? null : { ...named, outcome: 'failed', reason: describeFailure(error) };
  }
  return data.details?.type === 'suite' ? null : { ...named, outcome: 'passed', reason: null };
}

function record(type: string, data: TestData): void {
  if (type === 'test:start') {
    enter(reported, data);
  } else if (type === 'test:dequeue') {
    write({ kind: 'started', ...enter(running, data) });
  } else if (type === 'test:pass' || type === 'test:fail') {
    const finished = finishedOf(type, data);
    if (finished !== null) write(finished);
    if (data.nesting === 0) {
      write({ kind: 'fileEnded', file: data.name, seconds: (data.details?.duration_ms ?? 0) / 1000 });
    }
  } else if (type === 'test:diagnostic' && !TOTALS.test(data.message ?? '')) {
    write({ kind: 'remark', file: reported[0] ?? '', text: data.message ?? '' });
  }
}

export default new Transform({
  writableObjectMode: true,
  transform(event: { type: string; data: TestData }, _encoding, done): void {
    record(event.type, event.data);
    done();
  },
});
