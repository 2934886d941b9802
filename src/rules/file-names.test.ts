import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldName, refuseFileName, refuseFilePath, refuseShareName, withoutTrailingDots } from './file-names.ts';

for (const [name, want] of [
  ['abc', null],
  ['0-9-a', null],
  ['a'.repeat(63), null],
  ['', 'OutOfRangeInput'],
  ['ab', 'OutOfRangeInput'],
  ['a'.repeat(64), 'OutOfRangeInput'],
  ['Abc', 'InvalidResourceName'],
  ['-abc', 'InvalidResourceName'],
  ['abc-', 'InvalidResourceName'],
  ['a--b', 'InvalidResourceName'],
  ['a_b', 'InvalidResourceName'],
  ['a.b', 'InvalidResourceName'],
  ['$root', 'InvalidResourceName'],
  ['abc\n', 'InvalidResourceName'],
  ['äbc', 'InvalidResourceName'],
] as const) {
  test(`share name ${JSON.stringify(name.slice(0, 20))} of ${name.length} gets ${want}`, () =>
    assert.equal(refuseShareName(name), want));
}

for (const [what, name, want] of [
  ['one character', 'a', null],
  ['255 characters', '字'.repeat(255), null],
  ['255 units, the last two of them one character', `${'a'.repeat(253)}😀`, null],
  ['256 characters', 'a'.repeat(256), 'InvalidFileOrDirectoryPathName'],
  ['256 units, the last two of them one character', `${'a'.repeat(254)}😀`, 'InvalidFileOrDirectoryPathName'],
  ['no character', '', 'InvalidResourceName'],
  ['spaces', ' a b ', null],
  ['a final dot', 'a.', null],
  ['three dots', '...', null],
  ['one dot', '.', 'InvalidResourceName'],
  ['two dots', '..', 'InvalidResourceName'],
  ['what blobs may not have', 'a%b#c;d{e}~', null],
  ['a character above the first plane', '😀', null],
  ['a non-character', '\uffff', null],
  ['delete', '\x7f', null],
  ['half of a pair', '\ud83d', 'InvalidResourceName'],
  ['the other half', 'a\ude00', 'InvalidResourceName'],
  ['a pair the wrong way round', '\ude00\ud83d', 'InvalidResourceName'],
] as const) {
  test(`a file name of ${what} gets ${want}`, () => assert.equal(refuseFileName(name), want));
}

test('characters that mean something in paths of Windows are refused, and all control characters', () => {
  for (const character of '"\\/:|<>*?')
    assert.equal(refuseFileName(`a${character}b`), 'InvalidResourceName', character);
  for (let code = 0; code < 0x20; code++) {
    assert.equal(refuseFileName(`a${String.fromCharCode(code)}`), 'InvalidResourceName', String(code));
  }
  for (let code = 0x20; code < 0x7f; code++) {
    const character = String.fromCharCode(code);
    if (!'"\\/:|<>*?'.includes(character)) assert.equal(refuseFileName(`a${character}b`), null, character);
  }
});

test('names of devices are refused in any case, and only as they are', () => {
  const numbered = ['LPT', 'COM'].flatMap((name) => Array.from({ length: 9 }, (_, index) => `${name}${index + 1}`));
  for (const name of [...numbered, 'PRN', 'AUX', 'NUL', 'CON', 'CLOCK$']) {
    for (const each of [name, name.toLowerCase(), name[0] + name.slice(1).toLowerCase()]) {
      assert.equal(refuseFileName(each), 'InvalidResourceName', each);
    }
    assert.equal(refuseFileName(`${name}.txt`), null);
    assert.equal(refuseFileName(`${name}x`), null);
    assert.equal(refuseFileName(`x${name}`), null);
  }
  for (const name of ['LPT', 'LPT0', 'COM10', 'CLOCK']) assert.equal(refuseFileName(name), null, name);
});

for (const [what, path, want] of [
  ['the root', [], null],
  ['250 names', Array.from({ length: 250 }, () => 'a'), null],
  ['251 names', Array.from({ length: 251 }, () => 'a'), 'InvalidFileOrDirectoryPathName'],
  ['2,048 characters', [...Array.from({ length: 8 }, () => 'a'.repeat(254)), 'a'.repeat(8)], null],
  [
    '2,049 characters',
    [...Array.from({ length: 8 }, () => 'a'.repeat(254)), 'a'.repeat(9)],
    'InvalidFileOrDirectoryPathName',
  ],
  ['a name that is too long', ['a', 'b'.repeat(256)], 'InvalidFileOrDirectoryPathName'],
  ['a reserved name on the way', ['a', 'nul', 'b'], 'InvalidResourceName'],
  ['an empty name on the way', ['a', '', 'b'], 'InvalidResourceName'],
] as const) {
  test(`a path of ${what} gets ${want}`, () => assert.equal(refuseFilePath(path), want));
}

for (const [name, want] of [
  ['a', 'a'],
  ['a.', 'a'],
  ['a.b...', 'a.b'],
  ['.a', '.a'],
  ['...', ''],
] as const) {
  test(`'${name}' without trailing dots is '${want}'`, () => assert.equal(withoutTrailingDots(name), want));
}

test('a million dots are looked at once', () => {
  const dots = '.'.repeat(1_000_000);
  assert.equal(withoutTrailingDots(`${dots}a${dots}`), `${dots}a`);
});

for (const [name, want] of [
  ['file.TXT', 'FILE.TXT'],
  ['Größe', 'GRÖSSE'.replace('SS', 'ß')],
  ['ÿ', 'Ÿ'],
  ['αβγς', 'ΑΒΓΣ'],
  ['дом', 'ДОМ'],
  ['ŉ', 'ŉ'],
  ['ﬁn', 'ﬁN'],
  ['字', '字'],
  ['a😀b', 'A😀B'],
  ['𐐨', '𐐨'],
] as const) {
  test(`'${name}' is folded to '${want}'`, () => assert.equal(foldName(name), want));
}

test('names that are the same to Windows have one folded form, others have their own', () => {
  assert.equal(foldName('readme.MD'), foldName('README.md'));
  assert.notEqual(foldName('straße'), foldName('STRASSE'));
  assert.notEqual(foldName('é'), foldName('e'));
  // Composed and decomposed are two names.
  assert.notEqual(foldName('\u00e9'), foldName('e\u0301'));
});

test('folding a folded name changes nothing, keeps its length, and makes no legal name illegal', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const unit = String.fromCharCode(code);
    const folded = foldName(unit);
    assert.equal(folded.length, 1, code.toString(16));
    assert.equal(foldName(folded), folded, code.toString(16));
    assert.equal(refuseFileName(folded), refuseFileName(unit), code.toString(16));
  }
});
