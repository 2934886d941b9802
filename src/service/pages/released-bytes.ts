/** A stream that lets go of what it reads from when it is read to the end, fails, or is given up, even before it began. */
export class ReleasedBytes implements AsyncIterableIterator<Uint8Array> {
  readonly #bytes: AsyncGenerator<Uint8Array>;
  #release: (() => void | Promise<void>) | null;

  /** `release` does not reject. */
  constructor(bytes: AsyncGenerator<Uint8Array>, release: () => void | Promise<void>) {
    this.#bytes = bytes;
    this.#release = release;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const result = await this.#bytes.next();
      if (result.done === true) await this.#letGo();
      return result;
    } catch (error) {
      await this.#letGo();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    try {
      await this.#bytes.return(undefined);
    } finally {
      await this.#letGo();
    }
    return { done: true, value: undefined };
  }

  async #letGo(): Promise<void> {
    const release = this.#release;
    this.#release = null;
    await release?.();
  }
}
