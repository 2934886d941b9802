/** What Set Blob Metadata and Set Blob Properties share: a new version of the record over the same content. */
import { transact } from '../../engine/transact.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';
import { type BlobWritten, newVersion } from './new-version.ts';

export async function changeBlob(
  storage: Storage,
  request: BlobRequest,
  change: (blob: BlobRecord) => BlobRecord,
): Promise<BlobWritten> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    refuse(refuseBlobWriteOperation({ ...situation(loaded, request, nowMs), creates: false, requiredType: null }));
    const record: BlobRecord = { ...change(loaded.blob as BlobRecord), ...newVersion(storage, loaded, nowMs) };
    tx.put(loaded.keys.blob, encodeJson(record));
    return { etag: record.etag, lastModifiedMs: record.lastModifiedMs };
  });
}
