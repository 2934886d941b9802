import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSignature, proofOf, responseKey, sessionBaseKey } from './ntlmv2.ts';

/** The sample of [MS-NLMP] 4.2.4. */
const CHALLENGE = Buffer.from('0123456789abcdef', 'hex');
const BLOB = Buffer.from(
  '01010000000000000000000000000000aaaaaaaaaaaaaaaa0000000002000c0044006f006d00610069006e00' +
    '01000c005300650072007600650072000000000000000000',
  'hex',
);

test('the response key of the sample is made with the user in capitals and the domain as it is', () => {
  const key = responseKey('Password', { user: 'User', domain: 'Domain' });
  assert.equal(key.toString('hex'), '0c868a403bfd7a93a3001ef22ef02e3f');
  assert.deepEqual(responseKey('Password', { user: 'uSER', domain: 'Domain' }), key);
  assert.notDeepEqual(responseKey('Password', { user: 'User', domain: 'DOMAIN' }), key);
});

test('proof and session key are those of the sample', () => {
  const key = responseKey('Password', { user: 'User', domain: 'Domain' });
  const proof = proofOf(key, { challenge: CHALLENGE, blob: BLOB });
  assert.equal(proof.toString('hex'), '68cd0ab851e51c96aabc927bebef6a1c');
  assert.equal(sessionBaseKey(key, proof).toString('hex'), '8de40ccadbc14a82f15cb0ad0de95ca3');
});

for (const [exchangesKey, want] of [
  [false, '0100000070352851f256430900000000'],
  [true, '0100000074d045342c4f1cd500000000'],
] as const) {
  test(`the first signature is that of impacket, ${exchangesKey ? 'with' : 'without'} key exchange`, () => {
    const sessionKey = Buffer.alloc(16, 0x55);
    const terms = { sessionKey, direction: 'client-to-server', exchangesKey, sealBytes: 16 } as const;
    assert.equal(firstSignature(terms, Buffer.from('Plaintext', 'utf16le')).toString('hex'), want);
  });
}

test('a short sealing key is the beginning of the session key', () => {
  const sessionKey = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
  const terms = { sessionKey, direction: 'server-to-client', exchangesKey: true } as const;
  const signatures = [16, 7, 5].map((sealBytes) => firstSignature({ ...terms, sealBytes }, Buffer.from('a list')));
  assert.deepEqual(
    signatures.map((signature) => signature.toString('hex')),
    ['010000007b73a3609110655100000000', '010000008f0340bbee9c953e00000000', '010000006e07bebdc85ee68f00000000'],
  );
});
