/** What is printed at the end of a run: failures with the command that repeats each, what was skipped, what was slow. */
import type { Tier } from '../harness/tier.ts';
import { DEBIAN_TOOLS, hasTool } from '../packages.ts';
import type { Finished } from './events.ts';
import type { Group, PlannedFile } from './plan.ts';
import type { StepFailure } from './steps.ts';
import { countOf, type TestRun } from './test-process.ts';

export interface GroupRun {
  readonly group: Group;
  readonly run: TestRun;
}

const OUTPUT_SHOWN_MAX_CHARACTERS = 20_000;
const SLOWEST_SHOWN = 10;

const indent = (text: string): string => text.trimEnd().replaceAll(/^/gm, '    ');

const nameOf = (one: Finished): string => (one.path.length === 0 ? 'the whole file' : one.path.join(' › '));

const fileOf = ({ files }: Group, compiled: string): PlannedFile | undefined =>
  files.find((one) => one.compiled === compiled);

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const TIER_COMMANDS: Readonly<Record<Tier, string>> = { quick: 'npm test', system: 'npm run test:system' };

/** What a random test has said of its seed, in its diagnostics or in fast-check's report. */
function seedOf(one: Finished, run: TestRun): string | null {
  const remarks = run.remarks.filter(({ file }) => file === one.file).map(({ text }) => text);
  const texts = [one.reason ?? '', ...one.path, ...remarks.toReversed()];
  const found = texts.map((text) => /LARIMAR_SEED=(-?\d+)|\bseed:? (-?\d+)/.exec(text)).find((match) => match !== null);
  return found?.[1] ?? found?.[2] ?? null;
}

function commandFor(one: Finished, { group, run }: GroupRun, tier: Tier): string {
  const file = fileOf(group, one.file);
  const parts = [TIER_COMMANDS[tier], '--', '--only', file?.source ?? one.file];
  if (group.engine !== null) parts.push('--engine', group.engine);
  const seed = seedOf(one, run);
  if (seed !== null) parts.push('--seed', seed);
  const name = one.path.at(-1);
  if (name !== undefined) parts.push('--name', quoted(name));
  return parts.join(' ');
}

export function printFailures(
  runs: readonly GroupRun[],
  { steps, tier }: { steps: readonly StepFailure[]; tier: Tier },
): void {
  for (const { name, output, command } of steps) {
    console.log(`\nFAILED ${name}\n${indent(output)}`);
    if (command !== null) console.log(`  again: ${command}`);
  }
  for (const groupRun of runs) {
    const { group, run } = groupRun;
    const failures = run.finished.filter((one) => one.outcome === 'failed');
    for (const one of failures) {
      const file = fileOf(group, one.file)?.name ?? one.file;
      console.log(`\nFAILED ${nameOf(one)}\n  in ${file}\n${indent(one.reason ?? '')}`);
      console.log(`  again: ${commandFor(one, groupRun, tier)}`);
    }
    if (failures.length > 0 && run.output.trim() !== '') {
      console.log(`\nprinted by the process:\n${indent(run.output.slice(-OUTPUT_SHOWN_MAX_CHARACTERS))}`);
    }
  }
}

/** A reason says what is missing; the command runs the file once that is there. */
export function printSkipped(runs: readonly GroupRun[], tier: Tier): void {
  for (const { group, run } of runs) {
    for (const one of run.finished.filter(({ outcome }) => outcome === 'skipped')) {
      const file = fileOf(group, one.file);
      console.log(`skipped: ${nameOf(one)} (${file?.name ?? one.file}): ${one.reason}`);
      console.log(`  to run it: ${TIER_COMMANDS[tier]} -- --only ${file?.source ?? one.file}`);
    }
  }
}

/** The files of the system tier, those that need a program by name, with the command for each. */
export function printLeftOut(files: readonly PlannedFile[]): void {
  const sources = new Map(files.map((file) => [file.source, file]));
  console.log(`\nleft to npm run test:system (npm run test:setup installs what it needs), ${sources.size} files:`);
  for (const { source, tools } of sources.values()) {
    const needed = tools.filter((tool) => tool !== 'postgres').flatMap((tool) => DEBIAN_TOOLS[tool].packages);
    const here = tools.every(hasTool);
    const reason = needed.length === 0 ? '' : ` (${here ? 'uses' : 'needs'} ${needed.join(', ')})`;
    console.log(`  npm run test:system -- --only ${source}${reason}`);
  }
}

/** How long each file took, by its name. */
export function secondsByFile(runs: readonly GroupRun[]): Map<string, number> {
  const measured = new Map<string, number>();
  for (const { group, run } of runs) {
    for (const { file, seconds } of run.files) measured.set(fileOf(group, file)?.name ?? file, seconds);
  }
  return measured;
}

export function printSlowest(measured: ReadonlyMap<string, number>): void {
  const slowest = [...measured].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  console.log('\nslowest files:');
  for (const [name, seconds] of slowest) console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${name}`);
}

/** Prints the last line; returns the exit code. */
export function printSummary(runs: readonly GroupRun[], steps: readonly StepFailure[]): number {
  const sum = (outcome: Finished['outcome']): number =>
    runs.reduce((total, { run }) => total + countOf(run, outcome), 0);
  const [passed, skipped] = [sum('passed'), sum('skipped')];
  const failed = sum('failed') + steps.length;
  const ran = passed + sum('failed') > 0;
  if (!ran) console.log('no test ran');
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 && ran ? 0 : 1;
}
