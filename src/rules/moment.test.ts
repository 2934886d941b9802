import assert from 'node:assert/strict';
import test from 'node:test';
import { compareBytes } from '../base/bytes.ts';
import { formatMoment, momentBytes, momentFromBytes, nextMoment, parseMoment } from './moment.ts';

const SECOND = 10_000_000n;

for (const [text, ticks] of [
  ['1970-01-01T00:00:00.0000000Z', 0n],
  ['1970-01-01T00:00:00.0000001Z', 1n],
  ['1970-01-01T00:00:00.0009999Z', 9_999n],
  ['1970-01-01T00:00:00.0010000Z', 10_000n],
  ['1970-01-01T00:00:01.0000000Z', SECOND],
  ['2024-02-29T23:59:59.1234567Z', 1_709_251_199n * SECOND + 1_234_567n],
  ['9999-12-31T23:59:59.9999999Z', 253_402_300_800n * SECOND - 1n],
] as const) {
  test(`${text} is ${ticks} ticks, and back, also by way of bytes`, () => {
    assert.equal(parseMoment(text), ticks);
    assert.equal(formatMoment(ticks), text);
    assert.equal(momentFromBytes(momentBytes(ticks)), ticks);
  });
}

for (const [text, want] of [
  ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.0000000Z'],
  ['2024-01-01T00:00:00.1Z', '2024-01-01T00:00:00.1000000Z'],
  ['2024-01-01T00:00:00.012Z', '2024-01-01T00:00:00.0120000Z'],
  ['2024-01-01T00:00:00.123456Z', '2024-01-01T00:00:00.1234560Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.0000000Z'],
  ['2024-01-01T00:00:00.Z', null],
  ['2024-01-01T00:00:00.12345678Z', null],
  ['2024-01-01T00:00:00.0000000', null],
  ['2024-01-01T00:00:00.0000000+00:00', null],
  ['2024-01-01t00:00:00.0000000z', null],
  ['2024-01-01 00:00:00.0000000Z', null],
  ['2024-01-01T00:00Z', null],
  ['2024-01-01', null],
  ['2023-02-29T00:00:00Z', null],
  ['2024-13-01T00:00:00Z', null],
  ['2024-00-01T00:00:00Z', null],
  ['2024-04-31T00:00:00Z', null],
  ['2024-01-01T24:00:00Z', null],
  ['2024-01-01T00:60:00Z', null],
  ['2024-01-01T00:00:60Z', null],
  ['1969-12-31T23:59:59.9999999Z', null],
  [' 2024-01-01T00:00:00Z', null],
  ['2024-01-01T00:00:00Z\n', null],
  ['', null],
] as const) {
  test(`the text ${JSON.stringify(text)} is ${want ?? 'no moment'}`, () => {
    const ticks = parseMoment(text);
    assert.equal(ticks === null ? null : formatMoment(ticks), want);
  });
}

for (const [previous, nowMs, want] of [
  [null, 5, 50_000n],
  [null, 5.9, 50_000n],
  [49_999n, 5, 50_000n],
  [50_000n, 5, 50_001n],
  [50_001n, 5, 50_002n],
  [90_000n, 5, 90_001n],
] as const) {
  test(`after ${previous} and at ${nowMs} ms comes ${want}`, () => assert.equal(nextMoment(previous, nowMs), want));
}

test('bytes sort as their moments do', () => {
  const ticks = [0n, 1n, 255n, 256n, 65_536n, SECOND, 2n ** 32n, 2n ** 40n + 1n, 253_402_300_800n * SECOND - 1n];
  const sorted = ticks.map(momentBytes).toReversed().toSorted(compareBytes);
  assert.deepEqual(sorted.map(momentFromBytes), ticks);
});

test('the bytes of a moment are found within a longer key', () => {
  const key = Uint8Array.of(7, ...momentBytes(123_456_789n), 9);
  assert.equal(momentFromBytes(key.subarray(1)), 123_456_789n);
});
