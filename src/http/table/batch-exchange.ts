/**
 * A request inside a batch, as the operations see it. It has its own method, URL, headers and body; caller, account,
 * version, origin and request id are those of the request around it. The host of an absolute URL counts for nothing.
 */
import { Readable } from 'node:stream';
import type { Identity, ServiceLetter } from '../../auth/identity.ts';
import type { AuthorizedExchange, Query, RequestTarget } from '../exchange.ts';
import { asUtf8, parseQuery } from '../request-target.ts';
import type { BatchRequest, PartHeaders } from './batch-body.ts';

export class BatchExchange implements AuthorizedExchange {
  readonly method: string;
  readonly target: RequestTarget;
  /** The same list as the request's: a part of a batch carries nothing whose name has a case. */
  readonly rawHeaders: PartHeaders;
  readonly contentLengthBytes: number;

  readonly #outer: AuthorizedExchange;
  readonly #body: Uint8Array;

  constructor(outer: AuthorizedExchange, { method, url, headers, body }: BatchRequest) {
    this.#outer = outer;
    this.#body = body;
    this.method = method;
    this.target = locate(outer.target, asUtf8(url));
    this.rawHeaders = headers;
    this.contentLengthBytes = body.length;
  }

  get service(): ServiceLetter {
    return this.#outer.service;
  }

  get version(): string {
    return this.#outer.version;
  }

  get requestId(): string {
    return this.#outer.requestId;
  }

  get clientAddress(): string {
    return this.#outer.clientAddress;
  }

  get secure(): boolean {
    return this.#outer.secure;
  }

  get origin(): string {
    return this.#outer.origin;
  }

  get identity(): Identity {
    return this.#outer.identity;
  }

  header(name: string): string | null {
    let value: string | null = null;
    for (const header of this.rawHeaders) {
      if (header[0] === name) value = value === null ? header[1] : `${value}, ${header[1]}`;
    }
    return value;
  }

  headersWithPrefix(prefix: string): PartHeaders {
    return this.rawHeaders.filter(([name]) => name.startsWith(prefix));
  }

  body(): Readable {
    return Readable.from([this.#body]);
  }

  wholeBody(): Promise<Uint8Array> {
    return Promise.resolve(this.#body);
  }
}

const NO_QUERY: Query = parseQuery('');

const ABSOLUTE = /^https?:\/\/[^/?]*/i;

/** A path is one of the account's service, with the account before it or without. */
function locate({ account, hostStyle }: RequestTarget, url: string): RequestTarget {
  const from = ABSOLUTE.exec(url)?.[0].length ?? 0;
  const mark = url.indexOf('?', from);
  const rawPath = url.slice(from, mark < 0 ? undefined : mark);
  const query = mark < 0 ? NO_QUERY : parseQuery(url.slice(mark + 1));
  const path = rawPath.startsWith('/') ? rawPath.slice(1) : rawPath;
  // No path inside the service has a slash in it, so a segment before one can only be the account.
  const resourcePath = path.startsWith(`${account}/`) ? path.slice(account.length + 1) : path;
  return { rawPath, account, secondary: false, hostStyle, resourcePath, query };
}
