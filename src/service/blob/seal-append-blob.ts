import { refuseAppendPosition } from '../../rules/append.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';

/** Append Blob Seal: nothing can be appended any more. Sealing again changes nothing but the ETag. */
export function sealAppendBlob(
  storage: Storage,
  request: BlobRequest & { readonly positionBytes: number | null },
): Promise<BlobRecord> {
  return changeBlob(storage, { ...request, requiredType: 'AppendBlob' }, (blob) => {
    const code = refuseAppendPosition(blob, request);
    if (code !== null) throw new StorageError(code);
    return { ...blob, isSealed: true };
  });
}
