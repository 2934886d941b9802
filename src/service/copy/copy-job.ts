/**
 * A copy under way, as its row says it: what is copied, into which blob or file, and where the part of it stands that is
 * there already. URL and authorization are secrets. Whether the copy is still wanted is not said here but by the
 * destination's record: as long as that is pending with the same copy id.
 */
import type { Id } from '../../base/ids.ts';
import type { BlobAt, BlobName } from '../blob/load.ts';
import type { FileName } from '../file/load.ts';
import type { BlobRecord, PagesContent } from '../records/blob-record.ts';
import type { NodeId } from '../records/node-record.ts';

export type CopyJob = FetchBlobJob | FetchPagesJob | SharePagesJob | FollowSnapshotJob;

/** `blobKey`: where the blob's record stands, in base64. */
export type ToBlob = { readonly blobKey: string };
export type ToFile = { readonly file: FileDestination };
export type CopyDestination = ToBlob | ToFile;

export interface FileDestination {
  readonly account: string;
  readonly share: string;
  readonly shareId: Id;
  readonly nodeId: NodeId;
}

interface AnyJob {
  readonly copyId: string;
  readonly startedMs: number;
  /** After a failure: how many there were in a row without getting further, and when to try again. */
  readonly retry?: Retry;
}

/** A block or append blob from outside. */
export interface FetchBlobJob extends AnyJob, ToBlob {
  readonly kind: 'fetchBlob';
  readonly type: 'BlockBlob' | 'AppendBlob';
  readonly source: FetchedSource;
  /** Under which the parts stand (copy-parts.ts). */
  readonly partsId: Id;
  readonly partBytes: number;
  /** An append blob is sealed when it is complete. */
  readonly isSealed: boolean;
}

/** A page blob from outside, or anything into a file. */
export type FetchPagesJob = AnyJob &
  CopyDestination & {
    readonly kind: 'fetchPages';
    readonly source: FetchedSource;
    /** What the destination will have. */
    readonly map: PagesContent;
    readonly reachedBytes: number;
  };

/** A page blob or a file of this server, into another. */
export type SharePagesJob = AnyJob &
  CopyDestination & {
    readonly kind: 'sharePages';
    readonly source: HeldSource & {
      readonly lengthBytes: number;
      readonly contentMd5: string | null;
    };
    readonly map: PagesContent;
  };

/** A snapshot of a page blob of this server, into a blob that takes one after the other (incremental-copy.ts). */
export interface FollowSnapshotJob extends AnyJob, ToBlob {
  readonly kind: 'followSnapshot';
  readonly source: HeldBlob & { readonly at: BlobAt };
  /** What the copy is to have of it besides its pages. */
  readonly taken: Pick<BlobRecord, 'lengthBytes' | 'headers' | 'metadata' | 'sequenceNumber'>;
}

/** What is on this server, in the state that it had when the copy began. */
export type HeldSource = HeldBlob | HeldFile;

export interface HeldBlob extends InsideBlob {
  readonly etag: string;
}

export interface HeldFile {
  readonly file: FileName;
  readonly etag: string;
}

export interface InsideBlob {
  readonly name: BlobName;
  readonly at: BlobAt | null;
}

export interface FetchedSource {
  /** What is on this server and yet has to be read; it has no URL. */
  readonly inside?: InsideBlob | { readonly file: FileName };
  readonly url: string;
  readonly authorization: string | null;
  /** With its quotes; null: the source has none. */
  readonly etag: string | null;
  readonly lastModifiedMs: number | null;
  readonly lengthBytes: number;
  /** Base64, as the source says. */
  readonly contentMd5: string | null;
}

export interface Retry {
  readonly count: number;
  readonly notBeforeMs: number;
  /** How much was there to go on from. */
  readonly keptBytes: number;
}

/** A copy that is not done after this long has failed. */
export const COPY_LIFE_MS = 14 * 24 * 60 * 60 * 1000;

const RETRY_PAUSE_MS = 5_000;
const RETRY_PAUSE_MAX_MS = 10 * 60 * 1000;

export function retryAfter(
  before: Retry | undefined,
  { nowMs, keptBytes }: { nowMs: number; keptBytes: number },
): Retry {
  const count = before === undefined || keptBytes > before.keptBytes ? 1 : before.count + 1;
  const pauseMs = Math.min(RETRY_PAUSE_MS * 2 ** (count - 1), RETRY_PAUSE_MAX_MS);
  return { count, notBeforeMs: nowMs + pauseMs, keptBytes };
}

const PART_BYTES = 32 * 1024 * 1024;
const PART_COUNT_MAX = 50_000;

/** Parts are as short as their number allows: what a crash costs is one of them. */
export const partBytesFor = (lengthBytes: number): number =>
  Math.max(PART_BYTES, Math.ceil(lengthBytes / PART_COUNT_MAX));

/** A source that changes without its answers showing it cannot be fetched in two goes. */
export const canResume = ({ etag, lastModifiedMs }: FetchedSource): boolean => etag !== null || lastModifiedMs !== null;
