/**
 * `npm test`: formatting, lint, the packages and servers that tests need, the unit tests (all in one process) and the
 * acceptance tests (a process for each file and each engine, see runner/plan.ts). Last line: `N passed, N failed`, and
 * `, N skipped` when there are any.
 *
 * --acceptance         also the files named *.acceptance.test.ts, which drive programs from outside npm
 * --only TEXT          only the test files whose path contains TEXT, and neither formatting nor lint
 * LARIMAR_TEST_ENGINE  only acceptance tests over this engine, `embedded` or `postgres`
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { givenEngine } from './harness/engines.ts';
import { missingTool, type Tool } from './packages.ts';
import type { Finished } from './runner/events.ts';
import { engineEnvironment, type Plan, type PlannedRun, planRuns, sourceName as sourceNameIn } from './runner/plan.ts';
import { Services } from './runner/services.ts';
import { checkFormat, checkLint, providePackages, type StepFailure } from './runner/steps.ts';
import { runTestProcess, skippedRun, type TestRun } from './runner/test-process.ts';

const FILES_AT_ONCE_MAX = 2;
/** A unit test file that takes longer is named. */
const SLOW_SECONDS = 2;

const outDir = dirname(dirname(fileURLToPath(import.meta.url)));

function findProjectRoot(from: string): string {
  return existsSync(join(from, 'tsconfig.json')) ? from : findProjectRoot(dirname(from));
}

const sourceName = (file: string): string => sourceNameIn(outDir, file);

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

async function runAndReport(planned: PlannedRun, services: Services): Promise<NamedRun> {
  const { name, files, engine } = planned;
  const missing = engine === 'postgres' && missingTool('postgres');
  const env = { ...services.env, ...engineEnvironment(planned) };
  const run = missing === false ? await runTestProcess({ files, outDir, env }) : skippedRun(files, missing);
  reportRun(name, run);
  return { name, run };
}

async function runAll({ units, acceptance }: Plan, services: Services): Promise<NamedRun[]> {
  const runs: NamedRun[] = [];
  // Unit tests are one process, which leaves a core to others.
  const waiting = units === null ? [...acceptance] : [units, ...acceptance];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      runs.push(await runAndReport(next, services));
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE_MAX }, lane));
  return runs;
}

async function runWithServices(
  plan: Plan,
  { tools, services }: { tools: ReadonlySet<Tool>; services: Services },
): Promise<NamedRun[]> {
  try {
    await services.start(tools);
    return await runAll(plan, services);
  } finally {
    await services.stop();
  }
}

const OUTPUT_SHOWN_MAX_CHARACTERS = 20_000;

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '    ');
}

const nameOf = (one: Finished): string => (one.path.length === 0 ? 'the whole file' : one.path.join(' › '));

/** Where a test is from, with the engine it ran over: a run of one file has that in its name. */
const originOf = (one: Finished, { name, run }: NamedRun): string =>
  run.files.length > 1 ? sourceName(one.file) : name;

function printFailures(runs: readonly NamedRun[], steps: readonly StepFailure[]): void {
  for (const failure of steps) console.log(`\nFAILED ${failure.name}\n${indent(failure.output)}`);
  for (const named of runs) {
    const { name, run } = named;
    const failures = run.finished.filter((one) => one.outcome === 'failed');
    for (const one of failures) {
      console.log(`\nFAILED ${nameOf(one)}\n  in ${originOf(one, named)}\n${indent(one.reason ?? '')}`);
    }
    if (failures.length > 0 && run.output.trim() !== '') {
      console.log(`\nprinted by ${name}:\n${indent(run.output.slice(-OUTPUT_SHOWN_MAX_CHARACTERS))}`);
    }
  }
}

function printSkipped(runs: readonly NamedRun[]): void {
  for (const named of runs) {
    for (const one of named.run.finished.filter((one) => one.outcome === 'skipped')) {
      console.log(`skipped: ${nameOf(one)} (${originOf(one, named)}): ${one.reason}`);
    }
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { acceptance: { type: 'boolean' }, only: { type: 'string' } } });
  process.chdir(findProjectRoot(outDir));
  const { only, acceptance: withSlow = false } = values;
  const plan = planRuns({ outDir, only, withSlow, engine: givenEngine() });
  const steps = only === undefined ? [...(await checkFormat()), ...(await checkLint())] : [];
  const tools = new Set([plan.units, ...plan.acceptance].flatMap((planned) => planned?.tools ?? []));
  await providePackages(tools);
  const services = new Services();
  const runs = await runWithServices(plan, { tools, services });
  steps.push(...services.failures);

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
