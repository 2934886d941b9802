/**
 * Incremental Copy Blob: a blob that takes one snapshot of another after the other, and nothing else.
 * https://learn.microsoft.com/rest/api/storageservices/incremental-copy-blob#remarks
 */
import type { Id } from '../base/ids.ts';
import type { CopyState } from './copy.ts';
import type { ErrorCode } from './error-code.ts';
import type { Moment } from './moment.ts';

/** The blob whose snapshots are copied. */
export interface FollowedBlob {
  readonly account: string;
  readonly container: string;
  readonly blob: string;
  /** Of its pages: another for a blob that was put in its place. */
  readonly mapId: Id;
}

/** What a blob that takes incremental copies has to do with the one that it follows, for good. */
export interface Following extends FollowedBlob {
  /** The last snapshot that was copied whole. */
  readonly snapshot: Moment | null;
}

/** `following` is absent on a blob that came about in another way. */
export function refuseIncrementalCopy(
  following: Following | undefined,
  { account, container, blob, mapId, snapshot }: FollowedBlob & { readonly snapshot: Moment },
): ErrorCode | null {
  const isSame =
    following?.account === account &&
    following.container === container &&
    following.blob === blob &&
    following.mapId === mapId;
  if (!isSame) return 'IncrementalCopyBlobMismatch';
  const isLater = following.snapshot === null || snapshot > following.snapshot;
  return isLater ? null : 'IncrementalCopyOfEarlierVersionSnapshotNotAllowed';
}

/**
 * Such a blob is there for the snapshots it gets. What it holds itself may be between two of them; and so may be what has
 * become of it since (a version, or something undeleted), unless its last copy was done.
 */
export const hidesContent = (copy: CopyState | undefined, { isPast }: { readonly isPast: boolean }): boolean =>
  copy?.incremental === true && !(isPast && copy.status === 'success');
