/**
 * Whether this server should be sent requests: it is up, its store answers, and it was not told to stop. One read of the
 * store serves everybody who asks meanwhile, and while one is not answered there is no other.
 */
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../log.ts';

/** Words for anybody: nothing of where or how things are stored. */
export type Reason = 'starting' | 'stopping' | 'the store does not answer' | 'the store fails';

export const READ_LIMIT_MS = 2_000;

export class Readiness {
  readonly #log: Log;
  readonly #limitMs: number;
  readonly #stopped: Promise<Reason>;
  #stop: () => void = () => {};
  #read: (() => Promise<unknown>) | null = null;
  /** What becomes known of the read under way, in time or as late; null: none is under way. */
  #outcome: Promise<Reason | null> | null = null;
  #isStopping = false;
  #last: Reason | null = null;

  constructor({ log, limitMs = READ_LIMIT_MS }: { log: Log; limitMs?: number }) {
    this.#log = log;
    this.#limitMs = limitMs;
    this.#stopped = new Promise((resolve) => {
      this.#stop = () => resolve('stopping');
    });
  }

  /** From now on it is ready whenever `read` resolves in time. */
  begin(read: () => Promise<unknown>): void {
    this.#read = read;
  }

  /** From now on it is not, and whoever is waiting for an answer has it. */
  end(): void {
    this.#isStopping = true;
    this.#stop();
  }

  /** Null: ready. */
  async reasonAgainst(): Promise<Reason | null> {
    if (this.#isStopping) return 'stopping';
    if (this.#read === null) return 'starting';
    this.#outcome ??= this.#look(this.#read);
    return Promise.race([this.#stopped, this.#outcome]);
  }

  #look(read: () => Promise<unknown>): Promise<Reason | null> {
    const answered = this.#tryRead(read);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Reason>((resolve) => {
      timer = setTimeout(() => {
        this.#tell('the store does not answer');
        resolve('the store does not answer');
      }, this.#limitMs).unref();
    });
    void answered.then(() => {
      clearTimeout(timer);
      this.#outcome = null;
    });
    return Promise.race([answered, late]);
  }

  async #tryRead(read: () => Promise<unknown>): Promise<Reason | null> {
    try {
      await read();
      this.#tell(null);
      return null;
    } catch (error) {
      this.#tell('the store fails', error);
      return 'the store fails';
    }
  }

  /** Once for each change: askers come every few seconds. */
  #tell(reason: Reason | null, error?: unknown): void {
    if (reason === this.#last || this.#isStopping) return;
    this.#last = reason;
    if (reason === null) this.#log.info('ready again');
    else this.#log.error(`not ready: ${reason}`, error);
  }
}

/** No record has this key; to say so, the engine must look. */
const NOBODYS_KEY = Uint8Array.of(0);

export async function readOnce(engine: Engine): Promise<void> {
  const snapshot = engine.snapshot();
  await snapshot.get([NOBODYS_KEY]).finally(() => snapshot.close());
}
