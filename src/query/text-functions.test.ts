import assert from 'node:assert/strict';
import { test } from 'node:test';
import { characterCount, substring, trim } from './text-functions.ts';

for (const [text, want] of [
  ['', 0],
  ['abc', 3],
  ['🪨', 1],
  ['a🪨b🪨', 4],
  ['\ud800', 1],
  ['\udc00\ud800', 2],
] as const) {
  test(`${JSON.stringify(text)} has ${want} characters`, () => assert.equal(characterCount(text), want));
}

for (const [start, count, want] of [
  [0, 3, 'ab🪨'],
  [1, 2, 'b🪨'],
  [2, 1, '🪨'],
  [3, 9, 'c'],
  [4, 1, ''],
  [0, 0, ''],
  [-2, 3, 'a'],
  [-2, 1, ''],
  [2, Number.MAX_SAFE_INTEGER, '🪨c'],
] as const) {
  test(`of 'ab🪨c' from ${start}, ${count} characters are '${want}'`, () => {
    assert.equal(substring('ab🪨c', start, count), want);
  });
}

for (const [side, characters, want] of [
  ['both', 'x🪨', 'a '],
  ['leading', 'x🪨', 'a x🪨x'],
  ['trailing', 'x🪨', 'x🪨a '],
  ['both', '', 'x🪨a x🪨x'],
  ['both', 'x🪨a ', ''],
] as const) {
  test(`trimmed of '${characters}' (${side}), 'x🪨a x🪨x' is '${want}'`, () => {
    assert.equal(trim('x🪨a x🪨x', side, characters), want);
  });
}
