import { transact } from '../../engine/transact.ts';
import type { Metadata } from '../../rules/names.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';
import { newVersion } from './new-version.ts';
import { putBlob, replaceBlob } from './store-blob.ts';

/**
 * Set Blob Metadata: what is sent replaces everything; nothing sent clears it. Where versions are kept it makes one, over
 * the same content.
 */
export async function setBlobMetadata(
  storage: Storage,
  request: BlobRequest & { metadata: Metadata },
): Promise<BlobRecord> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    refuse(refuseBlobWriteOperation({ ...situation(loaded, request, nowMs), creates: false, requiredType: null }));
    const blob = loaded.blob as BlobRecord;
    const changed: BlobRecord = { ...blob, metadata: request.metadata, ...newVersion(storage, loaded, nowMs) };
    if (!storage.settings(request.name.account).keepsVersions) {
      putBlob(tx, storage, loaded, changed);
      return changed;
    }
    const { own, other } = await storage.extents.share(tx, blob);
    const before = { ...loaded, blob: { ...blob, ...other } };
    return replaceBlob(tx, storage, before, { record: { ...changed, ...own }, nowMs });
  });
}
