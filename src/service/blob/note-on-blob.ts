/**
 * What operations share that only note something about a blob, one of its snapshots or versions: tags, tier, policies.
 * Neither ETag nor Last-Modified change.
 */
import { transact } from '../../engine/transact.ts';
import { refuseBlobSideWriteOperation, refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import {
  type BlobAt,
  type BlobRequest,
  type LoadedBlob,
  loadBlobToWrite,
  loadCommittedBlob,
  refuse,
  situation,
} from './load.ts';
import { noteImmutable, putBlob } from './store-blob.ts';

export async function noteOnBlob(
  storage: Storage,
  request: BlobRequest & {
    /** While the blob is leased, its lease id; otherwise one is looked at only where it is given. */
    readonly needsLease: boolean;
  },
  note: (blob: BlobRecord, at: { readonly nowMs: number; readonly isPast: boolean }) => BlobRecord,
): Promise<BlobRecord> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const base = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const isPast = request.at != null && !namesCurrentVersion(request.at, base.blob);
    const loaded = isPast ? await loadCommittedBlob(tx, request, { nowMs, known: storage.known }) : base;
    refuseNote(loaded, request, nowMs);
    const record = note(loaded.blob as BlobRecord, { nowMs, isPast });
    if (isPast && record.immutability !== undefined) noteImmutable(tx, loaded);
    if (isPast) tx.put(loaded.keys.blob, encodeJson(record));
    else putBlob(tx, storage, base, record);
    return record;
  });
}

/** A snapshot may have been taken at the very time that is the current version's id. */
const namesCurrentVersion = (at: BlobAt, blob: BlobRecord | null): boolean =>
  at.kind === 'version' && at.moment === blob?.versionId;

function refuseNote(loaded: LoadedBlob, request: BlobRequest & { needsLease: boolean }, nowMs: number): void {
  const asked = { ...situation(loaded, request, nowMs), requiredType: null, effect: 'notes' as const };
  refuse(
    request.needsLease ? refuseBlobWriteOperation({ ...asked, creates: false }) : refuseBlobSideWriteOperation(asked),
  );
}
