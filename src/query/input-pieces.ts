/**
 * The bytes of a blob in pieces that are worth looking at: small ones are put together, for a record that goes over many
 * pieces is looked at again with each of them. Whoever has one closes it, read to its end or not.
 */

const PIECE_BYTES_MIN = 64 * 1024;

export class InputPieces {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #readBytes = 0;

  constructor(bytes: Uint8Array | AsyncIterable<Uint8Array>) {
    this.#pieces = bytes instanceof Uint8Array ? onePiece(bytes) : bytes[Symbol.asyncIterator]();
  }

  get readBytes(): number {
    return this.#readBytes;
  }

  /** Null: that was all. */
  async next(): Promise<Uint8Array | null> {
    const gathered: Uint8Array[] = [];
    let gatheredBytes = 0;
    while (gatheredBytes < PIECE_BYTES_MIN) {
      const next = await this.#pieces.next();
      if (next.done === true) break;
      gathered.push(next.value);
      gatheredBytes += next.value.length;
    }
    this.#readBytes += gatheredBytes;
    if (gatheredBytes === 0) return null;
    return gathered.length === 1 ? (gathered[0] as Uint8Array) : Buffer.concat(gathered);
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
