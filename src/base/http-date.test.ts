import assert from 'node:assert/strict';
import test from 'node:test';
import { formatHttpDate, formatIso7, parseHttpDate, parseIso8601 } from './http-date.ts';

const DAY_MS = 86_400_000;

function agreesWithDate(ms: number): void {
  const date = new Date(ms);
  assert.equal(formatHttpDate(ms), date.toUTCString());
  assert.equal(formatIso7(ms), date.toISOString().replace('Z', '0000Z'));
  assert.equal(parseHttpDate(date.toUTCString()), Math.floor(ms / 1000) * 1000);
  assert.equal(parseIso8601(date.toISOString()), ms);
}

test('every day from 1896 to 2104 is formatted and parsed as Date does it', () => {
  const endMs = Date.UTC(2105, 0, 1);
  for (let ms = Date.UTC(1896, 0, 1), day = 0; ms < endMs; ms += DAY_MS, day++) {
    // A different time of day each day: 7,919 is prime to the seconds of a day.
    agreesWithDate(ms + ((day * 7_919) % 86_400) * 1000 + (day % 1000));
  }
});

test('the last of February and the first of March of every year are too', () => {
  for (let year = 100; year <= 9999; year++) {
    agreesWithDate(Date.UTC(year, 2, 1) - 1);
    agreesWithDate(Date.UTC(year, 2, 1));
  }
});

test('a formatted time does not depend on what was formatted before', () => {
  const moments = [0, 1, 999, 1000, 0, -1, -1000, 1_704_067_200_000, 1_704_067_200_001, 1_704_067_199_999];
  for (const ms of moments) {
    assert.equal(formatHttpDate(ms), new Date(ms).toUTCString());
    assert.equal(formatIso7(ms), new Date(ms).toISOString().replace('Z', '0000Z'));
  }
});

for (const [text, want] of [
  ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  [' sun, 06 nov 1994 08:49:37 gmt ', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Thursday, 01-Jan-70 00:00:00 GMT', 0],
  ['Monday, 31-Dec-69 23:59:59 GMT', Date.UTC(2069, 11, 31, 23, 59, 59)],
  ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
  ['Wed, 29 Feb 2023 00:00:00 GMT', null],
  ['Mon, 29 Feb 2100 00:00:00 GMT', null],
  ['Tue, 29 Feb 2000 00:00:00 GMT', Date.UTC(2000, 1, 29)],
  ['Mon, 00 Jan 2024 00:00:00 GMT', null],
  ['Mon, 32 Jan 2024 00:00:00 GMT', null],
  ['Mon, 01 Foo 2024 00:00:00 GMT', null],
  ['Mon, 01 Jan 2024 24:00:00 GMT', null],
  ['Mon, 01 Jan 2024 00:60:00 GMT', null],
  ['Mon, 01 Jan 2024 00:00:60 GMT', null],
  ['Mon, 01 Jan 2024 00:00:00 CET', null],
  ['Mon, 01 Jan 2024 00:00:00 GMT, Mon, 01 Jan 2024 00:00:00 GMT', null],
  ['Mon, 1 Jan 2024 00:00:00 GMT', null],
  ['2024-01-01T00:00:00Z', null],
  ['yesterday', null],
  ['', null],
] as const) {
  test(`the HTTP date '${text}' is ${want === null ? 'refused' : want}`, () => assert.equal(parseHttpDate(text), want));
}

for (const [text, want] of [
  ['2024-01-02', Date.UTC(2024, 0, 2)],
  ['2024-01-02T03:04Z', Date.UTC(2024, 0, 2, 3, 4)],
  ['2024-01-02T03:04+01:30', Date.UTC(2024, 0, 2, 1, 34)],
  ['2024-01-02T03:04-01:30', Date.UTC(2024, 0, 2, 4, 34)],
  ['2024-01-02T03:04:05Z', Date.UTC(2024, 0, 2, 3, 4, 5)],
  ['2024-01-02T03:04:05+00:00', Date.UTC(2024, 0, 2, 3, 4, 5)],
  ['2024-01-02T03:04:05.1Z', Date.UTC(2024, 0, 2, 3, 4, 5, 100)],
  ['2024-01-02T03:04:05.1239999Z', Date.UTC(2024, 0, 2, 3, 4, 5, 123)],
  ['2024-01-02T03:04:05.0000000-12:00', Date.UTC(2024, 0, 2, 15, 4, 5)],
  ['9999-12-31T23:59:59.9999999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000],
  ['0000-01-01', null],
  ['2024-02-30', null],
  ['2024-13-01', null],
  ['2024-00-01', null],
  ['2024-1-2', null],
  ['2024-01-02T03Z', null],
  ['2024-01-02T03:04', null],
  ['2024-01-02T25:04Z', null],
  ['2024-01-02T03:04:05.12345678Z', null],
  ['2024-01-02T03:04:05.Z', null],
  ['2024-01-02T03:04+0100', null],
  ['2024-01-02T03:04+01:60', null],
  ['2024-01-02Z', null],
  ['2024-01-02 03:04Z', null],
  [' 2024-01-02', null],
  ['', null],
] as const) {
  test(`the ISO 8601 time '${text}' is ${want === null ? 'refused' : want}`, () =>
    assert.equal(parseIso8601(text), want));
}
