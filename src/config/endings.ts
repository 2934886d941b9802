/** What was opened, to be closed in the reverse order: at the end, or when the opening of something later failed. */
export class Endings {
  readonly #ends: (() => Promise<unknown>)[] = [];

  add(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  /** Closed at the end. */
  keep<T extends { close(): Promise<void> }>(opened: T): T {
    this.add(() => opened.close());
    return opened;
  }

  /** Every one of them, whatever becomes of the others; rejects with the first error. */
  async run(): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.#ends.splice(0).toReversed()) await end().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
