import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeChangeNotify, encodeChangeNotify, toldBytesOf } from './change-notify.ts';
import { encodeHeader } from './header.ts';
import { Malformed } from './message.ts';

const HEADER = {
  creditCharge: 1,
  status: 0,
  command: 0xf,
  credits: 1,
  flags: 0,
  nextCommand: 0,
  messageId: 1n,
  asyncId: 0n,
  treeId: 1,
  sessionId: 1n,
};

const messageOf = (hex: string) => ({
  header: HEADER,
  bytes: Buffer.concat([encodeHeader(HEADER), Buffer.from(hex.replaceAll(' ', ''), 'hex')]),
});

const REQUEST = '2000 0100 e8030000 0100000000000000 0200000000000000 17000000 00000000';

test('a request says what is watched, for what, and how much room there is', () => {
  assert.deepEqual(decodeChangeNotify(messageOf(REQUEST)), {
    isTree: true,
    outputBytesMax: 1_000,
    fileId: { persistent: 1n, volatile: 2n },
    filter: 0x17,
  });
});

test('a request that is cut off, or has another size, is refused', () => {
  assert.throws(() => decodeChangeNotify(messageOf(REQUEST.slice(0, -12))), Malformed);
  assert.throws(() => decodeChangeNotify(messageOf(`2100${REQUEST.slice(4)}`)), Malformed);
});

test('changes follow each other at multiples of four bytes, the last without anything behind it', () => {
  const changes = [
    { kind: 'renamed from', path: ['abc'] },
    { kind: 'renamed to', path: ['d', 'e'] },
  ] as const;
  const expected = [
    ['0900 4800 26000000'],
    ['14000000 04000000 06000000 610062006300 0000'],
    ['00000000 05000000 06000000 64005c006500'],
  ];
  assert.equal(encodeChangeNotify(changes).toString('hex'), expected.flat().join('').replaceAll(' ', ''));
  assert.deepEqual(changes.map(toldBytesOf), [20, 20]);
});

for (const [kind, action] of [
  ['added', 1],
  ['removed', 2],
  ['modified', 3],
  ['renamed from', 4],
  ['renamed to', 5],
] as const) {
  test(`${kind} is action ${action}`, () => {
    assert.equal(encodeChangeNotify([{ kind, path: ['a'] }]).readUInt32LE(12), action);
  });
}

test('without changes there is nothing behind the fixed part', () => {
  assert.equal(encodeChangeNotify([]).toString('hex'), '0900480000000000');
});
