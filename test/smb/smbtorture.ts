/**
 * Samba's own tests of SMB servers, run against a share. Which of them pass is kept in smbtorture-passes.txt, a list that
 * only grows: a test that is in it and does not pass is a failure here.
 */

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

export interface TortureTarget {
  readonly port: number;
  readonly share: string;
  readonly account: string;
  readonly key: string;
}

export interface TortureRun {
  /** By what became of them, as `lock.valid-request`. */
  readonly success: readonly string[];
  readonly failure: readonly string[];
  readonly skip: readonly string[];
  readonly output: string;
}

const TIMEOUT_MS = 300_000;

/** `suite`: as in `lock`, or one test of it, as in `lock.valid-request`. */
export async function torture(suite: string, { port, share, account, key }: TortureTarget): Promise<TortureRun> {
  const child = spawn(
    'smbtorture',
    [`//127.0.0.1/${share}`, '-p', String(port), '-U', `${account}%${key}`, '--format=subunit', `smb2.${suite}`],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
  );
  const closed = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  const named = (word: string): string[] =>
    [...stdout.matchAll(new RegExp(`^${word}: (\\S+)`, 'gm'))].map(([, name = '']) => fullName(suite, name));
  return {
    success: named('success'),
    failure: [...named('failure'), ...named('error')],
    skip: named('skip'),
    output: `${stdout}${stderr}`,
  };
}

/** Names come with all, a part or nothing of their suite's. */
function fullName(suite: string, name: string): string {
  const bare = name.replace(/^smb2\./, '');
  const [family = ''] = suite.split('.');
  return bare === suite || bare.startsWith(`${family}.`) || bare === family ? bare : `${family}.${bare}`;
}

/** The tests that pass, by suite. */
export async function expectedPasses(): Promise<ReadonlyMap<string, readonly string[]>> {
  const lines = await readFile(new URL('../../../test/smb/smbtorture-passes.txt', import.meta.url), 'utf8');
  const bySuite = new Map<string, string[]>();
  for (const name of lines.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const [suite = ''] = name.split('.');
    bySuite.set(suite, [...(bySuite.get(suite) ?? []), name]);
  }
  return bySuite;
}
