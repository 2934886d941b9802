import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NtlmClient } from '../../../test/harness/ntlm-client.ts';
import { Malformed } from '../wire/message.ts';
import {
  type Authenticate,
  decodeAuthenticate,
  decodeNegotiate,
  encodeChallenge,
  grantedFlags,
  isNtlm,
} from './ntlm.ts';

const NT_HASH = Buffer.alloc(16, 1);
const CHALLENGE = Buffer.from('0123456789abcdef', 'hex');
const WINDOWS = 0xe208_8297;

const challengeOf = (flags: number): Buffer =>
  encodeChallenge({ flags, challenge: CHALLENGE, serverName: 'files.example.org', nowMs: Date.UTC(2025, 0, 2) });

const answer = (options: Partial<ConstructorParameters<typeof NtlmClient>[0]> = {}): Buffer =>
  new NtlmClient({ user: 'someone', ntHash: NT_HASH, ...options }).authenticate(challengeOf(grantedFlags(WINDOWS)));

test('a client gets what it asks for and the server knows, and Unicode, NTLM and target information in any case', () => {
  assert.equal(grantedFlags(WINDOWS), 0xe28a_8215);
  assert.equal(grantedFlags(0), 0x82_0201);
  assert.equal(grantedFlags(0xffff_ffff), 0xe28a_8235);
});

test('a challenge names the server in all ways, and the time', () => {
  const message = challengeOf(0xe28a_8215);
  assert.equal(message.toString('latin1', 0, 8), 'NTLMSSP\0');
  assert.equal(message.readUInt32LE(8), 2);
  assert.equal(message.readUInt32LE(20), 0xe28a_8215);
  assert.deepEqual(message.subarray(24, 32), CHALLENGE);
  const part = (at: number): Buffer =>
    message.subarray(message.readUInt32LE(at + 4), message.readUInt32LE(at + 4) + message.readUInt16LE(at));
  assert.equal(part(12).toString('utf16le'), 'FILES.EXAMPLE.O');
  const time = Buffer.alloc(8);
  time.writeBigUInt64LE(133_802_496_000_000_000n);
  assert.deepEqual(pairsOf(part(40)), [
    [2, Buffer.from('FILES.EXAMPLE.O', 'utf16le')],
    [1, Buffer.from('FILES.EXAMPLE.O', 'utf16le')],
    [4, Buffer.from('files.example.org', 'utf16le')],
    [3, Buffer.from('files.example.org', 'utf16le')],
    [7, time],
    [0, Buffer.alloc(0)],
  ]);
});

function pairsOf(info: Buffer): [id: number, value: Buffer][] {
  const pairs: [number, Buffer][] = [];
  for (let at = 0; at < info.length; at += 4 + info.readUInt16LE(at + 2)) {
    pairs.push([info.readUInt16LE(at), info.subarray(at + 4, at + 4 + info.readUInt16LE(at + 2))]);
  }
  return pairs;
}

function decoded(message: Buffer): Authenticate {
  const found = decodeAuthenticate(message);
  assert.ok(found !== null);
  return found;
}

test("the parts of a client's answer are found where it says they are", () => {
  const { user, domain, workstation, mic, encryptedSessionKey } = decoded(
    answer({ domain: 'AZURE', workstation: 'ÄPFEL', exchangesKey: true }),
  );
  assert.deepEqual([user, domain, workstation, mic], ['someone', 'AZURE', 'ÄPFEL', null]);
  assert.equal(encryptedSessionKey.length, 16);
});

test('a MIC is where the client announces one', () => {
  const message = answer({ sendsMic: true });
  const { mic } = decoded(message);
  assert.deepEqual(mic?.value, message.subarray(72, 88));
  const zeroed = Buffer.from(message).fill(0, 72, 88);
  assert.deepEqual(Buffer.concat(mic?.over ?? []), zeroed);
});

test('pairs may end by ending', () => {
  const blob = Buffer.concat([Buffer.from([1, 1]), Buffer.alloc(26)]);
  const message = answer({ response: Buffer.concat([Buffer.alloc(16), blob]) });
  assert.equal(decoded(message).mic, null);
});

const blobWith = (pairs: string): Buffer =>
  Buffer.concat([Buffer.alloc(16), Buffer.from([1, 1]), Buffer.alloc(26), Buffer.from(pairs, 'hex')]);

for (const [what, message] of [
  ['an answer without a response', answer({ response: Buffer.alloc(0) })],
  ['a response of NTLMv1', answer({ response: Buffer.alloc(24, 1) })],
  ['a response of another version', answer({ response: Buffer.concat([Buffer.alloc(16), Buffer.alloc(48, 2)]) })],
  ['an answer with names that are not in Unicode', answer({ withoutUnicode: true })],
] as const) {
  test(`${what} is not taken`, () => assert.equal(decodeAuthenticate(message), null));
}

for (const [what, message] of [
  ['a pair that goes beyond the end', answer({ response: blobWith('02000500abcd') })],
  ['a part outside of the message', outside(answer(), 36)],
  ['half a character', odd(answer())],
  ['an answer that ends with its flags cut', answer().subarray(0, 63)],
  ['an announced MIC without room for it', announcing(answer())],
  ['a negotiation in its place', new NtlmClient({ user: '', ntHash: NT_HASH }).negotiate()],
] as const) {
  test(`${what} is malformed`, () => {
    assert.throws(
      () => decodeAuthenticate(message),
      (error) => error instanceof Malformed || error instanceof RangeError,
    );
  });
}

function outside(message: Buffer, at: number): Buffer {
  message.writeUInt32LE(message.length - 2, at + 4);
  return message;
}

function odd(message: Buffer): Buffer {
  message.writeUInt16LE(message.readUInt16LE(36) - 1, 36);
  return message;
}

/** All of its parts lie over each other, so that it is short. */
function announcing(message: Buffer): Buffer {
  const short = Buffer.alloc(72 + 15);
  message.copy(short, 0, 0, 72);
  for (const at of [12, 28, 36, 44, 52]) short.writeUInt16LE(0, at);
  const response = blobWith('06000400 02000000'.replace(' ', ''));
  short.writeUInt16LE(response.length, 20);
  short.writeUInt32LE(short.length - response.length, 24);
  response.copy(short, short.length - response.length);
  short.writeUInt32LE(1, 60);
  return short;
}

for (const [what, message] of [
  ['nothing', Buffer.alloc(0)],
  ['a signature alone', Buffer.from('NTLMSSP\0')],
  ['an answer in its place', answer()],
  ['a negotiation without flags', new NtlmClient({ user: '', ntHash: NT_HASH }).negotiate().subarray(0, 15)],
] as const) {
  test(`${what} is no negotiation`, () => {
    assert.throws(
      () => decodeNegotiate(message),
      (error) => error instanceof Malformed || error instanceof RangeError,
    );
  });
}

test('a message of NTLM is known by its first bytes', () => {
  assert.equal(isNtlm(answer()), true);
  assert.equal(isNtlm(Buffer.from('NTLMSSP')), false);
  assert.equal(isNtlm(Buffer.from([0x60, 0x00])), false);
});
