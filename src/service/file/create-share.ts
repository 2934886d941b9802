import { transact } from '../../engine/transact.ts';
import { DIRECTORY } from '../../rules/file-attributes.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import { encodeJson } from '../records/codec.ts';
import { rootKey, shareKey, type TreeAddress } from '../records/file-keys.ts';
import { type DirectoryRecord, ROOT_ID } from '../records/node-record.ts';
import type { ShareRecord, ShareTier } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findShare, type ShareName } from './load.ts';
import { permissionOfRoot } from './permissions.ts';

export const QUOTA_GIB_USUAL = 5_120;
export const QUOTA_GIB_MAX = 102_400;

const FIRST_EPOCH = 1;

export interface NewShare {
  readonly metadata: Metadata;
  readonly quotaGiB: number;
  readonly tier: ShareTier;
}

/** Create Share: with its root. */
export async function createShare(storage: Storage, name: ShareName, request: NewShare): Promise<ShareRecord> {
  const id = storage.ids.next();
  return transact(storage.engine, async (tx) => {
    if ((await findShare(tx, name)) !== null) throw new StorageError('ShareAlreadyExists');
    const nowMs = storage.clock.nowMs();
    const tree: TreeAddress = { account: name.account, shareId: id };
    const etag = storage.etags.next(null, nowMs);
    const share: ShareRecord = {
      ...request,
      id,
      etag,
      lastModifiedMs: nowMs,
      createdMs: nowMs,
      tierChangedMs: nowMs,
      policies: [],
      lease: AVAILABLE,
      epoch: FIRST_EPOCH,
      keptEpoch: 0,
      snapshotCount: 0,
    };
    const root: DirectoryRecord = {
      kind: 'directory',
      id: ROOT_ID,
      name: '',
      since: FIRST_EPOCH,
      etag,
      lastModifiedMs: nowMs,
      attributes: DIRECTORY,
      createdAt: fileTimeAt(nowMs),
      writtenAt: fileTimeAt(nowMs),
      changedAt: fileTimeAt(nowMs),
      permission: permissionOfRoot(tx, tree),
      metadata: [],
    };
    tx.put(shareKey(name.account, name.share), encodeJson(share));
    tx.put(rootKey(tree), encodeJson(root));
    return share;
  });
}
