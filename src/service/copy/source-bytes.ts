/**
 * The bytes of a source outside from some offset on, in one state of the source. Where the connection breaks they go on
 * from the byte that was reached, on a new one, after a short pause; a source that keeps failing is the caller's matter.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { isPassing } from './copy-failure.ts';
import { canResume, type FetchedSource } from './copy-job.ts';
import { type Outside, type OutsideBody, SourceRefused, SourceUnreachable, showUrl } from './outside.ts';

const TRIES_MAX = 4;
const PAUSE_MS = 100;

export class SourceBytes {
  readonly #outside: Pick<Outside, 'open'>;
  readonly #source: FetchedSource;
  readonly #signal: AbortSignal;
  #body: OutsideBody | null = null;
  #failureCount = 0;
  /** Taken from the source and not yet given to anybody. */
  #left: Uint8Array = new Uint8Array(0);
  /** Of all that came in. */
  reachedBytes: number;

  constructor(options: {
    outside: Pick<Outside, 'open'>;
    source: FetchedSource;
    fromBytes: number;
    signal: AbortSignal;
  }) {
    this.#outside = options.outside;
    this.#source = options.source;
    this.#signal = options.signal;
    this.reachedBytes = options.fromBytes;
  }

  /** The next so many bytes, which must be there. */
  async *take(lengthBytes: number): AsyncGenerator<Uint8Array> {
    for (let wantedBytes = lengthBytes; wantedBytes > 0; ) {
      if (this.#left.length === 0) this.#left = await this.#next();
      const piece = this.#left.subarray(0, wantedBytes);
      this.#left = this.#left.subarray(piece.length);
      wantedBytes -= piece.length;
      yield piece;
    }
  }

  async takeWhole(lengthBytes: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.take(lengthBytes)) pieces.push(piece);
    return Buffer.concat(pieces, lengthBytes);
  }

  async close(): Promise<void> {
    const body = this.#body;
    this.#body = null;
    await body?.return();
  }

  async #next(): Promise<Uint8Array> {
    for (;;) {
      try {
        this.#body ??= await this.#open();
        const { done, value } = await this.#body.next();
        if (done === true) throw new SourceUnreachable('brokeOff', `${this.#shown} ended too early.`);
        this.#failureCount = 0;
        this.reachedBytes += value.length;
        return value;
      } catch (error) {
        await this.close();
        this.#signal.throwIfAborted();
        this.#failureCount++;
        const mayTryAgain = isPassing(error) && (this.reachedBytes === 0 || canResume(this.#source));
        if (!mayTryAgain || this.#failureCount >= TRIES_MAX) throw error;
        await delay(PAUSE_MS * 2 ** this.#failureCount, undefined, { signal: this.#signal });
      }
    }
  }

  async #open(): Promise<OutsideBody> {
    const { url, authorization, etag, lastModifiedMs, lengthBytes } = this.#source;
    const reply = await this.#outside.open({
      url,
      authorization,
      range: this.reachedBytes === 0 ? null : { firstOffsetBytes: this.reachedBytes, lastOffsetBytes: null },
      ifMatch: etag,
      conditions: etag === null ? { ...NO_CONDITIONS, ifUnmodifiedSinceMs: lastModifiedMs } : NO_CONDITIONS,
      ifTags: null,
      signal: this.#signal,
    });
    if (reply.lengthBytes === lengthBytes - this.reachedBytes) return reply.body;
    await reply.body.return();
    throw new SourceRefused({ status: 412, code: 'ConditionNotMet' });
  }

  get #shown(): string {
    return showUrl(this.#source.url);
  }
}
