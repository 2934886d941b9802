import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { foldName } from './file-names.ts';
import { parsePattern, patternPrefix } from './name-pattern.ts';

const means = (pattern: string, name: string): boolean | undefined => parsePattern(pattern)?.matches(foldName(name));

describe('names that a pattern means:', () => {
  for (const [pattern, ...names] of [
    ['', 'a', 'a.b', '.'],
    ['*', 'a', 'a.b', '.'],
    ['*.*', 'a', 'a.b', '.'],
    ['Report.TXT', 'report.txt', 'REPORT.txt'],
    ['straße', 'STRAßE'],
    ['*.txt', 'a.txt', '.txt', 'a.b.TXT'],
    ['a*', 'a', 'A.b', 'ab'],
    ['a*b*c', 'abc', 'a.b.c', 'abbcbc'],
    ['?', 'a', '.'],
    ['a?c', 'abc', 'a.c'],
    // up to and with the last dot
    ['<.txt', 'a.txt', 'a.b.txt'],
    ['<txt', 'a.txt', 'a.b.txt', 'txt'],
    ['<', 'a', 'abc', 'a.', 'a.b.'],
    ['a<', 'a', 'ab'],
    ['<b<', 'ab', 'a.b', 'b.'],
    // one character, but no dot unless it ends the name
    ['>', 'a', '.'],
    ['>>>', 'a', 'ab', 'abc'],
    ['a>>>.b', 'a.b', 'axx.b'],
    ['>>>>>>>>.>>>', 'a.b', 'filename.txt'],
    // a dot, or the end
    ['a"', 'a', 'a.'],
    ['a"b', 'a.b'],
    ['>>>>>>>>">>>', 'a', 'a.b', 'filename.txt'],
    ['<"txt', 'a.txt'],
    ['<"*', 'a', 'a.b', 'a.b.c'],
  ] as const) {
    for (const name of names) test(`${pattern} means ${name}`, () => assert.equal(means(pattern, name), true));
  }
});

describe('names that a pattern does not mean:', () => {
  for (const [pattern, ...names] of [
    ['report.txt', 'report.txt.bak', 'report', 'xreport.txt'],
    ['straße', 'strasse'],
    ['*.txt', 'a.txtx', 'txt', 'a'],
    ['?', 'ab'],
    ['??', 'a'],
    ['a?', 'a'],
    ['<.txt', 'a.txt.b', 'a'],
    ['<', 'a.b'],
    ['a<', 'ab.c'],
    ['>', 'ab', 'a.b'],
    ['>>>', 'abcd'],
    ['a>b', 'ab'],
    ['a"', 'ab', 'a..'],
    ['a"b', 'ab', 'a'],
    ['>>>>>>>>.>>>', 'a', 'longfilename.txt', 'a.text'],
    ['<"txt', 'a.b.txt.c', 'atxt'],
  ] as const) {
    for (const name of names) test(`${pattern} does not mean ${name}`, () => assert.equal(means(pattern, name), false));
  }
});

test('what means no name at all is refused', () => {
  for (const pattern of ['a\\*', '/', 'a:b', 'a|b', 'a\0', '*'.repeat(256)]) assert.equal(parsePattern(pattern), null);
});

test('the prefix of a pattern is what stands before its first wildcard', () => {
  for (const [pattern, prefix] of [
    ['*', ''],
    ['*.*', ''],
    ['ab*c', 'ab'],
    ['ab?', 'ab'],
    ['ab<', 'ab'],
    ['ab>', 'ab'],
    ['ab"', 'ab'],
    ['ab', 'ab'],
  ] as const) {
    assert.equal(patternPrefix(pattern), prefix);
    assert.equal(parsePattern(pattern)?.prefix, prefix.toUpperCase());
  }
  assert.equal(parsePattern('ab')?.isName, true);
  assert.equal(parsePattern('ab*')?.isName, false);
});

/** One way to match after the other, as the specification tells it. */
function meansSlowly(pattern: string, name: string, lastDotAt: number, at = 0): boolean {
  const [wanted, rest] = [pattern.charAt(0), pattern.slice(1)];
  const go = (next: number, from = rest): boolean => meansSlowly(from, name, lastDotAt, next);
  const unit = name.charAt(at);
  const isEnd = at === name.length;
  switch (wanted) {
    case '':
      return isEnd;
    case '*':
      return go(at) || (!isEnd && go(at + 1, pattern));
    case '<':
      return go(at) || (!isEnd && go(at + 1, at === lastDotAt ? rest : pattern));
    case '?':
      return !isEnd && go(at + 1);
    case '>':
      if (isEnd) return go(at);
      return unit === '.' ? go(at) || (at === name.length - 1 && go(at + 1)) : go(at + 1);
    case '"':
      return isEnd ? go(at) : unit === '.' && go(at + 1);
    default:
      return unit === wanted && go(at + 1);
  }
}

test('all ways at once find what one after the other finds', () => {
  const pattern = fc.string({
    unit: fc.constantFrom('A', 'B', '.', '*', '?', '<', '>', '"'),
    minLength: 1,
    maxLength: 8,
  });
  const name = fc.string({ unit: fc.constantFrom('A', 'B', '.'), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(pattern, name, (asked, given) => {
      fc.pre(asked !== '*.*');
      assert.equal(means(asked, given), meansSlowly(asked, given, given.lastIndexOf('.')));
      if (means(asked, given) === true) assert.ok(given.startsWith(patternPrefix(asked)));
    }),
    { ...seeded, numRuns: 3_000 },
  );
});

test('a pattern of nothing but detours comes to an end', () => {
  const name = 'a'.repeat(255);
  for (const detour of ['*a', '<a', '*?', '<>']) {
    assert.equal(means(`${detour.repeat(120)}b`, name), false);
    assert.equal(means(`${detour.repeat(120)}*`, name), true);
  }
});
