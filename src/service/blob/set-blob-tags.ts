import type { Tags } from '../../rules/tags.ts';
import { SINCE_TAGS_NEED_LEASE } from '../../rules/versions.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import type { BlobRequest } from './load.ts';
import { noteOnBlob } from './note-on-blob.ts';

/** Set Blob Tags: what is sent replaces everything; none clears them. */
export function setBlobTags(storage: Storage, request: BlobRequest & { readonly tags: Tags }): Promise<BlobRecord> {
  const needsLease = request.version >= SINCE_TAGS_NEED_LEASE;
  return noteOnBlob(storage, { ...request, needsLease }, (blob) => {
    const { tags: _, ...untagged } = blob;
    return request.tags.length === 0 ? untagged : { ...untagged, tags: request.tags };
  });
}
