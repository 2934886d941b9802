/**
 * A web server that is the source of copies: it serves one thing, with ranges and an ETag, and misbehaves when a test
 * tells it to: stands still until it is let go on, breaks off, fails, or changes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after } from 'node:test';

/** What is to become of one request; by default it is answered as it should be. */
export interface Behaviour {
  /** Answer with this status and nothing else. */
  readonly status?: number;
  readonly errorCode?: string;
  /** Once so many bytes of the answer are sent: wait for `gate`, or break the connection. */
  readonly afterBytes?: number;
  readonly gate?: Promise<void>;
  readonly breaksOff?: boolean;
  /** Say that it is so long, and send nothing. */
  readonly announcedBytes?: number;
}

export interface SeenRequest {
  /** From 0 on. */
  readonly number: number;
  readonly firstByte: number;
  readonly ifMatch: string | null;
  readonly url: string;
}

export class OutsideSource {
  bytes: Buffer;
  /** With its quotes; null: the source has none, and no Last-Modified either. */
  etag: string | null = '"first"';
  headers: Readonly<Record<string, string>> = {};
  knowsRanges = true;
  readonly seen: SeenRequest[] = [];
  behave: (request: SeenRequest) => Behaviour = () => ({});
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #waiting: { count: number; resolve: () => void }[] = [];

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Ends with the suite that starts it. */
  static async start(bytes: Buffer): Promise<OutsideSource> {
    const source = new OutsideSource(bytes);
    await source.listen();
    after(() => source.stop());
    return source;
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen({ host: '127.0.0.1', port }, resolve));
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Connections that are open. */
  get openCount(): number {
    return this.#open.size;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/thing`;
  }

  /** Resolves once so many requests have come in. */
  async asked(count: number): Promise<void> {
    if (this.seen.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const range = this.knowsRanges ? /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') : null;
    const firstByte = Number(range?.[1] ?? 0);
    const endByte = Math.min(range?.[2] ? Number(range[2]) + 1 : this.bytes.length, this.bytes.length);
    const ifMatch = request.headers['if-match'] ?? null;
    const seen = { number: this.seen.length, firstByte, ifMatch, url: request.url ?? '' };
    this.seen.push(seen);
    const behaviour = this.behave(seen);
    const { bytes, etag } = this;
    for (const { count, resolve } of this.#waiting) if (this.seen.length >= count) resolve();
    if (behaviour.status !== undefined) {
      const code = behaviour.errorCode === undefined ? {} : { 'x-ms-error-code': behaviour.errorCode };
      response.writeHead(behaviour.status, code).end();
      return;
    }
    if (ifMatch !== null && ifMatch !== etag) {
      response.writeHead(412).end();
      return;
    }
    if (behaviour.announcedBytes !== undefined) {
      response.writeHead(200, { 'content-length': behaviour.announcedBytes });
      response.flushHeaders();
      return;
    }
    if (range !== null && firstByte >= bytes.length) {
      response.writeHead(416).end();
      return;
    }
    const body = bytes.subarray(firstByte, endByte);
    response.writeHead(range === null ? 200 : 206, {
      ...this.headers,
      'content-length': body.length,
      ...(etag === null ? {} : { etag }),
      ...(range === null ? {} : { 'content-range': `bytes ${firstByte}-${endByte - 1}/${bytes.length}` }),
    });
    await send(response, body, behaviour);
  }
}

async function send(response: ServerResponse, body: Buffer, behaviour: Behaviour): Promise<void> {
  const { afterBytes, gate, breaksOff = false } = behaviour;
  if (afterBytes === undefined) {
    response.end(body);
    return;
  }
  response.flushHeaders();
  await new Promise<void>((resolve) => response.write(body.subarray(0, afterBytes), () => resolve()));
  await gate;
  if (breaksOff) response.destroy();
  else response.end(body.subarray(afterBytes));
}
