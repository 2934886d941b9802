/** What operations share that change a blob in place: a new ETag and time over the same content, or a changed one. */
import { type Transaction, transact } from '../../engine/transact.ts';
import { type BlobType, refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, type LoadedToWrite, loadBlobToWrite, refuse, situation } from './load.ts';
import { newVersion } from './new-version.ts';
import { putBlob } from './store-blob.ts';

export type BlobChange = (
  blob: BlobRecord,
  tx: Transaction,
  at: { readonly loaded: LoadedToWrite; readonly nowMs: number },
) => BlobRecord | Promise<BlobRecord>;

/** `change` may refuse by throwing, and write to `tx` what belongs to the content. */
export async function changeBlob(
  storage: Storage,
  request: BlobRequest & { readonly requiredType?: BlobType },
  change: BlobChange,
): Promise<BlobRecord> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const asked = situation(loaded, request, nowMs);
    const { requiredType = null } = request;
    refuse(refuseBlobWriteOperation({ ...asked, creates: false, requiredType }));
    const changed = await change(loaded.blob as BlobRecord, tx, { loaded, nowMs });
    const record: BlobRecord = { ...changed, ...newVersion(storage, loaded, nowMs) };
    putBlob(tx, storage, loaded, record);
    return record;
  });
}
