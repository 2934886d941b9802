/** Who a request speaks for, what it may do, and what an operation needs: the words that auth and the doors share. */

export type ServiceLetter = 'b' | 'q' | 't' | 'f';

export interface Account {
  readonly name: string;
  /** One or two keys, decoded; each signs. */
  readonly keys: readonly Buffer[];
  /** The well-known development account, whose key everybody has: refused to callers from elsewhere. */
  readonly loopbackOnly: boolean;
}

export type PublicAccess = 'blob' | 'container';

export interface AccessPolicy {
  readonly id: string;
  /** As given, in any of the accepted time formats; absent where the token must say it. */
  readonly start?: string;
  readonly expiry?: string;
  readonly permission?: string;
}

/** What a container's (later a queue's, table's or share's) ACL says. */
export interface ResourceAcl {
  readonly publicAccess: PublicAccess | null;
  readonly policies: readonly AccessPolicy[];
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
