/**
 * A copy under way, as its row says it: what is fetched, for which blob, and where the parts stand that are there already.
 * The URL and the authorization are secrets. Whether the copy is still wanted is not said here but by the blob's record,
 * which is pending with the same copy id, or else the job is over.
 */
import type { Id } from '../../base/ids.ts';
import type { BlobType } from '../../rules/precedence.ts';

export interface CopyJob {
  readonly copyId: string;
  /** Where the destination's record stands, in base64. */
  readonly blobKey: string;
  readonly startedMs: number;
  readonly type: Exclude<BlobType, 'PageBlob'>;
  readonly source: FetchedSource;
  /** Under which the parts stand (copy-parts.ts). */
  readonly partsId: Id;
  readonly partBytes: number;
  /** An append blob is sealed when it is complete. */
  readonly isSealed: boolean;
  /** After a failure: how many there were in a row, and when to try again. */
  readonly retry?: Retry;
}

export interface FetchedSource {
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
}

/** A copy that is not done after this long has failed. */
export const COPY_LIFE_MS = 14 * 24 * 60 * 60 * 1000;

const RETRY_PAUSE_MS = 5_000;
const RETRY_PAUSE_MAX_MS = 10 * 60 * 1000;

export function retryAfter(before: Retry | undefined, nowMs: number): Retry {
  const count = (before?.count ?? 0) + 1;
  return { count, notBeforeMs: nowMs + Math.min(RETRY_PAUSE_MS * 2 ** (count - 1), RETRY_PAUSE_MAX_MS) };
}

const PART_BYTES = 32 * 1024 * 1024;
const PART_COUNT_MAX = 50_000;

/** Parts are as short as their number allows: what a crash costs is one of them. */
export const partBytesFor = (lengthBytes: number): number =>
  Math.max(PART_BYTES, Math.ceil(lengthBytes / PART_COUNT_MAX));

/** A source that changes without its answers showing it cannot be fetched in two goes. */
export const canResume = ({ etag, lastModifiedMs }: FetchedSource): boolean => etag !== null || lastModifiedMs !== null;
