import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID_BYTES, IdSource } from './ids.ts';

const FORM = new RegExp(`^[0-9a-f]{${2 * ID_BYTES}}$`);
const START_MS = Date.UTC(2024, 0, 1);

test('ids grow, however many are given in a millisecond', () => {
  const ids = new IdSource(() => START_MS);
  let last = '';
  for (let count = 0; count < 70_000; count++) {
    const id = ids.next();
    if (!(id > last)) assert.fail(`${id} after ${last}`);
    last = id;
  }
  assert.match(last, FORM);
});

test('ids grow though the clock is set back, and though it jumps', () => {
  let nowMs = START_MS;
  const ids = new IdSource(() => nowMs);
  let last = '';
  for (const stepMs of [0, 1, -1, -10_000, 0, 20_000, -1, 5, 1_000_000, 0]) {
    nowMs += stepMs;
    const id = ids.next();
    assert.ok(id > last);
    assert.match(id, FORM);
    last = id;
  }
});

test('sources on several nodes never give the same id, though their clocks agree to the millisecond', () => {
  const sources = Array.from({ length: 50 }, () => new IdSource(() => START_MS));
  const given = new Set(sources.flatMap((ids) => Array.from({ length: 100 }, () => ids.next())));
  assert.equal(given.size, 50 * 100);
});

test('a source that starts after an id of any other goes on behind it', () => {
  const ahead = new IdSource(() => START_MS + 1_000_000);
  for (const before of [ahead.next(), ahead.next(), 'f'.repeat(4).padStart(12, '0').padEnd(24, 'f')]) {
    const ids = new IdSource(() => START_MS);
    ids.startAfter(before);
    assert.ok(ids.next() > before);
  }
});

test('a source that starts after nothing, or after what is long past, starts with the time', () => {
  const first = new IdSource(() => START_MS).next();
  for (const before of ['', '0'.repeat(24)]) {
    const ids = new IdSource(() => START_MS);
    ids.startAfter(before);
    assert.equal(ids.next().slice(0, 12), first.slice(0, 12));
  }
});
