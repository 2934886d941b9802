import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentSignatures } from './recent-signatures.ts';

test('what was added is known, what was not is not', () => {
  const recent = new RecentSignatures();
  recent.add('string', 'signature');
  assert.equal(recent.get('string'), 'signature');
  assert.equal(recent.get('another'), null);
});

test('no more than two generations are kept, and the oldest go first', () => {
  const recent = new RecentSignatures(10);
  for (let index = 0; index < 1000; index++) recent.add(`string ${index}`, 'signature');
  const kept = Array.from({ length: 1000 }, (_, index) => index).filter(
    (index) => recent.get(`string ${index}`) !== null,
  );
  assert.ok(kept.length >= 10 && kept.length <= 20, `${kept.length} kept`);
  assert.equal(kept.at(-1), 999);
});

test('what is asked for again outlives what is not', () => {
  const recent = new RecentSignatures(10);
  recent.add('asked for', 'signature');
  recent.add('forgotten', 'signature');
  for (let index = 0; index < 100; index++) {
    recent.add(`string ${index}`, 'signature');
    assert.equal(recent.get('asked for'), 'signature');
  }
  assert.equal(recent.get('forgotten'), null);
});
