import assert from 'node:assert/strict';
import test from 'node:test';
import {
  blobNameNeedsEncoding,
  refuseAccountName,
  refuseBlobName,
  refuseContainerName,
  refuseMetadata,
  refuseMetadataName,
  refuseMetadataValue,
  refuseTableName,
} from './names.ts';

for (const [name, want] of [
  ['devstoreaccount1', null],
  ['abc', null],
  ['a'.repeat(24), null],
  ['ab', 'OutOfRangeInput'],
  ['a'.repeat(25), 'OutOfRangeInput'],
  ['Account', 'InvalidResourceName'],
  ['my-account', 'InvalidResourceName'],
] as const) {
  test(`account name '${name}' gets ${want}`, () => assert.equal(refuseAccountName(name), want));
}

for (const [name, want] of [
  ['abc', null],
  ['0-9-a', null],
  ['a'.repeat(63), null],
  ['$root', null],
  ['$web', null],
  ['$logs', null],
  ['$blobchangefeed', null],
  ['', 'OutOfRangeInput'],
  ['ab', 'OutOfRangeInput'],
  ['A', 'OutOfRangeInput'],
  ['a'.repeat(64), 'OutOfRangeInput'],
  ['$other', 'InvalidResourceName'],
  ['Abc', 'InvalidResourceName'],
  ['-abc', 'InvalidResourceName'],
  ['abc-', 'InvalidResourceName'],
  ['a--b', 'InvalidResourceName'],
  ['a_b', 'InvalidResourceName'],
  ['a.b', 'InvalidResourceName'],
  ['abc\n', 'InvalidResourceName'],
  ['äbc', 'InvalidResourceName'],
] as const) {
  test(`container name ${JSON.stringify(name.slice(0, 20))} of ${name.length} gets ${want}`, () =>
    assert.equal(refuseContainerName(name), want));
}

for (const [what, name, container, want] of [
  ['one character', 'a', 'c', null],
  ['1,024 characters', '字'.repeat(1024), 'c', null],
  ['no character', '', 'c', 'OutOfRangeInput'],
  ['1,025 characters', 'a'.repeat(1025), 'c', 'OutOfRangeInput'],
  ['254 segments', 'a/'.repeat(253) + 'a', 'c', null],
  ['255 segments', 'a/'.repeat(254) + 'a', 'c', 'InvalidResourceName'],
  ['a final slash', 'a/', 'c', null],
  ['a final dot', 'a.', 'c', null],
  ['dots and backslashes', '../a\\b', 'c', null],
  ['spaces, percent signs and question marks', ' 100%?#&+ ', 'c', null],
  ['control characters', 'a\u0001\u0081\n', 'c', null],
  ['an emoji', '😀', 'c', null],
  ['U+FFFE and U+FFFF', '\ufffe\uffff', 'c', null],
  ['NUL', 'a\0b', 'c', 'InvalidResourceName'],
  ['half an emoji', 'a\ud83d', 'c', 'InvalidResourceName'],
  ['the other half', '\ude00a', 'c', 'InvalidResourceName'],
  ['no slash, in $root', 'index.html', '$root', null],
  ['a slash, in $root', 'a/b', '$root', 'InvalidResourceName'],
  ['a slash, in $web', 'a/b', '$web', null],
] as const) {
  test(`a blob name with ${what} gets ${want}`, () => assert.equal(refuseBlobName(name, { container }), want));
}

for (const [name, want] of [
  ['plain/näme 😀.txt', false],
  ['<&>"\'', false],
  ['a\tb\nc\rd', false],
  ['a\ufffdb', false],
  ['a\u007fb\u0081', false],
  ['a\ufffeb', true],
  ['a\uffffb', true],
  ['a\u0001b', true],
  ['a\u000bb', true],
  ['a\u001fb', true],
  ['a\ud83d', true],
] as const) {
  test(`the name ${JSON.stringify(name)} needs ${want ? 'an' : 'no'} encoding in XML`, () =>
    assert.equal(blobNameNeedsEncoding(name), want));
}

for (const [name, want] of [
  ['', 'EmptyMetadataKey'],
  ['a', null],
  ['_a1', null],
  ['Camel_Case', null],
  ['1a', 'InvalidMetadata'],
  ['a-b', 'InvalidMetadata'],
  ['a.b', 'InvalidMetadata'],
  ['a b', 'InvalidMetadata'],
  ['é', 'InvalidMetadata'],
] as const) {
  test(`metadata name '${name}' gets ${want}`, () => assert.equal(refuseMetadataName(name), want));
}

for (const [value, want] of [
  ['', null],
  ['some text, with\ttab ~', null],
  ['é', 'InvalidMetadata'],
  ['line\nfeed', 'InvalidMetadata'],
] as const) {
  test(`metadata value ${JSON.stringify(value)} gets ${want}`, () => assert.equal(refuseMetadataValue(value), want));
}

for (const [what, metadata, want] of [
  ['none', [], null],
  [
    '8 KiB of names and values',
    [
      ['n', 'v'.repeat(4095)],
      ['m', 'v'.repeat(4095)],
    ],
    null,
  ],
  [
    'a byte more',
    [
      ['n', 'v'.repeat(4095)],
      ['m', 'v'.repeat(4096)],
    ],
    'MetadataTooLarge',
  ],
  [
    'a name twice',
    [
      ['name', 'a'],
      ['name', 'b'],
    ],
    'InvalidMetadata',
  ],
  [
    'a name twice in other case',
    [
      ['name', 'a'],
      ['NAME', 'b'],
    ],
    'InvalidMetadata',
  ],
  ['an empty name and too many bytes', [['', 'v'.repeat(9000)]], 'EmptyMetadataKey'],
  ['a bad value', [['a', 'ü']], 'InvalidMetadata'],
] as const) {
  test(`metadata with ${what} gets ${want}`, () => assert.equal(refuseMetadata(metadata), want));
}

for (const [name, want] of [
  ['abc', null],
  ['Abc', null],
  ['a12', null],
  ['a'.repeat(63), null],
  ['tables1', null],
  ['tables', 'InvalidInput'],
  ['TaBles', 'InvalidInput'],
  ['', 'InvalidResourceName'],
  ['1abc', 'InvalidResourceName'],
  ['a-b', 'InvalidResourceName'],
  ['a_b', 'InvalidResourceName'],
  ['a b', 'InvalidResourceName'],
  ['abc\n', 'InvalidResourceName'],
  ['$batch', 'InvalidResourceName'],
  ['tablé', 'InvalidResourceName'],
  [`${'a'.repeat(64)}-`, 'InvalidResourceName'],
  ['ab', 'OutOfRangeInput'],
  ['a'.repeat(64), 'OutOfRangeInput'],
] as const) {
  test(`table name ${JSON.stringify(name)} gets ${want}`, () => assert.equal(refuseTableName(name), want));
}
