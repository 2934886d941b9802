/** Get Blob and Get Blob Properties: one committed version, whole, however long the reading takes. */

import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import { resolveRange, type Slice, type ByteRange as WantedRange } from '../../rules/range-header.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, loadCommittedBlob, type RecordReader, refuse, situation, snapshotReader } from './load.ts';

export interface BlobRead {
  readonly blob: BlobRecord;
  /** The moment at which the lease is to be reported. */
  readonly nowMs: number;
}

export async function getBlobProperties(storage: Storage, request: BlobRequest): Promise<BlobRead> {
  return storage.readers.inSnapshot((snapshot) => loadForRead(storage, snapshotReader(snapshot), request));
}

export interface BlobReadWithBytes extends BlobRead {
  /** What of the blob is given; null: all of it. */
  readonly slice: Slice | null;
  /** Whoever gets a stream reads it to its end, or gives it up with return(). */
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
}

export async function getBlob(
  storage: Storage,
  request: BlobRequest & { range: WantedRange | null },
): Promise<BlobReadWithBytes> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const read = await loadForRead(storage, snapshotReader(snapshot), request);
    const { lengthBytes, content } = read.blob;
    const slice = request.range === null ? null : resolveRange(request.range, lengthBytes);
    if (slice === 'unsatisfiable') {
      throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
    }
    const bytes = await storage.readers.open(snapshot, content, slice ?? { offsetBytes: 0, lengthBytes });
    return { ...read, slice, bytes };
  });
}

async function loadForRead(storage: Storage, reader: RecordReader, request: BlobRequest): Promise<BlobRead> {
  const nowMs = storage.clock.nowMs();
  const loaded = await loadCommittedBlob(reader, request.name, storage.known);
  refuse(refuseBlobReadOperation({ ...situation(loaded, request, nowMs), requiredType: null }));
  return { blob: loaded.blob as BlobRecord, nowMs };
}
