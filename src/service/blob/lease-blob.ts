/** Lease Blob: acquire, renew, change, release, break. Changes neither ETag nor Last-Modified. */
import { transact } from '../../engine/transact.ts';
import type { Lease, LeaseAction } from '../../rules/lease.ts';
import { resolveBlobLeaseOperation } from '../../rules/precedence.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';

export interface LeaseResult {
  readonly lease: Lease;
  /** After a break: seconds until the lease is broken. */
  readonly remainingSeconds: number | null;
  /** Null for a blob that has only staged blocks: it has no ETag yet. */
  readonly target: { readonly etag: string; readonly lastModifiedMs: number } | null;
}

export async function leaseBlob(
  storage: Storage,
  request: Omit<BlobRequest, 'leaseId'> & { action: LeaseAction },
): Promise<LeaseResult> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const { blob, staging, keys } = loaded;
    const asked = situation(loaded, { ...request, leaseId: null }, nowMs);
    const result = resolveBlobLeaseOperation({ ...asked, action: request.action });
    if ('refusal' in result) return refuse(result.refusal) as never;
    const { lease, remainingSeconds } = result;
    if (blob !== null) tx.put(keys.blob, encodeJson({ ...blob, lease }));
    else if (staging !== null) tx.put(keys.staging, encodeJson({ ...staging, lease }));
    return { lease, remainingSeconds, target: blob };
  });
}
