/**
 * One server per data folder. The lock is a file that names its holder's process; a holder that is gone (killed, or the
 * machine restarted) no longer counts, so a start after a crash needs no hand. A process is told from a later one with
 * the same number by its start time, where the system shows it.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
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

/** A holder touches its lock so often; on another host, one that has not for so long no longer counts. */
const TOUCH_MS = 5_000;
const FOREIGN_LIFE_MS = 30_000;

/** `keepsCrashMark`: letting go leaves the dead holder's file as it was found. */
export async function lockData(
  folder: string,
  { keepsCrashMark }: { keepsCrashMark: boolean } = { keepsCrashMark: false },
): Promise<DataLock> {
  await makeFolder(folder);
  const path = join(folder, LOCK_FILE);
  const own = join(folder, `${LOCK_FILE}.${randomUUID()}`);
  const me: Holder = { pid: process.pid, host: hostname(), started: await startOf(process.pid) };
  await writeFile(own, JSON.stringify(me));
  let dead: string | null = null;
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await tryLink(own, path)) return holdLock(path, { dead, keepsCrashMark });
      const text = await readFile(path, 'utf8').catch(() => null);
      if (text === null) continue;
      if (await isAlive(path, text)) throw inUse(folder, text);
      await setAside(path, text);
      dead = text;
    }
    throw new ConfigError(`The data folder ${resolve(folder)} could not be locked; try again.`);
  } finally {
    await unlink(own).catch(() => {});
  }
}

function holdLock(path: string, options: { dead: string | null; keepsCrashMark: boolean }): DataLock {
  const { dead, keepsCrashMark } = options;
  const touch = (): void => {
    const now = new Date();
    // A lock that was taken away by hand stays away.
    utimes(path, now, now).catch(() => {});
  };
  const timer = setInterval(touch, TOUCH_MS).unref();
  return {
    afterCrash: dead !== null,
    async release() {
      clearInterval(timer);
      if (dead !== null && keepsCrashMark) await putBack(path, dead);
      else await unlink(path);
    },
  };
}

async function putBack(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, text);
  await rename(aside, path);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
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

async function isAlive(path: string, text: string): Promise<boolean> {
  const holder = parseHolder(text);
  if (holder === null) return false;
  // A process on another host, or in another container, cannot be looked up: its touch tells.
  if (holder.host !== hostname()) return await isTouched(path);
  if (!exists(holder.pid)) return false;
  const started = await startOf(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

async function isTouched(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs < FOREIGN_LIFE_MS;
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
      `(If it was killed on another machine, the folder is free ${FOREIGN_LIFE_MS / 1000} seconds after.)`,
  );
}
