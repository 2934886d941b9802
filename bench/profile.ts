/**
 * Where the time goes: runs one server under one row's load with V8's sampling profiler, and prints the functions and
 * files with the most self time. Samples from before and after the load are left out. What threads outside JavaScript
 * do (the file system pool, a native engine) no profile shows; their processor time is read from the system instead.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  Contestant,
  contestantNames,
  fetchAzurite,
  isComparedOver,
  isOnDatabase,
  missingLarimar,
} from './contestants.ts';
import { readSelfTimes, renderTop, type Span } from './cpu-profile.ts';
import { projectFolder } from './load.ts';
import { wholeScale } from './options.ts';
import { missingPostgres, PostgresServer } from './postgres.ts';
import { allRows } from './rows/all-rows.ts';
import { type Row, type Scale, takesPart } from './rows/row.ts';
import { fill } from './rows/small-blobs.ts';
import { endAll } from './running.ts';

/** Those that Node runs. */
const profiled = contestantNames.filter((name) => isComparedOver('http', name));

const help = `Profiles one server under the load of one row of the benchmark.

  node --enable-source-maps dist/bench/profile.js --row NAME [options], with the defaults in (parentheses)

  --row NAME       one of ${loadRows(wholeScale)
    .map((row) => row.name)
    .join(', ')
    .replace(/(.{60,90}) /g, '$1\n                   ')}
  --of NAME        the server: ${profiled.join(', ')} (larimar)
  --seconds N      how long the load lasts, unless the row has a length of its own (5)
  --blobs N        blobs to store first, for the list row (20000)
  --backlog N      messages to store first, for the long queue (${wholeScale.longQueueCount})
  --top N          how many functions to print (25)
  --larimar FILE   use another build: its dist/src/cli/larimar.js
  --keep DIR       keep the .cpuprofile files in this folder, to open them in a browser's developer tools
  --help           show this text`;

/** Rows that measure a start or a size give no load to profile. */
function loadRows(scale: Scale): Row[] {
  return allRows(scale).filter((row) => row.better === 'higher');
}

interface Profiling {
  row: Row;
  scale: Scale;
  contestant: Contestant;
  profileFolder: string;
  top: number;
}

async function profile({ row, scale, contestant, profileFolder, top }: Profiling): Promise<void> {
  await contestant.start();
  await contestant.createContainer();
  if (row.stage === 'filled') await fill(contestant, { scale, say });
  await row.prepare?.(contestant);
  await row.round(contestant, -1);

  const { pids } = contestant;
  const threadsBefore = threadSeconds(pids);
  const fromUs = monotonicUs();
  const result = await row.round(contestant, 0);
  const span = { fromUs, toUs: monotonicUs() };
  const threadsAfter = threadSeconds(pids);
  await contestant.stop();

  say(`${row.title}: ${result.value.toFixed(0)} ${row.unit} while profiled, ${result.failureCount} failed`);
  printThreads(threadsBefore, threadsAfter, span);
  // A kept folder may hold profiles of earlier runs: a file's name has the process's id in it.
  const files = readdirSync(profileFolder).filter((file) => pids.some((pid) => file.includes(`.${pid}.`)));
  if (files.length === 0) throw new Error(`${contestant.name} left no profile. It has to end by itself on SIGTERM.`);
  for (const file of files) printProfile(join(profileFolder, file), span, top);
}

/** The clock that V8 stamps its samples with. */
function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function printProfile(file: string, span: Span, top: number): void {
  const times = readSelfTimes(file, { span, baseFolder: projectFolder });
  if (times.busyUs === 0) return;
  const thread = file.split('.').at(-3) === '0' ? 'main thread' : `worker thread ${file.split('.').at(-3)}`;
  const busy = ((times.busyUs / (times.busyUs + times.idleUs)) * 100).toFixed(0);
  say(`\n${thread}: busy ${busy} % of the time (percentages below are of the busy time)`);
  say(`\nself time by function\n${renderTop(times.byFunction, { busyUs: times.busyUs, count: top }).join('\n')}`);
  say(`\nself time by file\n${renderTop(times.byFile, { busyUs: times.busyUs, count: top }).join('\n')}`);
}

interface Thread {
  name: string;
  seconds: number;
}

/** Processor time so far of each thread of these processes; empty where the system does not tell. */
function threadSeconds(pids: readonly number[]): Map<string, Thread> {
  return new Map(pids.flatMap((pid) => threadsOf(pid)));
}

function threadsOf(pid: number): [string, Thread][] {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((thread) => {
    const line = readFileSync(join(folder, thread, 'stat'), 'latin1');
    // The name is in brackets and may hold blanks: fields are counted from behind it (14 and 15, in 1/100 s).
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    const name = thread === String(pid) ? 'main' : line.slice(line.indexOf('(') + 1, line.lastIndexOf(')'));
    return [thread, { name, seconds: (Number(fields[11]) + Number(fields[12])) / 100 }];
  });
}

function printThreads(before: Map<string, Thread>, after: Map<string, Thread>, span: Span): void {
  const spanSeconds = (span.toUs - span.fromUs) / 1e6;
  const spent = [...after]
    .map(([id, thread]) => ({ ...thread, seconds: thread.seconds - (before.get(id)?.seconds ?? 0) }))
    .filter((thread) => thread.seconds > 0)
    .sort((a, b) => b.seconds - a.seconds);
  if (spent.length > 0) say(`\nprocessor time by thread, of ${spanSeconds.toFixed(1)} s`);
  for (const thread of spent) {
    say(`${((thread.seconds / spanSeconds) * 100).toFixed(0).padStart(6)} %  ${thread.name}`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      row: { type: 'string' },
      of: { type: 'string', default: 'larimar' },
      seconds: { type: 'string', default: '5' },
      blobs: { type: 'string', default: '20000' },
      backlog: { type: 'string', default: String(wholeScale.longQueueCount) },
      top: { type: 'string', default: '25' },
      larimar: { type: 'string' },
      keep: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const blobCount = Number(values.blobs);
  const scale = {
    ...wholeScale,
    roundSeconds: Number(values.seconds),
    blobCount,
    azuriteBlobCount: blobCount,
    longQueueCount: Number(values.backlog),
  };
  const row = loadRows(scale).find((row) => row.name === values.row);
  if (row === undefined || values.help === true) return say(help);
  const name = profiled.find((name) => name === values.of);
  if (name === undefined || !takesPart(name, row)) return say(help);
  const isOurs = name === 'larimar' || isOnDatabase(name);
  const missing = (isOurs ? missingLarimar(values.larimar) : null) ?? (isOnDatabase(name) ? missingPostgres() : null);
  if (missing !== null) throw new Error(missing);
  if (name === 'azurite') await fetchAzurite(say);

  mkdirSync(join(projectFolder, '.cache'), { recursive: true });
  const dataFolder = mkdtempSync(join(projectFolder, '.cache', 'profile-'));
  process.on('exit', () => {
    endAll();
    rmSync(dataFolder, { recursive: true, force: true, maxRetries: 5 });
  });
  const profileFolder = values.keep === undefined ? join(dataFolder, 'profiles') : resolve(values.keep);
  mkdirSync(profileFolder, { recursive: true });
  const databaseUrl = isOnDatabase(name)
    ? await (await PostgresServer.start(dataFolder)).createDatabase('profile')
    : undefined;
  const contestant = new Contestant({
    name,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    dataFolder,
    nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, '--cpu-prof-interval=500'],
    ...(values.larimar === undefined ? {} : { larimarProgram: resolve(values.larimar) }),
  });
  await profile({ row, scale, contestant, profileFolder, top: Number(values.top) });
}

process.on('SIGINT', () => process.exit(130));
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
