import assert from 'node:assert/strict';
import { createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decodeTransformHeader, decryptMessage, encryptMessage, Nonces } from './encryption.ts';
import type { Cipher } from './protocol.ts';

const CIPHERS = ['aes-128-ccm', 'aes-128-gcm', 'aes-256-ccm', 'aes-256-gcm'] as const satisfies readonly Cipher[];
const SESSION_ID = 0x1122_3344_5566_7788n;

const keyFor = (cipher: Cipher): Buffer => randomBytes(cipher.startsWith('aes-256') ? 32 : 16);

function sealed(cipher: Cipher, key: Buffer, pieces: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    encryptMessage({ cipher, key, sessionId: SESSION_ID, nonce: new Nonces(cipher).next() }, pieces),
  );
}

/** Both ciphers are AES in counter mode; they differ in where its counter begins. */
function decryptByCounter(cipher: Cipher, key: Buffer, message: Buffer): Buffer {
  const start = cipher.endsWith('gcm')
    ? Buffer.concat([message.subarray(20, 32), Buffer.from([0, 0, 0, 2])])
    : Buffer.concat([Buffer.from([3]), message.subarray(20, 31), Buffer.from([0, 0, 0, 1])]);
  const mode = cipher.startsWith('aes-256') ? 'aes-256-ctr' : 'aes-128-ctr';
  return createDecipheriv(mode, key, start).update(message.subarray(52));
}

for (const cipher of CIPHERS) {
  const key = keyFor(cipher);
  const plaintext = randomBytes(5000);
  const pieces = [
    plaintext.subarray(0, 64),
    plaintext.subarray(64, 80),
    plaintext.subarray(80, 80),
    plaintext.subarray(80),
  ];

  test(`${cipher}: what was encrypted in pieces is decrypted to the whole`, () => {
    assert.deepEqual(decryptMessage({ cipher, key }, sealed(cipher, key, pieces)), plaintext);
    assert.deepEqual(decryptMessage({ cipher, key }, sealed(cipher, key, [plaintext])), plaintext);
  });

  test(`${cipher}: a message is encrypted with the nonce of its header`, () => {
    assert.deepEqual(decryptByCounter(cipher, key, sealed(cipher, key, pieces)), plaintext);
  });

  test(`${cipher}: the header says what it is, how long, and whose`, () => {
    const message = sealed(cipher, key, pieces);
    assert.equal(message.subarray(0, 4).toString('latin1'), '\xfdSMB');
    assert.ok(message.subarray(cipher.endsWith('gcm') ? 32 : 31, 36).every((byte) => byte === 0));
    assert.equal(message.readUInt32LE(36), plaintext.length);
    assert.equal(message.readUInt16LE(40), 0);
    assert.equal(message.readUInt16LE(42), 1);
    assert.equal(message.readBigUInt64LE(44), SESSION_ID);
    assert.equal(message.length, 52 + plaintext.length);
    assert.deepEqual(decodeTransformHeader(message), { sessionId: SESSION_ID, originalBytes: plaintext.length });
  });

  test(`${cipher}: no bit of a message can change`, () => {
    const message = sealed(cipher, key, [plaintext.subarray(0, 70)]);
    for (let bit = 0; bit < message.length * 8; bit++) {
      const changed = Buffer.from(message);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.equal(decryptMessage({ cipher, key }, changed), null, `bit ${bit}`);
    }
  });

  test(`${cipher}: another key decrypts nothing`, () => {
    assert.equal(decryptMessage({ cipher, key: keyFor(cipher) }, sealed(cipher, key, pieces)), null);
  });

  test(`${cipher}: a thousand messages under one key have as many nonces, all of the cipher's length`, () => {
    const nonces = new Nonces(cipher);
    const seen = new Set(Array.from({ length: 1000 }, () => nonces.next().toString('hex')));
    assert.equal(seen.size, 1000);
    assert.deepEqual(new Set([...seen].map((nonce) => nonce.length / 2)), new Set([cipher.endsWith('gcm') ? 12 : 11]));
  });
}

test('a message that is cut or followed by more is no message', () => {
  const key = keyFor('aes-128-gcm');
  const message = sealed('aes-128-gcm', key, [randomBytes(100)]);
  for (const other of [
    message.subarray(0, 0),
    message.subarray(0, 51),
    message.subarray(0, 52),
    message.subarray(0, 151),
    Buffer.concat([message, Buffer.alloc(1)]),
  ]) {
    assert.equal(decodeTransformHeader(other), null, `${other.length} bytes`);
    assert.equal(decryptMessage({ cipher: 'aes-128-gcm', key }, other), null, `${other.length} bytes`);
  }
});
