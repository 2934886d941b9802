import type { Metadata } from '../../rules/names.ts';
import type { Storage } from '../storage.ts';
import { changeBlob } from './change-blob.ts';
import type { BlobRequest } from './load.ts';
import type { BlobWritten } from './new-version.ts';

/** Set Blob Metadata: what is sent replaces everything; nothing sent clears it. */
export function setBlobMetadata(storage: Storage, request: BlobRequest & { metadata: Metadata }): Promise<BlobWritten> {
  return changeBlob(storage, request, (blob) => ({ ...blob, metadata: request.metadata }));
}
