/**
 * One request on a connection, and its answer. It tells a server that has gone silent from a source or a reader that
 * takes its time: the limit counts only while this side waits for the other (for a connection, for room to send, for
 * the answer, for more of it). Knows HTTP and nothing of S3.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The connection was refused, broke or went silent before the exchange was over. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** The system's word for it, if it has one: ECONNREFUSED. */
  readonly code: string;
  readonly isStall: boolean;

  constructor(message: string, { cause, isStall = false }: { cause?: unknown; isStall?: boolean } = {}) {
    super(message, { cause });
    this.code = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
    this.isStall = isStall;
  }

  static from(error: unknown): ConnectionLost {
    if (error instanceof ConnectionLost) return error;
    const { code, message } = error as NodeJS.ErrnoException;
    return new ConnectionLost(code ?? message, { cause: error });
  }
}

export class Exchange {
  readonly #request: ClientRequest;
  readonly #watch: StallWatch;
  readonly #answered: Promise<Answer>;
  #isAnswered = false;
  #failure: ConnectionLost | null = null;
  #wakeSender = () => {};

  constructor(request: ClientRequest, { stallLimitMs }: { readonly stallLimitMs: number }) {
    this.#request = request;
    this.#watch = new StallWatch(request, stallLimitMs);
    this.#answered = new Promise((resolve, reject) => {
      request.once('response', (response) => {
        this.#isAnswered = true;
        this.#wakeSender();
        resolve(new Answer(response, this.#watch));
      });
      request.on('error', (error) => {
        this.#failure ??= ConnectionLost.from(error);
        this.#wakeSender();
        reject(this.#failure);
      });
    });
    // Met by whoever waits for the answer, unless the source failed before that.
    this.#answered.catch(() => {});
    request.on('drain', () => this.#wakeSender());
  }

  /** Sends one piece; resolves when there is room for the next. False when the server has answered already. */
  async send(piece: Uint8Array): Promise<boolean> {
    if (this.#failure === null && !this.#isAnswered && !this.#request.write(piece)) {
      this.#watch.beginWaiting();
      await new Promise<void>((resolve) => {
        this.#wakeSender = resolve;
      });
    }
    this.#watch.endWaiting();
    if (this.#failure !== null) throw this.#failure;
    return !this.#isAnswered;
  }

  /** Sends the rest, all of it in hand. */
  end(pieces: readonly Uint8Array[]): void {
    this.#watch.beginWaiting();
    this.#request.cork();
    for (const piece of pieces) this.#request.write(piece);
    this.#request.end();
    this.#request.uncork();
  }

  /** Resolves with the head of the answer; rejects with ConnectionLost. */
  answer(): Promise<Answer> {
    return this.#answered;
  }

  /** Cuts the connection, wherever the exchange is. */
  abandon(): void {
    this.#request.destroy();
  }
}

/** The head of an answer. Whoever gets it takes the body, which gives the connection back even when it is empty. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #response: IncomingMessage;
  readonly #watch: StallWatch;

  constructor(response: IncomingMessage, watch: StallWatch) {
    this.status = response.statusCode as number;
    this.headers = response.headers;
    this.#response = response;
    this.#watch = watch;
    // A reader meets it at its next piece; without one there is nobody to tell.
    response.on('error', () => {});
  }

  /** The body, as fast as it is taken; given up half-way, the connection goes with it. Throws ConnectionLost. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const pieces = this.#response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    try {
      for (;;) {
        this.#watch.beginWaiting();
        const next = await pieces.next();
        this.#watch.endWaiting();
        if (next.done === true) return;
        yield next.value;
      }
    } catch (error) {
      throw ConnectionLost.from(error);
    } finally {
      // Does nothing to the connection of an answer that has come to its end.
      this.#response.destroy();
    }
  }

  /** For whoever does not want the body. */
  abandon(): void {
    this.#response.destroy();
  }

  /** The body whole. Throws ConnectionLost. */
  async text({ bytesMax }: { readonly bytesMax: number }): Promise<string> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.pieces()) {
      bytes += piece.length;
      if (bytes > bytesMax) throw new ConnectionLost(`the answer has more than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString('utf8');
  }
}

/** Ends a request whose server has been silent for too long while it was waited for. */
class StallWatch {
  #waitingSinceMs: number | null = performance.now();

  constructor(request: ClientRequest, limitMs: number) {
    let response: IncomingMessage | null = null;
    const end = () => {
      (response ?? request).destroy(new ConnectionLost(`silent for ${limitMs} ms`, { isStall: true }));
    };
    const untilConnection = setTimeout(end, limitMs);
    request.once('close', () => clearTimeout(untilConnection));
    request.once('response', (arrived) => {
      response = arrived;
    });
    request.once('socket', (socket: Socket) => {
      clearTimeout(untilConnection);
      const onTimeout = () => {
        // The silence may be older than the waiting, and must not be blamed on the server then.
        const waitedMs = this.#waitingSinceMs === null ? 0 : performance.now() - this.#waitingSinceMs;
        if (waitedMs > limitMs / 2) end();
        else socket.setTimeout(limitMs);
      };
      socket.setTimeout(limitMs);
      socket.on('timeout', onTimeout);
      request.once('close', () => socket.off('timeout', onTimeout));
    });
  }

  beginWaiting(): void {
    this.#waitingSinceMs = performance.now();
  }

  endWaiting(): void {
    this.#waitingSinceMs = null;
  }
}
