/** Byte strings as ordered keys: comparison, the end of a prefix, and readable text of a key for reports. */

/** The smallest key that sorts after every key with this prefix; null when there is none (all bytes 0xff). */
export function prefixEnd(prefix: Uint8Array): Uint8Array | null {
  for (let last = prefix.length - 1; last >= 0; last--) {
    const byte = prefix[last] as number;
    if (byte < 0xff) {
      // Not slice(): a Buffer's shares its memory.
      const end = Uint8Array.from(prefix.subarray(0, last + 1));
      end[last] = byte + 1;
      return end;
    }
  }
  return null;
}

/** The smallest key that sorts after this very key. */
export function successor(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

export const compareBytes = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b);

/** The same bytes with a Buffer's methods; not copied. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
