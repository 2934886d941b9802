import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { SigningAlgorithm } from './protocol.ts';
import { isSignedRight, type SignedAt, signatureOf } from './signing.ts';

const KEY = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const AT: SignedAt = { messageId: 5n, fromServer: true, isCancel: false };
const ALGORITHMS = ['hmac-sha256', 'aes-cmac', 'aes-gmac'] as const satisfies readonly SigningAlgorithm[];

for (const [algorithm, want] of [
  ['hmac-sha256', '0e92c127097f7685e0f6c0577ac8c9ae'],
  ['aes-cmac', '1257949856a7c161f9cf8a9846889e7e'],
  ['aes-gmac', 'b163f307cd3f48f0f296ae57b8a51775'],
] as const) {
  test(`the ${algorithm} signature of 64 zeros is ${want}`, () => {
    assert.equal(signatureOf(algorithm, KEY, [Buffer.alloc(64)], AT).toString('hex'), want);
  });
}

function signed(algorithm: SigningAlgorithm, at: SignedAt, lengthBytes = 1000): Buffer {
  const message = randomBytes(lengthBytes);
  message.fill(0, 48, 64);
  signatureOf(algorithm, KEY, [message.subarray(0, 64), message.subarray(64, 300), message.subarray(300)], at).copy(
    message,
    48,
  );
  return message;
}

for (const algorithm of ALGORITHMS) {
  test(`a message signed in pieces with ${algorithm} is right as a whole, and stays as it was`, () => {
    const message = signed(algorithm, AT);
    const before = Buffer.from(message);
    assert.equal(isSignedRight(algorithm, KEY, message, AT), true);
    assert.deepEqual(message, before);
  });

  test(`a message of a header alone can be signed with ${algorithm}`, () => {
    assert.equal(isSignedRight(algorithm, KEY, signed(algorithm, AT, 64), AT), true);
  });

  test(`no bit of a message signed with ${algorithm} can change`, () => {
    const message = signed(algorithm, AT, 80);
    for (let bit = 0; bit < message.length * 8; bit++) {
      const changed = Buffer.from(message);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.equal(isSignedRight(algorithm, KEY, changed, AT), false, `bit ${bit}`);
    }
  });

  test(`another key does not open what ${algorithm} signed`, () => {
    assert.equal(isSignedRight(algorithm, randomBytes(16), signed(algorithm, AT), AT), false);
  });

  test(`what is shorter than a header is not signed with ${algorithm}`, () => {
    assert.equal(isSignedRight(algorithm, KEY, signed(algorithm, AT).subarray(0, 63), AT), false);
  });
}

for (const other of [
  { ...AT, messageId: 6n },
  { ...AT, fromServer: false },
  { ...AT, isCancel: true },
]) {
  test(`AES-GMAC tells message ${other.messageId}, server ${other.fromServer}, cancel ${other.isCancel} from others`, () => {
    const message = signed('aes-gmac', AT);
    assert.equal(isSignedRight('aes-gmac', KEY, message, other), false);
    assert.equal(isSignedRight('aes-gmac', KEY, signed('aes-gmac', other), other), true);
  });
}
