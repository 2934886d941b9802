/**
 * The benchmark. Contestants take turns in short rounds (A B C A B C …), so that a disturbance of the machine meets all
 * of them; the median of each is printed beside its ratio to the others. Absolute figures are this machine's, today's.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import {
  Contestant,
  type ContestantName,
  contestantNames,
  fetchAzurite,
  isOnDatabase,
  missingLarimar,
} from './contestants.ts';
import { projectFolder, wrkIsInstalled } from './load.ts';
import { notes } from './notes.ts';
import { help, type Options, parseOptions } from './options.ts';
import { Pgbench } from './pgbench.ts';
import { missingPostgres, PostgresServer } from './postgres.ts';
import { type Row, takesPart } from './rows/row.ts';
import { fill } from './rows/small-blobs.ts';
import { endAll } from './running.ts';
import { missingSamba, missingSmbclient } from './samba.ts';
import { type Column, type RowResult, renderTables, resultsAsJson } from './table.ts';
import { runRow } from './turns.ts';

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const needsPostgres = (column: Column): boolean => column === 'pgbench' || isOnDatabase(column);

/** What the stages of a run share. */
interface Place {
  options: Options;
  folder: string;
  /** Null: nobody chosen needs it. */
  postgres: PostgresServer | null;
  pgbench: Pgbench | null;
  results: RowResult[];
}

async function runBenchmark(options: Options): Promise<void> {
  const startedAtMs = performance.now();
  await checkWhatIsNeeded(options);
  const place = await makePlace(options);
  const { results } = place;
  for (const stage of ['fresh', 'filled'] as const) {
    const rows = options.rows.filter((row) => row.stage === stage);
    if (rows.length === 0) continue;
    await runStage(stage, rows, place).catch((error: Error) => {
      say(`The rows on ${stage === 'fresh' ? 'empty' : 'filled'} servers stopped: ${error.message}`);
      process.exitCode = 1;
    });
  }
  const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(1);
  const postgresVersion = place.postgres?.version ?? null;
  say('');
  const told = notes({ options, results, postgresVersion }).join('\n');
  process.stdout.write(`${[...renderTables(results, options.columns), told].join('\n\n')}\n`);
  say(`\nThe run took ${minutes} minutes.`);
  if (options.jsonFile !== undefined) writeJson(options.jsonFile, options, results);
  if (results.some((result) => result.failures.length > 0)) process.exitCode = 1;
}

async function checkWhatIsNeeded({ columns, rows, larimarProgram, withoutSmb }: Options): Promise<void> {
  if (!(await wrkIsInstalled()))
    throw new Error('wrk is missing. Install it with apt-get install wrk or brew install wrk.');
  if (withoutSmb !== undefined) say(`The SMB rows are left out: ${withoutSmb}`);
  const isOverSmb = rows.some((row) => row.protocol === 'smb');
  const needsSamba = isOverSmb && columns.some((column) => column === 'smbd' || column === 'smbd-sync');
  const needsLarimar = columns.some((column) => column === 'larimar' || needsPostgres(column));
  const missing =
    (needsLarimar ? missingLarimar(larimarProgram) : null) ??
    (columns.some(needsPostgres) ? missingPostgres() : null) ??
    (needsSamba ? missingSamba() : null) ??
    (isOverSmb ? missingSmbclient() : null);
  if (missing !== null) throw new Error(missing);
  if (columns.includes('azurite') && rows.some((row) => takesPart('azurite', row))) await fetchAzurite(say);
}

async function makePlace(options: Options): Promise<Place> {
  const { columns, scale } = options;
  const folder = makeDataFolder(options);
  const postgres = columns.some(needsPostgres) ? await PostgresServer.start(folder) : null;
  const pgbench =
    postgres !== null && columns.includes('pgbench') ? await Pgbench.open(postgres, { folder, scale }) : null;
  return { options, folder, postgres, pgbench, results: [] };
}

function makeDataFolder(options: Options): string {
  // Not the system's temporary folder: that may be memory, where an fsync costs nothing.
  const parent = options.dataFolder ?? join(projectFolder, '.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'bench-'));
  process.on('exit', () => {
    endAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

async function runStage(stage: Row['stage'], rows: readonly Row[], place: Place): Promise<void> {
  const { columns, scale } = place.options;
  const contestants: Contestant[] = [];
  const isMeant = (name: ContestantName): boolean => columns.includes(name) && rows.some((row) => takesPart(name, row));
  for (const name of contestantNames.filter(isMeant)) {
    const contestant = await enter(name, stage, place);
    contestants.push(contestant);
    await contestant.start();
    await contestant.createContainer();
    if (stage === 'filled') await fill(contestant, { scale, say });
    contestant.pause();
  }
  const { pgbench } = place;
  for (const row of rows) place.results.push(await runRow(row, { contestants, pgbench }, say));
  await Promise.all(contestants.map((contestant) => contestant.stop()));
}

/** With an empty folder and, where it is on one, an empty database. */
async function enter(name: ContestantName, stage: Row['stage'], place: Place): Promise<Contestant> {
  const { postgres, options } = place;
  const { larimarProgram } = options;
  const needsDatabase = postgres !== null && isOnDatabase(name);
  return new Contestant({
    name,
    dataFolder: join(place.folder, stage, name),
    ...(needsDatabase ? { databaseUrl: await postgres.createDatabase(`${stage}-${name}`) } : {}),
    ...(larimarProgram === undefined ? {} : { larimarProgram }),
  });
}

function writeJson(file: string, options: Options, results: readonly RowResult[]): void {
  const machine = { node: process.version, platform: process.platform, cpus: cpus().map((cpu) => cpu.model) };
  const rows = resultsAsJson(results, options.columns);
  const report = { at: new Date().toISOString(), machine, scale: options.scale, rows };
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
