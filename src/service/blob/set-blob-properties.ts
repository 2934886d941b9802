import type { BlobHeaders, BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';

/** Set Blob Properties: any one header sent clears those not sent; none sent leaves all as they are. */
export function setBlobProperties(
  storage: Storage,
  request: BlobRequest & { headers: BlobHeaders },
): Promise<BlobRecord> {
  const sentAny = Object.keys(request.headers).length > 0;
  return changeBlob(storage, request, ({ copy: _, ...blob }) => ({
    ...blob,
    headers: sentAny ? request.headers : blob.headers,
  }));
}
