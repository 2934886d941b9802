/** Signatures of messages ([MS-SMB2] 3.1.4.1): 16 bytes, over the message with zeros in their own place. */
import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { aesCmac } from '../crypto/aes-cmac.ts';
import { HEADER_BYTES } from '../wire/header.ts';
import type { SigningAlgorithm } from './protocol.ts';

export const SIGNATURE_OFFSET = 48;
export const SIGNATURE_BYTES = 16;
const NO_SIGNATURE = Buffer.alloc(SIGNATURE_BYTES);

/** What the nonce of AES-GMAC says of a message. */
export interface SignedAt {
  readonly messageId: bigint;
  readonly fromServer: boolean;
  readonly isCancel: boolean;
}

/** The pieces form the message, whose signature field is zeros. */
export function signatureOf(
  algorithm: SigningAlgorithm,
  key: Buffer,
  pieces: readonly Uint8Array[],
  at: SignedAt,
): Buffer {
  switch (algorithm) {
    case 'hmac-sha256':
      return hmacSha256(key, pieces).subarray(0, SIGNATURE_BYTES);
    case 'aes-cmac':
      return aesCmac(key, pieces);
    case 'aes-gmac':
      return aesGmac(key, nonceOf(at), pieces);
  }
}

/** Of a message that was received. */
export function isSignedRight(algorithm: SigningAlgorithm, key: Buffer, message: Buffer, at: SignedAt): boolean {
  if (message.length < HEADER_BYTES) return false;
  const afterOffset = SIGNATURE_OFFSET + SIGNATURE_BYTES;
  const pieces = [message.subarray(0, SIGNATURE_OFFSET), NO_SIGNATURE, message.subarray(afterOffset)];
  return timingSafeEqual(signatureOf(algorithm, key, pieces, at), message.subarray(SIGNATURE_OFFSET, afterOffset));
}

function hmacSha256(key: Buffer, pieces: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const piece of pieces) hmac.update(piece);
  return hmac.digest();
}

function aesGmac(key: Buffer, nonce: Buffer, pieces: readonly Uint8Array[]): Buffer {
  const cipher = createCipheriv('aes-128-gcm', key, nonce, { authTagLength: SIGNATURE_BYTES });
  for (const piece of pieces) cipher.setAAD(piece);
  cipher.final();
  return cipher.getAuthTag();
}

function nonceOf({ messageId, fromServer, isCancel }: SignedAt): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64LE(messageId);
  nonce.writeUInt32LE((fromServer ? 1 : 0) | (isCancel ? 2 : 0), 8);
  return nonce;
}
