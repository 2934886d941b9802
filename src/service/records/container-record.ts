import type { Id } from '../../base/ids.ts';
import type { AccessPolicy, PublicAccess } from '../../rules/acl.ts';
import type { ContainerScope } from '../../rules/encryption.ts';
import type { Lease } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { Deleted } from '../../rules/retention.ts';

/** A container. Its blobs are keyed by `id`, so a container of the same name created later never sees them. */
export interface ContainerRecord {
  readonly id: Id;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly createdMs: number;
  readonly metadata: Metadata;
  readonly publicAccess: PublicAccess | null;
  readonly policies: readonly AccessPolicy[];
  readonly lease: Lease;
  /** The encryption scope of blobs that name none, and whether they may name another. */
  readonly encryptionScope?: ContainerScope;
  /** Some blob in it has, or had, an immutability policy or a legal hold: whoever deletes it looks. */
  readonly mayHoldImmutable?: true;
  /** Of a deleted container: until when it can be restored. */
  readonly deleted?: Deleted;
}
