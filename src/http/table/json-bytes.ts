/**
 * JSON as it goes out: bytes, written one after the other into memory that grows. Texts come as UTF-8 and leave as UTF-8, so
 * a string that needs no escapes is copied and never decoded.
 */

const CAPACITY_BYTES_FIRST = 4 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Of numbers that a Double holds exactly: sixteen digits and a sign. */
const INTEGER_BYTES_MAX = 17;
/** What one byte becomes at most: `\u001f`. */
const ESCAPED_BYTES_MAX = 6;
/** Shorter pieces are copied byte by byte: a call into the buffer takes longer. */
const SHORT_BYTES_MAX = 64;

export class JsonBytes {
  #bytes: Buffer;
  #length = 0;

  constructor(capacityBytes: number = CAPACITY_BYTES_FIRST) {
    this.#bytes = Buffer.allocUnsafe(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  /** What was written. More must not be written afterwards. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** ASCII, as it is. */
  ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  /** Any text, as it is. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** A whole number, in decimal digits. */
  integer(value: number): void {
    this.#reserve(INTEGER_BYTES_MAX);
    if (value < 0) this.#bytes[this.#length++] = MINUS;
    let left = Math.abs(value);
    let end = this.#length + 1;
    for (let limit = 10; limit <= left; limit *= 10) end++;
    for (let at = end - 1; at >= this.#length; at--) {
      const tens = Math.floor(left / 10);
      this.#bytes[at] = ZERO + (left - 10 * tens);
      left = tens;
    }
    this.#length = end;
  }

  /** Bytes, as they are. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    if (end - start > SHORT_BYTES_MAX) this.#bytes.set(source.subarray(start, end), this.#length);
    else for (let at = start; at < end; at++) this.#bytes[this.#length + at - start] = source[at] as number;
    this.#length += end - start;
  }

  /** What another has written between the two. */
  copyFrom(other: JsonBytes, start: number, end: number): void {
    this.copy(other.#bytes, start, end);
  }

  /** A text in UTF-8 as a string of JSON. */
  string(source: Uint8Array, start: number, end: number): void {
    this.#reserve(2 + ESCAPED_BYTES_MAX * (end - start));
    const bytes = this.#bytes;
    let length = this.#length;
    bytes[length++] = QUOTE;
    for (let at = start; at < end; at++) {
      const byte = source[at] as number;
      if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) bytes[length++] = byte;
      else length += bytes.write(ESCAPES[byte] as string, length, 'latin1');
    }
    bytes[length++] = QUOTE;
    this.#length = length;
  }

  #reserve(moreBytes: number): void {
    const neededBytes = this.#length + moreBytes;
    if (neededBytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(neededBytes, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** As JSON.stringify has them; for the bytes that have one. */
const ESCAPES: readonly string[] = Array.from({ length: BACKSLASH + 1 }, (_, byte) =>
  JSON.stringify(String.fromCharCode(byte)).slice(1, -1),
);
