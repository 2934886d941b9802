/**
 * AES-128-CMAC (RFC 4493), which Node does not offer. It is the last block of AES-CBC with an initial vector of zeros,
 * over the message with a subkey laid over its last block: so OpenSSL does the work, on the pieces as they are.
 */
import { createCipheriv } from 'node:crypto';

const BLOCK_BYTES = 16;
const ZEROS = Buffer.alloc(BLOCK_BYTES);
/** All that comes out but the last block is thrown away: no more than this lies around at a time. */
const STRIDE_BYTES = 128 * 1024;

interface Subkeys {
  readonly whole: Buffer;
  readonly padded: Buffer;
}

const subkeysByKey = new WeakMap<Buffer, Subkeys>();

/** Subkeys are remembered by the key's Buffer, which must not change. */
export function aesCmac(key: Buffer, pieces: readonly Uint8Array[]): Buffer {
  const lengthBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const lastBytes = lengthBytes === 0 ? 0 : ((lengthBytes - 1) % BLOCK_BYTES) + 1;
  const cipher = createCipheriv('aes-128-cbc', key, ZEROS).setAutoPadding(false);
  const last = Buffer.alloc(BLOCK_BYTES);
  let leftBytes = lengthBytes - lastBytes;
  let takenBytes = 0;
  for (const piece of pieces) {
    const feedBytes = Math.min(leftBytes, piece.length);
    for (let at = 0; at < feedBytes; at += STRIDE_BYTES) {
      cipher.update(piece.subarray(at, Math.min(at + STRIDE_BYTES, feedBytes)));
    }
    leftBytes -= feedBytes;
    last.set(piece.subarray(feedBytes), takenBytes);
    takenBytes += piece.length - feedBytes;
  }
  return cipher.update(closed(last, lastBytes, subkeysOf(key)));
}

function closed(last: Buffer, lastBytes: number, { whole, padded }: Subkeys): Buffer {
  if (lastBytes === BLOCK_BYTES) return xor(last, whole);
  last[lastBytes] = 0x80;
  return xor(last, padded);
}

function subkeysOf(key: Buffer): Subkeys {
  const known = subkeysByKey.get(key);
  if (known !== undefined) return known;
  const whole = doubled(createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(ZEROS));
  const subkeys = { whole, padded: doubled(whole) };
  subkeysByKey.set(key, subkeys);
  return subkeys;
}

/** In the field of 2^128 elements. */
function doubled(block: Buffer): Buffer {
  const result = Buffer.alloc(BLOCK_BYTES);
  let carry = 0;
  for (let index = BLOCK_BYTES - 1; index >= 0; index--) {
    const byte = block[index] as number;
    result[index] = (byte << 1) | carry;
    carry = byte >>> 7;
  }
  if (carry === 1) result[BLOCK_BYTES - 1] = (result[BLOCK_BYTES - 1] as number) ^ 0x87;
  return result;
}

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, index) => byte ^ (b[index] as number)));
