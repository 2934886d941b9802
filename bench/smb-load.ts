/**
 * The two ways to load an SMB server: Samba's `smbclient` for whole files, signed or encrypted, and a bare client in this
 * process for many small requests under way on one connection, which signs nothing.
 */

import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WireClient, type WireTarget } from '../test/harness/smb-wire.ts';
import { type Outcome, outcome } from './load.ts';

export interface SmbTarget extends WireTarget {
  readonly share: string;
}

export type Protection = 'sign' | 'encrypt';

/** For a server that may not have started yet. */
export async function answersSmb(port: number): Promise<boolean> {
  try {
    const client = await WireClient.connect(port);
    await client.negotiate();
    client.destroy();
    return true;
  } catch {
    return false;
  }
}

/** Commands as after `smbclient -c`; gives what was printed. */
export async function smbclient(
  { port, share, user, password }: SmbTarget,
  { commands, protection }: { commands: string; protection: Protection },
): Promise<string> {
  const server = [`//127.0.0.1/${share}`, '--configfile=/dev/null', '--port', String(port), '--user', user];
  const words = [...server, `--client-protection=${protection}`, '--command', commands];
  // Kept off the command line, which everybody sees.
  const env = { ...process.env, PASSWD: password };
  try {
    const { stdout, stderr } = await promisify(execFile)('smbclient', words, { env });
    return `${stdout}${stderr}`;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    // The error's own message would repeat the whole command.
    throw new Error(`smbclient: ${`${stdout}${stderr}`.trim()}`, { cause: error });
  }
}

/** The MB/s that smbclient prints for the one file that it has put or got: from its opening until it is closed. */
export function megabytesPerSecondIn(printed: string): number {
  const kibibytes = /\((\d+(?:\.\d+)?) (?:kb\/s|KiloBytes\/sec)\)/.exec(printed)?.[1];
  if (kibibytes === undefined) throw new Error(`smbclient printed no rate: ${printed.trim()}`);
  return (Number(kibibytes) * 1024) / 1e6;
}

/** A file of so many bytes that is the same for all, in memory if there is room. Removed at the end of this process. */
export function localFile(lengthBytes: number): string {
  const folder = mkdtempSync(join(hasRoom('/dev/shm', lengthBytes) ? '/dev/shm' : tmpdir(), 'larimar-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'local');
  const file = openSync(path, 'w');
  const piece = Buffer.alloc(pieceBytes, 'larimar ');
  for (let leftBytes = lengthBytes; leftBytes > 0; leftBytes -= pieceBytes) {
    writeSync(file, piece, 0, Math.min(pieceBytes, leftBytes));
  }
  closeSync(file);
  return path;
}

const pieceBytes = 1_048_576;

function hasRoom(folder: string, lengthBytes: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 2 * lengthBytes;
  } catch {
    return false;
  }
}

/** One connection, closed at the end. Fails if the server closes it before: then answers would be waited for in vain. */
export async function withWire<T>(target: SmbTarget, work: (client: WireClient) => Promise<T>): Promise<T> {
  const client = await WireClient.open(target, target.share);
  const lost = client.closed.then(() => Promise.reject(new Error('the server closed the connection')));
  try {
    return await Promise.race([work(client), lost]);
  } finally {
    client.destroy();
    await lost.catch(() => {});
  }
}

export interface UnderWay {
  count: number;
  seconds: number;
}

/** Repeats `step` so many at once until the time is up; the value is steps per second. */
export async function rateUnderWay(
  { count, seconds }: UnderWay,
  step: (index: number) => Promise<unknown>,
): Promise<Outcome> {
  let steps = 0;
  const startedAtMs = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      do {
        await step(index);
        steps += 1;
      } while (performance.now() - startedAtMs < seconds * 1000);
    }),
  );
  return outcome(steps / ((performance.now() - startedAtMs) / 1000));
}
