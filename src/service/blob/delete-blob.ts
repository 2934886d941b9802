/** Delete Blob: the blob, its lease and its staged blocks are gone at once; their bytes are swept later. */
import { transact } from '../../engine/transact.ts';
import { refuseBlobDeleteOperation } from '../../rules/precedence.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';
import { endStaging } from './staging.ts';

export async function deleteBlob(
  storage: Storage,
  request: BlobRequest & { deleteSnapshots: 'include' | 'only' | null },
): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const { deleteSnapshots } = request;
    refuse(
      refuseBlobDeleteOperation({
        ...situation(loaded, request, nowMs),
        hasSnapshots: false,
        deleteSnapshots,
      }),
    );
    if (deleteSnapshots === 'only') return;
    if (loaded.blob !== null) {
      storage.extents.drop(tx, loaded.blob.content);
      tx.delete(loaded.keys.blob);
    }
    if (loaded.staging !== null) {
      endStaging(tx, storage.extents, { headKey: loaded.keys.staging, staging: loaded.staging });
    }
  });
}
