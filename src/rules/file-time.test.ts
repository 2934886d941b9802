import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { fileTimeAt, formatFileTime, parseFileTime } from './file-time.ts';

/** The last tick of the year 9999: four digits are all there is room for. */
const LAST_TICKS = 2_650_467_743_999_999_999n;

for (const [text, want] of [
  ['1601-01-01T00:00:00.0000000Z', '0'],
  ['1601-01-01T00:00:00.0000001Z', '1'],
  ['1969-12-31T23:59:59.9999999Z', '116444735999999999'],
  ['1970-01-01T00:00:00.0000000Z', '116444736000000000'],
  ['2023-06-07T22:52:38.5481207Z', '133306519585481207'],
  ['2024-02-29T00:00:00.0000000Z', '133536384000000000'],
  ['9999-12-31T23:59:59.9999999Z', String(LAST_TICKS)],
] as const) {
  test(`${text} is ${want} ticks, both ways`, () => {
    assert.equal(parseFileTime(text), want);
    assert.equal(formatFileTime(want), text);
  });
}

for (const [text, want] of [
  ['2023-06-07T22:52:38Z', '2023-06-07T22:52:38.0000000Z'],
  ['2023-06-07T22:52:38.5Z', '2023-06-07T22:52:38.5000000Z'],
  ['2023-06-07T22:52:38.5481207+00:00', '2023-06-07T22:52:38.5481207Z'],
  [' 2023-06-07T22:52:38.5481207Z ', '2023-06-07T22:52:38.5481207Z'],
] as const) {
  test(`'${text}' is ${want}`, () => assert.equal(formatFileTime(parseFileTime(text) ?? ''), want));
}

for (const text of [
  '',
  'now',
  '1600-12-31T23:59:59.9999999Z',
  '2023-02-29T00:00:00Z',
  '2023-13-01T00:00:00Z',
  '2023-06-07T24:00:00Z',
  '2023-06-07T22:52:60Z',
  '2023-06-07',
  '2023-06-07T22:52Z',
  '2023-06-07T22:52:38',
  '2023-06-07T22:52:38.54812071Z',
  '2023-06-07T22:52:38+01:00',
  'Wed, 07 Jun 2023 22:52:38 GMT',
]) {
  test(`'${text}' is no time of a file`, () => assert.equal(parseFileTime(text), null));
}

test('every tick survives the way through text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: LAST_TICKS }), (ticks) => {
      assert.equal(parseFileTime(formatFileTime(String(ticks))), String(ticks));
    }),
    { numRuns: 2_000, ...seeded },
  );
});

test('a time of the clock is kept to the millisecond', () => {
  assert.equal(formatFileTime(fileTimeAt(Date.UTC(2023, 5, 7, 22, 52, 38, 548))), '2023-06-07T22:52:38.5480000Z');
  assert.equal(formatFileTime(fileTimeAt(0.9)), '1970-01-01T00:00:00.0000000Z');
});
