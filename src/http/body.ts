/**
 * A request's body: as a stream, or whole. Whoever reads it may stop at any point, fail, or destroy it: the connection
 * stays as it is, so that the refusal still reaches the client.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { asBuffer } from '../base/bytes.ts';
import { invalidHeader, StorageError } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';

/** The client left before its body was complete. There is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';

  constructor() {
    super('the client left before the request was complete');
  }
}

/** The bytes of one request. Unlike Node's own stream of them, destroying this one leaves the connection open. */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  #begun = false;
  #receivedBytes = 0;

  constructor(request: IncomingMessage) {
    super({ highWaterMark: 256 * 1024 });
    this.#request = request;
    // A reader meets the error when it reads; until one does, the error must not count as unhandled.
    this.on('error', () => {});
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  override _read(): void {
    if (this.#begun) {
      this.#request.resume();
      return;
    }
    this.#begun = true;
    if (this.#request.destroyed) {
      this.destroy(new ClientGone());
      return;
    }
    this.#request.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onLoss).on('close', this.#onLoss);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#begun) {
      this.#request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onLoss);
      // The error listener stays: Node reports a lost connection there, and somebody must listen.
    }
    done(error);
  }

  readonly #onData = (piece: Buffer): void => {
    this.#receivedBytes += piece.length;
    if (!this.push(piece)) this.#request.pause();
  };

  readonly #onEnd = (): void => {
    this.push(null);
  };

  readonly #onLoss = (): void => {
    if (!this.#request.readableEnded) this.destroy(new ClientGone());
  };
}

/** The bytes of one request, all together. A stream of its own would cost a small body more than all else. */
export class GatheredBody {
  readonly bytes: Promise<Uint8Array>;
  readonly #pieces: Buffer[] = [];
  #receivedBytes = 0;
  #isComplete = false;
  #reject!: (fault: Error) => void;

  constructor(request: IncomingMessage) {
    this.bytes = new Promise((resolve, reject) => {
      this.#reject = reject;
      const onLoss = (): void => {
        if (!request.readableEnded) reject(new ClientGone());
      };
      request
        .on('data', (piece: Buffer) => {
          this.#receivedBytes += piece.length;
          this.#pieces.push(piece);
        })
        .on('end', () => {
          this.#isComplete = true;
          const [first] = this.#pieces;
          resolve(first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces));
        })
        .on('error', onLoss)
        .on('close', onLoss);
    });
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  destroy(fault?: Error): void {
    if (!this.#isComplete) this.#reject(fault ?? new ClientGone());
  }
}

/** The length that a write announces; 411 where it announces none. */
export function requireContentLength(exchange: Exchange): number {
  if (exchange.contentLengthBytes === null) throw new StorageError('MissingContentLengthHeader');
  return exchange.contentLengthBytes;
}

/** For what has none: its length is announced all the same, and nothing. */
export function requireNoBody(exchange: Exchange): void {
  const lengthBytes = requireContentLength(exchange);
  if (lengthBytes !== 0) throw invalidHeader('Content-Length', String(lengthBytes));
}

/** The body in pieces, as they arrive. Ends only when it is complete; fails with ClientGone otherwise. */
export function bodyStream(exchange: Exchange): AsyncIterable<Uint8Array> {
  return exchange.body();
}

/** The whole body; 413 as soon as it is known to be longer than `maxBytes`. */
export async function readWhole(exchange: Exchange, { maxBytes }: { readonly maxBytes: number }): Promise<Buffer> {
  if (exchange.contentLengthBytes !== null && exchange.contentLengthBytes > maxBytes) throw bodyTooLarge(maxBytes);
  // A length that was announced is kept, or the client is gone.
  if (exchange.contentLengthBytes !== null) return asBuffer(await exchange.wholeBody());
  const pieces: Uint8Array[] = [];
  let totalBytes = 0;
  for await (const piece of bodyStream(exchange)) {
    totalBytes += piece.length;
    if (totalBytes > maxBytes) throw bodyTooLarge(maxBytes);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, totalBytes);
}

export const bodyTooLarge = (maxBytes: number): StorageError =>
  new StorageError('RequestBodyTooLarge', { elements: { MaxLimit: String(maxBytes) } });
