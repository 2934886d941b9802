import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseQuery } from '../request-target.ts';
import { parseContinuation, renderContinuation } from './continuation.ts';

for (const [key, token] of [
  ['', '1!0!'],
  ['p', '1!4!cA--'],
  ['pk', '1!4!cGs-'],
  ['abc', '1!4!YWJj'],
  ['~~~', '1!4!fn5+'],
  ['???', '1!4!Pz8_'],
  ['\u00e9', '1!4!w6k-'],
] as const) {
  test(`the place '${key}' is carried as ${token}`, () => {
    assert.equal(renderContinuation(key), token);
    assert.equal(parseContinuation('NextRowKey', token), key);
  });
}

test('every key comes back, though a client puts it into a URL as it is', () => {
  const keys = fc.string({ unit: 'grapheme', maxLength: 100 }).filter((key) => !key.includes('\0'));
  fc.assert(
    fc.property(keys, (key) => {
      const token = renderContinuation(key);
      assert.match(token, /^[\u0021-\u007e]*$/);
      for (const inUrl of [token, encodeURIComponent(token)]) {
        const carried = parseQuery(`NextRowKey=${inUrl}`).get('NextRowKey') as string;
        assert.equal(parseContinuation('NextRowKey', carried), key);
      }
    }),
    seeded,
  );
  const longest = '\uffff'.repeat(513);
  assert.equal(parseContinuation('NextRowKey', renderContinuation(longest)), longest);
});

for (const token of [
  'p',
  '1!',
  '1!4!',
  '1!4!YWJ',
  '1!3!YWJj',
  '2!4!YWJj',
  '1!4!YW=j',
  '1!4!Y-Wj',
  '1!4!YWJj ',
  '1!04!YWJj!',
  renderContinuation('a\0b'),
  renderContinuation('a'.repeat(514)),
  renderContinuation('a'.repeat(30_000)),
]) {
  test(`${token.slice(0, 40)} is no place to go on from`, () => {
    assert.throws(
      () => parseContinuation('NextRowKey', token),
      (error) =>
        error instanceof StorageError &&
        error.code === 'InvalidQueryParameterValue' &&
        error.details.elements?.['QueryParameterName'] === 'NextRowKey',
    );
  });
}
