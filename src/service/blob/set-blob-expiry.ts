import { type ExpiryOption, resolveExpiry } from '../../rules/expiry.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';

/** Set Blob Expiry: when the blob ends by itself, or that it does not. */
export function setBlobExpiry(
  storage: Storage,
  request: BlobRequest & { readonly option: ExpiryOption; readonly time: string | null },
): Promise<BlobRecord> {
  return changeBlob(storage, request, (stored, _tx, { nowMs }) => {
    const { expiresMs: _, ...blob } = stored;
    const result = resolveExpiry(request, { createdMs: blob.createdMs, nowMs });
    if ('refusal' in result) {
      throw new StorageError(result.refusal, {
        elements: { HeaderName: 'x-ms-expiry-time', HeaderValue: request.time ?? '' },
      });
    }
    return result.expiresAtMs === null ? blob : { ...blob, expiresMs: result.expiresAtMs };
  });
}
