/**
 * What NTLMv2 computes ([MS-NLMP] 3.3.2, 3.4): the proof that a client knows the password, the keys that follow from
 * it, and signatures under them.
 */
import { createHash, createHmac } from 'node:crypto';
import { foldName } from '../../rules/file-names.ts';
import { encodeText } from '../wire/message.ts';
import { md4 } from './md4.ts';
import { rc4 } from './rc4.ts';

export const KEY_BYTES = 16;
export const SIGNATURE_BYTES = 16;
const SIGNATURE_VERSION = 1;
const CHECKSUM_BYTES = 8;

export function hmacMd5(key: Uint8Array, ...pieces: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('md5', key);
  for (const piece of pieces) hmac.update(piece);
  return hmac.digest();
}

/** User and domain as the client sent them. */
export const responseKey = (password: string, { user, domain }: { user: string; domain: string }): Buffer =>
  hmacMd5(md4(encodeText(password)), encodeText(foldName(user) + domain));

/** `blob` is what follows the proof in a client's response. */
export const proofOf = (key: Buffer, { challenge, blob }: { challenge: Buffer; blob: Buffer }): Buffer =>
  hmacMd5(key, challenge, blob);

export const sessionBaseKey = (key: Buffer, proof: Buffer): Buffer => hmacMd5(key, proof);

export interface SignatureTerms {
  readonly sessionKey: Buffer;
  readonly direction: 'client-to-server' | 'server-to-client';
  /** Whether the client chose the session's key: then checksums are encrypted. */
  readonly exchangesKey: boolean;
  /** How many bytes of the session's key seal. */
  readonly sealBytes: number;
}

/** Of the first message in a direction, with extended session security. */
export function firstSignature(
  { sessionKey, direction, exchangesKey, sealBytes }: SignatureTerms,
  message: Buffer,
): Buffer {
  const sequence = Buffer.alloc(4);
  const signingKey = magicKey(sessionKey, `session key to ${direction} signing key magic constant\0`);
  const checksum = hmacMd5(signingKey, sequence, message).subarray(0, CHECKSUM_BYTES);
  const sealingKey = magicKey(
    sessionKey.subarray(0, sealBytes),
    `session key to ${direction} sealing key magic constant\0`,
  );
  const version = Buffer.alloc(4);
  version.writeUInt32LE(SIGNATURE_VERSION);
  return Buffer.concat([version, exchangesKey ? rc4(sealingKey, checksum) : checksum, sequence]);
}

const magicKey = (key: Buffer, magic: string): Buffer => createHash('md5').update(key).update(magic, 'latin1').digest();
