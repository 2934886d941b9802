import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rc4 } from './rc4.ts';

for (const [key, text, want] of [
  ['Key', 'Plaintext', 'bbf316e8d940af0ad3'],
  ['Wiki', 'pedia', '1021bf0420'],
  ['Secret', 'Attack at dawn', '45a01f645fc35b383552544b9bf5'],
] as const) {
  test(`"${text}" under the key "${key}" is ${want}`, () => {
    assert.equal(rc4(Buffer.from(key), Buffer.from(text)).toString('hex'), want);
  });
}

/** The first 32 bytes of the key stream. */
for (const [key, want] of [
  ['0102030405', 'b2396305f03dc027ccc3524a0a1118a86982944f18fc82d589c403a47a0d0919'],
  ['0102030405060708090a0b0c0d0e0f10', '9ac7cc9a609d1ef7b2932899cde41b975248c4959014126a6e8a84f11d1a9e1c'],
] as const) {
  test(`the key ${key} begins with the stream of RFC 6229`, () => {
    assert.equal(rc4(Buffer.from(key, 'hex'), Buffer.alloc(32)).toString('hex'), want);
  });
}

test('what is encrypted twice is what it was', () => {
  const key = Buffer.from('8de40ccadbc14a82f15cb0ad0de95ca3', 'hex');
  const wrapped = rc4(key, Buffer.alloc(16, 0x55));
  assert.equal(wrapped.toString('hex'), 'c5dad2544fc9799094ce1ce90bc9d03e');
  assert.deepEqual(rc4(key, wrapped), Buffer.alloc(16, 0x55));
});

test('there is no stream without a key', () => {
  assert.throws(() => rc4(Buffer.alloc(0), Buffer.alloc(1)), RangeError);
});
