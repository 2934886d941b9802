import assert from 'node:assert/strict';
import test from 'node:test';
import { nextEtag } from './etag.ts';

/** The definition, in exact arithmetic. */
const ticksAt = (ms: number): bigint => (BigInt(ms) + 62_135_596_800_000n) * 10_000n;
const exact = (ticks: bigint): string => `0x${ticks.toString(16).toUpperCase().padStart(15, '0')}`;

test('an ETag is the ticks since year one in 15 upper-case hex digits', () => {
  const start = Date.UTC(1970, 0, 1);
  const end = Date.UTC(3600, 0, 1);
  // A step that is prime to 2^24, so that the halves meet at every kind of carry.
  for (let ms = start; ms < end; ms += 5_000_000_029) {
    const etag = nextEtag(null, ms);
    assert.match(etag, /^0x[0-9A-F]{15}$/);
    assert.equal(etag, exact(ticksAt(ms)));
  }
});

test('a later write has the greater ETag, as text too', () => {
  const nowMs = Date.UTC(2024, 0, 1);
  assert.ok(nextEtag(null, nowMs + 1) > nextEtag(null, nowMs));
  assert.equal(nextEtag(nextEtag(null, nowMs), nowMs + 1), nextEtag(null, nowMs + 1));
});

test('ETags grow by one while the clock stands still', () => {
  const nowMs = Date.UTC(2024, 0, 1);
  let etag = nextEtag(null, nowMs);
  for (let step = 1n; step <= 20_000n; step++) {
    const next = nextEtag(etag, nowMs);
    assert.ok(next > etag);
    assert.equal(next, exact(ticksAt(nowMs) + step));
    etag = next;
  }
});

test('an ETag is greater than one that a clock ahead of ours gave', () => {
  const ahead = nextEtag(null, Date.UTC(2030, 0, 1));
  assert.equal(nextEtag(ahead, Date.UTC(2024, 0, 1)), exact(ticksAt(Date.UTC(2030, 0, 1)) + 1n));
});

for (const [previous, want] of [
  ['0x8DC012345678900', '0x8DC012345678901'],
  ['0x8DC012345678909', '0x8DC01234567890A'],
  ['0x8DC01234567890E', '0x8DC01234567890F'],
  ['0x8DC01234567890F', '0x8DC012345678910'],
  ['0x8DC01230FFFFFFF', '0x8DC012310000000'],
  ['0x8DC9FFFFFFFFFFF', '0x8DCA00000000000'],
] as const) {
  test(`the ETag after ${previous} is ${want}`, () => assert.equal(nextEtag(previous, 0), want));
}

test('a fraction of a millisecond in the clock does no harm', () => {
  assert.equal(nextEtag(null, 1_704_067_200_000.75), nextEtag(null, 1_704_067_200_000));
});
