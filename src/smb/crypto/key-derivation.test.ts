import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cipher, Dialect } from '../session/protocol.ts';
import { deriveKeys, type SessionKeys } from './key-derivation.ts';

const SESSION_KEY = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const HASH = Buffer.from(Array.from({ length: 64 }, (_, index) => index));

const hexOf = (keys: SessionKeys) =>
  Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, (key as Buffer | null)?.toString('hex') ?? null]),
  );

const KEYS_300 = {
  signing: '6234814cbb8ea9227440ebfeb5eacbe1',
  encryption: '95d8b55c852cd25349994b3842fa4105',
  decryption: '8e21f3cae16d07d84c03d74467f57878',
  application: '2061e31cbe99e5c6493e3fbbd4faf495',
};

const KEYS_311 = {
  signing: 'f7e5401ecc6e79ef9eab401b05004e4f',
  encryption: '99676aedfbfd18e61ca5bb60d502e8f2',
  decryption: 'f1b6250ca4d9f8877e41071f59228ce4',
  application: '3b37360639dd593424d252bd73a0c0ff',
};

const LONG_311 = {
  encryption: '7a55e2deed408102591fdea4192f54895bd7e4c879d11927493898b42c8a9ccd',
  decryption: 'd09c44a545f554240ddf8ac2777570de0f590e402196d1006261f7448076384d',
};

const NONE = { encryption: null, decryption: null };

for (const [what, dialect, cipher, want] of [
  [
    '2.1 signs with the session key and has no other',
    0x0210,
    null,
    { ...NONE, signing: SESSION_KEY.toString('hex'), application: null },
  ],
  ['3.0 derives four keys', 0x0300, 'aes-128-ccm', KEYS_300],
  ['3.0.2 derives the same', 0x0302, 'aes-128-ccm', KEYS_300],
  ['3.0 without encryption has none for it', 0x0300, null, { ...KEYS_300, ...NONE }],
  ['3.1.1 with AES-128-GCM derives four keys', 0x0311, 'aes-128-gcm', KEYS_311],
  ['3.1.1 with AES-128-CCM derives the same', 0x0311, 'aes-128-ccm', KEYS_311],
  ['3.1.1 with AES-256-GCM derives long keys, but for signing', 0x0311, 'aes-256-gcm', { ...KEYS_311, ...LONG_311 }],
  ['3.1.1 with AES-256-CCM derives the same', 0x0311, 'aes-256-ccm', { ...KEYS_311, ...LONG_311 }],
  ['3.1.1 without encryption has none for it', 0x0311, null, { ...KEYS_311, ...NONE }],
] as const satisfies readonly (readonly [string, Dialect, Cipher | null, object])[]) {
  test(what, () => {
    assert.deepEqual(hexOf(deriveKeys({ dialect, cipher, sessionKey: SESSION_KEY, preauthHash: HASH })), want);
  });
}

test('the signing key of 3.1.1 is that of a published sample', () => {
  const { signing } = deriveKeys({
    dialect: 0x0311,
    cipher: null,
    sessionKey: Buffer.from('270E1BA896585EEB7AF3472D3B4C75A7', 'hex'),
    preauthHash: Buffer.from(
      '0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79' +
        '28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01',
      'hex',
    ),
  });
  assert.equal(signing.toString('hex'), '73fe7a9a77bef0bde49c650d8ccb5f76');
});

test('3.1.1 derives nothing without the preauthentication hash', () => {
  const terms = { dialect: 0x0311, cipher: null, sessionKey: SESSION_KEY, preauthHash: null } as const;
  assert.throws(() => deriveKeys(terms), TypeError);
});
