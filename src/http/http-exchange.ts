/**
 * The Exchange over node:http: one object for each request, holding what the server learns about it on the way (target,
 * version, caller) and what its line in the log will say. Whatever not every request needs is made when asked for.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Identity, ServiceLetter } from '../auth/identity.ts';
import type { CorsRule } from '../rules/cors.ts';
import { NEWEST_VERSION } from '../rules/versions.ts';
import { GatheredBody, RequestBody } from './body.ts';
import type { AuthorizedExchange } from './exchange.ts';
import { type AddressedTarget, parseQuery } from './request-target.ts';

const NOWHERE: AddressedTarget = {
  authority: '',
  rawPath: '/',
  account: '',
  secondary: false,
  hostStyle: false,
  resourcePath: '',
  query: parseQuery(''),
};

const NO_BYTES = new Uint8Array(0);

const NOBODY: Identity = { kind: 'anonymous', publicAccess: null };

export class HttpExchange implements AuthorizedExchange {
  readonly service: ServiceLetter;
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly secure: boolean;
  readonly method: string;
  readonly contentLengthBytes: number | null;
  readonly startedMs: number = performance.now();

  target: AddressedTarget = NOWHERE;
  version: string = NEWEST_VERSION;
  identity: Identity = NOBODY;
  corsRules: readonly CorsRule[] = [];
  clientRequestId: string | null = null;
  operation: string | null = null;
  errorCode: string | null = null;
  /** What follows on this connection is no HTTP: it ends with this answer. */
  isOutOfStep = false;

  readonly #headers: IncomingHttpHeaders;
  readonly #awaitsContinue: boolean;
  #continued = false;
  #body: RequestBody | GatheredBody | null = null;
  #bodyFault: Error | null = null;
  #rawHeaders: readonly (readonly [name: string, value: string])[] | null = null;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    {
      service,
      requestId,
      secure,
      awaitsContinue,
    }: {
      readonly service: ServiceLetter;
      readonly requestId: string;
      readonly secure: boolean;
      readonly awaitsContinue: boolean;
    },
  ) {
    this.service = service;
    this.requestId = requestId;
    this.secure = secure;
    this.#awaitsContinue = awaitsContinue;
    this.request = request;
    this.response = response;
    this.socket = request.socket;
    this.method = request.method ?? '';
    this.#headers = request.headers;
    const length = this.#headers['content-length'];
    this.contentLengthBytes = length === undefined ? null : Number(length);
  }

  get clientAddress(): string {
    return this.socket.remoteAddress ?? '';
  }

  get origin(): string {
    return `${this.secure ? 'https' : 'http'}://${this.target.authority || `localhost:${this.socket.localPort}`}`;
  }

  header(name: string): string | null {
    const value = this.#headers[name];
    return typeof value === 'string' ? value : null;
  }

  get rawHeaders(): readonly (readonly [name: string, value: string])[] {
    this.#rawHeaders ??= pairHeaders(this.request.rawHeaders);
    return this.#rawHeaders;
  }

  headersWithPrefix(prefix: string): readonly (readonly [name: string, value: string])[] {
    const { rawHeaders } = this.request;
    const found: [name: string, value: string][] = [];
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      if (name.toLowerCase().startsWith(prefix)) found.push([name, rawHeaders[index + 1] as string]);
    }
    return found;
  }

  body(): Readable {
    if (this.#body instanceof RequestBody) return this.#body;
    const body = new RequestBody(this.request);
    this.#body = body;
    if (this.#bodyFault !== null) body.destroy(this.#bodyFault);
    else if (this.#awaitsContinue) this.#continue();
    return body;
  }

  wholeBody(): Promise<Uint8Array> {
    if (this.#body !== null) throw new TypeError('the body is being read already');
    if (!this.#hasBody) return Promise.resolve(NO_BYTES);
    const body = new GatheredBody(this.request);
    this.#body = body;
    if (this.#bodyFault !== null) body.destroy(this.#bodyFault);
    else if (this.#awaitsContinue) this.#continue();
    return body.bytes;
  }

  get receivedBytes(): number {
    return this.#body?.receivedBytes ?? 0;
  }

  /** How much of the body the client has still to send; Infinity where that is not known. */
  get outstandingBytes(): number {
    if (this.request.complete || !this.#hasBody) return 0;
    if (this.contentLengthBytes === null || (this.#awaitsContinue && !this.#continued)) return Number.POSITIVE_INFINITY;
    return this.contentLengthBytes - this.receivedBytes;
  }

  /** The body broke off, or broke the rules of HTTP: whoever reads it, now or later, meets this error. */
  failBody(fault: Error): void {
    this.#bodyFault ??= fault;
    this.#body?.destroy(this.#bodyFault);
  }

  /** Nobody wants the rest of the body: let it pass. */
  discardBody(): void {
    if (!this.#hasBody) return;
    this.#body?.destroy();
    if (!this.request.complete) this.request.resume();
  }

  get #hasBody(): boolean {
    return this.contentLengthBytes === null
      ? this.#headers['transfer-encoding'] !== undefined
      : this.contentLengthBytes > 0;
  }

  #continue(): void {
    this.#continued = true;
    if (!this.socket.destroyed) this.response.writeContinue();
  }
}

function pairHeaders(flat: readonly string[]): readonly (readonly [name: string, value: string])[] {
  const pairs: [name: string, value: string][] = [];
  for (let index = 0; index < flat.length; index += 2) {
    pairs.push([(flat[index] as string).toLowerCase(), flat[index + 1] as string]);
  }
  return pairs;
}
