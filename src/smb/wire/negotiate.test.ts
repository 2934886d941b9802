import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADER_BYTES, type Header } from './header.ts';
import { Malformed, type RequestMessage } from './message.ts';
import { decodeNegotiate, decodeSmb1Negotiate, encodeNegotiate } from './negotiate.ts';

const CONTEXTS_AT = HEADER_BYTES + 48;

function request(
  dialects: readonly number[],
  contexts: readonly (readonly [number, readonly number[]])[],
): RequestMessage {
  const body = Buffer.alloc(48);
  body.writeUInt16LE(36, 0);
  body.writeUInt16LE(dialects.length, 2);
  body.writeUInt32LE(0x7f, 8);
  body.writeUInt32LE(CONTEXTS_AT, 28);
  body.writeUInt16LE(contexts.length, 32);
  for (const [index, dialect] of dialects.entries()) body.writeUInt16LE(dialect, 36 + 2 * index);
  const encoded = contexts.map(([type, words]) => {
    const context = Buffer.alloc(8 + Math.ceil((words.length * 2) / 8) * 8);
    context.writeUInt16LE(type, 0);
    context.writeUInt16LE(words.length * 2, 2);
    for (const [index, word] of words.entries()) context.writeUInt16LE(word, 8 + 2 * index);
    return context;
  });
  return { header: {} as Header, bytes: Buffer.concat([Buffer.alloc(HEADER_BYTES), body, ...encoded]) };
}

test('contexts of 3.1.1 are read, unknown ones and unknown choices are left out', () => {
  const decoded = decodeNegotiate(
    request(
      [0x0210, 0x0311],
      [
        [1, [1, 0, 1]],
        [0x100, [7, 7, 7, 7]],
        [2, [3, 2, 9, 1]],
        [8, [2, 2, 1]],
      ],
    ),
  );
  assert.deepEqual(decoded.hashes, [1]);
  assert.deepEqual(decoded.ciphers, ['aes-128-gcm', 'aes-128-ccm']);
  assert.deepEqual(decoded.signings, ['aes-gmac', 'aes-cmac']);
});

test('without 3.1.1 there are no contexts', () => {
  const decoded = decodeNegotiate(request([0x0210, 0x0302], [[1, [1, 0, 1]]]));
  assert.deepEqual([decoded.hashes, decoded.ciphers, decoded.signings], [null, null, null]);
});

for (const [what, contexts] of [
  [
    'stands twice',
    [
      [1, [1, 0, 1]],
      [1, [1, 0, 1]],
    ],
  ],
  ['has no choice', [[2, [0]]]],
  ['has fewer choices than it says', [[2, [4, 1]]]],
] as const) {
  test(`a context that ${what} is malformed`, () => {
    assert.throws(
      () => decodeNegotiate(request([0x0311], contexts)),
      (error) => error instanceof Malformed || error instanceof RangeError,
    );
  });
}

test('what is chosen stands in contexts that begin at multiples of eight bytes', () => {
  const body = encodeNegotiate({
    dialect: 0x0311,
    securityMode: 1,
    capabilities: 6,
    serverGuid: Buffer.alloc(16, 7),
    transferBytesMax: 1 << 20,
    transactBytesMax: 1 << 23,
    now: 5n,
    token: Buffer.alloc(13, 1),
    contexts: { salt: Buffer.alloc(32, 2), cipher: 'aes-128-gcm', signing: 'aes-gmac' },
  });
  const at = body.readUInt32LE(60) - HEADER_BYTES;
  assert.equal(at % 8, 0);
  assert.equal(body.readUInt16LE(6), 3);
  const second = at + 8 + 40;
  assert.deepEqual([body.readUInt16LE(second), body.readUInt16LE(second + 10)], [2, 2]);
  const third = second + 16;
  assert.deepEqual([body.readUInt16LE(third), body.readUInt16LE(third + 10)], [8, 2]);
  assert.equal(body.length, third + 12);
});

test('a client of SMB1 says which dialects it has', () => {
  const names = Buffer.from('\x02NT LM 0.12\0\x02SMB 2.002\0\x02SMB 2.???\0', 'latin1');
  const head = Buffer.alloc(35);
  head.write('\xffSMB\x72', 0, 'latin1');
  head.writeUInt16LE(names.length, 33);
  assert.deepEqual(decodeSmb1Negotiate(Buffer.concat([head, names])), ['NT LM 0.12', 'SMB 2.002', 'SMB 2.???']);
  assert.equal(decodeSmb1Negotiate(Buffer.alloc(35)), null);
});
