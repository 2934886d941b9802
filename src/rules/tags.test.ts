import assert from 'node:assert/strict';
import test from 'node:test';
import { parseTagsHeader, refuseTags, sortTags, type Tags } from './tags.ts';

for (const [text, want] of [
  ['', []],
  ['a=b', [['a', 'b']]],
  [
    'b=2&a=1',
    [
      ['b', '2'],
      ['a', '1'],
    ],
  ],
  ['a=', [['a', '']]],
  ['a=b=c', [['a', 'b=c']]],
  ['a%3Db=c%3Dd', [['a=b', 'c=d']]],
  ['tag%20one=value+two', [['tag one', 'value two']]],
  ['a=%2B%2b', [['a', '++']]],
  ['a=%2D-.%2F/:_', [['a', '--.//:_']]],
  [
    'Tag=1&tag=2',
    [
      ['Tag', '1'],
      ['tag', '2'],
    ],
  ],
  ['a', 'InvalidHeaderValue'],
  ['a=1&', 'InvalidHeaderValue'],
  ['&a=1', 'InvalidHeaderValue'],
  ['a=%', 'InvalidHeaderValue'],
  ['a=%4', 'InvalidHeaderValue'],
  ['a=%zz', 'InvalidHeaderValue'],
  ['%=1', 'InvalidHeaderValue'],
  ['=1', 'EmptyTagName'],
  ['a=%26', 'InvalidTag'],
  ['a=%25', 'InvalidTag'],
  ['a=%C3%A9', 'InvalidTag'],
  ['a=%FF', 'InvalidTag'],
  ['a=1&a=2', 'DuplicateTagNames'],
  ['a=1&%61=2', 'DuplicateTagNames'],
] as const) {
  test(`the tags '${text}' are ${JSON.stringify(want)}`, () =>
    assert.deepEqual(parseTagsHeader(text), typeof want === 'string' ? { refusal: want } : want));
}

const some = (count: number): Tags => Array.from({ length: count }, (_, index) => [`t${index}`, 'v'] as const);

for (const [what, tags, want] of [
  ['no tags', [], null],
  ['ten tags', some(10), null],
  ['every legal character', [['azAZ09 +-./:=_', 'azAZ09 +-./:=_']], null],
  ['the longest name and value', [['n'.repeat(128), 'v'.repeat(256)]], null],
  ['an empty value', [['a', '']], null],
  ['eleven tags, one without a name', [...some(10), ['', '']], 'TagsTooLarge'],
  ['a tag without a name', [['', 'é']], 'EmptyTagName'],
  ['a name that is too long and illegal', [['é'.repeat(129), '']], 'TagsTooLarge'],
  ['a value that is too long', [['a', 'v'.repeat(257)]], 'TagsTooLarge'],
  ['an illegal name', [['a,b', '']], 'InvalidTag'],
  ['an illegal value', [['a', "it's"]], 'InvalidTag'],
  ['a line break at the end', [['a', 'b\n']], 'InvalidTag'],
  [
    'an illegal tag twice',
    [
      ['é', ''],
      ['é', ''],
    ],
    'InvalidTag',
  ],
  ['a name twice', [...some(2), ['t0', 'other']], 'DuplicateTagNames'],
] as const) {
  test(`${what} get ${want ?? 'through'}`, () => assert.equal(refuseTags(tags), want));
}

test('tags are sorted by the code units of their names, and the given ones are left as they are', () => {
  const tags: Tags = [
    ['b', '1'],
    ['a', '2'],
    ['_', '3'],
    ['B', '4'],
    ['a b', '5'],
  ];
  const names = () => tags.map(([name]) => name).join();
  assert.equal(
    sortTags(tags)
      .map(([name]) => name)
      .join(),
    'B,_,a,a b,b',
  );
  assert.equal(names(), 'b,a,_,B,a b');
});
