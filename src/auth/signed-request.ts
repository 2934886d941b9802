/** The part of a request that signatures are made of. An HTTP exchange satisfies it; so does one part of a batch. */
import type { ServiceLetter } from './identity.ts';

export interface SignedRequest {
  readonly service: ServiceLetter;
  readonly method: string;
  readonly target: SignedTarget;
  /** The value of a request header (name in lower case), or null. */
  header(name: string): string | null;
  /** Every request header, names in lower case, in the order sent; repeated ones stand repeated. */
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
  readonly version: string;
  readonly clientAddress: string;
  /** Whether the request came over TLS. */
  readonly secure: boolean;
}

export interface SignedTarget {
  /** The path as on the request line, percent-encoding untouched. */
  readonly rawPath: string;
  /** The primary name, without `-secondary`. */
  readonly account: string;
  readonly secondary: boolean;
  readonly hostStyle: boolean;
  readonly query: SignedQuery;
}

export interface SignedQuery {
  get(name: string): string | null;
  has(name: string): boolean;
  /** In the order sent, names lower-cased, values decoded. */
  readonly entries: readonly (readonly [name: string, value: string])[];
}
