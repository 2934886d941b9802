import assert from 'node:assert/strict';
import { createCipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { aesCmac } from './aes-cmac.ts';

const KEY = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex');
const MESSAGE = Buffer.from(
  '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51' +
    '30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710',
  'hex',
);

/** The definition, block by block, with the subkeys that RFC 4493 gives for its key. */
function plainCmac(message: Buffer): Buffer {
  const isWhole = message.length > 0 && message.length % 16 === 0;
  const subkey = isWhole ? 'fbeed618357133667c85e08f7236a8de' : 'f7ddac306ae266ccf90bc11ee46d513b';
  const padded = isWhole ? Buffer.from(message) : Buffer.concat([message, Buffer.from([0x80])]);
  const blocks = Buffer.concat([padded, Buffer.alloc((16 - (padded.length % 16)) % 16)]);
  for (const [index, byte] of Buffer.from(subkey, 'hex').entries()) {
    const at = blocks.length - 16 + index;
    blocks[at] = (blocks[at] as number) ^ byte;
  }
  let state = Buffer.alloc(16);
  for (let at = 0; at < blocks.length; at += 16) {
    const mixed = state.map((byte, index) => byte ^ (blocks[at + index] as number));
    state = createCipheriv('aes-128-ecb', KEY, null).setAutoPadding(false).update(mixed);
  }
  return state;
}

for (const [lengthBytes, want] of [
  [0, 'bb1d6929e95937287fa37d129b756746'],
  [16, '070a16b46b4d4144f79bdd9dd04a287c'],
  [40, 'dfa66747de9ae63030ca32611497c827'],
  [64, '51f0bebf7e3b9d92fc49741779363cfe'],
] as const) {
  test(`the CMAC of ${lengthBytes} bytes is that of RFC 4493`, () => {
    assert.equal(aesCmac(KEY, [MESSAGE.subarray(0, lengthBytes)]).toString('hex'), want);
  });
}

test('pieces cut anywhere give the CMAC of the whole, at every length', () => {
  for (let length = 0; length <= MESSAGE.length; length++) {
    const message = MESSAGE.subarray(0, length);
    const want = plainCmac(message);
    for (let cut = 0; cut <= length; cut++) {
      const pieces = [message.subarray(0, cut), Buffer.alloc(0), message.subarray(cut)];
      assert.deepEqual(aesCmac(KEY, pieces), want, `${length} bytes cut at ${cut}`);
    }
  }
});

test('a last block out of many pieces is gathered', () => {
  for (const length of [5, 16, 17, 37]) {
    const message = MESSAGE.subarray(0, length);
    assert.deepEqual(
      aesCmac(
        KEY,
        Array.from(message, (byte) => Uint8Array.of(byte)),
      ),
      plainCmac(message),
    );
  }
});

test('a long message is taken in strides', () => {
  const long = randomBytes(300_001);
  const want = plainCmac(long);
  assert.deepEqual(aesCmac(KEY, [long]), want);
  assert.deepEqual(aesCmac(KEY, [long.subarray(0, 131_073), long.subarray(131_073)]), want);
});

test('the message and its pieces stay as they are', () => {
  const message = Buffer.from(MESSAGE);
  aesCmac(KEY, [message.subarray(0, 50), message.subarray(50)]);
  assert.deepEqual(message, MESSAGE);
});

test('two keys have subkeys of their own', () => {
  const zeros = Buffer.alloc(64);
  const other = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
  const first = aesCmac(KEY, [zeros]);
  assert.equal(aesCmac(other, [zeros]).toString('hex'), '1257949856a7c161f9cf8a9846889e7e');
  assert.deepEqual(aesCmac(KEY, [zeros]), first);
});
