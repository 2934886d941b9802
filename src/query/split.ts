/**
 * `SELECT sys.split(size)`: into batches of which sizes delimited text can be cut without cutting a record. Each is as
 * large as was asked for, and what is left of its last record.
 */

export class Split {
  readonly #sizeBytes: number;
  #fromBytes = 0;
  #endBytes = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  /** The size of the batch that a record completes; null: it goes on. */
  recordEnds(endBytes: number): number | null {
    this.#endBytes = endBytes;
    return endBytes - this.#fromBytes < this.#sizeBytes ? null : this.#cut();
  }

  /** What is left behind the last record; null: nothing. */
  ends(): number | null {
    return this.#endBytes > this.#fromBytes ? this.#cut() : null;
  }

  #cut(): number {
    const sizeBytes = this.#endBytes - this.#fromBytes;
    this.#fromBytes = this.#endBytes;
    return sizeBytes;
  }
}
