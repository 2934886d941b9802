/**
 * Encrypted messages: the transform header ([MS-SMB2] 2.2.41) and, after it, the ciphertext of a whole message or
 * compound. The header from its nonce on is authenticated along with it.
 */
import { createCipheriv, createDecipheriv, type DecipherCCM, type DecipherGCM, randomBytes } from 'node:crypto';
import { TRANSFORM_ID } from '../wire/header.ts';
import type { Cipher } from './protocol.ts';

const TRANSFORM_BYTES = 52;
const TAG_OFFSET = 4;
const TAG_BYTES = 16;
const NONCE_OFFSET = 20;
const LENGTH_OFFSET = 36;
const FLAGS_OFFSET = 42;
const SESSION_ID_OFFSET = 44;
/** Of 3.0: the cipher, which is AES-128-CCM. */
const FLAG_ENCRYPTED = 1;

type CcmCipher = Extract<Cipher, `${string}-ccm`>;
type GcmCipher = Exclude<Cipher, CcmCipher>;

const isCcm = (cipher: Cipher): cipher is CcmCipher => cipher === 'aes-128-ccm' || cipher === 'aes-256-ccm';

const nonceBytesOf = (cipher: Cipher): number => (isCcm(cipher) ? 11 : 12);

/** Those of one key. A message never gets one that another had: chance begins them, a counter of 64 bits goes on. */
export class Nonces {
  readonly #prefix: Buffer;
  #counter: bigint;

  constructor(cipher: Cipher) {
    this.#prefix = randomBytes(nonceBytesOf(cipher) - 8);
    this.#counter = randomBytes(8).readBigUInt64LE();
  }

  next(): Buffer {
    this.#counter = BigInt.asUintN(64, this.#counter + 1n);
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64LE(this.#counter);
    return Buffer.concat([counter, this.#prefix]);
  }
}

/** The transform header and the ciphertext, in pieces. */
export function encryptMessage(
  {
    cipher,
    key,
    sessionId,
    nonce,
  }: { readonly cipher: Cipher; readonly key: Buffer; readonly sessionId: bigint; readonly nonce: Buffer },
  pieces: readonly Uint8Array[],
): Buffer[] {
  const header = Buffer.alloc(TRANSFORM_BYTES);
  header.writeUInt32LE(TRANSFORM_ID, 0);
  nonce.copy(header, NONCE_OFFSET);
  header.writeUInt32LE(lengthOf(pieces), LENGTH_OFFSET);
  header.writeUInt16LE(FLAG_ENCRYPTED, FLAGS_OFFSET);
  header.writeBigUInt64LE(sessionId, SESSION_ID_OFFSET);
  const terms = { key, nonce, authenticated: header.subarray(NONCE_OFFSET) };
  const { ciphertext, tag } = isCcm(cipher) ? sealCcm(cipher, terms, pieces) : sealGcm(cipher, terms, pieces);
  tag.copy(header, TAG_OFFSET);
  return [header, ...ciphertext];
}

/** Null: this is no transform header, or not of this message. */
export function decodeTransformHeader(message: Buffer): { sessionId: bigint; originalBytes: number } | null {
  if (
    message.length < TRANSFORM_BYTES ||
    message.readUInt32LE(0) !== TRANSFORM_ID ||
    message.readUInt16LE(FLAGS_OFFSET) !== FLAG_ENCRYPTED
  ) {
    return null;
  }
  const originalBytes = message.readUInt32LE(LENGTH_OFFSET);
  if (originalBytes !== message.length - TRANSFORM_BYTES) return null;
  return { sessionId: message.readBigUInt64LE(SESSION_ID_OFFSET), originalBytes };
}

/** Null: it is malformed, or not what the holder of the key sent. */
export function decryptMessage(
  { cipher, key }: { readonly cipher: Cipher; readonly key: Buffer },
  message: Buffer,
): Buffer | null {
  if (decodeTransformHeader(message) === null) return null;
  const decipher = opening(cipher, {
    key,
    nonce: message.subarray(NONCE_OFFSET, NONCE_OFFSET + nonceBytesOf(cipher)),
    authenticated: message.subarray(NONCE_OFFSET, TRANSFORM_BYTES),
    tag: message.subarray(TAG_OFFSET, TAG_OFFSET + TAG_BYTES),
    lengthBytes: message.length - TRANSFORM_BYTES,
  });
  const plaintext = decipher.update(message.subarray(TRANSFORM_BYTES));
  try {
    decipher.final();
  } catch {
    // Nothing else is left to fail here but the tag.
    return null;
  }
  return plaintext;
}

interface Terms {
  readonly key: Buffer;
  readonly nonce: Buffer;
  readonly authenticated: Buffer;
}

interface Sealed {
  readonly ciphertext: readonly Buffer[];
  readonly tag: Buffer;
}

/** All in one call: CCM permits no other. */
function sealCcm(algorithm: CcmCipher, { key, nonce, authenticated }: Terms, pieces: readonly Uint8Array[]): Sealed {
  const plaintext = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated, { plaintextLength: plaintext.length });
  const ciphertext = [cipher.update(plaintext)];
  cipher.final();
  return { ciphertext, tag: cipher.getAuthTag() };
}

function sealGcm(algorithm: GcmCipher, { key, nonce, authenticated }: Terms, pieces: readonly Uint8Array[]): Sealed {
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated);
  const ciphertext = pieces.map((piece) => cipher.update(piece));
  cipher.final();
  return { ciphertext, tag: cipher.getAuthTag() };
}

function opening(
  algorithm: Cipher,
  { key, nonce, authenticated, tag, lengthBytes }: Terms & { readonly tag: Buffer; readonly lengthBytes: number },
): DecipherCCM | DecipherGCM {
  if (isCcm(algorithm)) {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: TAG_BYTES });
    return decipher.setAuthTag(tag).setAAD(authenticated, { plaintextLength: lengthBytes });
  }
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: TAG_BYTES });
  return decipher.setAuthTag(tag).setAAD(authenticated);
}

const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0);
