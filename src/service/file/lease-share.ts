import { transact } from '../../engine/transact.ts';
import type { Lease, LeaseAction } from '../../rules/lease.ts';
import { resolveShareLease } from '../../rules/share-precedence.ts';
import { encodeJson } from '../records/codec.ts';
import { shareKey, snapshotKey } from '../records/file-keys.ts';
import type { ShareState } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { loadShare, loadSnapshot, treeOf } from './load.ts';
import type { ShareRequest } from './use-share.ts';

export interface ShareLeased {
  /** ETag and Last-Modified stay what they were. */
  readonly share: ShareState;
  readonly lease: Lease;
  /** After a break: seconds until the lease is broken. */
  readonly remainingSeconds: number | null;
}

/** Lease Share: of the share or of a snapshot. It guards them, and nothing that is in them. */
export async function leaseShare(
  storage: Storage,
  { name, snapshot, action }: Omit<ShareRequest, 'leaseId'> & { readonly action: LeaseAction },
): Promise<ShareLeased> {
  return transact(storage.engine, async (tx) => {
    const base = await loadShare(tx, name);
    const tree = treeOf(name, base);
    const found = snapshot === null ? base : await loadSnapshot(tx, tree, snapshot);
    const result = resolveShareLease({ lease: found.lease, nowMs: storage.clock.nowMs() }, action);
    if ('refusal' in result) throw new StorageError(result.refusal);
    const { lease, remainingSeconds } = result;
    const share = { ...found, lease };
    tx.put(snapshot === null ? shareKey(name.account, name.share) : snapshotKey(tree, snapshot), encodeJson(share));
    return { share, lease, remainingSeconds };
  });
}
