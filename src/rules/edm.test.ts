import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { formatTicks, formatTicksShort, parseGuid, parseTicks } from './edm.ts';

const TICKS_MIN = 504_911_232_000_000_000n;
const TICKS_MAX = 3_155_378_975_999_999_999n;

describe('ticks as text', () => {
  for (const [ticks, long, short] of [
    [TICKS_MIN, '1601-01-01T00:00:00.0000000Z', '1601-01-01T00:00:00Z'],
    [TICKS_MIN + 1n, '1601-01-01T00:00:00.0000001Z', '1601-01-01T00:00:00.0000001Z'],
    [599_266_079_999_999_999n, '1899-12-31T23:59:59.9999999Z', '1899-12-31T23:59:59.9999999Z'],
    [621_355_967_999_999_999n, '1969-12-31T23:59:59.9999999Z', '1969-12-31T23:59:59.9999999Z'],
    [621_355_968_000_000_000n, '1970-01-01T00:00:00.0000000Z', '1970-01-01T00:00:00Z'],
    [638_501_637_961_000_000n, '2024-05-01T12:36:36.1000000Z', '2024-05-01T12:36:36.1Z'],
    [638_501_637_901_234_560n, '2024-05-01T12:36:30.1234560Z', '2024-05-01T12:36:30.123456Z'],
    [638_501_637_900_000_000n, '2024-05-01T12:36:30.0000000Z', '2024-05-01T12:36:30Z'],
    [638_449_343_990_000_010n, '2024-03-01T23:59:59.0000010Z', '2024-03-01T23:59:59.000001Z'],
    [TICKS_MAX, '9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.9999999Z'],
  ] as const) {
    test(`${ticks} are ${long}`, () => {
      assert.equal(formatTicks(ticks), long);
      assert.equal(formatTicksShort(ticks), short);
      assert.equal(parseTicks(long), ticks);
      assert.equal(parseTicks(short), ticks);
    });
  }

  test('come back, and sort as the ticks do', () => {
    const some = fc.bigInt({ min: TICKS_MIN, max: TICKS_MAX });
    fc.assert(
      fc.property(some, some, (a, b) => {
        assert.equal(parseTicks(formatTicks(a)), a);
        assert.equal(parseTicks(formatTicksShort(a)), a);
        assert.equal(formatTicks(a) < formatTicks(b), a < b);
      }),
      seeded,
    );
  });
});

describe('a time', () => {
  for (const [text, same] of [
    ['2024-05-01T12:34Z', '2024-05-01T12:34:00.0000000Z'],
    ['2024-05-01T12:34', '2024-05-01T12:34:00.0000000Z'],
    ['2024-05-01T12:34:56', '2024-05-01T12:34:56.0000000Z'],
    ['2024-05-01T12:34:56.7', '2024-05-01T12:34:56.7000000Z'],
    ['2024-05-01', '2024-05-01T00:00:00.0000000Z'],
    ['2024-05-01T12:34:56+02:00', '2024-05-01T10:34:56.0000000Z'],
    ['2024-05-01T12:34:56-05:30', '2024-05-01T18:04:56.0000000Z'],
    ['2024-05-01T00:00:00.0000001+00:01', '2024-04-30T23:59:00.0000001Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.0000000Z'],
    // What is finer than a tick is cut off.
    ['2024-05-01T12:34:56.12345678Z', '2024-05-01T12:34:56.1234567Z'],
    ['2024-05-01T12:34:56.99999999999Z', '2024-05-01T12:34:56.9999999Z'],
    ['9999-12-31T23:59:59.99999999Z', '9999-12-31T23:59:59.9999999Z'],
    // Years at the edges, seen from elsewhere.
    ['1600-12-31T23:00:00-01:00', '1601-01-01T00:00:00.0000000Z'],
    ['9999-12-31T23:59:59.9999999+01:00', '9999-12-31T22:59:59.9999999Z'],
  ] as const) {
    test(`${text} is ${same}`, () => assert.equal(formatTicks(parseTicks(text) as bigint), same));
  }

  for (const text of [
    '',
    '2024',
    '2024-05',
    '2024-5-1',
    '2024-05-01T',
    '2024-05-01Z',
    '2024-05-01T12',
    '2024-05-01T12:34.5Z',
    '2024-05-01T12:34:56.Z',
    '2024-05-01T12:34:56 Z',
    '2024-05-01 12:34:56Z',
    '2024-05-01T12:34:56+0200',
    '2024-05-01T12:34:56+24:00',
    '2024-05-01T24:00:00Z',
    '2024-05-01T12:60:00Z',
    '2024-05-01T12:34:60Z',
    '2023-02-29T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-05-00T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '10000-01-01T00:00:00Z',
    '-2024-05-01T12:34:56Z',
    '2024-05-01T12:34:56Z\n',
    'now',
  ]) {
    test(`${JSON.stringify(text)} is none`, () => assert.equal(parseTicks(text), 'malformed'));
  }

  for (const text of [
    '1600-12-31T23:59:59.9999999Z',
    '0001-01-01T00:00:00Z',
    '1601-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59.9999999-00:01',
  ]) {
    test(`${text} is out of range`, () => assert.equal(parseTicks(text), 'outOfRange'));
  }
});

for (const [text, want] of [
  ['c9da6455-213d-42c9-9a79-3e9149a57833', 'c9da6455-213d-42c9-9a79-3e9149a57833'],
  ['C9DA6455-213D-42c9-9A79-3E9149A57833', 'c9da6455-213d-42c9-9a79-3e9149a57833'],
  ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'],
  ['', null],
  ['c9da6455213d42c99a793e9149a57833', null],
  ['{c9da6455-213d-42c9-9a79-3e9149a57833}', null],
  ['c9da6455-213d-42c9-9a79-3e9149a5783', null],
  ['c9da6455-213d-42c9-9a79-3e9149a578333', null],
  ['g9da6455-213d-42c9-9a79-3e9149a57833', null],
  ['c9da6455-213d-42c9-9a79-3e9149a57833 ', null],
  ['c9da6455-213d-42c9-9a79-3e9149a57833\n', null],
] as const) {
  test(`the GUID in ${JSON.stringify(text)} is ${want}`, () => assert.equal(parseGuid(text), want));
}
