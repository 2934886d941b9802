import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { decodeLock } from './lock.ts';
import { Malformed } from './message.ts';

function bodyOf(count: number, elements = count): Buffer {
  const body = Buffer.alloc(24 + 24 * elements);
  body.writeUInt16LE(48, 0);
  body.writeUInt16LE(count, 2);
  body.writeUInt32LE(0x123, 4);
  body.writeBigUInt64LE(7n, 8);
  body.writeBigUInt64LE(9n, 16);
  for (let index = 0; index < elements; index++) {
    const at = 24 + 24 * index;
    body.writeBigUInt64LE(2n ** 64n - 1n - BigInt(index), at);
    body.writeBigUInt64LE(BigInt(index), at + 8);
    body.writeUInt32LE(0x10 + index, at + 16);
    body.writeUInt32LE(0xffff_ffff, at + 20);
  }
  return body;
}

test('a LOCK is decoded: the bucket and the number of its sequence, and all its ranges', () => {
  assert.deepEqual(decodeLock(messageOf(bodyOf(2))), {
    fileId: { persistent: 7n, volatile: 9n },
    sequenceIndex: 0x12,
    sequenceNumber: 3,
    elements: [
      { offset: 2n ** 64n - 1n, length: 0n, flags: 0x10 },
      { offset: 2n ** 64n - 2n, length: 1n, flags: 0x11 },
    ],
  });
});

describe('a LOCK is refused', () => {
  for (const [what, body] of [
    ['without ranges', bodyOf(0, 1)],
    ['without even the room for one', bodyOf(0)],
    ['with more ranges than it has room for', bodyOf(3, 2)],
    ['with as many as can be said, and two', bodyOf(0xffff, 2)],
  ] as const) {
    test(what, () => assert.throws(() => decodeLock(messageOf(body)), Malformed));
  }
});
