import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { Malformed } from './message.ts';
import { decodeRead, encodeRead } from './read.ts';

function bodyOf(): Buffer {
  const body = Buffer.alloc(49);
  body.writeUInt16LE(49, 0);
  body.writeUInt32LE(0x12345, 4);
  body.writeBigUInt64LE(0x1122_3344_5566_7788n, 8);
  body.writeBigUInt64LE(7n, 16);
  body.writeBigUInt64LE(9n, 24);
  body.writeUInt32LE(3, 32);
  body.writeUInt32LE(1, 36);
  return body;
}

test('a READ is decoded', () => {
  assert.deepEqual(decodeRead(messageOf(bodyOf())), {
    fileId: { persistent: 7n, volatile: 9n },
    offset: 0x1122_3344_5566_7788n,
    length: 0x12345,
    minimumCount: 3,
    channel: 1,
  });
});

test('a READ without the byte behind its fixed part is one, and one without all of that is none', () => {
  assert.equal(decodeRead(messageOf(bodyOf().subarray(0, 48))).length, 0x12345);
  assert.throws(() => decodeRead(messageOf(bodyOf().subarray(0, 47))), Malformed);
  const other = bodyOf();
  other.writeUInt16LE(48, 0);
  assert.throws(() => decodeRead(messageOf(other)), Malformed);
});

test('what comes before the bytes says where they begin and how many they are', () => {
  assert.equal(encodeRead(0x0102_0304).toString('hex'), '11005000040302010000000000000000');
});
