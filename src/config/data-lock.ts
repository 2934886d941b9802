/**
 * One server per data folder. The lock is a file that names its holder's process; a holder that is gone (killed, or the
 * machine restarted) no longer counts, so a start after a crash needs no hand. A process is told from a later one with
 * the same number by its start time, where the system shows it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { makeFolderDurably } from '../base/durable-folder.ts';
import { ConfigError } from './config-error.ts';

interface Holder {
  readonly pid: number;
  readonly host: string;
  /** As the system tells it; null where it doesn't. */
  readonly started: string | null;
  /** No two holders write the same text. */
  readonly nonce: string;
}

export interface DataLock {
  /** The last holder did not let go in good order: it was killed, or the machine went down. */
  readonly afterCrash: boolean;
  release(): Promise<void>;
}

/** A holder's file as a later one found it. */
interface Found {
  readonly text: string;
  readonly touchedMs: number;
}

const LOCK_FILE = 'larimar.lock';
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
  const own = `${path}.${randomUUID()}`;
  const started = await startOf(process.pid);
  const text = JSON.stringify({ pid: process.pid, host: hostname(), started, nonce: randomUUID() } satisfies Holder);
  await writeFile(own, text);
  try {
    return holdLock(path, { text, dead: await take(path, own), keepsCrashMark });
  } catch (error) {
    throw error instanceof HeldByAnother ? inUse(folder, error.holder) : error;
  } finally {
    await unlink(own);
  }
}

/**
 * Makes `own` the file at `path`, unless a living holder has it; resolves with the dead one that it replaced. Only
 * whoever holds a second lock, named after the dead one's text, may replace that text: of many who find it dead, one.
 */
async function take(path: string, own: string): Promise<Found | null> {
  for (;;) {
    if (await tryLink(own, path)) return null;
    const found = await look(path);
    if (found === null) continue;
    const holder = parseHolder(found.text);
    if (holder !== null && (await isAlive(holder, found))) throw new HeldByAnother(holder);
    const guard = `${path}.${createHash('sha256').update(found.text).digest('hex').slice(0, 16)}`;
    await take(guard, own);
    try {
      if ((await look(path))?.text !== found.text) continue;
      await replace(path, own);
      return found;
    } finally {
      await unlink(guard);
    }
  }
}

class HeldByAnother extends Error {
  override readonly name = 'HeldByAnother';
  readonly holder: Holder;

  constructor(holder: Holder) {
    super('the lock is held');
    this.holder = holder;
  }
}

function holdLock(
  path: string,
  { text, dead, keepsCrashMark }: { text: string; dead: Found | null; keepsCrashMark: boolean },
): DataLock {
  const timer = setInterval(() => void touch(path, Date.now()), TOUCH_MS).unref();
  return {
    afterCrash: dead !== null,
    async release() {
      clearInterval(timer);
      // Whoever deleted the file by hand, or took it over, has it now.
      if ((await look(path))?.text !== text) return;
      if (dead === null || !keepsCrashMark) await unlink(path);
      else await putBack(path, dead);
    },
  };
}

async function putBack(path: string, dead: Found): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, dead.text);
  await touch(aside, dead.touchedMs);
  await rename(aside, path);
}

async function replace(path: string, own: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await link(own, aside);
  await rename(aside, path);
}

async function touch(path: string, atMs: number): Promise<void> {
  const at = new Date(atMs);
  // A lock that was taken away by hand stays away.
  await utimes(path, at, at).catch(() => {});
}

/** Null where there is no file (any more). */
async function look(path: string): Promise<Found | null> {
  try {
    const [text, { mtimeMs }] = [await readFile(path, 'utf8'), await stat(path)];
    return { text, touchedMs: mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await makeFolderDurably(folder, { mode: 0o700 });
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

async function isAlive(holder: Holder, { touchedMs }: Found): Promise<boolean> {
  // A process on another host, or in another container, cannot be looked up: its touch tells.
  if (holder.host !== hostname()) return Date.now() - touchedMs < FOREIGN_LIFE_MS;
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

function inUse(folder: string, { pid, host }: Holder): ConfigError {
  return new ConfigError(
    `The data folder ${resolve(folder)} is in use by process ${pid} on ${host}. ` +
      'Stop that server first, or choose another folder with --data DIR. ' +
      `(If it was killed on another machine, the folder is free ${FOREIGN_LIFE_MS / 1000} seconds after.)`,
  );
}
