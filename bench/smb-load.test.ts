import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { localFile, megabytesPerSecondIn, rateUnderWay } from './smb-load.ts';

test("smbclient's KiB a second are read from what it prints, and their lack is told with it", () => {
  const put = 'putting file /dev/shm/local as \\transfer (1000.0 kb/s) (average 900.0 kb/s)\n';
  const got =
    'getting file \\transfer of size 4096 as /dev/null (500000.5 KiloBytes/sec) (average 1.0 KiloBytes/sec)\n';
  assert.equal(megabytesPerSecondIn(put), 1.024);
  assert.equal(megabytesPerSecondIn(got), 512.000_512);
  assert.throws(() => megabytesPerSecondIn('NT_STATUS_DISK_FULL writing\n'), /no rate: NT_STATUS_DISK_FULL writing$/);
});

test('so many are under way at once, and each is followed by the next until the time is up', async () => {
  let underWayCount = 0;
  let underWayCountMax = 0;
  const perIndex = [0, 0, 0];
  const { value, failureCount } = await rateUnderWay({ count: 3, seconds: 0.02 }, async (index) => {
    underWayCount += 1;
    underWayCountMax = Math.max(underWayCountMax, underWayCount);
    perIndex[index] = (perIndex[index] ?? 0) + 1;
    await new Promise((resolve) => setImmediate(resolve));
    underWayCount -= 1;
  });
  assert.equal(underWayCountMax, 3);
  assert.equal(underWayCount, 0);
  assert.ok(perIndex.every((count) => count > 0) && value > 0 && failureCount === 0);
});

test('a step that fails ends the round', async () => {
  const failing = rateUnderWay({ count: 2, seconds: 60 }, () => Promise.reject(new Error('no such share')));
  await assert.rejects(failing, /no such share/);
});

test('the file that is put has the length that was asked for', () => {
  const path = localFile(1_048_576 + 5);
  assert.ok(existsSync(path));
  assert.equal(statSync(path).size, 1_048_581);
});
