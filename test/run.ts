/**
 * Runs a tier of the tests. `npm test` is the quick one: formatting, lint, unit tests, and every service on both engines
 * in this process's machine with nothing installed. `npm run test:system` is the rest (runner/plan.ts says which is which).
 * The last line is `N passed, N failed`, with `, N skipped` when there are any.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { givenEngine, TEST_ENGINES, type TestEngine } from './harness/engines.ts';
import { PORTS_VARIABLE } from './harness/free-port.ts';
import { TIER_VARIABLE, type Tier } from './harness/tier.ts';
import { missingTool } from './packages.ts';
import { engineEnvironment, type Group, type Plan, type PlannedFile, planTier, THIRD_PARTY } from './runner/plan.ts';
import { Progress } from './runner/progress.ts';
import {
  type GroupRun,
  printFailures,
  printLeftOut,
  printSkipped,
  printSlowest,
  printSummary,
  secondsByFile,
} from './runner/report.ts';
import { Seconds } from './runner/seconds.ts';
import { Services } from './runner/services.ts';
import { buildThirdParty, checkFormat, checkLint, hasThirdParty, type StepFailure } from './runner/steps.ts';
import { runTestProcess, skippedRun } from './runner/test-process.ts';

const HELP = `npm test [-- OPTIONS]               formatting, lint, unit tests, every service on both engines
npm run test:system [-- OPTIONS]    clusters, crashes, power cuts, other programs; see npm run test:setup

  --only TEXT        only the test files whose path contains TEXT; neither formatting nor lint
  --name TEXT        only the test of this name
  --engine ENGINE    only over this engine: ${TEST_ENGINES.join(' or ')}
  --seed N           replay a random test with this seed
  --workers N        processes at a time; one more than there are cores, unless you say otherwise
  --record-seconds   write down how long each file took (test/seconds.json)
  --help             show this text`;

const outDir = dirname(dirname(fileURLToPath(import.meta.url)));

function findProjectRoot(from: string): string {
  return existsSync(join(from, 'tsconfig.json')) ? from : findProjectRoot(dirname(from));
}

interface Options {
  readonly tier: Tier;
  readonly only: string | undefined;
  readonly name: string | null;
  readonly engine: TestEngine | null;
  readonly seed: string | null;
  readonly workers: number;
  readonly recordSeconds: boolean;
}

/** null: only help was asked for. */
function parseOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      system: { type: 'boolean' },
      only: { type: 'string' },
      name: { type: 'string' },
      engine: { type: 'string' },
      seed: { type: 'string' },
      workers: { type: 'string' },
      'record-seconds': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return null;
  const engine = TEST_ENGINES.find((one) => one === values.engine) ?? null;
  if (values.engine !== undefined && engine === null) {
    throw new Error(`--engine ${values.engine} is not one of ${TEST_ENGINES.join(', ')}`);
  }
  const workers = Number(values.workers ?? availableParallelism() + 1);
  if (!Number.isInteger(workers) || workers < 1) throw new Error(`--workers ${values.workers} is not a number above 0`);
  return {
    tier: values.system === true ? 'system' : 'quick',
    only: values.only,
    name: values.name ?? null,
    engine: engine ?? givenEngine(),
    seed: values.seed ?? null,
    workers,
    recordSeconds: values['record-seconds'] === true,
  };
}

/** Why the files of a group cannot run here; null when they can. */
function missingFor({ engine, files }: Group): string | null {
  if (engine === 'postgres' && missingTool('postgres') !== false) return missingTool('postgres') as string;
  const isThirdParty = files.some(({ source }) => source.startsWith(THIRD_PARTY));
  return isThirdParty && !hasThirdParty() ? 'needs clients that npm run test:setup installs' : null;
}

async function runGroups(
  { groups }: Plan,
  options: Options,
  services: Services,
  progress: Progress,
): Promise<GroupRun[]> {
  const runs: GroupRun[] = [];
  const waiting = [...groups];
  const seed = options.seed === null ? {} : { LARIMAR_SEED: options.seed };
  const lane = async (_: unknown, index: number): Promise<void> => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const files = group.files.map(({ compiled }) => compiled);
      const missing = missingFor(group);
      const env = {
        ...services.env,
        ...engineEnvironment(group.engine),
        ...seed,
        [TIER_VARIABLE]: options.tier,
        [PORTS_VARIABLE]: `${index}/${options.workers}`,
      };
      const onFile = (file: string): void => progress.fileEnded(group, file);
      const run =
        missing === null
          ? await runTestProcess({ files, outDir, name: options.name, onFile, env })
          : skippedRun(files, missing);
      progress.groupEnded(group, run);
      runs.push({ group, run });
    }
  };
  await Promise.all(Array.from({ length: options.workers }, lane));
  progress.end();
  return runs;
}

async function runWithServices(
  plan: Plan,
  { options, services, seconds }: { options: Options; services: Services; seconds: Seconds },
): Promise<GroupRun[]> {
  try {
    await services.start(new Set(plan.files.flatMap(({ tools }) => tools)));
    return await runGroups(plan, options, services, new Progress(plan, seconds, options.workers));
  } finally {
    await services.stop();
  }
}

async function checkSources({ tier, only }: Options, plan: Plan): Promise<StepFailure[]> {
  const checks = only === undefined && tier === 'quick' ? [checkFormat(), checkLint()] : [];
  const wantsThirdParty = plan.files.some(({ source }) => source.startsWith(THIRD_PARTY));
  if (wantsThirdParty && hasThirdParty()) checks.push(buildThirdParty(outDir));
  return (await Promise.all(checks)).flat();
}

/** What only the system tier runs. */
function leftOut(quick: readonly PlannedFile[], seconds: Seconds): PlannedFile[] {
  const runs = new Set(quick.map(({ source }) => source));
  const { files } = planTier({ outDir, tier: 'system', only: undefined, engine: null }, seconds);
  return files.filter(({ source }) => !runs.has(source));
}

async function main(): Promise<number> {
  const options = parseOptions();
  if (options === null) {
    console.log(HELP);
    return 0;
  }
  process.chdir(findProjectRoot(outDir));
  process.env[TIER_VARIABLE] = options.tier;
  const { tier, only } = options;
  const seconds = new Seconds(tier);
  const plan = planTier({ outDir, ...options }, seconds);
  if (plan.files.length === 0) {
    const other = tier === 'quick' ? 'npm run test:system' : 'npm test';
    console.log(`no test file of this tier fits; ${other} has others`);
    return 1;
  }
  const steps = await checkSources(options, plan);
  const services = new Services();
  const runs = await runWithServices(plan, { options, services, seconds });
  steps.push(...services.failures);

  const measured = secondsByFile(runs);
  if (options.recordSeconds) seconds.record(measured);
  printFailures(runs, { steps, tier });
  printSkipped(runs, tier);
  if (tier === 'quick' && only === undefined) printLeftOut(leftOut(plan.files, seconds));
  printSlowest(measured);
  return printSummary(runs, steps);
}

process.exitCode = await main();
