/**
 * Azure Storage's CRC-64, the value behind x-ms-content-crc64: reflected, polynomial 0x9A6C9329AC4BC9B5, started from
 * and closed with all ones. The header carries Base64 of the eight bytes, lowest first. Eight bytes are taken per step
 * (slicing by eight); a 64-bit value is kept as two 32-bit halves, because every BigInt operation allocates.
 */
const POLYNOMIAL_LOW = 0xac4bc9b5;
const POLYNOMIAL_HIGH = 0x9a6c9329;
const SLICES = 8;

/** Table s, entry b (at s * 256 + b): the CRC of byte b followed by s zero bytes. */
const LOW = new Int32Array(SLICES * 256);
const HIGH = new Int32Array(SLICES * 256);

for (let byte = 0; byte < 256; byte++) {
  let low = byte;
  let high = 0;
  for (let bit = 0; bit < 8; bit++) {
    const carry = low & 1;
    low = (low >>> 1) | (high << 31);
    high >>>= 1;
    if (carry === 1) {
      low ^= POLYNOMIAL_LOW;
      high ^= POLYNOMIAL_HIGH;
    }
  }
  LOW[byte] = low;
  HIGH[byte] = high;
}
for (let at = 256; at < LOW.length; at++) {
  const low = LOW[at - 256] as number;
  const high = HIGH[at - 256] as number;
  LOW[at] = ((low >>> 8) | (high << 24)) ^ (LOW[low & 0xff] as number);
  HIGH[at] = (high >>> 8) ^ (HIGH[low & 0xff] as number);
}

export class Crc64 {
  #low = -1;
  #high = -1;

  update(bytes: Uint8Array): void {
    const lowTable = LOW;
    const highTable = HIGH;
    let low = this.#low;
    let high = this.#high;
    let at = 0;
    for (const end = bytes.length - 7; at < end; at += 8) {
      const b0 = ((bytes[at] as number) ^ low) & 0xff;
      const b1 = ((bytes[at + 1] as number) ^ (low >>> 8)) & 0xff;
      const b2 = ((bytes[at + 2] as number) ^ (low >>> 16)) & 0xff;
      const b3 = (bytes[at + 3] as number) ^ (low >>> 24);
      const b4 = ((bytes[at + 4] as number) ^ high) & 0xff;
      const b5 = ((bytes[at + 5] as number) ^ (high >>> 8)) & 0xff;
      const b6 = ((bytes[at + 6] as number) ^ (high >>> 16)) & 0xff;
      const b7 = (bytes[at + 7] as number) ^ (high >>> 24);
      low =
        (lowTable[1792 + b0] as number) ^
        (lowTable[1536 + b1] as number) ^
        (lowTable[1280 + b2] as number) ^
        (lowTable[1024 + b3] as number) ^
        (lowTable[768 + b4] as number) ^
        (lowTable[512 + b5] as number) ^
        (lowTable[256 + b6] as number) ^
        (lowTable[b7] as number);
      high =
        (highTable[1792 + b0] as number) ^
        (highTable[1536 + b1] as number) ^
        (highTable[1280 + b2] as number) ^
        (highTable[1024 + b3] as number) ^
        (highTable[768 + b4] as number) ^
        (highTable[512 + b5] as number) ^
        (highTable[256 + b6] as number) ^
        (highTable[b7] as number);
    }
    for (; at < bytes.length; at++) {
      const index = (low ^ (bytes[at] as number)) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ (lowTable[index] as number);
      high = (high >>> 8) ^ (highTable[index] as number);
    }
    this.#low = low;
    this.#high = high;
  }

  /** The eight bytes as they go into the header. More may be added afterwards. */
  digest(): Buffer {
    const digest = Buffer.allocUnsafe(8);
    digest.writeInt32LE(~this.#low, 0);
    digest.writeInt32LE(~this.#high, 4);
    return digest;
  }
}

export function crc64Of(bytes: Uint8Array): Buffer {
  const crc = new Crc64();
  crc.update(bytes);
  return crc.digest();
}
