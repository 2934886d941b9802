import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandCode, encodeHeader, HEADER_BYTES, type Header } from '../wire/header.ts';
import { heldBytesOf, isPaid, paddingOf, splitCompound } from './compound.ts';

function headerOf(given: Partial<Header>): Buffer {
  return encodeHeader({
    creditCharge: 1,
    status: 0,
    command: CommandCode.ECHO,
    credits: 1,
    flags: 0,
    nextCommand: 0,
    messageId: 1n,
    asyncId: 0n,
    treeId: 0,
    sessionId: 0n,
    ...given,
  });
}

const element = (nextCommand: number, bodyBytes: number): Buffer =>
  Buffer.concat([headerOf({ nextCommand }), Buffer.alloc(bodyBytes)]);

test('a message by itself is one request', () => {
  assert.equal(splitCompound(element(0, 4))?.length, 1);
});

test('requests are cut where the next one begins', () => {
  const requests = splitCompound(Buffer.concat([element(72, 8), element(80, 16), element(0, 3)]));
  assert.deepEqual(
    requests?.map(({ bytes }) => bytes.length),
    [72, 80, 67],
  );
});

for (const [what, message] of [
  ['is shorter than a header', Buffer.alloc(HEADER_BYTES - 1)],
  ['is none of SMB2', Buffer.alloc(HEADER_BYTES)],
  ['continues off its alignment', Buffer.concat([element(70, 6), element(0, 4)])],
  ['continues in its own header', Buffer.concat([element(32, 8), element(0, 4)])],
  ['continues behind its end', element(128, 4)],
  ['continues with less than a header', Buffer.concat([element(72, 8), Buffer.alloc(63)])],
] as const) {
  test(`a message that ${what} is no compound`, () => {
    assert.equal(splitCompound(message), null);
  });
}

test('padding fills up to eight bytes', () => {
  assert.deepEqual([0, 1, 7, 8, 9, 73].map(paddingOf), [0, 7, 1, 0, 7, 7]);
});

for (const [lengthBytes, charge, isEnough] of [
  [0, 0, true],
  [65_536, 0, true],
  [65_536, 1, true],
  [65_537, 1, false],
  [65_537, 2, true],
  [8 * 1024 * 1024, 127, false],
  [8 * 1024 * 1024, 128, true],
] as const) {
  test(`a READ of ${lengthBytes} bytes is ${isEnough ? '' : 'not '}paid with ${charge} credits`, () => {
    const body = Buffer.alloc(49);
    body.writeUInt32LE(lengthBytes, 4);
    const bytes = Buffer.concat([headerOf({ command: CommandCode.READ }), body]);
    const header = { command: CommandCode.READ, creditCharge: charge } as Header;
    assert.equal(isPaid({ header, bytes }), isEnough);
  });
}

test('what is too short to say how long it is costs one credit', () => {
  const header = { command: CommandCode.READ, creditCharge: 1 } as Header;
  assert.equal(isPaid({ header, bytes: Buffer.alloc(HEADER_BYTES + 2) }), true);
});

for (const [what, command, { charge, saidAt, saidBytes }, held] of [
  ['a READ takes what it asks for', CommandCode.READ, { charge: 16, saidAt: 4, saidBytes: 1_000_000 }, 1_000_000],
  [
    'a READ takes no more than it has paid for',
    CommandCode.READ,
    { charge: 2, saidAt: 4, saidBytes: 1_000_000 },
    131_072,
  ],
  ['an IOCTL takes its output', CommandCode.IOCTL, { charge: 1, saidAt: 44, saidBytes: 4_096 }, 4_096],
  [
    'CHANGE_NOTIFY takes nothing: it may wait for ever',
    CommandCode.CHANGE_NOTIFY,
    { charge: 1, saidAt: 4, saidBytes: 9 },
    0,
  ],
  ['a WRITE takes nothing: its bytes are there', CommandCode.WRITE, { charge: 1, saidAt: 4, saidBytes: 60_000 }, 0],
] as const) {
  test(`beside its message ${what}`, () => {
    const body = Buffer.alloc(56);
    body.writeUInt32LE(saidBytes, saidAt);
    const bytes = Buffer.concat([headerOf({ command }), body]);
    const header = { command, creditCharge: charge } as Header;
    assert.equal(heldBytesOf({ header, bytes }), bytes.length + held);
  });
}
