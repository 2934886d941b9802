/**
 * `npm test`: formatting, lint, the packages tests need, the unit tests (all in one process) and the acceptance tests
 * (a process per file). Last line: `N passed, N failed`, and `, N skipped` when there are any.
 *
 * --acceptance   also the files named *.acceptance.test.ts, which drive programs from outside npm
 * --only TEXT    only the test files whose path contains TEXT, and neither formatting nor lint
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Finished } from './runner/events.ts';
import { checkFormat, checkLint, providePackages, type StepFailure } from './runner/steps.ts';
import { runTestProcess, type TestRun } from './runner/test-process.ts';

const FILES_AT_ONCE_MAX = 2;
/** A unit test file that takes longer is named. */
const SLOW_SECONDS = 2;

const outDir = dirname(dirname(fileURLToPath(import.meta.url)));

function findProjectRoot(from: string): string {
  return existsSync(join(from, 'tsconfig.json')) ? from : findProjectRoot(dirname(from));
}

/** The compiled test files under a source folder. Listed by their sources: the compiler leaves deleted ones behind. */
function listTestFiles(folder: 'src' | 'test'): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(outDir, folder, path.replace(/\.ts$/, '.js')))
    .sort();
}

/** A compiled file as the project names its source. */
const sourceName = (file: string): string => relative(outDir, file).replace(/\.js$/, '.ts');

interface Selection {
  readonly units: readonly string[];
  readonly acceptance: readonly string[];
}

function selectFiles({ only, withTools }: { only: string | undefined; withTools: boolean }): Selection {
  const chosen = (file: string): boolean => only === undefined || sourceName(file).includes(only);
  return {
    units: listTestFiles('src').filter(chosen),
    acceptance: listTestFiles('test')
      .filter((file) => withTools || !file.endsWith('.acceptance.test.js'))
      .filter(chosen),
  };
}

const count = (run: TestRun, outcome: Finished['outcome']): number =>
  run.finished.filter((one) => one.outcome === outcome).length;

function reportRun(name: string, run: TestRun): void {
  const skipped = count(run, 'skipped');
  const failed = count(run, 'failed');
  const parts = [`${count(run, 'passed')} passed`];
  if (failed > 0) parts.push(`${failed} FAILED`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  console.log(`${name}: ${parts.join(', ')} (${run.seconds.toFixed(1)} s)`);
  for (const remark of new Set(run.remarks)) console.log(`  ${remark}`);
  const slow = run.files.length > 1 ? run.files.filter(({ seconds }) => seconds >= SLOW_SECONDS) : [];
  for (const { file, seconds } of slow) console.log(`  slow: ${sourceName(file)} (${seconds.toFixed(1)} s)`);
}

interface NamedRun {
  readonly name: string;
  readonly run: TestRun;
}

async function runAndReport(name: string, files: readonly string[]): Promise<NamedRun> {
  const run = await runTestProcess(files, outDir);
  reportRun(name, run);
  return { name, run };
}

async function runAll({ units, acceptance }: Selection): Promise<NamedRun[]> {
  const runs: NamedRun[] = [];
  if (units.length > 0) runs.push(await runAndReport(`unit tests, ${units.length} files`, units));
  const waiting = [...acceptance];
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      runs.push(await runAndReport(sourceName(file), [file]));
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE_MAX }, lane));
  return runs;
}

const OUTPUT_SHOWN_MAX_CHARACTERS = 20_000;

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '    ');
}

const nameOf = (one: Finished): string => (one.path.length === 0 ? sourceName(one.file) : one.path.join(' › '));

function printFailures(runs: readonly NamedRun[], steps: readonly StepFailure[]): void {
  for (const failure of steps) console.log(`\nFAILED ${failure.name}\n${indent(failure.output)}`);
  for (const { name, run } of runs) {
    const failures = run.finished.filter((one) => one.outcome === 'failed');
    for (const one of failures) {
      console.log(`\nFAILED ${nameOf(one)}\n  in ${sourceName(one.file)}\n${indent(one.reason ?? '')}`);
    }
    if (failures.length > 0 && run.output.trim() !== '') {
      console.log(`\nprinted by ${name}:\n${indent(run.output.slice(-OUTPUT_SHOWN_MAX_CHARACTERS))}`);
    }
  }
}

function printSkipped(runs: readonly NamedRun[]): void {
  for (const { run } of runs) {
    for (const one of run.finished.filter((one) => one.outcome === 'skipped')) {
      console.log(`skipped: ${nameOf(one)} (${sourceName(one.file)}): ${one.reason}`);
    }
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { acceptance: { type: 'boolean' }, only: { type: 'string' } } });
  process.chdir(findProjectRoot(outDir));
  const steps = values.only === undefined ? [...(await checkFormat()), ...(await checkLint())] : [];
  const selection = selectFiles({ only: values.only, withTools: values.acceptance ?? false });
  await providePackages([...selection.units, ...selection.acceptance]);
  const runs = await runAll(selection);

  printFailures(runs, steps);
  printSkipped(runs);
  const sum = (outcome: Finished['outcome']): number => runs.reduce((total, { run }) => total + count(run, outcome), 0);
  const [passed, skipped] = [sum('passed'), sum('skipped')];
  const failed = sum('failed') + steps.length;
  const ran = passed + sum('failed') > 0;
  if (!ran) console.log('no test ran');
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 && ran ? 0 : 1;
}

process.exitCode = await main();
