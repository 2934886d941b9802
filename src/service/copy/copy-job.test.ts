import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partBytesFor, type Retry, retryAfter } from './copy-job.ts';

const MIB = 1024 * 1024;

test('a source that keeps failing is tried less and less often, up to every ten minutes', () => {
  let retry: Retry | undefined;
  const pauses = Array.from({ length: 10 }, () => {
    retry = retryAfter(retry, { nowMs: 1_000, keptBytes: 7 });
    return (retry.notBeforeMs - 1_000) / 1000;
  });
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test('whoever got further begins to count anew', () => {
  const before = { count: 9, notBeforeMs: 0, keptBytes: 7 };
  assert.equal(retryAfter(before, { nowMs: 0, keptBytes: 7 }).count, 10);
  assert.equal(retryAfter(before, { nowMs: 0, keptBytes: 8 }).count, 1);
});

for (const [lengthBytes, want] of [
  [0, 32 * MIB],
  [50_000 * 32 * MIB, 32 * MIB],
  [50_000 * 32 * MIB + 1, 32 * MIB + 1],
  [50_000 * 4_000 * MIB, 4_000 * MIB],
] as const) {
  test(`${lengthBytes} bytes come in parts of ${want}`, () => assert.equal(partBytesFor(lengthBytes), want));
}
