import type { Id } from '../../base/ids.ts';
import type { CopyState } from '../../rules/copy.ts';
import type { BlobEncryption } from '../../rules/encryption.ts';
import type { Immutability } from '../../rules/immutability.ts';
import type { Following } from '../../rules/incremental-copy.ts';
import type { Lease } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import type { BlobType } from '../../rules/precedence.ts';
import type { Deleted } from '../../rules/retention.ts';
import type { Tags } from '../../rules/tags.ts';
import type { TierState } from '../../rules/tier.ts';
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
  | {
      readonly kind: 'layout';
      readonly id: Id;
      readonly blockIdBytes: number;
      /** Copied as bytes and not as blocks: nobody is told of them, and no list can name them. */
      readonly hidesBlocks?: true;
    }
  | AppendedContent
  | PagesContent;

/**
 * Blocks in the order in which they were appended: lists of rows that follow each other, each holding the bytes up to
 * its `endBytes`. The blob that began the last list appends to it; whoever else holds it (a snapshot, a copy) sees no
 * further than its own end, and would begin a list of its own.
 */
export interface AppendedContent {
  readonly kind: 'appended';
  readonly lists: readonly { readonly id: Id; readonly endBytes: number }[];
  readonly blockCount: number;
  /** The last list is another's to append to. */
  readonly isBorrowed?: true;
}

/** A map of pages (service/pages/), as it stood at one of its epochs. */
export interface PagesContent {
  readonly kind: 'pages';
  readonly id: Id;
  readonly epoch: number;
  /** Wide ranges that were cleared at once: what was written there before the cut's epoch counts no more. */
  readonly cuts: readonly PageCut[];
  /** Another goes on from here, and its writes do not show: earlier states of chunks are looked for. */
  readonly isFrozen?: true;
}

export interface PageCut {
  readonly epoch: number;
  readonly fromBytes: number;
  /** Null: to the end. */
  readonly toBytes: number | null;
}

/** A blob; or one of its snapshots, versions or deleted states, which stand under keys of their own (keys.ts). */
export interface BlobRecord extends TierState {
  readonly type: BlobType;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly createdMs: number;
  readonly lengthBytes: number;
  readonly content: BlobContent;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  /** Always available, except on the blob itself. */
  readonly lease: Lease;
  readonly tags?: Tags;
  /** Of a page blob, in decimal; absent: 0. */
  readonly sequenceNumber?: string;
  /** Of an append blob: nothing can be appended any more. */
  readonly isSealed?: true;
  /** The last copy into this blob, until something else is written to it. */
  readonly copy?: CopyState;
  /** Of a blob that takes incremental copies: whose snapshots, and how far it has come. */
  readonly following?: Following;
  /** Given while the account keeps versions. */
  readonly versionId?: Moment;
  readonly immutability?: Immutability;
  /** When the blob ends by itself. */
  readonly expiresMs?: number;
  readonly encryption?: BlobEncryption;
  /** Of a deleted state: until when it can be had back. */
  readonly deleted?: Deleted;
  /** Others may hold the content too: whoever lets go of it looks at its references (extents/references.ts). */
  readonly isShared?: true;
  /** There may be snapshots or deleted states of the same name. */
  readonly hasOthers?: true;
}

/** Blocks staged for a blob, which may not exist yet. The blocks themselves are records of their own, keyed by `id`. */
export interface StagingRecord {
  readonly id: Id;
  /** Every block id of a blob has this many bytes, decoded. */
  readonly blockIdBytes: number;
  /** When it began; or, of one that goes on for longer than a week, when that was last noticed. */
  readonly createdMs: number;
  /** Of its blocks: all of them have the same. */
  readonly encryption?: BlobEncryption;
  /** A lease taken on a blob that has only staged blocks; moves to the blob with the first commit. */
  readonly lease: Lease;
}

export interface AppendedBlock {
  readonly extent: ExtentRef;
  readonly lengthBytes: number;
}

export interface StagedBlock {
  readonly extent: ExtentRef;
  readonly lengthBytes: number;
  readonly stagedMs: number;
}
