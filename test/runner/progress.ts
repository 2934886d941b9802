/** Tells how far a run has come: one line that changes on a terminal, a line for each finished process elsewhere. */
import type { Group, Plan, PlannedFile } from './plan.ts';
import type { Seconds } from './seconds.ts';
import { countOf, type TestRun } from './test-process.ts';

const CLEAR_LINE = '\r\x1b[K';

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function groupName({ files, engine }: Group): string {
  const [first] = files as [PlannedFile, ...PlannedFile[]];
  if (files.length === 1) return first.name;
  const kind = engine === null ? 'unit tests' : `tests over ${engine}`;
  return `${files.length} files of ${kind}, ${first.source} first`;
}

export class Progress {
  readonly #total: number;
  readonly #workers: number;
  readonly #seconds: Seconds;
  readonly #isTerminal = process.stdout.isTTY;
  readonly #startMs = performance.now();
  readonly #ended = new Set<string>();
  #secondsLeft: number;

  constructor({ files }: Plan, seconds: Seconds, workers: number) {
    this.#total = files.length;
    this.#seconds = seconds;
    this.#workers = workers;
    this.#secondsLeft = files.reduce((sum, { name }) => sum + seconds.of(name), 0);
  }

  fileEnded(group: Group, compiled: string): void {
    const file = group.files.find((one) => one.compiled === compiled);
    if (file === undefined || this.#ended.has(file.name)) return;
    this.#ended.add(file.name);
    this.#secondsLeft -= this.#seconds.of(file.name);
    if (!this.#isTerminal) return;
    const passed = duration((performance.now() - this.#startMs) / 1000);
    const left = duration(Math.max(this.#secondsLeft, 0) / this.#workers);
    process.stdout.write(`${CLEAR_LINE}${this.#count()} files, ${passed}, about ${left} left: ${file.name}`);
  }

  groupEnded(group: Group, run: TestRun): void {
    for (const { compiled } of group.files) this.fileEnded(group, compiled);
    const failed = countOf(run, 'failed');
    const skipped = countOf(run, 'skipped');
    const parts = [`${countOf(run, 'passed')} passed`];
    if (failed > 0) parts.push(`${failed} FAILED`);
    if (skipped > 0) parts.push(`${skipped} skipped`);
    const line = `${this.#count()} files: ${groupName(group)}: ${parts.join(', ')} (${run.seconds.toFixed(1)} s)`;
    if (!this.#isTerminal) console.log(line);
    else if (failed > 0) console.log(`${CLEAR_LINE}${line}`);
  }

  end(): void {
    if (this.#isTerminal) process.stdout.write(CLEAR_LINE);
  }

  #count(): string {
    return `${String(this.#ended.size).padStart(String(this.#total).length)} of ${this.#total}`;
  }
}
