import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { isLike, parseLike } from './like.ts';
import { RecordError } from './query-error.ts';
import { Work } from './work.ts';

const like = (text: string, pattern: string, escape: string | null = null): boolean =>
  isLike(text, parseLike(pattern, escape), new Work());

for (const [text, pattern, want] of [
  ['', '', true],
  ['', '%', true],
  ['', '_', false],
  ['abc', 'abc', true],
  ['abc', 'ABC', false],
  ['abc', 'ab', false],
  ['abc', '%', true],
  ['abc', '%%', true],
  ['abc', 'a%', true],
  ['abc', '%c', true],
  ['abc', '%b%', true],
  ['abc', '%a%b%c%', true],
  ['abc', '%c%b%', false],
  ['abc', '___', true],
  ['abc', '__', false],
  ['abc', '_%_', true],
  ['a', '_%_', false],
  ['aba', 'ab%ba', false],
  ['abba', 'ab%ba', true],
  ['aXbXc', '%X_X%', true],
  ['aab', '%ab', true],
  ['aaab', 'a%aab', true],
  ['mississippi', 'm%iss%ss%s%i', false],
  ['mississippi', 'm%iss%ip_i', true],
  ['🪨', '_', true],
  ['a🪨b', 'a_b', true],
  ['a.c', 'a.c', true],
  ['abc', 'a.c', false],
  ['a\nb', 'a%b', true],
] as const) {
  test(`'${text}' is ${want ? '' : 'not '}like '${pattern}'`, () => assert.equal(like(text, pattern), want));
}

for (const [text, pattern, want] of [
  ['50%', '50!%', true],
  ['501', '50!%', false],
  ['a_b', '%!_%', true],
  ['ab', '%!_%', false],
  ['!', '!!', true],
] as const) {
  test(`'${text}' is ${want ? '' : 'not '}like '${pattern}' with ! to escape`, () => {
    assert.equal(like(text, pattern, '!'), want);
  });
}

test('a pattern that ends with its escape is an error', () => {
  assert.throws(() => parseLike('abc!', '!'), RecordError);
});

test('a pattern of many wildcards on a text that almost fits is answered at once', () => {
  const text = 'a'.repeat(20_000);
  assert.equal(like(text, `${'%a'.repeat(1000)}b`), false);
  assert.equal(like(text, `${'%a_'.repeat(1000)}%b`), false);
});

test('a search that would take too long ends as an error of its row', () => {
  assert.throws(
    () => like('a'.repeat(1024 * 1024), `%${'a_'.repeat(500)}b%`),
    (error) => error instanceof RecordError && error.errorName === 'ResourceLimitExceeded',
  );
});

const letters = (choices: string[]) =>
  fc.array(fc.constantFrom(...choices), { maxLength: 8 }).map((all) => all.join(''));

test('LIKE agrees with a regular expression', () => {
  fc.assert(
    fc.property(letters(['a', 'b', '🪨']), letters(['a', 'b', '🪨', '%', '_']), (text, pattern) => {
      const form = new RegExp(`^${pattern.replaceAll('%', '.*').replaceAll('_', '.')}$`, 'su');
      assert.equal(like(text, pattern), form.test(text));
    }),
    { numRuns: 2000, ...seeded },
  );
});
