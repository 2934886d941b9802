import assert from 'node:assert/strict';
import { test } from 'node:test';
import { md4 } from './md4.ts';

for (const [text, want] of [
  ['', '31d6cfe0d16ae931b73c59d7e0c089c0'],
  ['a', 'bde52cb31de33e46245e05fbdbd6fb24'],
  ['abc', 'a448017aaf21d8525fc10ae87aa6729d'],
  ['message digest', 'd9130a8164549fe818874806e1c7014b'],
  ['abcdefghijklmnopqrstuvwxyz', 'd79e1c308aa5bbcdeea8ed63df412da9'],
  ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '043f8582f241db351ce627e153e7f0e4'],
  [
    '12345678901234567890123456789012345678901234567890123456789012345678901234567890',
    'e33b4ddc9c38f2199c3e7b164fcc0536',
  ],
] as const) {
  test(`the MD4 of "${text}" is that of RFC 1320`, () => assert.equal(md4(Buffer.from(text)).toString('hex'), want));
}

test('the hash of a password is that of Microsoft', () => {
  assert.equal(md4(Buffer.from('Password', 'utf16le')).toString('hex'), 'a4f49c406510bdcab6824ee7c30fd852');
});

for (const [lengthBytes, want] of [
  [55, '92f32bb82c95ad10e8f87ae58ab06807'],
  [56, '374d5f08103b7092c83b4626ebceffab'],
  [63, '2870452596e98fffd48332289b3472b9'],
  [64, 'b1abf956a5ae6f3221e5fe85e300fbb0'],
  [65, 'afc1a3308fc176a53238a09aeddec2e6'],
  [119, 'b55ae15e41e55643b0c3daad5e05c905'],
  [120, 'd8f9adfc41ec43552619606c70cfd287'],
] as const) {
  test(`${lengthBytes} bytes are padded as OpenSSL pads them`, () => {
    assert.equal(md4(Buffer.alloc(lengthBytes, 'x')).toString('hex'), want);
  });
}
