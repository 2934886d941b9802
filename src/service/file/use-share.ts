/** Operations on a share that exists: finding it, reading it or a snapshot of it, changing what it says about itself. */
import { transact } from '../../engine/transact.ts';
import type { AccessPolicy } from '../../rules/acl.ts';
import { type LeaseId, leaseAt } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import { refuseShareChange, refuseShareRead } from '../../rules/share-precedence.ts';
import { encodeJson } from '../records/codec.ts';
import { shareKey } from '../records/file-keys.ts';
import { type RecordReader, snapshotReader } from '../records/record-reader.ts';
import type { ShareRecord, ShareState, ShareTier } from '../records/share-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { QUOTA_GIB_MAX } from './create-share.ts';
import { findShare, loadShare, loadSnapshot, type ShareName, treeOf } from './load.ts';

export interface ShareRequest {
  readonly name: ShareName;
  readonly leaseId: LeaseId | null;
  /** Null: the share itself. */
  readonly snapshot: Moment | null;
}

/** What a snapshot cannot be asked for. */
export type BaseShareRequest = Omit<ShareRequest, 'snapshot'>;

export interface ShareRead {
  /** The share or the snapshot; its lease as of `nowMs`. */
  readonly share: ShareState;
  /** The share itself, in either case. */
  readonly base: ShareRecord;
  readonly nowMs: number;
}

/** Null where there is none. */
export async function lookUpShare(storage: Storage, name: ShareName): Promise<ShareRecord | null> {
  const snapshot = storage.engine.snapshot();
  return findShare(snapshotReader(snapshot), name).finally(() => snapshot.close());
}

/** Get Share Properties, Get Share Metadata, Get Share ACL. */
export async function getShare(storage: Storage, request: ShareRequest): Promise<ShareRead> {
  return storage.readers.inSnapshot((snapshot) => readShare(storage, snapshotReader(snapshot), request));
}

export async function readShare(storage: Storage, reader: RecordReader, request: ShareRequest): Promise<ShareRead> {
  const { name, leaseId, snapshot } = request;
  const nowMs = storage.clock.nowMs();
  const base = await loadShare(reader, name);
  const found = snapshot === null ? base : await loadSnapshot(reader, treeOf(name, base), snapshot);
  const refusal = refuseShareRead({ lease: found.lease, leaseId, nowMs });
  if (refusal !== null) throw new StorageError(refusal);
  return { share: { ...found, lease: leaseAt(found.lease, nowMs) }, base, nowMs };
}

/** Null: as it is. */
export interface SharePropertyChanges {
  readonly quotaGiB: number | null;
  readonly tier: ShareTier | null;
}

/** Set Share Properties. A quota below what is used takes nothing away: files then only shrink. */
export async function setShareProperties(
  storage: Storage,
  request: BaseShareRequest & SharePropertyChanges,
): Promise<ShareRecord> {
  const { quotaGiB, tier } = request;
  if (quotaGiB !== null && !isQuota(quotaGiB)) throw new StorageError('InvalidHeaderValue');
  return changeShare(storage, request, (share, nowMs) => ({
    quotaGiB: quotaGiB ?? share.quotaGiB,
    ...(tier === null || tier === share.tier ? {} : { tier, tierChangedMs: nowMs }),
  }));
}

export const isQuota = (quotaGiB: number): boolean =>
  Number.isInteger(quotaGiB) && quotaGiB >= 1 && quotaGiB <= QUOTA_GIB_MAX;

/** Set Share Metadata: replaces all of it. */
export function setShareMetadata(
  storage: Storage,
  request: BaseShareRequest & { readonly metadata: Metadata },
): Promise<ShareRecord> {
  return changeShare(storage, request, () => ({ metadata: request.metadata }));
}

/** Set Share ACL: replaces all policies, effective for the very next request. */
export function setShareAcl(
  storage: Storage,
  request: BaseShareRequest & { readonly policies: readonly AccessPolicy[] },
): Promise<ShareRecord> {
  return changeShare(storage, request, () => ({ policies: request.policies }));
}

async function changeShare(
  storage: Storage,
  { name, leaseId }: BaseShareRequest,
  change: (share: ShareRecord, nowMs: number) => Partial<ShareRecord>,
): Promise<ShareRecord> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const before = await loadShare(tx, name);
    const refusal = refuseShareChange({ lease: before.lease, leaseId, nowMs });
    if (refusal !== null) throw new StorageError(refusal);
    const after: ShareRecord = {
      ...before,
      ...change(before, nowMs),
      etag: storage.etags.next(before.etag, nowMs),
      lastModifiedMs: changedAt(before.lastModifiedMs, nowMs),
    };
    tx.put(shareKey(name.account, name.share), encodeJson(after));
    return after;
  });
}
