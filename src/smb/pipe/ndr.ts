/**
 * How arguments of remote calls stand in bytes: the Network Data Representation, version 2.0, with the least significant byte
 * first ([C706] chapter 14). As much of it as the calls of pipes need: numbers, texts, pointers.
 */

/** Bytes that are not what they have to be, or end too early. */
export class BadStub extends Error {
  override readonly name = 'BadStub';
}

export class NdrReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u32(): number {
    this.#align(4);
    if (this.#at + 4 > this.#bytes.length) throw new BadStub('a number beyond the end');
    const value = this.#bytes.readUInt32LE(this.#at);
    this.#at += 4;
    return value;
  }

  /** Whether something is pointed to; it follows, here or behind the structure that the pointer is in. */
  hasPointee(): boolean {
    return this.u32() !== 0;
  }

  /** Conformant and varying, UTF-16, with its NUL. */
  text(): string {
    const lengthMax = this.u32();
    const offset = this.u32();
    const length = this.u32();
    if (offset !== 0 || length > lengthMax) throw new BadStub('a text that is not whole');
    const end = this.#at + length * 2;
    if (end > this.#bytes.length) throw new BadStub('a text beyond the end');
    const text = this.#bytes.toString('utf16le', this.#at, end);
    this.#at = end;
    return text.endsWith('\0') ? text.slice(0, -1) : text;
  }

  /** A pointer and what it points to. */
  optionalText(): string | null {
    return this.hasPointee() ? this.text() : null;
  }

  #align(bytes: number): void {
    this.#at = Math.ceil(this.#at / bytes) * bytes;
  }
}

/** A pointer's identity: any number but 0, another for each. */
const FIRST_REFERENT = 0x0002_0000;

export class NdrWriter {
  #bytes = Buffer.alloc(1024);
  #lengthBytes = 0;
  #referent = FIRST_REFERENT;
  /** What the pointers of the structure point to that is being written. */
  #pointees: (() => void)[] = [];

  u32(value: number): void {
    this.#align(4);
    this.#grow(4);
    this.#bytes.writeUInt32LE(value, this.#lengthBytes);
    this.#lengthBytes += 4;
  }

  text(text: string): void {
    const length = text.length + 1;
    this.u32(length);
    this.u32(0);
    this.u32(length);
    this.#grow(length * 2);
    this.#bytes.write(text, this.#lengthBytes, 'utf16le');
    this.#bytes.writeUInt16LE(0, this.#lengthBytes + length * 2 - 2);
    this.#lengthBytes += length * 2;
  }

  /** A pointer in a structure: what it points to is written when the structure is complete. Null: to nothing. */
  pointer(pointee: (() => void) | null): void {
    if (pointee === null) {
      this.u32(0);
      return;
    }
    this.u32(this.#referent);
    this.#referent += 4;
    this.#pointees.push(pointee);
  }

  /** All that `write` writes, and behind it what it points to, each with what that points to in turn. */
  structure(write: () => void): void {
    const outer = this.#pointees;
    this.#pointees = [];
    write();
    const pointees = this.#pointees;
    for (const pointee of pointees) this.structure(pointee);
    this.#pointees = outer;
  }

  result(): Buffer {
    return this.#bytes.subarray(0, this.#lengthBytes);
  }

  #align(bytes: number): void {
    const aligned = Math.ceil(this.#lengthBytes / bytes) * bytes;
    this.#grow(aligned - this.#lengthBytes);
    this.#bytes.fill(0, this.#lengthBytes, aligned);
    this.#lengthBytes = aligned;
  }

  #grow(bytes: number): void {
    const needed = this.#lengthBytes + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#lengthBytes);
    this.#bytes = grown;
  }
}
