import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  allocationBytes,
  allocationOf,
  attributesOf,
  encodePipeStandard,
  FILE_LAYOUTS,
  FileClass,
  type FileFacts,
  indexNumberOf,
  type NodeFacts,
  writeTimes,
} from './file-info.ts';

const FILE: NodeFacts = {
  id: '0102030405060708',
  kind: 'file',
  attributes: 0x21,
  createdAt: '1',
  accessedAt: '2',
  writtenAt: '3',
  changedAt: '4',
  lengthBytes: 4097,
};
const DIRECTORY: NodeFacts = { ...FILE, kind: 'directory', attributes: 0x10, lengthBytes: 0 };

const FACTS: FileFacts = {
  node: FILE,
  path: ['Dir', 'a'],
  isPending: false,
  access: 0x12_0089,
  mode: 0x40_1042,
  positionBytes: 7n,
  reservedBytes: 0,
  volumeId: 0x1122_3344_5566_7788n,
};

const TIMES = '01000000000000000200000000000000 03000000000000000400000000000000';
const BASIC = `${TIMES} 21000000 00000000`;
const STANDARD = '0020000000000000 0110000000000000 01000000 00 00 0000';
const INDEX_NUMBER = '0807060504030201';

function encoded(infoClass: number, facts: Partial<FileFacts> = {}): string {
  const layout = FILE_LAYOUTS.get(infoClass);
  assert.ok(layout !== undefined);
  return layout.encode({ ...FACTS, ...facts }).toString('hex');
}

describe('a file is told by class', () => {
  for (const [name, infoClass, want] of [
    ['basic', FileClass.BASIC, BASIC],
    ['standard', FileClass.STANDARD, STANDARD],
    ['internal', FileClass.INTERNAL, INDEX_NUMBER],
    ['extended attributes', FileClass.EA, '00000000'],
    ['access', FileClass.ACCESS, '89001200'],
    ['position', FileClass.POSITION, '0700000000000000'],
    ['mode', FileClass.MODE, '02100000'],
    ['alignment', FileClass.ALIGNMENT, '00000000'],
    [
      'all',
      FileClass.ALL,
      `${BASIC} ${STANDARD} ${INDEX_NUMBER} 00000000 89001200 0700000000000000 02100000 00000000
       0c000000 5c004400 69007200 5c006100`,
    ],
    ['alternate name', FileClass.ALTERNATE_NAME, '00000000'],
    ['streams', FileClass.STREAM, '00000000 0e000000 0110000000000000 0020000000000000 3a003a0024004400410054004100'],
    ['compression', FileClass.COMPRESSION, '0110000000000000 0000 00 00 00 000000'],
    ['network open', FileClass.NETWORK_OPEN, `${TIMES} 0020000000000000 0110000000000000 21000000 00000000`],
    ['attribute tag', FileClass.ATTRIBUTE_TAG, '21000000 00000000'],
    ['normalized name', FileClass.NORMALIZED_NAME, '0a000000 44006900 72005c00 6100'],
    ['id', FileClass.ID, `8877665544332211 ${INDEX_NUMBER} 0000000000000000`],
  ] as const) {
    test(name, () => assert.equal(encoded(infoClass), want.replaceAll(/\s/g, '')));
  }
});

test('of a directory marked for deletion no link is left', () => {
  assert.equal(
    encoded(FileClass.STANDARD, { node: DIRECTORY, isPending: true }),
    '00000000000000000000000000000000 00000000 01 01 0000'.replaceAll(' ', ''),
  );
});

test('a directory has no streams, and the root no name', () => {
  assert.equal(encoded(FileClass.STREAM, { node: DIRECTORY }), '');
  assert.equal(encoded(FileClass.NORMALIZED_NAME, { path: [] }), '00000000');
  assert.equal(encoded(FileClass.ALL, { path: [] }).slice(-12), '020000005c00');
});

test('what needs room for a name needs it though the name is shorter', () => {
  const fixed = [...FILE_LAYOUTS].map(([infoClass, { fixedBytes }]) => [infoClass, fixedBytes]);
  assert.deepEqual(Object.fromEntries(fixed), {
    4: 40,
    5: 24,
    6: 8,
    7: 4,
    8: 4,
    14: 8,
    16: 4,
    17: 4,
    18: 104,
    21: 8,
    22: 32,
    28: 16,
    34: 56,
    35: 8,
    48: 8,
    59: 24,
  });
});

test('what was never said to be accessed was when it was written', () => {
  const { accessedAt: _, ...node } = FILE;
  const bytes = Buffer.alloc(40);
  writeTimes(bytes, node, 8);
  assert.equal(bytes.readBigUInt64LE(16), 3n);
});

test('no attributes are a bit of their own', () => {
  assert.equal(attributesOf({ attributes: 0 }), 0x80);
  assert.equal(attributesOf({ attributes: 0x10 }), 0x10);
});

test('files take whole units', () => {
  for (const [length, want] of [
    [0, 0],
    [1, 4096],
    [4096, 4096],
    [4097, 8192],
    [4 * 1024 ** 4 - 1, 4 * 1024 ** 4],
  ] as const) {
    assert.equal(allocationOf(length), want);
  }
});

test('room that was asked for is told until the file needs more', () => {
  for (const [lengthBytes, want] of [
    [0, 8192],
    [8192, 8192],
    [8193, 12_288],
  ] as const) {
    assert.equal(allocationBytes({ lengthBytes }, { reservedBytes: 8192 }), want);
  }
  const reserved = { reservedBytes: 0x5000 };
  assert.equal(encoded(FileClass.STANDARD, reserved).slice(0, 16), '0050000000000000');
  assert.equal(encoded(FileClass.ALL, reserved).slice(80, 96), '0050000000000000');
  assert.equal(encoded(FileClass.NETWORK_OPEN, reserved).slice(64, 80), '0050000000000000');
  assert.equal(encoded(FileClass.STREAM, reserved).slice(32, 48), '0050000000000000');
});

test('the number of a file has all its bits', () => {
  assert.equal(indexNumberOf({ id: 'ffffffffffffffff' }), 0xffff_ffff_ffff_ffffn);
});

test('a pipe is gone once it is closed', () => {
  assert.equal(
    encodePipeStandard().toString('hex'),
    '0010000000000000000000000000000001000000 01 00 0000'.replaceAll(' ', ''),
  );
});
