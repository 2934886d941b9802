/**
 * The benchmark. Contestants take turns in short rounds (A B C A B C …), so that a disturbance of the machine meets all
 * of them; the median of each is printed beside its ratio to the others. Absolute figures are this machine's, today's.
 */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Contestant, fetchAzurite, killAll, missingLarimar } from './contestants.ts';
import { type Outcome, projectFolder, wrkIsInstalled } from './load.ts';
import { help, type Options, parseOptions } from './options.ts';
import type { Row } from './rows/row.ts';
import { fill } from './rows/small-blobs.ts';
import { type RowResult, renderTable, resultsAsJson } from './table.ts';

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function runBenchmark(options: Options): Promise<void> {
  const startedAtMs = performance.now();
  await checkWhatIsNeeded(options);
  const folder = makeDataFolder(options);
  const results: RowResult[] = [];
  for (const stage of ['fresh', 'filled'] as const) {
    const rows = options.rows.filter((row) => row.stage === stage);
    if (rows.length === 0) continue;
    await runStage(stage, rows, { options, folder: join(folder, stage), results }).catch((error: Error) => {
      say(`the ${stage} servers: ${error.message}`);
      process.exitCode = 1;
    });
  }
  const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(1);
  say('');
  process.stdout.write(`${renderTable(results)}\n\n${notes(options, results).join('\n')}\n`);
  say(`\n${minutes} minutes`);
  if (options.jsonFile !== undefined) writeJson(options.jsonFile, options, results);
  if (results.some((result) => result.failures.length > 0)) process.exitCode = 1;
}

async function checkWhatIsNeeded(options: Options): Promise<void> {
  if (!(await wrkIsInstalled())) throw new Error('wrk is missing: apt-get install wrk, or brew install wrk');
  const missing = options.contestants.includes('larimar') ? missingLarimar(options.larimarProgram) : null;
  if (missing !== null) throw new Error(missing);
  if (options.contestants.includes('azurite')) await fetchAzurite(say);
}

function makeDataFolder(options: Options): string {
  // Not the system's temporary folder: that may be memory, where an fsync costs nothing.
  const parent = options.dataFolder ?? join(projectFolder, '.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'bench-'));
  process.on('exit', () => {
    killAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

async function runStage(
  stage: Row['stage'],
  rows: readonly Row[],
  place: { options: Options; folder: string; results: RowResult[] },
): Promise<void> {
  const { scale, contestants: names, larimarProgram } = place.options;
  const contestants = names.map(
    (name) =>
      new Contestant({
        name,
        dataFolder: join(place.folder, name),
        ...(larimarProgram === undefined ? {} : { larimarProgram }),
      }),
  );
  for (const contestant of contestants) {
    await contestant.start();
    await contestant.createContainer();
    if (stage === 'filled') await fill(contestant, { scale, say });
    contestant.pause();
  }
  for (const row of rows) place.results.push(await runRow(row, contestants));
  await Promise.all(contestants.map((contestant) => contestant.stop()));
}

async function runRow(row: Row, contestants: readonly Contestant[]): Promise<RowResult> {
  const rounds = new Map(contestants.map((contestant) => [contestant.name, [] as number[]]));
  const failures: string[] = [];
  const note = (contestant: Contestant, text: string): void => {
    failures.push(`${row.title.trim()}: ${contestant.name}: ${contestant.ended ?? text}`);
  };

  for (const contestant of contestants) {
    await alone(contestant, async () => row.prepare?.(contestant)).catch((error: Error) => {
      note(contestant, `preparing: ${error.message}`);
    });
  }
  // Round -1 is the warm-up: run and thrown away.
  for (let round = row.warmsUp ? -1 : 0; round < row.rounds; round += 1) {
    for (const contestant of contestants) {
      const result = await alone(contestant, () => attempt(row, contestant, round));
      if (result.failure !== null) note(contestant, `${result.failureCount} failed: ${result.failure}`);
      else if (round >= 0) rounds.get(contestant.name)?.push(result.value);
    }
  }
  const spread = [...rounds].map(([name, values]) => `${name} ${values.map((value) => value.toFixed(0)).join(' ')}`);
  say(`${row.title.trim()} (${row.unit}): ${spread.join(' | ')}`);
  for (const failure of failures) say(`  ! ${failure}`);
  return { row, rounds, failures };
}

/** A round that breaks off is reported with its row; the other contestants go on. */
async function attempt(row: Row, contestant: Contestant, round: number): Promise<Outcome> {
  try {
    return await row.round(contestant, round);
  } catch (error) {
    return { value: Number.NaN, failureCount: 1, failure: (error as Error).message };
  }
}

/** Lets one contestant run while the others stand still, with nothing of theirs left to be written to the disk. */
async function alone<T>(contestant: Contestant, work: () => Promise<T>): Promise<T> {
  await promisify(execFile)('sync');
  contestant.resume();
  try {
    return await work();
  } finally {
    contestant.pause();
  }
}

function notes({ scale, contestants }: Options, results: readonly RowResult[]): string[] {
  const lines = [
    `Medians of the rounds, contestants in turn; small requests on ${scale.connections} connections. Larimar answers a`,
    'write once it is on the disk; Azurite writes its records every five seconds; bare stores nothing.',
  ];
  const differs = scale.azuriteBlobCount !== scale.blobCount && contestants.includes('azurite');
  if (differs && results.some((result) => result.row.stage === 'filled')) {
    const [ours, theirs] = [scale.blobCount, scale.azuriteBlobCount].map((count) => count.toLocaleString('en'));
    lines.push(`Where a row says ${ours} blobs, Azurite held only ${theirs}.`);
  }
  const failures = results.flatMap((result) => result.failures);
  if (failures.length > 0) lines.push('', '(!) No measurement, since requests failed:', ...new Set(failures));
  return lines;
}

function writeJson(file: string, options: Options, results: readonly RowResult[]): void {
  const machine = { node: process.version, platform: process.platform, cpus: cpus().map((cpu) => cpu.model) };
  const report = { at: new Date().toISOString(), machine, scale: options.scale, rows: resultsAsJson(results) };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === null) process.stdout.write(`${help}\n`);
  else await runBenchmark(options);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
process.exit();
