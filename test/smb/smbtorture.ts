/**
 * Samba's own tests of SMB servers, run against a share. Which of them pass is kept in smbtorture-passes.txt, a list that
 * only grows: a test that is in it and does not pass is a failure here.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { freshShare } from '../harness/file-clients.ts';
import { DEVELOPMENT_ACCOUNT, type ServerProcess, startServerProcess } from '../harness/server-process.ts';

export interface TortureTarget {
  readonly port: number;
  readonly share: string;
  readonly account: string;
  readonly key: string;
}

export interface TortureRun {
  /** By what became of them, as `lock.valid-request`. */
  readonly success: readonly string[];
  /** With the reason. */
  readonly failure: ReadonlyMap<string, string>;
  readonly skip: readonly string[];
}

const TIMEOUT_MS = 300_000;

/** `suite`: as in `lock`, or one test of it, as in `lock.valid-request`. */
export async function torture(suite: string, { port, share, account, key }: TortureTarget): Promise<TortureRun> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-smbtorture-'));
  const child = spawn(
    'smbtorture',
    [`//127.0.0.1/${share}`, '-p', String(port), '-U', `${account}%${key}`, '--format=subunit', `smb2.${suite}`],
    { stdio: ['ignore', 'pipe', 'ignore'], cwd: folder, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
  );
  const closed = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  try {
    const [output] = await Promise.all([text(child.stdout), closed]);
    return read(suite, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What became of a test, its name, and where there is one, the reason. */
const RESULT = /^(success|failure|error|skip): (.+?)(?: \[\n([^]*?)\n\])?$/gm;

function read(suite: string, output: string): TortureRun {
  const failure = new Map<string, string>();
  const success = new Set<string>();
  const skip = new Set<string>();
  for (const [, word, bare = '', reason = ''] of output.matchAll(RESULT)) {
    const name = fullName(suite, bare);
    if (word === 'success') success.add(name);
    else if (word === 'skip') skip.add(name);
    else failure.set(name, reason.trim());
  }
  // Some names stand for two tests.
  return { success: [...success].filter((name) => !failure.has(name)), failure, skip: [...skip] };
}

/** Names come with all, a part or nothing of their suite's. */
function fullName(suite: string, name: string): string {
  const bare = name.replace(/^smb2\./, '');
  const [family = ''] = suite.split('.');
  return bare === suite || bare.startsWith(`${family}.`) || bare === family ? bare : `${family}.${bare}`;
}

/** Wait for what a server does after some time, or make thousands of files, one after the other. */
export const LONG_SUITES: ReadonlySet<string> = new Set([
  'compound_find',
  'credits',
  'dir',
  'lease',
  'notify',
  'oplock',
  'secleak',
  'timestamps',
]);

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

/** A test for each suite, all against one server. */
export function testSuites(expected: Iterable<readonly [suite: string, passes: readonly string[]]>): void {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ smb: 'auto' });
  });
  after(() => server.stop());

  for (const [suite, passes] of expected) {
    test(`every test of ${suite} that passed before passes`, async (t) => {
      const { name: share } = await freshShare(server, suite.replaceAll(/[^a-z0-9]/g, ''));
      const { name: account, key } = DEVELOPMENT_ACCOUNT;
      const run = await torture(suite, { port: server.smbPort, share, account, key });
      const lost = passes.filter((name) => !run.success.includes(name));
      assert.deepEqual(
        lost.map((name) => `${name}: ${run.failure.get(name) ?? 'was not run'}`),
        [],
      );
      for (const name of run.success.filter((found) => !passes.includes(found))) {
        t.diagnostic(`${name} passes, and is not in smbtorture-passes.txt yet`);
      }
    });
  }
}
