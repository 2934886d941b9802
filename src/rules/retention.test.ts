import assert from 'node:assert/strict';
import test from 'node:test';
import { type Deleted, isGone, remainingDays, retentionUntil } from './retention.ts';

const DAY_MS = 86_400_000;
const AT_MS = 5_000;
const deleted: Deleted = { atMs: AT_MS, untilMs: retentionUntil(AT_MS, 7) };

for (const [afterMs, days, gone] of [
  [0, 6, false],
  [1, 6, false],
  [DAY_MS - 1, 6, false],
  [DAY_MS, 5, false],
  [6 * DAY_MS - 1, 1, false],
  [6 * DAY_MS, 0, false],
  [7 * DAY_MS - 1, 0, false],
  [7 * DAY_MS, 0, true],
  [70 * DAY_MS, 0, true],
] as const) {
  test(`${afterMs} ms after a deletion for 7 days, ${days} days remain${gone ? ' and it is gone' : ''}`, () => {
    assert.equal(remainingDays(deleted, AT_MS + afterMs), days);
    assert.equal(isGone(deleted, AT_MS + afterMs), gone);
  });
}
