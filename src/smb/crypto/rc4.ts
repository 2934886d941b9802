/** RC4, which NTLM wraps session keys and signatures in and which OpenSSL no longer offers. Each call starts anew. */
export function rc4(key: Uint8Array, bytes: Uint8Array): Buffer {
  const state = scheduled(key);
  const result = Buffer.alloc(bytes.length);
  let i = 0;
  let j = 0;
  for (const [index, byte] of bytes.entries()) {
    i = (i + 1) & 0xff;
    j = (j + at(state, i)) & 0xff;
    swap(state, i, j);
    result[index] = byte ^ at(state, (at(state, i) + at(state, j)) & 0xff);
  }
  return result;
}

function scheduled(key: Uint8Array): Uint8Array {
  if (key.length === 0) throw new RangeError('RC4 needs a key');
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  let j = 0;
  for (let i = 0; i < 256; i++) {
    j = (j + at(state, i) + at(key, i % key.length)) & 0xff;
    swap(state, i, j);
  }
  return state;
}

const at = (bytes: Uint8Array, index: number): number => bytes[index] as number;

function swap(state: Uint8Array, i: number, j: number): void {
  const held = at(state, i);
  state[i] = at(state, j);
  state[j] = held;
}
