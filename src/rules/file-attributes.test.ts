import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ARCHIVE,
  DIRECTORY,
  formatAttributes,
  HIDDEN,
  isReadOnly,
  NO_SCRUB_DATA,
  NOT_CONTENT_INDEXED,
  OFFLINE,
  parseAttributes,
  READ_ONLY,
  SYSTEM,
  TEMPORARY,
} from './file-attributes.ts';

const ALL_OF_A_FILE = READ_ONLY | HIDDEN | SYSTEM | ARCHIVE | TEMPORARY | OFFLINE | NOT_CONTENT_INDEXED | NO_SCRUB_DATA;

for (const [text, kind, want] of [
  ['None', 'file', 0],
  ['none', 'file', 0],
  ['Archive', 'file', ARCHIVE],
  ['ReadOnly|Hidden', 'file', READ_ONLY | HIDDEN],
  ['hidden | readonly', 'file', READ_ONLY | HIDDEN],
  ['Archive|Archive', 'file', ARCHIVE],
  ['ReadOnly|Hidden|System|Archive|Temporary|Offline|NotContentIndexed|NoScrubData', 'file', ALL_OF_A_FILE],
  ['None', 'directory', DIRECTORY],
  ['Directory', 'directory', DIRECTORY],
  ['Hidden', 'directory', DIRECTORY | HIDDEN],
  ['Directory | Hidden', 'directory', DIRECTORY | HIDDEN],
  ['Directory', 'file', null],
  ['Temporary', 'directory', null],
  ['None|Archive', 'file', null],
  ['None|Directory', 'directory', null],
  ['', 'file', null],
  ['Archive|', 'file', null],
  ['Archive,Hidden', 'file', null],
  ['Compressed', 'file', null],
] as const) {
  test(`${JSON.stringify(text)} on a ${kind} is ${want}`, () => assert.equal(parseAttributes(text, kind), want));
}

for (const [attributes, want] of [
  [0, 'None'],
  [ARCHIVE, 'Archive'],
  [DIRECTORY | HIDDEN, 'Hidden | Directory'],
  [ALL_OF_A_FILE, 'ReadOnly | Hidden | System | Archive | Temporary | Offline | NotContentIndexed | NoScrubData'],
] as const) {
  test(`${attributes} is written '${want}'`, () => assert.equal(formatAttributes(attributes), want));
}

test('what is written can be read again', () => {
  for (let attributes = 0; attributes <= ALL_OF_A_FILE; attributes++) {
    if ((attributes & ~ALL_OF_A_FILE) === 0) {
      assert.equal(parseAttributes(formatAttributes(attributes), 'file'), attributes);
    }
  }
});

test('only the mark of read-only makes something read-only', () => {
  assert.equal(isReadOnly(READ_ONLY | ARCHIVE), true);
  assert.equal(isReadOnly(ALL_OF_A_FILE & ~READ_ONLY), false);
});
