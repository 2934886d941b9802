/** Runs test files in one child process of their own and gathers what they report. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENT_FILE_VARIABLE, type FileEnded, type Finished, type Remark, type RunnerEvent } from './events.ts';

export interface TestRun {
  readonly finished: readonly Finished[];
  readonly files: readonly FileEnded[];
  readonly remarks: readonly Remark[];
  /** What the process printed, both streams. */
  readonly output: string;
  readonly seconds: number;
}

export const countOf = (run: TestRun, outcome: Finished['outcome']): number =>
  run.finished.filter((one) => one.outcome === outcome).length;

const TIME_LIMIT_SECONDS = 600;

const running = new Set<ChildProcess>();

/** A test process leads a group of its own, so that servers which it started end with it. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    // Already gone.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running) killGroup(child);
    process.exit(1);
  });
}

function parseEvents(text: string): RunnerEvent[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RunnerEvent);
}

/** A process that went wrong outside every test must not pass unnoticed. */
function brokenProcess(events: readonly RunnerEvent[], files: readonly string[], how: string): Finished {
  const last = events.findLast((event) => event.kind === 'started');
  const during = last === undefined ? 'before the first test' : `during or after "${last.path.join(' › ')}"`;
  const file = last?.file ?? files[0] ?? '';
  return { kind: 'finished', outcome: 'failed', file, path: [], reason: `the test process ${how}, ${during}` };
}

interface Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly output: string;
}

async function spawnAndWait(
  program: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ending> {
  const child = spawn(program, argv, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, TIME_LIMIT_SECONDS * 1000);
  const { exitCode, signal } = await new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
    child.on('exit', (exitCode, signal) => {
      // A server that outlived its test would hold the pipes open.
      killGroup(child);
      child.once('close', () => resolve({ exitCode, signal }));
    });
  });
  clearTimeout(limit);
  running.delete(child);
  return { exitCode, signal, timedOut, output };
}

/** What stands for files that cannot be run here. */
export const skippedRun = (files: readonly string[], reason: string): TestRun => ({
  finished: files.map((file) => ({ kind: 'finished', outcome: 'skipped', file, path: [], reason })),
  files: [],
  remarks: [],
  output: '',
  seconds: 0,
});

export interface TestProcessOptions {
  readonly files: readonly string[];
  readonly outDir: string;
  /** Only tests with this name. */
  readonly name?: string | null;
  /** Called soon after a file has ended, for a display of progress. */
  readonly onFile?: (file: string) => void;
  /** Another Node than this one. */
  readonly node?: string;
  /** Further flags of Node's. */
  readonly flags?: readonly string[];
  /** Beside this process's own environment. */
  readonly env: Readonly<Record<string, string>>;
}

const PROGRESS_PAUSE_MS = 500;

/** Calls `onFile` for each file that ends, until it is told to stop. */
function watchProgress(eventFile: string, onFile: (file: string) => void): () => void {
  let seen = 0;
  const look = (): void => {
    const ended = parseEvents(readFileSync(eventFile, 'utf8')).filter((event) => event.kind === 'fileEnded');
    for (const { file } of ended.slice(seen)) onFile(file);
    seen = ended.length;
  };
  const timer = setInterval(look, PROGRESS_PAUSE_MS);
  return () => {
    clearInterval(timer);
    look();
  };
}

const exactly = (name: string): string => `^${name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`;

/** Runs the files together in one process. */
export async function runTestProcess(options: TestProcessOptions): Promise<TestRun> {
  const { files, outDir, name = null, onFile = () => {}, node = process.execPath, flags = [], env } = options;
  const startMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'larimar-test-'));
  const eventFile = join(folder, 'events');
  writeFileSync(eventFile, '');
  try {
    const reporter = join(outDir, 'test/runner/reporter.js');
    const entry = join(outDir, 'test/runner/entry.js');
    const report = ['--test-reporter', reporter, '--test-reporter-destination', 'stdout'];
    const pattern = name === null ? [] : ['--test-name-pattern', exactly(name)];
    const stopWatching = watchProgress(eventFile, onFile);
    const ending = await spawnAndWait(
      node,
      ['--enable-source-maps', ...flags, ...report, ...pattern, entry, ...files],
      {
        ...env,
        [EVENT_FILE_VARIABLE]: eventFile,
      },
    );
    stopWatching();
    const events = parseEvents(readFileSync(eventFile, 'utf8'));
    const finished = events.filter((event) => event.kind === 'finished');
    if (ending.timedOut) {
      finished.push(brokenProcess(events, files, `did not end within ${TIME_LIMIT_SECONDS} s`));
    } else if (ending.exitCode !== 0 && !finished.some((one) => one.outcome === 'failed')) {
      finished.push(brokenProcess(events, files, `ended with ${ending.signal ?? `exit code ${ending.exitCode}`}`));
    }
    return {
      finished,
      files: events.filter((event) => event.kind === 'fileEnded'),
      remarks: events.filter((event) => event.kind === 'remark'),
      output: ending.output,
      seconds: (performance.now() - startMs) / 1000,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
