import type { Id } from '../../base/ids.ts';
import type { AccessPolicy } from '../../rules/acl.ts';
import type { Lease } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import type { Deleted } from '../../rules/retention.ts';

export type ShareTier = 'TransactionOptimized' | 'Hot' | 'Cool' | 'Premium';

/** What a share and a snapshot of it both have. */
export interface ShareState {
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly metadata: Metadata;
  readonly quotaGiB: number;
  readonly tier: ShareTier;
  readonly tierChangedMs: number;
  readonly lease: Lease;
}

/**
 * A share. Its tree is keyed by `id`, so a share of the same name created later never sees it. The tree has epochs, which
 * count from 1: what is written is written at the newest, and a snapshot keeps one (file/keep-past.ts).
 */
export interface ShareRecord extends ShareState {
  readonly id: Id;
  readonly createdMs: number;
  readonly policies: readonly AccessPolicy[];
  readonly epoch: number;
  /** The newest epoch that a snapshot keeps; 0: none. */
  readonly keptEpoch: number;
  readonly snapshotCount: number;
  /** The last snapshot that was taken, though it may be gone: their times are unique. */
  readonly lastSnapshot?: Moment;
  /** Of a deleted share: until when it can be restored. */
  readonly deleted?: Deleted;
}

/** A snapshot of a share: the tree as it was at the epoch, under the moment in its key. */
export interface ShareSnapshotRecord extends ShareState {
  readonly epoch: number;
}
