/**
 * Restore Container: a deleted container comes back with everything in it, under its name, as long as it is kept. Its
 * blobs never went: they are keyed by the container's id.
 */
import { ID_BYTES } from '../../base/ids.ts';
import { transact } from '../../engine/transact.ts';
import { isGone } from '../../rules/retention.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { containerKey, deletedContainerKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { ContainerName } from './load.ts';

const VERSION = new RegExp(`^[0-9a-f]{${2 * ID_BYTES}}$`);

/** `version`: as List Containers tells it. */
export async function restoreContainer(
  storage: Storage,
  { name: { account, container }, version }: { name: ContainerName; version: string },
): Promise<ContainerRecord> {
  const id = version.toLowerCase();
  if (!VERSION.test(id)) throw new StorageError('ContainerNotFound');
  const [liveKey, deletedKey] = [containerKey(account, container), deletedContainerKey(account, container, id)];
  return transact(storage.engine, async (tx) => {
    const [live = null, kept = null] = await tx.getMany([liveKey, deletedKey]);
    if (live !== null) throw new StorageError('ContainerAlreadyExists');
    const found = kept === null ? null : decodeJson<ContainerRecord>(kept);
    if (found?.deleted === undefined || isGone(found.deleted, storage.clock.nowMs())) {
      throw new StorageError('ContainerNotFound');
    }
    const { deleted: _, ...record } = found;
    tx.put(liveKey, encodeJson(record));
    tx.delete(deletedKey);
    return record;
  });
}
