/**
 * Restore Share: a deleted share comes back with everything in it and all its snapshots, under its name, as long as it
 * is kept. Its tree never went: it is keyed by the share's id.
 */
import { isId } from '../../base/ids.ts';
import { transact } from '../../engine/transact.ts';
import { isGone } from '../../rules/retention.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { deletedShareKey, shareKey } from '../records/file-keys.ts';
import type { ShareRecord } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { ShareName } from './load.ts';

/** `version`: as List Shares tells it. */
export async function restoreShare(
  storage: Storage,
  { name: { account, share: name }, version }: { readonly name: ShareName; readonly version: string },
): Promise<ShareRecord> {
  const id = version.toLowerCase();
  if (!isId(id)) throw new StorageError('ShareNotFound');
  const [liveKey, deletedKey] = [shareKey(account, name), deletedShareKey(account, name, id)];
  return transact(storage.engine, async (tx) => {
    const [live = null, kept = null] = await tx.getMany([liveKey, deletedKey]);
    if (live !== null) throw new StorageError('ShareAlreadyExists');
    const found = kept === null ? null : decodeJson<ShareRecord>(kept);
    if (found?.deleted === undefined || isGone(found.deleted, storage.clock.nowMs())) {
      throw new StorageError('ShareNotFound');
    }
    const { deleted: _, ...share } = found;
    tx.put(liveKey, encodeJson(share));
    tx.delete(deletedKey);
    return share;
  });
}
