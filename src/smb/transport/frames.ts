/** Direct TCP transport ([MS-SMB2] 2.1): a zero byte, three bytes of length, and so many bytes of message. */

const PREFIX_BYTES = 4;

/** Not a message of SMB over TCP, or one that is too long. */
export class BadFrame extends Error {
  override readonly name = 'BadFrame';
}

/** Cuts what arrives into messages. A message that arrives in one piece is not copied, any other once. */
export class FrameReader {
  readonly #lengthMax: () => number;
  #head: Buffer = Buffer.alloc(0);
  #message: Buffer | null = null;
  #filledBytes = 0;

  constructor(lengthMax: () => number) {
    this.#lengthMax = lengthMax;
  }

  /** The messages that this completes. Throws BadFrame. */
  *push(piece: Buffer): Generator<Buffer> {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#message !== null) {
        const taken = rest.copy(this.#message, this.#filledBytes);
        this.#filledBytes += taken;
        rest = rest.subarray(taken);
        if (this.#filledBytes < this.#message.length) return;
        const message = this.#message;
        this.#message = null;
        yield message;
        continue;
      }
      if (this.#head.length > 0 || rest.length < PREFIX_BYTES) {
        const missing = PREFIX_BYTES - this.#head.length;
        this.#head = Buffer.concat([this.#head, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (this.#head.length < PREFIX_BYTES) return;
      } else {
        this.#head = rest.subarray(0, PREFIX_BYTES);
        rest = rest.subarray(PREFIX_BYTES);
      }
      const lengthBytes = this.#lengthOf(this.#head);
      this.#head = Buffer.alloc(0);
      if (rest.length >= lengthBytes) {
        const message = rest.subarray(0, lengthBytes);
        rest = rest.subarray(lengthBytes);
        yield message;
      } else {
        this.#message = Buffer.allocUnsafeSlow(lengthBytes);
        this.#filledBytes = 0;
      }
    }
  }

  #lengthOf(head: Buffer): number {
    const lengthBytes = head.readUIntBE(1, 3);
    if (head[0] !== 0) throw new BadFrame('a message does not begin as SMB over TCP does');
    const lengthMax = this.#lengthMax();
    if (lengthBytes === 0 || lengthBytes > lengthMax) {
      throw new BadFrame(`a message has ${lengthBytes} bytes (1 to ${lengthMax} are allowed)`);
    }
    return lengthBytes;
  }
}

export function encodePrefix(lengthBytes: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUIntBE(lengthBytes, 1, 3);
  return prefix;
}
