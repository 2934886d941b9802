import { type RehydratePriority, resolveSetTier, type Tier, withTier } from '../../rules/tier.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { BlobRequest } from './load.ts';
import { noteOnBlob } from './note-on-blob.ts';

/** Set Blob Tier. Whether it takes time: a blob comes back from the archive only after a while. */
export async function setBlobTier(
  storage: Storage,
  request: BlobRequest & { readonly tier: Tier; readonly priority: RehydratePriority | null },
): Promise<boolean> {
  const { tier, priority } = request;
  const { rehydrationMs } = storage.settings(request.name.account);
  let takesTime = false;
  await noteOnBlob(storage, { ...request, needsLease: false }, (blob, { nowMs, isPast }) => {
    const { type: blobType, lengthBytes } = blob;
    const at = { nowMs, rehydrationMs, isSnapshotOrVersion: isPast };
    const result = resolveSetTier(blob, { tier, priority, blobType, lengthBytes, ...at });
    if ('refusal' in result) throw new StorageError(result.refusal);
    takesTime = result.accepted;
    return withTier(blob, result.state);
  });
  return takesTime;
}
