/** Who a request speaks for, what it may do, and what an operation needs: the words that auth and the doors share. */

import type { PublicAccess } from '../rules/acl.ts';

export type { AccessPolicy, PublicAccess, ResourceAcl, ServiceLetter } from '../rules/acl.ts';

export interface Account {
  readonly name: string;
  /** One or two keys, decoded; each signs. */
  readonly keys: readonly Buffer[];
  /** The well-known development account, whose key everybody has: refused to callers from elsewhere. */
  readonly loopbackOnly: boolean;
}

/** Headers of the answer that a SAS overrides (rscc, rscd, rsce, rscl, rsct). */
export type ResponseOverrides = Readonly<Record<string, string>>;

export type Identity =
  | { readonly kind: 'owner'; readonly account: string }
  | {
      readonly kind: 'accountSas';
      readonly account: string;
      readonly services: string;
      readonly resourceTypes: string;
      readonly permissions: string;
    }
  | {
      readonly kind: 'serviceSas';
      readonly account: string;
      readonly permissions: string;
      readonly overrides: ResponseOverrides;
    }
  | { readonly kind: 'anonymous'; readonly publicAccess: PublicAccess | null };

/** What an operation needs of whoever asks for it. Every route declares one. */
export interface Need {
  /** The account SAS's resource type: service, container or object. */
  readonly resourceType: 's' | 'c' | 'o';
  /** Permission letters of which one is enough; empty: no SAS is ever enough. */
  readonly anyOf: string;
  /** Whether a service SAS (of the right resource, with such a letter) will do. */
  readonly serviceSas: boolean;
  /** The public access of the container that lets an anonymous caller in; null: never. */
  readonly anonymous: PublicAccess | null;
}
