import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARCHIVE, DIRECTORY, HIDDEN, NO_SCRUB_DATA, READ_ONLY, TEMPORARY } from './file-attributes.ts';
import { attributesSet } from './smb-attributes.ts';

const NORMAL = 0x80;
const COMPRESSED = 0x800;

for (const [asked, kind, want] of [
  [NORMAL, 'file', 0],
  [NORMAL | HIDDEN, 'file', HIDDEN],
  [READ_ONLY | ARCHIVE | TEMPORARY | NO_SCRUB_DATA, 'file', READ_ONLY | ARCHIVE | TEMPORARY | NO_SCRUB_DATA],
  [COMPRESSED | ARCHIVE, 'file', ARCHIVE],
  [DIRECTORY, 'file', null],
  [NORMAL, 'directory', DIRECTORY],
  [HIDDEN, 'directory', HIDDEN | DIRECTORY],
  [DIRECTORY | READ_ONLY, 'directory', DIRECTORY | READ_ONLY],
  [TEMPORARY, 'directory', null],
] as const) {
  test(`attributes 0x${asked.toString(16)} on a ${kind} become ${want === null ? 'nothing' : `0x${want.toString(16)}`}`, () => {
    assert.equal(attributesSet(asked, kind), want);
  });
}
