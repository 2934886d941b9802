/**
 * A disk that is full or fails: the commits that needed it fail, whole; what was acknowledged stays; the engine goes on
 * where it can, and says so where it cannot. The faults are real ones, returned by the system's calls.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const FILE_BYTES_MAX = 8_000_000;
const TIMEOUT_MS = 30_000;

const skipWithout = (command: string): string | false =>
  spawnSync(command, ['-V']).error === undefined ? false : `needs ${command}`;

/** Runs a script of this folder on an empty store, under another program, and parses what it prints. */
async function runUnder(wrapper: readonly string[], script: string) {
  const path = await mkdtemp(join(tmpdir(), 'larimar-failing-'));
  const [command = '', ...options] = wrapper;
  const argv = [...options, process.execPath, fileURLToPath(new URL(script, import.meta.url)), path];
  // One thread, so that the number of a thread's calls is that of the store's.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
  const { stdout, stderr, status } = spawnSync(command, argv, { encoding: 'utf8', timeout: TIMEOUT_MS, env });
  assert.equal(status, 0, stderr);
  await rm(path, { recursive: true });
  return JSON.parse(stdout);
}

test('a full disk undoes the commit that does not fit and all that may rest on it, and no other', {
  skip: skipWithout('prlimit'),
}, async () => {
  const report = await runUnder(['prlimit', `--fsize=${FILE_BYTES_MAX}`], './full-disk-process.js');
  assert.equal(report.before, 'committed');
  assert.equal(report.tooLarge, 'unavailable', 'the commit that does not fit');
  assert.equal(report.behind, 'unavailable', 'a commit accepted behind it');
  assert.equal(report.settled, 'unavailable', 'an answer that rests on it');
  assert.deepEqual(report.kept.names, ['before']);
  assert.equal(report.after, 'committed', 'a commit that fits');
  assert.deepEqual(report.finally.names, ['after', 'before']);
  assert.ok(report.finally.versions[0] > report.finally.versions[1] + 2, 'versions of failed commits are not reused');
});

for (const [title, fault, goesOn] of [
  ['a failed sync', 'fdatasync:error=EIO:when=4', true],
  ['a failed write of a page', 'pwrite64:error=EIO:when=5', true],
  ['a failed write of the root', 'pwrite64:error=EIO:when=4', false],
] as const) {
  const consequence = goesOn ? 'fails one group of commits' : 'ends all commits until the store is opened again';
  test(`${title} ${consequence}, and loses nothing`, { skip: skipWithout('strace') }, async () => {
    const wrapper = ['strace', '-f', '-o', '/dev/null', '-e', `trace=${fault.split(':')[0]}`, '-e', `inject=${fault}`];
    const { outcomes, kept, reopened } = await runUnder(wrapper, './failing-disk-process.js');
    const names = (outcome: string): string[] => Object.keys(outcomes).filter((name) => outcomes[name] === outcome);
    assert.ok(names('unavailable').length > 0, 'the fault was met');
    assert.deepEqual([...names('committed'), ...names('unavailable')].sort(), Object.keys(outcomes).sort());
    assert.equal(outcomes.last, goesOn ? 'committed' : 'unavailable');
    assert.deepEqual(kept, names('committed').sort());
    assert.deepEqual(reopened, names('committed').sort());
  });
}
