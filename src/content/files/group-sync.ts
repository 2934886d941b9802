/**
 * One sync that serves many waiters: whoever asks while a sync runs shares the one that follows it. The first failure
 * is final. What a failed sync did not write is no longer dirty, so a later sync would succeed without writing it.
 */
export class GroupSync {
  readonly #sync: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(sync: () => Promise<void>) {
    this.#sync = sync;
  }

  /** Resolves once a sync that began after this call has succeeded. Rejects if that one or any before it failed. */
  wait(): Promise<void> {
    this.#next ??= this.#follow(this.#running);
    return this.#next;
  }

  async #follow(previous: Promise<void> | null): Promise<void> {
    await previous;
    this.#running = this.#next;
    this.#next = null;
    await this.#sync();
  }
}
