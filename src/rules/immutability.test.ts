import assert from 'node:assert/strict';
import test from 'node:test';
import {
  type Immutability,
  type ImmutabilityMode,
  parseImmutabilityMode,
  refuseChange,
  resolveDeletePolicy,
  resolveSetPolicy,
} from './immutability.ts';

const NOW_MS = 1_000;
const until = (ms: number, mode: ImmutabilityMode): Immutability => ({ until: { ms, mode } });

for (const [what, stored, want] of [
  ['nothing', {}, null],
  ['a hold that was lifted', { legalHold: false }, null],
  ['a hold', { legalHold: true }, 'BlobImmutableDueToLegalHold'],
  ['a hold and a policy', { ...until(2_000, 'Locked'), legalHold: true }, 'BlobImmutableDueToLegalHold'],
  ['a locked policy', until(2_000, 'Locked'), 'BlobImmutableDueToPolicy'],
  ['an unlocked policy', until(2_000, 'Unlocked'), 'BlobImmutableDueToPolicy'],
  ['a policy with a millisecond to go', until(1_001, 'Locked'), 'BlobImmutableDueToPolicy'],
  ['a policy that ends now', until(1_000, 'Locked'), null],
  ['a policy that has ended', until(1, 'Locked'), null],
] as const) {
  test(`a change of a blob under ${what} gets ${want ?? 'through'}`, () =>
    assert.equal(refuseChange(stored, NOW_MS), want));
}

for (const [what, stored, untilMs, mode, want] of [
  ['for the past', {}, 999, 'Unlocked', 'InvalidHeaderValue'],
  ['for now', {}, 1_000, 'Locked', 'InvalidHeaderValue'],
  ['for the past over a locked one', until(2_000, 'Locked'), 999, 'Unlocked', 'InvalidHeaderValue'],
  ['that is the first', {}, 1_001, 'Unlocked', null],
  ['that is the first and locked', {}, 1_001, 'Locked', null],
  ['that shortens an unlocked one', until(2_000, 'Unlocked'), 1_500, 'Unlocked', null],
  ['that locks an unlocked one for less', until(2_000, 'Unlocked'), 1_500, 'Locked', null],
  ['that unlocks a locked one', until(2_000, 'Locked'), 3_000, 'Unlocked', 'BlobImmutableDueToPolicy'],
  ['that shortens a locked one', until(2_000, 'Locked'), 1_999, 'Locked', 'BlobImmutableDueToPolicy'],
  ['that repeats a locked one', until(2_000, 'Locked'), 2_000, 'Locked', null],
  ['that extends a locked one', until(2_000, 'Locked'), 2_001, 'Locked', null],
  ['that extends a locked one that has ended', until(1, 'Locked'), 2_000, 'Locked', null],
  ['that unlocks a locked one that has ended', until(1, 'Locked'), 2_000, 'Unlocked', 'BlobImmutableDueToPolicy'],
] as const) {
  test(`a policy ${what} gets ${want ?? 'through'}`, () =>
    assert.deepEqual(
      resolveSetPolicy({ ...stored, legalHold: true }, { untilMs, mode }, NOW_MS),
      want === null ? { immutability: { ...until(untilMs, mode), legalHold: true } } : { refusal: want },
    ));
}

for (const [what, stored, want] of [
  ['an unlocked policy', until(2_000, 'Unlocked'), { immutability: {} }],
  ['a policy beside a hold', { ...until(2, 'Unlocked'), legalHold: true }, { immutability: { legalHold: true } }],
  ['no policy', {}, { immutability: {} }],
  ['a locked policy', until(2_000, 'Locked'), { refusal: 'BlobImmutableDueToPolicy' }],
  ['a locked policy that has ended', until(1, 'Locked'), { refusal: 'BlobImmutableDueToPolicy' }],
] as const) {
  test(`deleting ${what} gives ${JSON.stringify(want)}`, () => assert.deepEqual(resolveDeletePolicy(stored), want));
}

for (const [text, want] of [
  ['Locked', 'Locked'],
  ['unlocked', 'Unlocked'],
  ['Mutable', null],
  ['', null],
] as const) {
  test(`the mode '${text}' is ${want}`, () => assert.equal(parseImmutabilityMode(text), want));
}
