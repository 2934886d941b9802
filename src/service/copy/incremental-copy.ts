/**
 * Incremental Copy Blob: a snapshot of a page blob is copied into a blob that has those before it, and becomes a snapshot
 * there. The answer says that it is pending; what differs is copied in the background (follow-snapshot.ts), and so is the
 * first one, which differs from nothing.
 */
import { randomUUID } from 'node:crypto';
import type { Transaction } from '../../engine/transact.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { type CopyState, pendingCopy } from '../../rules/copy.ts';
import { type Following, refuseIncrementalCopy } from '../../rules/incremental-copy.ts';
import type { Moment } from '../../rules/moment.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import {
  type BlobAt,
  type BlobRequest,
  type LoadedToWrite,
  loadBlobToWrite,
  loadCommittedBlob,
  refuse,
  situation,
} from '../blob/load.ts';
import { newBlobFields, newVersion } from '../blob/new-version.ts';
import { endStaging } from '../blob/staging.ts';
import { putBlob, replaceBlob } from '../blob/store-blob.ts';
import { createPages } from '../pages/page-map.ts';
import type { BlobRecord, PagesContent } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobCopied, copiedAs } from './copy-blob.ts';
import type { FollowSnapshotJob } from './copy-job.ts';
import type { CopySource, InsideSource } from './copy-source.ts';
import { loadSource } from './inside-source.ts';
import { cannotVerify } from './verify-failure.ts';

export interface IncrementalCopyRequest extends BlobRequest {
  readonly source: CopySource;
  /** The source's URL as anybody may see it. */
  readonly shownSource: string;
  /** False for a token that may only create. */
  readonly mayOverwrite: boolean;
}

type SnapshotSource = InsideSource & { readonly at: BlobAt };

export async function incrementalCopyBlob(storage: Storage, request: IncrementalCopyRequest): Promise<BlobCopied> {
  const source = requireSnapshot(request.source);
  const copyId = randomUUID();
  const jobId = storage.ids.next();
  const { loaded: begun, hold } = await storage.holds.take(async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    refuseDestination(loaded, request, nowMs);
    const snapshot = await loadSnapshot(tx, storage, { source, version: request.version, nowMs });
    const followed = { ...source.name, mapId: (snapshot.content as PagesContent).id };
    if (loaded.blob !== null) await refuseNext(tx, storage, { blob: loaded.blob, source, followed, nowMs });
    const { lengthBytes } = snapshot;
    const pending = pendingCopy({ id: copyId, source: request.shownSource, lengthBytes });
    const copy: CopyState = { ...pending, incremental: true };
    const record =
      loaded.blob === null
        ? await create(tx, storage, loaded, { following: { ...followed, snapshot: null }, copy, nowMs })
        : goOn(tx, storage, loaded, { copy, nowMs });
    putJob(tx, { jobId, copyId, loaded, source, snapshot, nowMs });
    return { record, content: snapshot.content as PagesContent };
  });
  void storage.copies.begun(jobId, hold);
  return copiedAs(begun.record);
}

// ---- may it be?

function requireSnapshot(source: CopySource): SnapshotSource {
  if (source.kind !== 'inside') {
    const sentence = 'An incremental copy can be made only from a snapshot on this server.';
    throw cannotVerify({ status: 409, code: null, sentence });
  }
  const { at } = source;
  if (at?.kind !== 'snapshot') throw new StorageError('IncrementalCopySourceMustBeSnapshot');
  return { ...source, at };
}

function refuseDestination(loaded: LoadedToWrite, request: IncrementalCopyRequest, nowMs: number): void {
  const asked = situation(loaded, request, nowMs);
  refuse(refuseBlobWriteOperation({ ...asked, creates: true, requiredType: null, effect: 'follows' }));
  if (loaded.blob !== null && !request.mayOverwrite) throw new StorageError('UnauthorizedBlobOverwrite');
}

async function loadSnapshot(
  tx: Transaction,
  storage: Storage,
  { source, version, nowMs }: { source: SnapshotSource; version: string; nowMs: number },
): Promise<BlobRecord> {
  const question = { source, conditions: NO_CONDITIONS, version, leavesArchive: false };
  const { blob } = await loadSource(tx, storage, question, nowMs);
  if (blob.type !== 'PageBlob') throw new StorageError('InvalidSourceBlobType');
  return blob;
}

/** As if Get Page Ranges were asked what has changed since the snapshot copied last: that must be there as well. */
async function refuseNext(
  tx: Transaction,
  storage: Storage,
  next: { blob: BlobRecord; source: SnapshotSource; followed: Omit<Following, 'snapshot'>; nowMs: number },
): Promise<void> {
  const { blob, source, followed, nowMs } = next;
  if (blob.type !== 'PageBlob') throw new StorageError('InvalidBlobType');
  const code = refuseIncrementalCopy(blob.following, { ...followed, snapshot: source.at.moment });
  if (code !== null) throw new StorageError(code);
  const last = blob.following?.snapshot ?? null;
  if (last !== null && !(await isThere(tx, storage, { source, moment: last, nowMs }))) {
    throw new StorageError('PreviousSnapshotNotFound');
  }
}

async function isThere(
  tx: Transaction,
  storage: Storage,
  { source, moment, nowMs }: { source: SnapshotSource; moment: Moment; nowMs: number },
): Promise<boolean> {
  const at = { kind: 'snapshot' as const, moment };
  const { blob } = await loadCommittedBlob(tx, { name: source.name, at }, { nowMs, known: storage.known });
  return blob !== null;
}

// ---- how it begins

async function create(
  tx: Transaction,
  storage: Storage,
  loaded: LoadedToWrite,
  { following, copy, nowMs }: { following: Following; copy: CopyState; nowMs: number },
): Promise<BlobRecord> {
  const nothing = { headers: {}, metadata: [], tags: null, tier: null, immutability: null, encryptionScope: null };
  const { staging, keys } = loaded;
  if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging });
  const record: BlobRecord = {
    type: 'PageBlob',
    ...newVersion(storage, loaded, nowMs),
    lengthBytes: 0,
    content: createPages(tx, storage.ids),
    ...newBlobFields({ ...nothing, type: 'PageBlob' }, loaded, nowMs),
    copy,
    following,
  };
  return replaceBlob(tx, storage, loaded, { record, nowMs });
}

/** It stays as it was until the copy is done. */
function goOn(
  tx: Transaction,
  storage: Storage,
  loaded: LoadedToWrite,
  { copy, nowMs }: { copy: CopyState; nowMs: number },
): BlobRecord {
  const record: BlobRecord = { ...(loaded.blob as BlobRecord), ...newVersion(storage, loaded, nowMs), copy };
  putBlob(tx, storage, loaded, record);
  return record;
}

function putJob(
  tx: Transaction,
  begun: {
    jobId: string;
    copyId: string;
    loaded: LoadedToWrite;
    source: SnapshotSource;
    snapshot: BlobRecord;
    nowMs: number;
  },
): void {
  const { name, at } = begun.source;
  const { etag, lengthBytes, headers, metadata, sequenceNumber = '0' } = begun.snapshot;
  const job: FollowSnapshotJob = {
    kind: 'followSnapshot',
    copyId: begun.copyId,
    blobKey: Buffer.from(begun.loaded.keys.blob).toString('base64'),
    startedMs: begun.nowMs,
    source: { name, at, etag },
    taken: { lengthBytes, headers, metadata, sequenceNumber },
  };
  tx.put(copyJobKey(begun.jobId), encodeJson(job));
}
