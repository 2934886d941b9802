/** Get Blob and Get Blob Properties: one committed version, whole, however long the reading takes. */

import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import { resolveRange, type Slice, type ByteRange as WantedRange } from '../../rules/range-header.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { blobKeys } from '../records/keys.ts';
import { type RecordReader, snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, type LoadedBlob, loadCommittedBlob, refuse, situation } from './load.ts';

export interface BlobRead {
  readonly blob: BlobRecord;
  readonly kind: 'blob' | 'snapshot' | 'version';
  /** The moment at which the lease is to be reported. */
  readonly nowMs: number;
}

export async function getBlobProperties(storage: Storage, request: BlobRequest): Promise<BlobRead> {
  return storage.readers.inSnapshot((snapshot) =>
    loadForRead(storage, snapshotReader(snapshot), { ...request, needsContent: false }),
  );
}

export interface BlobReadWithBytes extends BlobRead {
  /** What of the blob is given; null: all of it. */
  readonly slice: Slice | null;
  /** Whoever gets a stream reads it to its end, or gives it up with return(). */
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
}

export type GetBlobRequest = BlobRequest & { readonly range: WantedRange | null };

export async function getBlob(storage: Storage, request: GetBlobRequest): Promise<BlobReadWithBytes> {
  const read = await storage.readers.inSnapshot(async (snapshot) => {
    const found = await loadForRead(storage, snapshotReader(snapshot), withContent(request));
    const slice = sliceOf(found.blob, request);
    const wanted = slice ?? { offsetBytes: 0, lengthBytes: found.blob.lengthBytes };
    const bytes = await storage.readers.open(snapshot, found.blob.content, wanted, request.key ?? null);
    return bytes === null ? null : { ...found, slice, bytes };
  });
  return read ?? getHeld(storage, request);
}

/** So much of a page blob that reading it takes longer than a snapshot can be kept. */
async function getHeld(storage: Storage, request: GetBlobRequest): Promise<BlobReadWithBytes> {
  const { loaded, hold } = await storage.holds.take(async (tx) => {
    const found = await loadForRead(storage, tx, withContent(request));
    const slice = sliceOf(found.blob, request);
    const { content } = found.blob;
    return { found, slice, content: content.kind === 'pages' ? content : null };
  });
  // Another blob has taken its place.
  if (hold === null) return getBlob(storage, request);
  const { found, slice } = loaded;
  const wanted = slice ?? { offsetBytes: 0, lengthBytes: found.blob.lengthBytes };
  return { ...found, slice, bytes: storage.readers.openHeld(hold, wanted, request.key ?? null) };
}

/** Bytes sealed with a key are nothing to whoever does not have it, whatever the operation. */
const withContent = (request: GetBlobRequest): GetBlobRequest & { needsContent: true } => ({
  ...request,
  key: request.key ?? null,
  needsContent: true,
});

function sliceOf({ lengthBytes }: BlobRecord, { range }: GetBlobRequest): Slice | null {
  const slice = range === null ? null : resolveRange(range, lengthBytes);
  if (slice === 'unsatisfiable') {
    throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
  }
  return slice;
}

async function loadForRead(
  storage: Storage,
  reader: RecordReader,
  request: BlobRequest & { needsContent: boolean },
): Promise<BlobRead> {
  const nowMs = storage.clock.nowMs();
  const loaded = await loadCommittedBlob(reader, request, { nowMs, known: storage.known });
  const { needsContent } = request;
  refuse(refuseBlobReadOperation({ ...situation(loaded, request, nowMs), requiredType: null, needsContent }));
  return { blob: loaded.blob as BlobRecord, kind: kindOf(request, loaded), nowMs };
}

/** The current version of a blob may be asked for by its id. */
function kindOf({ at = null }: BlobRequest, { keys, address }: LoadedBlob): BlobRead['kind'] {
  if (at === null || Buffer.from(keys.blob).equals(blobKeys(address).blob)) return 'blob';
  return at.kind;
}
