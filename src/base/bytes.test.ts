import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefixEnd, successor } from './bytes.ts';

test('the end of a prefix sorts right behind everything that starts with it', () => {
  for (const [prefix, end] of [
    ['00', '01'],
    ['61ff', '62'],
    ['6100ff', '6101'],
  ] as const) {
    assert.equal(Buffer.from(prefixEnd(Buffer.from(prefix, 'hex')) as Uint8Array).toString('hex'), end);
  }
  assert.equal(prefixEnd(Buffer.from('ffff', 'hex')), null);
});

test('computing the end of a prefix leaves the prefix as it is', () => {
  const prefix = Buffer.from('abc');
  prefixEnd(prefix);
  assert.equal(prefix.toString(), 'abc');
});

test('nothing sorts between a key and its successor', () => {
  assert.deepEqual(successor(Buffer.from('a')), Uint8Array.of(0x61, 0));
});
