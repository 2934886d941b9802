import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messageOf } from '../../../test/harness/smb-context.ts';
import { Malformed } from './message.ts';
import { decodeWrite, encodeWrite } from './write.ts';

const FIXED_BYTES = 48;

function bodyOf({ dataOffset = 64 + FIXED_BYTES, length = 5, data = 'hello' } = {}): Buffer {
  const body = Buffer.alloc(FIXED_BYTES);
  body.writeUInt16LE(49, 0);
  body.writeUInt16LE(dataOffset, 2);
  body.writeUInt32LE(length, 4);
  body.writeBigUInt64LE(1n << 40n, 8);
  body.writeBigUInt64LE(7n, 16);
  body.writeBigUInt64LE(9n, 24);
  return Buffer.concat([body, Buffer.from(data)]);
}

test('a WRITE is decoded, and its data are a part of it', () => {
  const message = messageOf(bodyOf());
  const { data, ...rest } = decodeWrite(message);
  assert.deepEqual(rest, { fileId: { persistent: 7n, volatile: 9n }, offset: 1n << 40n, channel: 0 });
  assert.equal(data.toString(), 'hello');
  assert.equal(data.buffer, message.bytes.buffer);
});

test('a WRITE of nothing may say that it is anywhere', () => {
  assert.equal(decodeWrite(messageOf(bodyOf({ dataOffset: 0, length: 0, data: '' }))).data.length, 0);
});

describe('a WRITE is refused whose data', () => {
  for (const [what, request] of [
    ['lie beyond its end', bodyOf({ length: 6 })],
    ['lie in its header', bodyOf({ dataOffset: 60 })],
    ['begin beyond its end', bodyOf({ dataOffset: 0xffff })],
    ['are said to be 4 GiB', bodyOf({ length: 0xffff_ffff })],
  ] as const) {
    test(what, () => assert.throws(() => decodeWrite(messageOf(request)), Malformed));
  }
});

test('the response says how many bytes were written', () => {
  assert.equal(encodeWrite(0x0102_0304).toString('hex'), '11000000040302010000000000000000');
});
