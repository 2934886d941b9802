import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Crc64, crc64Of } from './crc64.ts';

/** The definition, bit by bit. */
function plainCrc64(bytes: Uint8Array): Buffer {
  let crc = 0xffff_ffff_ffff_ffffn;
  for (const byte of bytes) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1n) === 1n ? (crc >> 1n) ^ 0x9a6c9329ac4bc9b5n : crc >> 1n;
  }
  const digest = Buffer.alloc(8);
  digest.writeBigUInt64LE(crc ^ 0xffff_ffff_ffff_ffffn);
  return digest;
}

for (const [text, base64, whence] of [
  ['', 'AAAAAAAAAAA=', 'the C++ SDK'],
  ['Hello Azure!', 'DtjZpL9/o8c=', 'the C++ SDK'],
  ['Hello World', 'YeJLfssylmU=', 'an answer of the service, recorded by the JavaScript SDK'],
  ['HelloWorld', '8R2aIe9T07E=', 'an answer of the service, recorded by the JavaScript SDK'],
  ['123456789', 'iJh5CoYUi64=', "the catalogue's check value of CRC-64/NVME"],
] as const) {
  test(`the CRC-64 of "${text}" is that of ${whence}`, () => {
    assert.equal(crc64Of(Buffer.from(text)).toString('base64'), base64);
  });
}

test('every length up to 100 bytes agrees with the definition', () => {
  const bytes = randomBytes(100);
  for (let length = 0; length <= bytes.length; length++) {
    assert.deepEqual(crc64Of(bytes.subarray(0, length)), plainCrc64(bytes.subarray(0, length)), bytes.toString('hex'));
  }
});

test('pieces cut anywhere give the CRC-64 of the whole', () => {
  const bytes = randomBytes(64);
  const whole = plainCrc64(bytes);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const crc = new Crc64();
    crc.update(bytes.subarray(0, cut));
    crc.update(new Uint8Array(0));
    crc.update(bytes.subarray(cut));
    assert.deepEqual(crc.digest(), whole, `cut at ${cut}: ${bytes.toString('hex')}`);
  }
});
