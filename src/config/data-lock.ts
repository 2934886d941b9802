/**
 * One server per data folder. The lock is a file that names its holder's process; a holder that is gone (killed, or the
 * machine restarted) no longer counts, so a start after a crash needs no hand. A process is told from a later one with
 * the same number by its start time, where the system shows it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
/** For a process that was killed and has much memory to give back. */
const ENDING_MAX_MS = 10_000;
const ENDING_LOOK_MS = 20;

/** `keepsCrashMark`: letting go leaves the dead holder's file as it was found. */
export async function lockData(
  folder: string,
  { keepsCrashMark }: { keepsCrashMark: boolean } = { keepsCrashMark: false },
): Promise<DataLock> {
  await makeFolder(folder);
  const path = join(folder, LOCK_FILE);
  const own = `${path}.${randomUUID()}`;
  const started = (await lookUpProcess(process.pid))?.started ?? null;
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
 * Makes `own` the file at `path`, unless a living holder has it; resolves with the dead one that it replaced. One that was
 * killed and has not quite ended is waited for: a thread of it may still write. Only whoever holds a second lock, named
 * after the dead one's text, may replace that text: of many who find it dead, one.
 */
async function take(path: string, own: string): Promise<Found | null> {
  const waitUntilMs = performance.now() + ENDING_MAX_MS;
  for (;;) {
    if (await tryLink(own, path)) return null;
    const found = await look(path);
    if (found === null) continue;
    const holder = parseHolder(found.text);
    const life = holder === null ? 'over' : await lifeOf(holder, found);
    if (life === 'ending' && performance.now() < waitUntilMs) {
      await delay(ENDING_LOOK_MS);
      continue;
    }
    if (holder !== null && life !== 'over') throw new HeldByAnother(holder);
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
      `The data folder ${resolve(folder)} cannot be created (${code}). Choose another with --data DIR.`,
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

/**
 * Ending: it was killed, or ends by itself, and some of it still runs. Over: nothing of it does, though its parent may not
 * have asked yet how it ended, and never may.
 */
type Life = 'alive' | 'ending' | 'over';

async function lifeOf(holder: Holder, { touchedMs }: Found): Promise<Life> {
  // A process on another host, or in another container, cannot be looked up: its touch tells.
  if (holder.host !== hostname()) return Date.now() - touchedMs < FOREIGN_LIFE_MS ? 'alive' : 'over';
  if (!exists(holder.pid)) return 'over';
  const shown = await lookUpProcess(holder.pid);
  // Not shown here, or gone between the two looks.
  if (shown === null) return exists(holder.pid) ? 'alive' : 'over';
  if (holder.started === null) return 'alive';
  return shown.started === holder.started ? shown.life : 'over';
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

/** Of a process's flags: it is on its way out. Of the signals that it has yet to meet: it will be. */
const EXITING = 0x4;
const KILLED = 0x100;

/** Where the system shows it, as Linux does: by the fields of its stat that stand behind the name in parentheses. */
async function lookUpProcess(pid: number): Promise<{ started: string; life: Life } | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, flags, threadCount, started = '', pending] = [0, 6, 17, 19, 28].map((index) => fields[index]);
  const hasEnded = state === 'Z' || state === 'X';
  const isLeaving = (Number(flags) & EXITING) !== 0 || (Number(pending) & KILLED) !== 0;
  if (hasEnded && Number(threadCount) <= 1) return { started, life: 'over' };
  return { started, life: hasEnded || isLeaving ? 'ending' : 'alive' };
}

function inUse(folder: string, { pid, host }: Holder): ConfigError {
  return new ConfigError(
    `The data folder ${resolve(folder)} is in use by process ${pid} on ${host}. ` +
      'Stop that server first, or choose another folder with --data DIR. ' +
      `(If that server was killed on another machine, the folder is free ${FOREIGN_LIFE_MS / 1000} seconds later.)`,
  );
}
