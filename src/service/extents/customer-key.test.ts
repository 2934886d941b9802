import assert from 'node:assert/strict';
import { createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { type CustomerKey, sealBytes, sealStream } from './customer-key.ts';

const KEY: CustomerKey = { key: randomBytes(32), sha256: '' };
const ID = '0123456789abcdef01234567';
const PLAIN = randomBytes(1_000);

test('sealed bytes are AES-256 in counter mode, the counter beginning with the id of the extent', () => {
  const decipher = createDecipheriv('aes-256-ctr', KEY.key, Buffer.from(`${ID}00000000`, 'hex'));
  const sealed = sealBytes(KEY, { extentId: ID, offsetBytes: 0 }, PLAIN);
  assert.ok(!PLAIN.equals(sealed));
  assert.deepEqual(decipher.update(sealed), PLAIN);
});

test('any range opens by itself', () => {
  const sealed = sealBytes(KEY, { extentId: ID, offsetBytes: 0 }, PLAIN);
  for (const [from, to] of [
    [0, 1],
    [1, 16],
    [15, 17],
    [16, 32],
    [31, 999],
    [999, 1_000],
  ] as const) {
    const opened = sealBytes(KEY, { extentId: ID, offsetBytes: from }, sealed.subarray(from, to));
    assert.deepEqual(Buffer.from(opened), PLAIN.subarray(from, to));
  }
});

test('a stream is sealed as its bytes are, in whatever pieces they come', async () => {
  const pieces = [PLAIN.subarray(0, 7), PLAIN.subarray(7, 500), PLAIN.subarray(500)];
  const sealed: Uint8Array[] = [];
  const source = (async function* () {
    yield* pieces;
  })();
  for await (const bytes of sealStream(KEY, { extentId: ID, offsetBytes: 0 }, source)) sealed.push(bytes);
  assert.deepEqual(Buffer.concat(sealed), Buffer.from(sealBytes(KEY, { extentId: ID, offsetBytes: 0 }, PLAIN)));
});
