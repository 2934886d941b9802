/** Delete Blob: the blob, its lease and its staged blocks are gone at once; their bytes are swept later. */
import { transact } from '../../engine/transact.ts';
import { refuseBlobDeleteOperation } from '../../rules/precedence.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlob, refuse, situation } from './load.ts';

export async function deleteBlob(
  storage: Storage,
  request: BlobRequest & { deleteSnapshots: 'include' | 'only' | null },
): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const loaded = await loadBlob(tx, request.name);
    const { deleteSnapshots } = request;
    refuse(
      refuseBlobDeleteOperation({
        ...situation(loaded, request, storage.clock.nowMs()),
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
      storage.extents.dropStaging(tx, loaded.staging.id);
      tx.delete(loaded.keys.staging);
    }
  });
}
