/** What a container's (later a queue's, table's or share's) access control list says. */

/** Blob, queue, table, file: as a signature names them. */
export type ServiceLetter = 'b' | 'q' | 't' | 'f';

export type PublicAccess = 'blob' | 'container';

export interface AccessPolicy {
  readonly id: string;
  /** As given, in any of the accepted time formats; absent where the token must say it. */
  readonly start?: string;
  readonly expiry?: string;
  readonly permission?: string;
}

export interface ResourceAcl {
  readonly publicAccess: PublicAccess | null;
  readonly policies: readonly AccessPolicy[];
}
