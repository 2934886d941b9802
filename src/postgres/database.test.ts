import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isContended, isLost, sqlStateOf } from './database.ts';

for (const [code, want] of [
  ['40001', 'contended'],
  ['40P01', 'contended'],
  ['08006', 'lost'],
  ['57P01', 'lost'],
  ['57P03', 'lost'],
  ['53300', 'lost'],
  ['25006', 'lost'],
  ['40003', 'lost'],
  ['ECONNREFUSED', 'lost'],
  ['EPIPE', 'lost'],
  [undefined, 'lost'],
  ['42P01', 'neither'],
  ['23505', 'neither'],
  ['57014', 'neither'],
] as const) {
  test(`a failure with code ${code} is ${want}`, () => {
    const error = Object.assign(new Error('failed'), code === undefined ? {} : { code });
    assert.deepEqual([isContended(error), isLost(error)], [want === 'contended', want === 'lost']);
  });
}

test('the code of a socket is no state of the database', () => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ENOTFOUND']) {
    assert.equal(sqlStateOf(Object.assign(new Error('failed'), { code })), null);
  }
});
