import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes } from '../contract.ts';
import type { Entry } from '../engine.ts';
import { Recent } from './recent.ts';

const key = bytes('k');
const name = (index: number): Uint8Array => bytes(`key ${index}`);
const entry = (version: number, lengthBytes = 10): Entry => ({ key, version, value: Buffer.alloc(lengthBytes) });

/** Readings that each find the key with this version. */
function readAgain(recent: Recent, version: number, times: number): void {
  for (let time = 0; time < times; time++) recent.noteRead(key, entry(version), recent.nextMoment());
}

test('what was seen last counts, not what was heard last', () => {
  const recent = new Recent();
  const [early, late] = [recent.nextMoment(), recent.nextMoment()];
  recent.note(key, entry(2), late);
  recent.note(key, entry(1), early);
  assert.equal(recent.versionOf(key), 2);
  recent.note(key, null, recent.nextMoment());
  assert.deepEqual([recent.versionOf(key), recent.entryOf(key)], [null, null]);
  assert.equal(recent.versionOf(bytes('other')), undefined);
});

test('of a long value only the version is kept', () => {
  const recent = new Recent();
  recent.note(key, entry(7, 100_000), recent.nextMoment());
  assert.deepEqual([recent.versionOf(key), recent.entryOf(key)], [7, undefined]);
});

test('it is trusted after many readings that found what was seen, until one finds something else', () => {
  const recent = new Recent();
  readAgain(recent, 1, 64);
  assert.equal(recent.isTrusted, false, 'the first one had nothing to confirm');
  readAgain(recent, 1, 1);
  assert.equal(recent.isTrusted, true);
  readAgain(recent, 2, 1);
  assert.equal(recent.isTrusted, false);
});

test('after a conflict nothing is known and nothing trusted', () => {
  const recent = new Recent();
  readAgain(recent, 1, 100);
  recent.forget();
  assert.equal(recent.isTrusted, false);
  assert.equal(recent.versionOf(key), undefined);
});

test('what was read before a conflict and is heard after it counts for nothing', () => {
  const recent = new Recent();
  const early = recent.nextMoment();
  recent.note(key, entry(2), recent.nextMoment());
  recent.forget();
  recent.noteRead(key, entry(1), early);
  assert.equal(recent.versionOf(key), undefined);
  readAgain(recent, 2, 1);
  assert.equal(recent.versionOf(key), 2);
});

test('only so many keys are kept, those not seen for the longest time go first', () => {
  const recent = new Recent();

  for (let index = 0; index < 20_000; index++) recent.note(name(index), null, recent.nextMoment());
  recent.note(name(0), null, recent.nextMoment());
  recent.note(bytes('one more'), null, recent.nextMoment());
  assert.equal(recent.versionOf(name(1)), undefined);
  assert.equal(recent.versionOf(name(0)), null);
});
