/**
 * One request as the rest of the server sees it, and the answer to it. Made once, at the edge, by server.ts; everything
 * below reads typed values and never the raw request again, except its body.
 */
import type { Readable } from 'node:stream';
import type { Identity, ServiceLetter } from '../auth/identity.ts';

export interface RequestTarget {
  /** The path as on the request line, percent-encoding untouched: what Shared Key signs. */
  readonly rawPath: string;
  readonly account: string;
  /** Whether the account was named with `-secondary`. */
  readonly secondary: boolean;
  /** Whether the account stood in the host name (and not in the path). */
  readonly hostStyle: boolean;
  /** The path behind the account, without its leading slash, still percent-encoded. */
  readonly resourcePath: string;
  readonly query: Query;
}

/** Query words, decoded. Names are matched without regard to case. */
export interface Query {
  get(name: string): string | null;
  has(name: string): boolean;
  /** Every parameter in the order sent, names lower-cased, values decoded: what signatures are made of. */
  readonly entries: readonly (readonly [name: string, value: string])[];
}

export interface Exchange {
  readonly service: ServiceLetter;
  readonly method: string;
  readonly target: RequestTarget;
  /** The value of a request header (name in lower case), or null. Empty text is a value. */
  header(name: string): string | null;
  /** Every request header, names in lower case, in the order sent; repeated ones stand repeated. */
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
  /** The headers whose names start with this (in lower case), names as the client wrote them: metadata keeps its case. */
  headersWithPrefix(prefix: string): readonly (readonly [name: string, value: string])[];
  /** The protocol version that this request is served as. */
  readonly version: string;
  readonly requestId: string;
  readonly clientAddress: string;
  /** Whether the request came over TLS. */
  readonly secure: boolean;
  /** `http://host:port` as the client addressed us, for URLs in answers. */
  readonly origin: string;
  /** The request's body. Whoever takes it lets `Expect: 100-continue` go ahead. */
  body(): Readable;
  /** The same, gathered: for bodies known to be small, which need no stream. Fails as the stream would. */
  wholeBody(): Promise<Uint8Array>;
  /** Content-Length; null where there was none (chunked, or no body). */
  readonly contentLengthBytes: number | null;
}

/** A request whose caller is known and may do what it asks for. */
export interface AuthorizedExchange extends Exchange {
  readonly identity: Identity;
}

export interface Reply {
  readonly status: number;
  /** Name, value, name, value, …; the headers that every answer carries are added by the server. */
  readonly headers: readonly string[];
  /** Text and bytes get their Content-Length from here; a stream must bring its own in `headers`. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}
