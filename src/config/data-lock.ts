/**
 * One server per data folder. The lock is a file that names its holder's process; a holder that is gone (killed, or the
 * machine restarted) no longer counts, so a start after a crash needs no hand. A process is told from a later one with
 * the same number by its start time, where the system shows it.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { ConfigError } from './config-error.ts';

interface Holder {
  readonly pid: number;
  readonly host: string;
  /** As the system tells it; null where it doesn't. */
  readonly started: string | null;
}

export interface DataLock {
  /** The last holder did not let go in good order: it was killed, or the machine went down. */
  readonly afterCrash: boolean;
  release(): Promise<void>;
}

const LOCK_FILE = 'larimar.lock';
const ATTEMPTS = 5;

export async function lockData(folder: string): Promise<DataLock> {
  await makeFolder(folder);
  const path = join(folder, LOCK_FILE);
  const own = join(folder, `${LOCK_FILE}.${randomUUID()}`);
  const me: Holder = { pid: process.pid, host: hostname(), started: await startOf(process.pid) };
  await writeFile(own, JSON.stringify(me));
  let afterCrash = false;
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await tryLink(own, path)) return { afterCrash, release: () => unlink(path) };
      const text = await readFile(path, 'utf8').catch(() => null);
      if (text === null) continue;
      if (await isAlive(text)) throw inUse(folder, text);
      await setAside(path, text);
      afterCrash = true;
    }
    throw new ConfigError(`The data folder ${resolve(folder)} could not be locked; try again.`);
  } finally {
    await unlink(own).catch(() => {});
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(
      `The data folder ${resolve(folder)} cannot be made (${code}). Choose another with --data DIR.`,
    );
  }
}

/** Linking fails if the name is taken: of many who try, one gets it. */
async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a dead holder's file away, unless somebody has put a new one there meanwhile: then that goes back. */
async function setAside(path: string, expected: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const found = await readFile(aside, 'utf8').catch(() => '');
  if (found !== expected) await tryLink(aside, path);
  await unlink(aside).catch(() => {});
}

async function isAlive(text: string): Promise<boolean> {
  const holder = parseHolder(text);
  if (holder === null) return false;
  // A process on another host cannot be looked up: rather refuse than share.
  if (holder.host !== hostname()) return true;
  if (!exists(holder.pid)) return false;
  const started = await startOf(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

function parseHolder(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux shows when a process started, as field 22 of its stat, behind the name in parentheses. */
async function startOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

function inUse(folder: string, text: string): ConfigError {
  const holder = parseHolder(text);
  return new ConfigError(
    `The data folder ${resolve(folder)} is in use by process ${holder?.pid} on ${holder?.host}. ` +
      'Stop that server first, or choose another folder with --data DIR. ' +
      `(If no such server runs any more, delete ${join(resolve(folder), LOCK_FILE)}.)`,
  );
}
