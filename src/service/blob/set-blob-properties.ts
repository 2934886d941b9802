import type { BlobHeaders } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';
import type { BlobWritten } from './new-version.ts';

/** Set Blob Properties: any one header sent clears those not sent; none sent leaves all as they are. */
export function setBlobProperties(
  storage: Storage,
  request: BlobRequest & { headers: BlobHeaders },
): Promise<BlobWritten> {
  const sentAny = Object.keys(request.headers).length > 0;
  return changeBlob(storage, request, (blob) => ({ ...blob, headers: sentAny ? request.headers : blob.headers }));
}
