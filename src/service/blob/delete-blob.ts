/**
 * Delete Blob: the blob, its lease and its staged blocks are gone at once; or one of its snapshots or versions. What soft
 * delete or versions keep can be had back; the bytes of all else are swept later.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import { refuseChange } from '../../rules/immutability.ts';
import { refuseBlobDeleteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { deletePermanently } from './delete-permanently.ts';
import { type BlobRequest, loadBlobToWrite, loadCommittedBlob, refuse, situation } from './load.ts';
import { liveSnapshots, type PastState, removePast } from './past-states.ts';
import { endStaging } from './staging.ts';
import { removeBlob } from './store-blob.ts';

export interface DeleteBlobRequest extends BlobRequest {
  readonly deleteSnapshots: 'include' | 'only' | null;
  /** What soft delete has kept so far, for good. */
  readonly isPermanent?: boolean;
}

/** Whether it is gone for good. */
export async function deleteBlob(storage: Storage, request: DeleteBlobRequest): Promise<boolean> {
  return transact(storage.engine, async (tx) => {
    if (request.isPermanent === true) {
      await deletePermanently(tx, storage, request);
      return true;
    }
    return request.at == null ? deleteBase(tx, storage, request) : deletePast(tx, storage, request);
  });
}

async function deleteBase(tx: Transaction, storage: Storage, request: DeleteBlobRequest): Promise<boolean> {
  const nowMs = storage.clock.nowMs();
  const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
  const { deleteSnapshots } = request;
  const snapshots = await liveSnapshots(tx, loaded);
  refuse(
    refuseBlobDeleteOperation({
      ...situation(loaded, request, nowMs),
      hasSnapshots: snapshots.length > 0,
      deleteSnapshots,
    }),
  );
  refuseImmutable(snapshots, nowMs);
  await removePast(tx, storage, { states: snapshots, retentionDays: loaded.retentionDays, nowMs });
  if (deleteSnapshots === 'only') return loaded.retentionDays === null;
  if (loaded.staging !== null) {
    endStaging(tx, storage.extents, { headKey: loaded.keys.staging, staging: loaded.staging });
  }
  return loaded.blob === null ? true : !(await removeBlob(tx, storage, loaded, nowMs));
}

/** All snapshots go, or none. */
function refuseImmutable(snapshots: readonly PastState[], nowMs: number): void {
  for (const { record } of snapshots) {
    const code = refuseChange(record.immutability ?? {}, nowMs);
    if (code !== null) throw new StorageError(code);
  }
}

async function deletePast(tx: Transaction, storage: Storage, request: DeleteBlobRequest): Promise<boolean> {
  const nowMs = storage.clock.nowMs();
  const { retentionDays, keys } = await loadBlobToWrite(tx, storage, request.name, nowMs);
  const loaded = await loadCommittedBlob(tx, request, { nowMs, known: storage.known });
  refuse(
    refuseBlobDeleteOperation({
      ...situation(loaded, request, nowMs),
      hasSnapshots: false,
      deleteSnapshots: null,
    }),
  );
  if (Buffer.from(loaded.keys.blob).equals(keys.blob)) throw new StorageError('OperationNotAllowedOnRootBlob');
  const past = { key: loaded.keys.blob, record: loaded.blob as BlobRecord };
  await removePast(tx, storage, { states: [past], retentionDays, nowMs });
  return retentionDays === null;
}
