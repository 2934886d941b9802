/**
 * Delete Blob with `deletetype=permanent`: a snapshot or version that soft delete still keeps is gone for good, if the
 * account allows that. A state that was overwritten is listed as a deleted snapshot, and goes as one.
 */
import type { Transaction } from '../../engine/transact.ts';
import { refuseBlobDeleteOperation } from '../../rules/precedence.ts';
import { isGone } from '../../rules/retention.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { type BlobAddress, type PastKind, pastKey, servicePropertiesKey } from '../records/keys.ts';
import type { ServiceProperties } from '../service-properties.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobAt, type BlobRequest, loadBlob, refuse, situation } from './load.ts';

export async function deletePermanently(tx: Transaction, storage: Storage, request: BlobRequest): Promise<void> {
  const nowMs = storage.clock.nowMs();
  const { at = null, name } = request;
  await refuseUnlessAllowed(tx, name.account);
  const loaded = await loadBlob(tx, name, { nowMs, known: storage.known });
  if (at === null) throw notAllowed('Only a soft-deleted snapshot or version can be deleted permanently.');
  if (at.kind === 'version' && loaded.blob?.versionId === at.moment)
    throw new StorageError('OperationNotAllowedOnRootBlob');
  const found = loaded.container === null ? null : await findPast(tx, loaded.address, { at, nowMs });
  const state = found === null ? null : { ...found.record, tier: found.record, committed: true };
  refuse(
    refuseBlobDeleteOperation({
      ...situation(loaded, request, nowMs),
      blob: state,
      hasSnapshots: false,
      deleteSnapshots: null,
    }),
  );
  const { key, record } = found as PastRecord;
  if (record.deleted === undefined) throw new StorageError('BlobSnapshotNotSoftDeleted');
  await storage.extents.drop(tx, record);
  tx.delete(key);
}

async function refuseUnlessAllowed(tx: Transaction, account: string): Promise<void> {
  const value = await tx.get(servicePropertiesKey(account, 'b'));
  const { deleteRetention } = value === null ? {} : decodeJson<Partial<ServiceProperties>>(value);
  if (deleteRetention?.allowPermanentDelete !== true) {
    throw notAllowed('Permanent delete is not enabled for this account.');
  }
}

const notAllowed = (message: string): StorageError => new StorageError('InvalidOperation', { status: 409, message });

interface PastRecord {
  readonly key: Uint8Array;
  readonly record: BlobRecord;
}

async function findPast(
  tx: Transaction,
  address: BlobAddress,
  { at, nowMs }: { at: BlobAt; nowMs: number },
): Promise<PastRecord | null> {
  const kinds: readonly PastKind[] = at.kind === 'version' ? ['version'] : ['snapshot', 'deleted'];
  const keys = kinds.map((kind) => pastKey(address, kind, at.moment));
  const values = await tx.getMany(keys);
  const found = keys.flatMap((key, index) => {
    const value = values[index] ?? null;
    return value === null ? [] : [{ key, record: decodeJson<BlobRecord>(value) }];
  });
  return found.find(({ record: { deleted } }) => deleted === undefined || !isGone(deleted, nowMs)) ?? null;
}
