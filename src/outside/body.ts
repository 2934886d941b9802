/**
 * The body of a source's answer: read as fast as it is taken, so that a slow reader holds the source back. The limit of
 * patience counts only while the reader waits for the source.
 */
import type { IncomingMessage } from 'node:http';
import { type OutsideBody, SourceUnreachable } from '../service/copy/outside.ts';

export interface BodyTerms {
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
  /** The source as it may be shown. */
  readonly shown: string;
}

const END: IteratorResult<Uint8Array> = { done: true, value: undefined };

/** All that the answer holds. Node lets it end only where HTTP says that it is complete. */
export class WholeBody implements OutsideBody {
  readonly #response: IncomingMessage;
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #terms: BodyTerms;

  constructor(response: IncomingMessage, terms: BodyTerms) {
    this.#response = response;
    this.#pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#terms = terms;
    // A reader meets it at its next piece; without one there is nobody to tell.
    response.on('error', () => {});
    const { signal } = terms;
    if (signal.aborted) response.destroy();
    signal.addEventListener('abort', this.#giveUp);
    response.once('close', () => signal.removeEventListener('abort', this.#giveUp));
  }

  readonly #giveUp = (): void => {
    this.#response.destroy();
  };

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { idleTimeoutMs, shown, signal } = this.#terms;
    const impatience = setTimeout(() => {
      const message = `${shown} has been silent for ${idleTimeoutMs} ms.`;
      this.#response.destroy(new SourceUnreachable('timeout', message));
    }, idleTimeoutMs);
    try {
      const piece = await this.#pieces.next();
      signal.throwIfAborted();
      return piece;
    } catch (error) {
      this.#giveUp();
      signal.throwIfAborted();
      throw error instanceof SourceUnreachable ? error : brokeOff(shown, error);
    } finally {
      clearTimeout(impatience);
    }
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#giveUp();
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const brokeOff = (shown: string, cause?: unknown): SourceUnreachable =>
  new SourceUnreachable('brokeOff', `${shown} broke off before the end.`, { cause });

/** A part of a body, which must be there in full. The rest of the body is not waited for. */
export class PartBody implements OutsideBody {
  readonly #body: OutsideBody;
  readonly #shown: string;
  #skipBytes: number;
  #leftBytes: number;

  constructor(
    body: OutsideBody,
    { skipBytes = 0, lengthBytes, shown }: { skipBytes?: number; lengthBytes: number; shown: string },
  ) {
    this.#body = body;
    this.#skipBytes = skipBytes;
    this.#leftBytes = lengthBytes;
    this.#shown = shown;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#leftBytes > 0) {
      const { done, value } = await this.#body.next();
      if (done === true) throw brokeOff(this.#shown);
      const piece = value.subarray(this.#skipBytes, this.#skipBytes + this.#leftBytes);
      this.#skipBytes = Math.max(0, this.#skipBytes - value.length);
      this.#leftBytes -= piece.length;
      if (piece.length > 0) return { done: false, value: piece };
    }
    return this.return();
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#leftBytes = 0;
    return this.#body.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Bytes that are all there already. */
export class HeldBody implements OutsideBody {
  #bytes: Uint8Array | null;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.length === 0 ? null : bytes;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const bytes = this.#bytes;
    this.#bytes = null;
    return Promise.resolve(bytes === null ? END : { done: false, value: bytes });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#bytes = null;
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The whole of a body whose length nobody announced; null, and it is given up, where it is longer than that. */
export async function gather(body: WholeBody, { bytesMax }: { readonly bytesMax: number }): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  let totalBytes = 0;
  for await (const piece of body) {
    totalBytes += piece.length;
    if (totalBytes > bytesMax) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces, totalBytes);
}
