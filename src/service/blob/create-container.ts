import { transact } from '../../engine/transact.ts';
import type { PublicAccess } from '../../rules/acl.ts';
import type { ContainerScope } from '../../rules/encryption.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import { encodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { containerKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type ContainerName, findContainer } from './load.ts';

/** Create Container. A new container of an old name is empty and available, whatever its predecessor held. */
export async function createContainer(
  storage: Storage,
  request: {
    readonly name: ContainerName;
    readonly metadata: Metadata;
    readonly publicAccess: PublicAccess | null;
    readonly encryptionScope?: ContainerScope | null;
  },
): Promise<ContainerRecord> {
  const { name, encryptionScope = null } = request;
  return transact(storage.engine, async (tx) => {
    if ((await findContainer(tx, name)) !== null) throw new StorageError('ContainerAlreadyExists');
    const nowMs = storage.clock.nowMs();
    const record: ContainerRecord = {
      id: storage.ids.next(),
      etag: storage.etags.next(null, nowMs),
      lastModifiedMs: nowMs,
      createdMs: nowMs,
      metadata: request.metadata,
      publicAccess: request.publicAccess,
      policies: [],
      lease: AVAILABLE,
      ...(encryptionScope === null ? {} : { encryptionScope }),
    };
    tx.put(containerKey(name.account, name.container), encodeJson(record));
    return record;
  });
}
