/**
 * Delete Blob: the blob, its lease and its staged blocks are gone at once; or one of its snapshots or versions. What soft
 * delete or versions keep can be had back; the bytes of all else are swept later.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import { refuseBlobDeleteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { pastRange } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, type LoadedToWrite, loadBlobToWrite, loadCommittedBlob, refuse, situation } from './load.ts';
import { endStaging } from './staging.ts';
import { putDeleted, removeBlob } from './store-blob.ts';

const STEP_RECORDS = 500;

export interface DeleteBlobRequest extends BlobRequest {
  readonly deleteSnapshots: 'include' | 'only' | null;
}

/** Whether it is gone for good. */
export async function deleteBlob(storage: Storage, request: DeleteBlobRequest): Promise<boolean> {
  return transact(storage.engine, (tx) =>
    request.at == null ? deleteBase(tx, storage, request) : deletePast(tx, storage, request),
  );
}

async function deleteBase(tx: Transaction, storage: Storage, request: DeleteBlobRequest): Promise<boolean> {
  const nowMs = storage.clock.nowMs();
  const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
  const { deleteSnapshots } = request;
  const snapshots = loaded.blob?.hasOthers === true ? await liveSnapshots(tx, loaded) : [];
  refuse(
    refuseBlobDeleteOperation({
      ...situation(loaded, request, nowMs),
      hasSnapshots: snapshots.length > 0,
      deleteSnapshots,
    }),
  );
  for (const { key, record } of snapshots) await removePast(tx, storage, { ...loaded, key, record }, nowMs);
  if (deleteSnapshots === 'only') return loaded.retentionDays === null;
  if (loaded.staging !== null) {
    endStaging(tx, storage.extents, { headKey: loaded.keys.staging, staging: loaded.staging });
  }
  return loaded.blob === null ? true : !(await removeBlob(tx, storage, loaded, nowMs));
}

interface PastRecord {
  readonly key: Uint8Array;
  readonly record: BlobRecord;
}

async function liveSnapshots(tx: Transaction, { address }: LoadedToWrite): Promise<PastRecord[]> {
  const found: PastRecord[] = [];
  for await (const entries of scanSteps(tx, pastRange(address, 'snapshot'), STEP_RECORDS)) {
    for (const { key, value } of entries) {
      const record = decodeJson<BlobRecord>(value);
      if (record.deleted === undefined) found.push({ key, record });
    }
  }
  return found;
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
  const record = loaded.blob as BlobRecord;
  await removePast(tx, storage, { key: loaded.keys.blob, record, retentionDays }, nowMs);
  return retentionDays === null;
}

async function removePast(
  tx: Transaction,
  storage: Storage,
  { key, record, retentionDays }: PastRecord & Pick<LoadedToWrite, 'retentionDays'>,
  nowMs: number,
): Promise<void> {
  if (retentionDays !== null) {
    putDeleted(tx, storage, { key, record, days: retentionDays, nowMs });
    return;
  }
  await storage.extents.drop(tx, record);
  tx.delete(key);
}
