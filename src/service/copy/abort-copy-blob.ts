/** Abort Copy Blob: the destination stays as it was while the copy was pending, without content, and can be written again. */
import { transact } from '../../engine/transact.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { resolveAbort } from '../../rules/copy.ts';
import { leaseAt, refuseBlobWrite } from '../../rules/lease.ts';
import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from '../blob/load.ts';
import { newVersion } from '../blob/new-version.ts';
import { putBlob } from '../blob/store-blob.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';

export interface AbortCopyRequest extends Pick<BlobRequest, 'name' | 'leaseId' | 'version'> {
  readonly copyId: string;
}

/** Whoever fetches for the copy is told, and clears away what it has. */
export async function abortCopyBlob(storage: Storage, request: AbortCopyRequest): Promise<void> {
  const copyId = await transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const asked = situation(loaded, { ...request, conditions: NO_CONDITIONS }, nowMs);
    refuse(refuseBlobReadOperation({ ...asked, requiredType: null }));
    const blob = loaded.blob as BlobRecord;
    const locked = refuseBlobWrite(leaseAt(blob.lease, nowMs), request.leaseId);
    if (locked !== null) throw new StorageError(locked);
    const resolved = resolveAbort(blob.copy, { copyId: request.copyId, nowMs });
    if ('refusal' in resolved) throw new StorageError(resolved.refusal);
    const { description: _, ...copy } = resolved.copy;
    const lengthBytes = copy.incremental === true ? blob.lengthBytes : 0;
    putBlob(tx, storage, loaded, { ...blob, ...newVersion(storage, loaded, nowMs), lengthBytes, copy });
    return copy.id;
  });
  storage.copies.ended(copyId);
}
