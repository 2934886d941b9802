/**
 * MD4 (RFC 1320), which NTLM makes a password's hash with and which OpenSSL no longer offers. For short messages only:
 * it pads a copy of the whole.
 */
const BLOCK_BYTES = 64;
/** At the end of the last block. */
const LENGTH_BYTES = 8;

const ORDERS = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
  [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
] as const;

const SHIFTS = [
  [3, 7, 11, 19],
  [3, 5, 9, 13],
  [3, 9, 11, 15],
] as const;

const ADDENDS = [0, 0x5a827999, 0x6ed9eba1] as const;

const MIXES = [
  (x: number, y: number, z: number) => (x & y) | (~x & z),
  (x: number, y: number, z: number) => (x & y) | (x & z) | (y & z),
  (x: number, y: number, z: number) => x ^ y ^ z,
] as const;

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

export function md4(bytes: Uint8Array): Buffer {
  const padded = pad(bytes);
  let state: readonly [number, number, number, number] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) state = compress(state, padded, offset);
  const digest = Buffer.alloc(16);
  for (const [index, word] of state.entries()) digest.writeInt32LE(word | 0, index * 4);
  return digest;
}

function pad(bytes: Uint8Array): Buffer {
  const blockCount = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = Buffer.alloc(blockCount * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  padded.writeBigUInt64LE(BigInt(bytes.length) * 8n, padded.length - LENGTH_BYTES);
  return padded;
}

function compress(
  state: readonly [number, number, number, number],
  padded: Buffer,
  offset: number,
): [number, number, number, number] {
  let [a, b, c, d] = state;
  for (const [round, order] of ORDERS.entries()) {
    const mix = MIXES[round] as (typeof MIXES)[number];
    const shifts = SHIFTS[round] as (typeof SHIFTS)[number];
    const addend = ADDENDS[round] as number;
    for (const [step, word] of order.entries()) {
      const sum = (a + mix(b, c, d) + padded.readInt32LE(offset + word * 4) + addend) | 0;
      [a, b, c, d] = [d, rotate(sum, shifts[step % 4] as number), b, c];
    }
  }
  return [(state[0] + a) | 0, (state[1] + b) | 0, (state[2] + c) | 0, (state[3] + d) | 0];
}
