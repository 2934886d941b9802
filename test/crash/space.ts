/** Whether the space of what was deleted is given back: the server sweeps when it finds the time. */
import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Place } from '../harness/engines.ts';
import { queryRows } from '../harness/postgres.ts';
import { until } from '../harness/until.ts';
import { runCheck } from './larimar-check.ts';

const SWEEP_LIMIT_SECONDS = 120;

/**
 * How much of the content may stay, in files or extents, when everything is deleted and the server runs on. In a folder
 * it is the file that the server writes into; in a database, to which others may be writing, what crashes left and no
 * record names, until it is old enough. No server runs.
 */
export async function sparedCount(place: Place): Promise<number> {
  if (place.store.data !== undefined) return 1;
  return Number(/(\d+) extents? left by a crash/.exec(await cleanReport(place))?.[1] ?? 0);
}

/** While the server runs. */
export async function untilSwept(place: Place, sparedCount: number): Promise<void> {
  await until({ what: 'the content is swept', limitSeconds: SWEEP_LIMIT_SECONDS }, async () => {
    return (await contentCount(place)) <= sparedCount;
  });
}

async function contentCount({ store: { data, engine = '' } }: Place): Promise<number> {
  if (data !== undefined) return (await filesWithBytes(join(data, 'content'))).length;
  const [row] = await queryRows(engine, 'SELECT count(*) FROM larimar_extents');
  return Number(row?.[0]);
}

/** What is left when no server runs, in words. Of content, in a database: what records ever named. */
export async function contentLeft(place: Place): Promise<string[]> {
  const { data } = place.store;
  const files = data === undefined ? [] : await filesWithBytes(join(data, 'content'));
  const lines = (await cleanReport(place)).split('\n');
  return [
    ...files,
    ...lines.filter((line) =>
      /[1-9]\d* (?:extents?,|tables?,|entity|entities|queues?,|messages?|shares?,|changes?)/.test(line),
    ),
  ];
}

async function cleanReport(place: Place): Promise<string> {
  const { exitCode, output } = await runCheck(place);
  assert.equal(exitCode, 0, output);
  return output;
}

async function filesWithBytes(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(files.map(async (file) => ({ file, bytes: await sizeOf(file) })));
  return sizes.filter(({ bytes }) => bytes > 0).map(({ file, bytes }) => `${file}: ${bytes} bytes`);
}

/** 0 for a file that has gone since it was listed. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
