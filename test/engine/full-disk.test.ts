/** A disk that is full fails the commits that need it, undoes them whole, and fails no others. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const FULL_DISK_PROCESS = fileURLToPath(new URL('./full-disk-process.js', import.meta.url));
const FILE_BYTES_MAX = 8_000_000;

const hasPrlimit = spawnSync('prlimit', ['--version']).error === undefined;

void test('a full disk', { skip: hasPrlimit ? false : 'needs prlimit (util-linux)' }, async () => {
  const path = await mkdtemp(join(tmpdir(), 'larimar-full-'));
  const argv = [`--fsize=${FILE_BYTES_MAX}`, process.execPath, FULL_DISK_PROCESS, path];
  const { stdout, stderr, status } = spawnSync('prlimit', argv, { encoding: 'utf8', timeout: 30_000 });
  assert.equal(status, 0, stderr);
  const report = JSON.parse(stdout);
  assert.equal(report.before, 'committed');
  assert.equal(report.tooLarge, 'unavailable', 'the commit that does not fit');
  assert.equal(report.behind, 'unavailable', 'a commit accepted behind it, which may rest on it');
  assert.equal(report.settled, 'unavailable', 'an answer that rests on it');
  assert.deepEqual(report.kept.names, ['before']);
  assert.equal(report.after, 'committed', 'a commit that fits');
  assert.deepEqual(report.finally.names, ['after', 'before']);
  assert.ok(report.finally.versions[0] > report.finally.versions[1] + 2, 'versions of failed commits are not reused');
  await rm(path, { recursive: true });
});
