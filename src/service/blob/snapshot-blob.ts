/** Snapshot Blob: the blob as it is now, to be read for ever. It shares the content, and costs what its record costs. */
import { transact } from '../../engine/transact.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import { refuseBlobSideWriteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { pastKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';
import { freeMoment, putPast } from './store-blob.ts';

export interface SnapshotTaken {
  readonly snapshot: Moment;
  readonly record: BlobRecord;
  /** Of the blob that it was taken of. */
  readonly versionId?: Moment;
}

export async function snapshotBlob(
  storage: Storage,
  request: BlobRequest & {
    /** Empty: the blob's own. */
    readonly metadata: Metadata;
  },
): Promise<SnapshotTaken> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const asked = situation(loaded, request, nowMs);
    refuse(refuseBlobSideWriteOperation({ ...asked, requiredType: null, effect: 'stages' }));
    const blob = loaded.blob as BlobRecord;
    if (blob.copy?.incremental === true) throw new StorageError('OperationNotAllowedOnIncrementalCopyBlob');
    const { own, other } = await storage.extents.share(tx, blob);
    const { versionId, ...state } = blob;
    const ofItsOwn =
      request.metadata.length === 0
        ? {}
        : { metadata: request.metadata, etag: storage.etags.next(blob.etag, nowMs), lastModifiedMs: nowMs };
    const snapshot = await freeMoment(tx, loaded.address, 'snapshot', nowMs);
    const record: BlobRecord = { ...state, ...other, ...ofItsOwn };
    putPast(tx, { key: pastKey(loaded.address, 'snapshot', snapshot), record });
    tx.put(loaded.keys.blob, encodeJson({ ...blob, ...own, hasOthers: true }));
    return { snapshot, record, ...(versionId === undefined ? {} : { versionId }) };
  });
}
