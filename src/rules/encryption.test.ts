import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlobEncryption, refuseKey, resolveEncryption } from './encryption.ts';
import type { ErrorCode } from './error-code.ts';

const KEYED: BlobEncryption = { keySha256: 'A' };
const SCOPED: BlobEncryption = { scope: 's' };

const uses: readonly (readonly [string, BlobEncryption | undefined, string | null, ErrorCode | null])[] = [
  ['no key for a blob without one', undefined, null, null],
  ['no key for a blob in a scope', SCOPED, null, null],
  ['the key of the blob', KEYED, 'A', null],
  ['no key for a blob with one', KEYED, null, 'BlobUsesCustomerSpecifiedEncryption'],
  ['another key', KEYED, 'B', 'BlobCustomerSpecifiedEncryptionMismatch'],
  ['a key for a blob without one', undefined, 'A', 'BlobDoesNotUseCustomerSpecifiedEncryption'],
  ['a key for a blob in a scope', SCOPED, 'A', 'BlobDoesNotUseCustomerSpecifiedEncryption'],
];

for (const [what, stored, presented, want] of uses) {
  test(`${what} gets ${want ?? 'through'}`, () => assert.equal(refuseKey(stored, presented), want));
}

const NONE = { keySha256: null, scope: null };
const OPEN = { name: 'c', deniesOthers: false };
const STRICT = { name: 'c', deniesOthers: true };
const FORBIDDEN = { refusal: 'RequestForbiddenByContainerEncryptionPolicy' };

for (const [what, asked, container, want] of [
  ['nothing asked and nothing prescribed', NONE, undefined, { encryption: null }],
  ['nothing asked in a container with a scope', NONE, OPEN, { encryption: { scope: 'c' } }],
  ['a scope', { ...NONE, scope: 's' }, undefined, { encryption: { scope: 's' } }],
  ['another scope than the container has', { ...NONE, scope: 's' }, OPEN, { encryption: { scope: 's' } }],
  ['another scope than the container insists on', { ...NONE, scope: 's' }, STRICT, FORBIDDEN],
  ['the scope that the container insists on', { ...NONE, scope: 'c' }, STRICT, { encryption: { scope: 'c' } }],
  ['a key', { ...NONE, keySha256: 'A' }, OPEN, { encryption: KEYED }],
  ['a key where the container insists on its scope', { ...NONE, keySha256: 'A' }, STRICT, FORBIDDEN],
] as const) {
  test(`${what} makes ${JSON.stringify(want)}`, () => assert.deepEqual(resolveEncryption(asked, container), want));
}
