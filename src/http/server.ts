/**
 * One service's HTTP door: listens, turns each request into an exchange, has it answered, writes the answer and one line
 * of log. Owns the connections: their limits, what is malformed before it is a request, and how they end.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BearerTokens } from '../auth/bearer.ts';
import type { Account, ServiceLetter } from '../auth/identity.ts';
import type { Clock } from '../base/clock.ts';
import { formatHttpDate } from '../base/http-date.ts';
import { NEWEST_VERSION } from '../rules/versions.ts';
import { StorageError } from '../service/storage-error.ts';
import { type AnswerContext, answer, asRefusal } from './answer.ts';
import { ClientGone } from './body.ts';
import { corsHeaders } from './cors.ts';
import type { Door } from './door.ts';
import type { Reply } from './exchange.ts';
import type { FaultContext } from './faults.ts';
import { HttpExchange } from './http-exchange.ts';
import type { Log } from './log.ts';
import { openPart } from './part.ts';
import { nextRequestId } from './request-ids.ts';
import { linger, type SendLimits, sendReply } from './send-reply.ts';

export interface HttpLimits extends SendLimits {
  /** The request line and all headers. */
  readonly headBytesMax: number;
  readonly urlCharactersMax: number;
  /** To send the request line and all headers. */
  readonly headersTimeoutMs: number;
  /** In which a client must send or take something. A body may take as long as it likes otherwise. */
  readonly idleTimeoutMs: number;
  /** Between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** For requests under way when the server closes. */
  readonly closeTimeoutMs: number;
}

export const LIMITS: HttpLimits = {
  headBytesMax: 64 * 1024,
  urlCharactersMax: 32 * 1024,
  headersTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  keepAliveTimeoutMs: 120_000,
  closeTimeoutMs: 10_000,
  unreadBytesMax: 64 * 1024,
  lingerBytesMax: 256 * 1024 * 1024,
  lingerMs: 10_000,
};

export interface HttpServerOptions extends ListenOptions {
  readonly door: Door;
  readonly accounts: ReadonlyMap<string, Account>;
  /** Absent or null: bearer tokens are not accepted. */
  readonly bearer?: BearerTokens | null;
}

export interface ListenOptions {
  readonly clock: Clock;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly log: Log;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpServer {
  readonly port: number;
  /** `http://127.0.0.1:10000`. */
  readonly origin: string;
  /**
   * Takes no new connections and closes idle ones; resolves when the requests under way are answered, or were cut
   * because they took too long.
   */
  close(): Promise<void>;
}

/** What is behind the connections: how requests are answered, and what a refusal looks like. */
export interface Answering {
  readonly service: ServiceLetter;
  answer(exchange: HttpExchange): Promise<Reply>;
  renderFault(error: StorageError, context: FaultContext): Reply;
}

export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { door, accounts, bearer = null, clock, log } = options;
  const context: AnswerContext = {
    door,
    accounts,
    bearer,
    origin: () => front.origin,
    clock,
    urlCharactersMax: options.limits?.urlCharactersMax ?? LIMITS.urlCharactersMax,
    loadAcl: (account, resource) => door.loadAcl(account, resource),
    openPart: (outer, request) => openPart(outer, request, { ...context, log }),
  };
  const front = new Front(options, {
    service: door.service,
    answer: (exchange) => answer(exchange, context),
    renderFault: (error, fault) => door.renderFault(error, fault),
  });
  await front.listen(options);
  return front;
}

/** A server of something else than a storage service. */
export async function openServerOf(answering: Answering, options: ListenOptions): Promise<HttpServer> {
  const front = new Front(options, answering);
  await front.listen(options);
  return front;
}

const CONNECTIONS_CHECK_MS = 30_000;
const SERVER_NAME = 'Larimar';
/** Not an answer, but what the log says of a request whose client left before it had one. */
const STATUS_CLIENT_GONE = 499;

class Front implements HttpServer {
  readonly #answering: Answering;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: HttpLimits;
  readonly #secure: boolean;
  readonly #server: Server;
  /** What is connected, TLS or not. */
  readonly #sockets = new Set<Socket>();
  /** What speaks HTTP, and the request it is being answered, if any. */
  readonly #connections = new Map<Duplex, HttpExchange | null>();
  /** Requests of this turn of the event loop. */
  #arrived: HttpExchange[] = [];
  #closing: Promise<void> | null = null;
  origin = '';
  port = 0;

  constructor({ clock, log, tls, limits }: ListenOptions, answering: Answering) {
    this.#answering = answering;
    this.#clock = clock;
    this.#limits = { ...LIMITS, ...limits };
    this.#log = log;
    this.#secure = tls !== undefined;
    const settings = {
      maxHeaderSize: this.#limits.headBytesMax,
      headersTimeout: this.#limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(CONNECTIONS_CHECK_MS, this.#limits.headersTimeoutMs),
      keepAliveTimeout: this.#limits.keepAliveTimeoutMs,
      // A large upload takes its time; idleTimeoutMs finds those that stand still.
      requestTimeout: 0,
      // Answered below, with the headers that every answer carries.
      requireHostHeader: false,
    };
    this.#server = tls === undefined ? createServer(settings) : createTlsServer({ ...settings, ...tls });
    this.#server.timeout = this.#limits.idleTimeoutMs;
    // Headers beyond Node's count would be dropped in silence; their bytes are limited already.
    this.#server.maxHeadersCount = 0;
    this.#server
      .on('connection', this.#onSocket)
      .on(tls === undefined ? 'connection' : 'secureConnection', this.#onConnection)
      .on('request', this.#onRequest)
      .on('checkContinue', this.#onCheckContinue)
      .on('checkExpectation', this.#onRequest)
      .on('timeout', this.#onTimeout)
      .on('clientError', this.#onClientError);
  }

  async listen({ host, port }: ListenOptions): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    this.port = (this.#server.address() as AddressInfo).port;
    this.origin = `${this.#secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${this.port}`;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      // The HTTP server's own close would also cut answers that are written and not yet flushed.
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const [socket, exchange] of this.#connections) if (exchange === null) endIdle(socket as Socket);
    const deadline = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#limits.closeTimeoutMs);
    await closed;
    clearTimeout(deadline);
    // Nothing is left to close but the HTTP server's own timer.
    this.#server.close();
  }

  readonly #onSocket = (socket: Socket): void => {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  };

  readonly #onConnection = (socket: Socket): void => {
    this.#connections.set(socket, null);
    socket.once('close', () => this.#connections.delete(socket));
  };

  readonly #onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    this.#arrive(request, response, false);
  };

  readonly #onCheckContinue = (request: IncomingMessage, response: ServerResponse): void => {
    this.#arrive(request, response, true);
  };

  /**
   * Requests that arrive in one turn of the event loop are served together, step by step side by side: each step's code
   * is then warm for all of them. Serving each on arrival, between two system calls, gave about half the rate.
   */
  #arrive(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    // A connection that was told to close says no more, whatever it still sends.
    if (!request.socket.writable) {
      request.resume();
      return;
    }
    const exchange = new HttpExchange(request, response, {
      service: this.#answering.service,
      requestId: nextRequestId(),
      secure: this.#secure,
      awaitsContinue,
    });
    this.#connections.set(exchange.socket, exchange);
    if (this.#arrived.push(exchange) === 1) setImmediate(this.#serveArrived);
  }

  readonly #serveArrived = (): void => {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const exchange of arrived) void this.#serve(exchange);
  };

  async #serve(exchange: HttpExchange): Promise<void> {
    const reply = await this.#answerOrFault(exchange);
    let status = reply?.status ?? STATUS_CLIENT_GONE;
    let sentBytes = 0;
    try {
      if (reply !== null) sentBytes = await this.#send(exchange, reply);
    } catch (error) {
      if (error instanceof ClientGone) status = STATUS_CLIENT_GONE;
      else this.#logUnfinished(exchange, error);
      // Part of the answer may be out: only a broken connection tells the client that it is not the whole.
      exchange.socket.destroy();
    }
    this.#release(exchange);
    this.#logAccess(exchange, { status, sentBytes });
  }

  /** Null where nobody is left to answer. */
  async #answerOrFault(exchange: HttpExchange): Promise<Reply | null> {
    try {
      return await this.#answering.answer(exchange);
    } catch (error) {
      const leftWhileSending = exchange.socket.destroyed && exchange.outstandingBytes > 0;
      if (error instanceof ClientGone || leftWhileSending) return null;
      const refusal = asRefusal(error, () => this.#logBroken(exchange, error));
      exchange.errorCode = refusal.code;
      const { method, requestId, target } = exchange;
      return this.#answering.renderFault(refusal, { method, requestId, target, nowMs: this.#clock.nowMs() });
    }
  }

  #send(exchange: HttpExchange, reply: Reply): Promise<number> {
    const head = this.#commonHead(exchange.requestId, exchange.version);
    if (exchange.clientRequestId !== null) head.push('x-ms-client-request-id', exchange.clientRequestId);
    if (exchange.corsRules.length > 0 && exchange.method !== 'OPTIONS') {
      head.push(...corsHeaders(exchange.corsRules, exchange));
    }
    return sendReply(exchange, reply, { head, closes: this.#closing !== null, limits: this.#limits });
  }

  #commonHead(requestId: string, version: string): string[] {
    const date = formatHttpDate(this.#clock.nowMs());
    return ['Server', SERVER_NAME, 'x-ms-request-id', requestId, 'x-ms-version', version, 'Date', date];
  }

  #release(exchange: HttpExchange): void {
    const { socket } = exchange;
    if (this.#connections.get(socket) !== exchange) return;
    this.#connections.set(socket, null);
    if (this.#closing !== null) endIdle(socket);
  }

  /** The client is idle only if it is the client's turn; an operation of ours may take as long as it needs. */
  readonly #onTimeout = (socket: Socket): void => {
    const exchange = this.#connections.get(socket) ?? null;
    const isOurTurn = exchange !== null && exchange.outstandingBytes === 0 && socket.writableLength === 0;
    if (!isOurTurn) socket.destroy();
  };

  /** The parser gave up on what a connection sends, or the connection broke. */
  readonly #onClientError = (error: NodeJS.ErrnoException, duplex: Duplex): void => {
    const socket = duplex as Socket;
    const exchange = this.#connections.get(socket) ?? null;
    const code = error.code ?? '';
    const isLost = !code.startsWith('HPE_') && code !== 'ERR_HTTP_REQUEST_TIMEOUT';
    if (socket.writableEnded && !isLost) return;
    if (isLost || code === 'HPE_INVALID_EOF_STATE' || socket.bytesRead === 0) socket.destroy();
    else if (exchange === null) this.#refuseUnparsed(socket, code);
    else {
      exchange.isOutOfStep = true;
      if (exchange.outstandingBytes > 0) exchange.failBody(MALFORMED_BODY);
    }
  };

  /** There is no request to answer, only a connection to tell what is wrong. */
  #refuseUnparsed(socket: Socket, parserCode: string): void {
    const { status, code } = UNPARSED[parserCode] ?? MALFORMED;
    const requestId = nextRequestId();
    const nowMs = this.#clock.nowMs();
    const context = { method: '', requestId, nowMs, status };
    const { headers, body } = this.#answering.renderFault(new StorageError(code), context);
    const text = body as string;
    const head = [...this.#commonHead(requestId, NEWEST_VERSION), ...headers, 'Connection', 'close'];
    head.push('Content-Length', String(Buffer.byteLength(text)));
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${renderHead(head)}\r\n${text}`);
    linger(socket, this.#limits);
    this.#log.access({
      atMs: nowMs,
      remote: socket.remoteAddress ?? '-',
      method: '-',
      url: '-',
      status,
      errorCode: code,
      operation: null,
      receivedBytes: 0,
      sentBytes: text.length,
      durationMs: 0,
      requestId,
    });
  }

  #logAccess(exchange: HttpExchange, { status, sentBytes }: { status: number; sentBytes: number }): void {
    this.#log.access({
      atMs: this.#clock.nowMs(),
      remote: exchange.clientAddress || '-',
      method: exchange.method,
      url: exchange.request.url ?? '-',
      status,
      errorCode: exchange.errorCode,
      operation: exchange.operation,
      receivedBytes: exchange.receivedBytes,
      sentBytes,
      durationMs: performance.now() - exchange.startedMs,
      requestId: exchange.requestId,
    });
  }

  #logUnfinished(exchange: HttpExchange, error: unknown): void {
    exchange.errorCode = 'InternalError';
    this.#logBroken(exchange, error);
  }

  #logBroken(exchange: HttpExchange, error: unknown): void {
    this.#log.error(`${exchange.operation ?? 'request'} ${exchange.requestId} failed`, error);
  }
}

type Unparsed = { readonly status: number; readonly code: 'InvalidInput' | 'InvalidHttpVerb' | 'OperationTimedOut' };

const MALFORMED: Unparsed = { status: 400, code: 'InvalidInput' };
const UNPARSED: Readonly<Record<string, Unparsed>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'InvalidInput' },
  HPE_INVALID_METHOD: { status: 400, code: 'InvalidHttpVerb' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'OperationTimedOut' },
};

const MALFORMED_BODY = new StorageError('InvalidInput', { message: 'The request body is not well-formed.' });

function renderHead(head: readonly string[]): string {
  let text = '';
  for (let index = 0; index < head.length; index += 2) text += `${head[index]}: ${head[index + 1]}\r\n`;
  return text;
}

/** What is written and not yet flushed still goes out. */
function endIdle(socket: Socket): void {
  if (!socket.writableEnded) socket.destroySoon();
}
