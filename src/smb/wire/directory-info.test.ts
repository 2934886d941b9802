import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ENTRY_LAYOUTS, type EntryLayout, EntryList } from './directory-info.ts';
import type { NodeFacts } from './file-info.ts';

const FILE: NodeFacts = {
  id: '0102030405060708',
  kind: 'file',
  attributes: 0x20,
  createdAt: '1',
  accessedAt: '2',
  writtenAt: '3',
  changedAt: '4',
  lengthBytes: 5,
};

const layoutOf = (infoClass: number): EntryLayout => ENTRY_LAYOUTS.get(infoClass) as EntryLayout;

const listOf = (infoClass: number, bytesMax = 4096, countMax = 100): EntryList =>
  new EntryList(layoutOf(infoClass), { bytesMax, countMax });

const DETAILS = [
  '0000000000000000',
  '01000000000000000200000000000000',
  '03000000000000000400000000000000',
  '05000000000000000010000000000000',
  '20000000',
].join('');
const NAME_LENGTH = '06000000';
const NAME = '610062006300';
const NUMBER = '0807060504030201';
const zeros = (count: number): string => '00'.repeat(count);

describe('an entry is told by class', () => {
  for (const [infoClass, want] of [
    [1, [DETAILS, NAME_LENGTH, NAME]],
    [2, [DETAILS, NAME_LENGTH, zeros(4), NAME]],
    [3, [DETAILS, NAME_LENGTH, zeros(4), zeros(2), zeros(24), NAME]],
    [12, [zeros(8), NAME_LENGTH, NAME]],
    [37, [DETAILS, NAME_LENGTH, zeros(4), zeros(2), zeros(24), zeros(2), NUMBER, NAME]],
    [38, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, NAME]],
    [60, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, zeros(8), NAME]],
    [78, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, NAME]],
    [79, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, zeros(2), zeros(24), NAME]],
    [80, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, NUMBER, zeros(8), NAME]],
    [81, [DETAILS, NAME_LENGTH, zeros(4), zeros(4), NUMBER, NUMBER, zeros(8), zeros(2), zeros(24), NAME]],
  ] as const) {
    test(String(infoClass), () => {
      const list = listOf(infoClass);
      assert.ok(list.add({ name: 'abc', node: FILE }));
      assert.equal(list.encode().toString('hex'), want.join(''));
    });
  }
});

test('entries begin at multiples of eight, and nothing follows the last', () => {
  const list = listOf(12);
  for (const name of ['a', 'abc', 'ab']) assert.ok(list.add({ name, node: FILE }));
  const bytes = list.encode();
  assert.equal(bytes.readUInt32LE(0), 16);
  assert.equal(bytes.readUInt32LE(16), 24);
  assert.equal(bytes.readUInt32LE(40), 0);
  assert.equal(bytes.length, 40 + 12 + 4);
});

test('there is room for exactly as many bytes as there are', () => {
  const list = listOf(12, 16 + 14);
  assert.equal(list.add({ name: 'ab', node: FILE }), true);
  assert.equal(list.hasRoom, true);
  assert.equal(list.add({ name: 'ab', node: FILE }), false);
  assert.equal(list.add({ name: 'a', node: FILE }), true);
  assert.equal(list.hasRoom, false);
  assert.equal(list.encode().length, 16 + 14);
});

test('a list of one takes one', () => {
  const list = listOf(12, 4096, 1);
  assert.equal(list.roomFor(32), 1);
  assert.equal(list.add({ name: 'a', node: FILE }), true);
  assert.equal(list.hasRoom, false);
  assert.equal(list.add({ name: 'b', node: FILE }), false);
  assert.equal(list.count, 1);
});

test('a name keeps every one of its units', () => {
  const list = listOf(12);
  const name = '\u{1f4c1}\uf022ü';
  list.add({ name, node: FILE });
  assert.equal(list.encode().subarray(12).toString('utf16le'), name);
});
