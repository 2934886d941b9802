import type { Id } from '../../base/ids.ts';
import type { Lease } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { BlobType } from '../../rules/precedence.ts';
import type { ExtentRef } from './extent-record.ts';

/** The content headers a user may set; absent is unset. */
export interface BlobHeaders {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  /** Base64. */
  readonly contentMd5?: string;
  readonly cacheControl?: string;
  readonly contentDisposition?: string;
}

/** Where a blob's bytes are. */
export type BlobContent =
  | { readonly kind: 'empty' }
  /** One extent that stands in the engine itself. */
  | { readonly kind: 'inline'; readonly id: Id }
  /** One extent in the content store. */
  | { readonly kind: 'extent'; readonly id: Id }
  /** A committed block list, whose block ids all have so many bytes, decoded. */
  | { readonly kind: 'layout'; readonly id: Id; readonly blockIdBytes: number };

export interface BlobRecord {
  readonly type: BlobType;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly createdMs: number;
  readonly lengthBytes: number;
  readonly content: BlobContent;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly lease: Lease;
  /** As the user set it; absent: the account's default, Hot. */
  readonly tier?: AccessTier;
}

export type AccessTier = 'Hot' | 'Cool' | 'Cold';

/** Blocks staged for a blob, which may not exist yet. The blocks themselves are records of their own, keyed by `id`. */
export interface StagingRecord {
  readonly id: Id;
  /** Every block id of a blob has this many bytes, decoded. */
  readonly blockIdBytes: number;
  /** When it began; or, of one that goes on for longer than a week, when that was last noticed. */
  readonly createdMs: number;
  /** A lease taken on a blob that has only staged blocks; moves to the blob with the first commit. */
  readonly lease: Lease;
}

export interface StagedBlock {
  readonly extent: ExtentRef;
  readonly lengthBytes: number;
  readonly stagedMs: number;
}
