/** Who a request speaks for, what it may do, and what an operation needs: the words that auth and the doors share. */

import type { JSONWebKeySet } from 'jose';
import type { PublicAccess } from '../rules/acl.ts';
import type { EntityScope } from '../rules/entity-scope.ts';
import type { RoleName } from '../rules/roles.ts';

export type { AccessPolicy, PublicAccess, ResourceAcl, ServiceLetter } from '../rules/acl.ts';

export interface Account {
  readonly name: string;
  /** One or two keys, decoded; each signs. */
  readonly keys: readonly Buffer[];
  /** The well-known development account, whose key everybody has: refused to callers from elsewhere. */
  readonly loopbackOnly: boolean;
}

/** Whose bearer tokens count, and for what. */
export interface BearerSetting {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  readonly keys: KeySource;
  /** The `aud` of which a token must have one; empty: Azure Storage's, and this server's own address. */
  readonly audiences: readonly string[];
  /** What a token is worth that names no role of Azure Storage. */
  readonly defaultRoles: readonly RoleName[];
  /** For how long a key that the issuer did not have is not looked for again, whoever asks for it. */
  readonly keysCooldownMs: number;
}

/** Where an issuer's keys come from: given once, behind a URL, or where its discovery document says. */
export type KeySource =
  | { readonly kind: 'set'; readonly set: JSONWebKeySet }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'discovery' };

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
      /** Of a user delegation SAS: what the roles of its key's holder stood for. */
      readonly holderPermissions?: string;
      /** Of a token for a table: what it opens. */
      readonly entities?: EntityScope;
    }
  | {
      readonly kind: 'bearer';
      readonly account: string;
      readonly objectId: string;
      readonly tenantId: string;
      readonly permissions: string;
      /** Whether its roles reach as far as what no letter stands for: access policies, service properties, shares. */
      readonly controls: boolean;
      /** The value of a user delegation key (Base64) that lasts so long; null: its roles do not allow any. */
      readonly delegationKey: ((terms: DelegationTerms) => string) | null;
    }
  | { readonly kind: 'anonymous'; readonly publicAccess: PublicAccess | null };

/** What the holder of a bearer token chooses of a user delegation key. Times count in whole seconds. */
export interface DelegationTerms {
  readonly startMs: number;
  readonly expiryMs: number;
  readonly version: string;
  /** The tenant of the one user that tokens made with the key will be bound to; empty: that of the key's holder. */
  readonly delegatedTenantId: string;
}

/** What an operation needs of whoever asks for it. Every route declares one. */
export interface Need {
  /** The account SAS's resource type: service, container or object. */
  readonly resourceType: 's' | 'c' | 'o';
  /** Permission letters of which one is enough; empty: no SAS is ever enough. */
  readonly anyOf: string;
  /** The same of a role, where a role needs other letters than a SAS does. */
  readonly anyOfRole?: string;
  /** Whether all of those letters are needed, and not just one. */
  readonly needsAll?: true;
  /** Whether a service SAS (of the right resource, with such a letter) will do. */
  readonly serviceSas: boolean;
  /** The public access of the container that lets an anonymous caller in; null: never. */
  readonly anonymous: PublicAccess | null;
  /**
   * What a bearer token's roles must reach as far as, in place of a letter. `delegation` is for bearer tokens alone: not
   * even the account's key will do.
   */
  readonly privilege?: 'control' | 'delegation';
}
