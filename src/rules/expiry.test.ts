import assert from 'node:assert/strict';
import test from 'node:test';
import { parseExpiryOption, resolveExpiry } from './expiry.ts';

const CREATED_MS = 500_000;
const NOW_MS = 1_000_000;

for (const [option, time, want] of [
  ['NeverExpire', null, null],
  ['NeverExpire', '1000', 'InvalidHeaderValue'],
  ['RelativeToNow', null, 'MissingRequiredHeader'],
  ['RelativeToNow', '0', 'InvalidHeaderValue'],
  ['RelativeToNow', '1', 1_000_001],
  ['RelativeToNow', '60000', 1_060_000],
  ['RelativeToNow', '-1', 'InvalidHeaderValue'],
  ['RelativeToNow', '1.5', 'InvalidHeaderValue'],
  ['RelativeToNow', '', 'InvalidHeaderValue'],
  ['RelativeToNow', '253402299799999', 253_402_300_799_999],
  ['RelativeToNow', '253402299800000', 'InvalidHeaderValue'],
  ['RelativeToNow', '9'.repeat(400), 'InvalidHeaderValue'],
  ['RelativeToNow', 'Thu, 01 Jan 1970 00:17:00 GMT', 'InvalidHeaderValue'],
  ['RelativeToCreation', null, 'MissingRequiredHeader'],
  ['RelativeToCreation', '500000', 'InvalidHeaderValue'],
  ['RelativeToCreation', '500001', 1_000_001],
  ['Absolute', null, 'MissingRequiredHeader'],
  ['Absolute', 'Thu, 01 Jan 1970 00:16:40 GMT', 'InvalidHeaderValue'],
  ['Absolute', 'Thu, 01 Jan 1970 00:16:41 GMT', 1_001_000],
  ['Absolute', '2000000', 'InvalidHeaderValue'],
  ['Absolute', 'tomorrow', 'InvalidHeaderValue'],
] as const) {
  test(`an expiry ${option} with '${time?.slice(0, 30)}' gives ${want}`, () =>
    assert.deepEqual(
      resolveExpiry({ option, time }, { createdMs: CREATED_MS, nowMs: NOW_MS }),
      typeof want === 'string' ? { refusal: want } : { expiresAtMs: want },
    ));
}

for (const [text, want] of [
  ['NeverExpire', 'NeverExpire'],
  ['relativetonow', 'RelativeToNow'],
  ['RelativeToCreation', 'RelativeToCreation'],
  ['Absolute', 'Absolute'],
  ['Never', null],
] as const) {
  test(`the expiry option '${text}' is ${want}`, () => assert.equal(parseExpiryOption(text), want));
}
