/** One call for many: the first of them is carried out after a pause, and stands for all that come in between. */
export class Soon {
  readonly #run: () => void;
  readonly #pauseMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(run: () => void, pauseMs: number) {
    this.#run = run;
    this.#pauseMs = pauseMs;
  }

  call(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#run();
    }, this.#pauseMs).unref();
  }

  /** What was called for and has not been carried out is dropped. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
