import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { decodeFlush } from './flush.ts';
import { Malformed } from './message.ts';

test('a FLUSH is decoded', () => {
  const body = Buffer.alloc(24);
  body.writeUInt16LE(24, 0);
  body.writeBigUInt64LE(7n, 8);
  body.writeBigUInt64LE(9n, 16);
  assert.deepEqual(decodeFlush(messageOf(body)), { fileId: { persistent: 7n, volatile: 9n } });
  assert.throws(() => decodeFlush(messageOf(body.subarray(0, 23))), Malformed);
});
