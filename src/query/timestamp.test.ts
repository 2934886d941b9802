import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addDateParts, type DatePart, dateDifference, type ExtractPart, extractPart } from './date-parts.ts';
import { parseTimestamp, type Timestamp } from './timestamp.ts';
import { formatTimestamp, parseTimestampPattern, type TimestampPattern } from './timestamp-format.ts';

const timestamp = (text: string): Timestamp => {
  const parsed = parseTimestamp(text);
  assert.ok(parsed !== null, text);
  return parsed;
};

describe('a timestamp', () => {
  for (const [text, want] of [
    ['2007', '2007-01-01T00:00:00.000Z'],
    ['2007T', '2007-01-01T00:00:00.000Z'],
    ['2007-02', '2007-02-01T00:00:00.000Z'],
    ['2007-02T', '2007-02-01T00:00:00.000Z'],
    ['2007-02-23', '2007-02-23T00:00:00.000Z'],
    ['2007-02-23T', '2007-02-23T00:00:00.000Z'],
    ['2007-02-23T12:14Z', '2007-02-23T12:14:00.000Z'],
    ['2007-02-23T12:14', '2007-02-23T12:14:00.000Z'],
    ['2007-02-23 12:14:33', '2007-02-23T12:14:33.000Z'],
    ['2007-02-23T12:14:33.1Z', '2007-02-23T12:14:33.100Z'],
    ['2007-02-23t12:14:33.0799999z', '2007-02-23T12:14:33.079Z'],
    ['2007-02-23T12:14:33.079-08:00', '2007-02-23T12:14:33.079-08:00'],
    ['2007-02-23T12:14+0530', '2007-02-23T12:14:00.000+05:30'],
    ['2007-02-23T12:14+05', '2007-02-23T12:14:00.000+05:00'],
    [' 2007-02-23 ', '2007-02-23T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['2023-02-29', null],
    ['2007-13', null],
    ['2007-00', null],
    ['2007-01-32', null],
    ['2007-01-01T24:00Z', null],
    ['2007-01-01T23:60Z', null],
    ['2007-01-01T12Z', null],
    ['2007-01-01T12:00+25:00', null],
    ['0000', null],
    ['07-01-01', null],
    ['20070101', null],
    ['', null],
    ['x'.repeat(1000), null],
  ] as const) {
    test(`${JSON.stringify(text.slice(0, 40))} ${want === null ? 'is none' : `is ${want}`}`, () => {
      assert.equal(parseTimestamp(text)?.toString() ?? null, want);
    });
  }

  test('with an offset is the same moment as without', () => {
    assert.equal(timestamp('2018-11-09T05:30+05:30').epochMs, Date.UTC(2018, 10, 9));
  });
});

const additions: [DatePart, number, string, string][] = [
  ['year', 1, '2024-02-29', '2025-02-28T00:00:00.000Z'],
  ['month', 1, '2024-01-31', '2024-02-29T00:00:00.000Z'],
  ['month', -2, '2024-01-31', '2023-11-30T00:00:00.000Z'],
  ['month', 14, '2024-01-31T12:00+02:00', '2025-03-31T12:00:00.000+02:00'],
  ['day', 1, '2024-02-28', '2024-02-29T00:00:00.000Z'],
  ['hour', -25, '2024-03-01', '2024-02-28T23:00:00.000Z'],
  ['minute', 1, '2017-01-02T03:04:05.006Z', '2017-01-02T03:05:05.006Z'],
  ['second', 90, '2017-01-02T03:04:05.006Z', '2017-01-02T03:05:35.006Z'],
];

describe('DATE_ADD', () => {
  for (const [part, quantity, from, want] of additions) {
    test(`of ${quantity} ${part} to ${from} is ${want}`, () => {
      assert.equal(addDateParts(part, quantity, timestamp(from)).toString(), want);
    });
  }
});

const differences: [DatePart, string, string, bigint][] = [
  ['hour', '2018-11-09T00:00+05:30', '2018-11-09T01:00:23-08:00', 14n],
  ['year', '2010-01-01T', '2010-05T', 0n],
  ['year', '2010-05-02', '2012-05-01', 1n],
  ['year', '2012-05-01', '2010-05-02', -1n],
  ['month', '2010-01-31', '2010-02-28', 1n],
  ['month', '2010-01-31T12:00Z', '2010-02-28T11:00Z', 0n],
  ['month', '2010T', '2011T', 12n],
  ['month', '2011T', '2010T', -12n],
  ['day', '2010-01-01T23:00Z', '2010-01-02T01:00Z', 0n],
  ['day', '2024-02-28', '2024-03-01', 2n],
  ['minute', '2010-01-01T00:00:59Z', '2010-01-01T00:00:00Z', 0n],
  ['second', '2010-01-01T00:00:00Z', '2010-01-01T00:00:59.999Z', 59n],
];

describe('DATE_DIFF', () => {
  for (const [part, from, to, want] of differences) {
    test(`in ${part} from ${from} to ${to} is ${want}`, () => {
      assert.equal(dateDifference(part, timestamp(from), timestamp(to)), want);
    });
  }
});

const extracts: [ExtractPart, bigint][] = [
  ['year', 2024n],
  ['month', 12n],
  ['day', 31n],
  ['hour', 23n],
  ['minute', 59n],
  ['second', 58n],
  ['timezone_hour', -3n],
  ['timezone_minute', -30n],
];

describe('EXTRACT', () => {
  for (const [part, want] of extracts) {
    test(`of the ${part} goes by the calendar of the timestamp's place: ${want}`, () => {
      assert.equal(extractPart(part, timestamp('2024-12-31T23:59:58-03:30')), want);
    });
  }
});

describe('TO_STRING', () => {
  const moment = timestamp('2009-05-04T15:06:07.089+05:30');
  for (const [pattern, want] of [
    ['yy y yyyy', '09 2009 2009'],
    ['M MM MMM MMMM', '5 05 May May'],
    ['d dd', '4 04'],
    ['a h hh H HH', 'PM 3 03 15 15'],
    ['m mm s ss', '6 06 7 07'],
    ['S SS SSS', '0 08 089'],
    ['X XX XXX XXXX XXXXX', '+0530 +0530 +05:30 +0530 +05:30'],
    ['x xx xxx', '+0530 +0530 +05:30'],
    ["yyyy-MM-dd'T'HH:mm", '2009-05-04T15:06'],
    ["h 'o''clock'", "3 o'clock"],
    ["''", "'"],
    ['', ''],
  ] as const) {
    test(`by ${JSON.stringify(pattern)} is ${JSON.stringify(want)}`, () => {
      assert.equal(formatTimestamp(parseTimestampPattern(pattern) as TimestampPattern, moment), want);
    });
  }

  for (const [pattern, want] of [
    ['X XX x xx', 'Z Z +00 +0000'],
    ['h a', '12 AM'],
  ] as const) {
    test(`at midnight UTC by ${pattern} is ${want}`, () => {
      assert.equal(formatTimestamp(parseTimestampPattern(pattern) as TimestampPattern, timestamp('2009')), want);
    });
  }

  for (const pattern of ['q', 'yyy', 'MMMMM', "'open", "yyyy ' MM"]) {
    test(`by ${JSON.stringify(pattern)} is not understood`, () => assert.equal(parseTimestampPattern(pattern), null));
  }
});
