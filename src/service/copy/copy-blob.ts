/**
 * Copy Blob: from a blob of this server at once, by sharing its content; from a file or from outside in the background,
 * while the destination is an empty blob with a pending copy.
 */
import { randomUUID } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { type CopyState, pendingCopy } from '../../rules/copy.ts';
import { refusePageBlobLength } from '../../rules/page-range.ts';
import type { BlobType } from '../../rules/precedence.ts';
import { isPageTier, type Tier } from '../../rules/tier.ts';
import { type LoadedToWrite, loadCommittedBlob } from '../blob/load.ts';
import { type BlobWritten, written } from '../blob/new-version.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { createPages } from '../pages/page-map.ts';
import type { BlobContent, BlobRecord, PagesContent } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { invalidHeader, StorageError } from '../storage-error.ts';
import { type CopyJob, type FetchedSource, partBytesFor, type ToBlob } from './copy-job.ts';
import type { CopySource, FileSource, InsideSource, OutsideSource, SourceDemands } from './copy-source.ts';
import { type DestinationRequest, refuseEarly, storeCopy, storeCopyIn } from './destination.ts';
import { doneSoon } from './done-soon.ts';
import { lookAtFileSource } from './file-source.ts';
import { loadSource } from './inside-source.ts';
import type { OutsideHead } from './outside.ts';
import { isInPlace, shareSource } from './share-source.ts';
import { asVerifyFailure, cannotVerify, sourceConditionNotMet } from './verify-failure.ts';

export interface CopyBlobRequest extends DestinationRequest {
  readonly source: CopySource;
  readonly demands: SourceDemands;
  /** The source's URL as anybody may see it. */
  readonly shownSource: string;
  /** Whether an append blob is to be sealed; null: as the source is. */
  readonly seals: boolean | null;
}

export interface BlobCopied extends BlobWritten {
  readonly copy: CopyState;
}

export async function copyBlob(storage: Storage, request: CopyBlobRequest): Promise<BlobCopied> {
  try {
    return await copyFrom(storage, request);
  } catch (error) {
    throw asConditionNotMet(error);
  }
}

function copyFrom(storage: Storage, request: CopyBlobRequest): Promise<BlobCopied> {
  const { source } = request;
  switch (source.kind) {
    case 'inside':
      return copyInside(storage, source, request);
    case 'file':
      return copyFile(storage, source, request);
    case 'outside':
      return copyOutside(storage, source, request);
  }
}

/** A source that is not modified is not a read that needs no answer, but a copy that is refused. */
function asConditionNotMet(error: unknown): unknown {
  const isNotModified =
    error instanceof StorageError && error.code === 'CannotVerifyCopySource' && error.details.status === 304;
  return isNotModified ? sourceConditionNotMet({ notModified: false }) : error;
}

export const copiedAs = (record: BlobRecord): BlobCopied => ({ ...written(record), copy: record.copy as CopyState });

// ---- inside

async function copyInside(storage: Storage, source: InsideSource, request: CopyBlobRequest): Promise<BlobCopied> {
  const { demands, version, tier, shownSource, seals } = request;
  const copyId = randomUUID();
  const jobId = storage.ids.next();
  const question = { source, conditions: demands.conditions, version, leavesArchive: isOnline(tier) };
  const { loaded: begun, hold } = await storage.holds.take(async (tx) => {
    let content: PagesContent | null = null;
    const record = await storeCopyIn(tx, storage, request, async (_, { loaded, nowMs }) => {
      const found = await loadSource(tx, storage, question, nowMs);
      const { type, lengthBytes, headers, metadata, sequenceNumber, isSealed = false } = found.blob;
      refuseSeal(seals, type);
      const copied = {
        type,
        lengthBytes,
        headers,
        metadata: request.metadata.length > 0 ? request.metadata : metadata,
        tags: request.tags,
        sequenceNumber,
        isSealed: seals ?? isSealed,
      };
      if (type !== 'PageBlob' || isInPlace(found, loaded)) {
        const copy = doneCopy({ id: copyId, source: shownSource, lengthBytes, nowMs });
        return { ...copied, ...(await shareSource(tx, storage, found, loaded)), copy };
      }
      content = found.blob.content as PagesContent;
      const { contentMd5 = null, ...shownHeaders } = headers;
      const { name, at } = source;
      putJob(tx, jobId, loaded, {
        kind: 'sharePages',
        copyId,
        startedMs: nowMs,
        source: { name, at, etag: found.blob.etag, lengthBytes, contentMd5 },
        map: createPages(tx, storage.ids),
      });
      return {
        ...copied,
        headers: shownHeaders,
        // Tiers of page blobs say what they can do, and go with them.
        tier: tier ?? found.blob.tier,
        held: { content: createPages(tx, storage.ids) },
        copy: pendingCopy({ id: copyId, source: shownSource, lengthBytes }),
      };
    });
    return { record, content };
  });
  return hold === null ? copiedAs(begun.record) : awaitCopied(storage, { jobId, hold, record: begun.record, request });
}

async function awaitCopied(
  storage: Storage,
  { jobId, hold, record, request }: { jobId: Id; hold: PageHold | null; record: BlobRecord; request: CopyBlobRequest },
): Promise<BlobCopied> {
  await doneSoon(storage, jobId, hold);
  const { name } = request;
  const { blob } = await storage.readers.inSnapshot((snapshot) =>
    loadCommittedBlob(snapshotReader(snapshot), { name }, { nowMs: storage.clock.nowMs(), known: storage.known }),
  );
  // Another may have been put in its place since.
  return copiedAs(blob?.copy?.id === record.copy?.id && blob !== null ? blob : record);
}

export const doneCopy = (done: { id: string; source: string; lengthBytes: number; nowMs: number }): CopyState => ({
  id: done.id,
  source: done.source,
  status: 'success',
  bytesCopied: done.lengthBytes,
  bytesTotal: done.lengthBytes,
  completedMs: done.nowMs,
});

const isOnline = (tier: Tier | null | undefined): boolean => tier != null && tier !== 'Archive' && !isPageTier(tier);

function refuseSeal(seals: boolean | null, type: BlobType): void {
  if (seals === true && type !== 'AppendBlob') throw invalidHeader('x-ms-seal-blob', 'true');
}

type NewJob<Job extends CopyJob = CopyJob> = Job extends ToBlob ? Omit<Job, 'blobKey'> : never;

function putJob(tx: Transaction, jobId: Id, { keys }: LoadedToWrite, job: NewJob): void {
  tx.put(copyJobKey(jobId), encodeJson({ ...job, blobKey: Buffer.from(keys.blob).toString('base64') }));
}

// ---- what has to be read

async function copyOutside(storage: Storage, source: OutsideSource, request: CopyBlobRequest): Promise<BlobCopied> {
  await refuseEarly(storage, request);
  const head = await askSource(storage, source, request.demands);
  const { url, authorization } = source;
  const { record, jobId } = await beginFetching(storage, { head, from: { url, authorization } }, request);
  void storage.copies.begun(jobId, null);
  return copiedAs(record);
}

async function copyFile(storage: Storage, { name }: FileSource, request: CopyBlobRequest): Promise<BlobCopied> {
  await refuseEarly(storage, request);
  const { demands, version } = request;
  const { conditions } = demands;
  const { etag, ...node } = await lookAtFileSource(storage, { name, conditions, range: null, version });
  const head = { ...node, etag: `"${etag}"`, blobType: null, sequenceNumber: null };
  const from = { inside: { file: name }, url: '', authorization: null };
  const { record, jobId } = await beginFetching(storage, { head, from }, request);
  return awaitCopied(storage, { jobId, hold: null, record, request });
}

type SourceHead = Omit<OutsideHead, 'status' | 'totalBytes'>;

interface Begun {
  readonly record: BlobRecord;
  readonly jobId: Id;
}

async function beginFetching(
  storage: Storage,
  { head, from }: { head: SourceHead; from: Pick<FetchedSource, 'inside' | 'url' | 'authorization'> },
  request: CopyBlobRequest,
): Promise<Begun> {
  const type = head.blobType ?? 'BlockBlob';
  refuseSeal(request.seals, type);
  const { lengthBytes, metadata, sequenceNumber } = head;
  if (type === 'PageBlob' && refusePageBlobLength(lengthBytes) !== null) {
    throw cannotVerify({ status: 409, code: null, sentence: 'The source is a page blob with an invalid length.' });
  }
  const { contentMd5 = null, ...headers } = head.headers;
  const [jobId, copyId] = [storage.ids.next(), randomUUID()];
  const { etag, lastModifiedMs } = head;
  const fetched: FetchedSource = { ...from, etag, lastModifiedMs, lengthBytes, contentMd5 };
  const record = await storeCopy(storage, request, async (tx, { loaded, nowMs }) => {
    putJob(tx, jobId, loaded, {
      copyId,
      startedMs: nowMs,
      source: fetched,
      ...(type === 'PageBlob'
        ? { kind: 'fetchPages', map: createPages(tx, storage.ids), reachedBytes: 0 }
        : {
            kind: 'fetchBlob',
            type,
            partsId: storage.ids.next(),
            partBytes: partBytesFor(lengthBytes),
            isSealed: request.seals ?? false,
          }),
    });
    return {
      type,
      lengthBytes: type === 'PageBlob' ? lengthBytes : 0,
      held: { content: nothingYet(tx, storage, type) },
      headers,
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: request.tags,
      sequenceNumber: type === 'PageBlob' ? (sequenceNumber ?? '0') : undefined,
      copy: pendingCopy({ id: copyId, source: request.shownSource, lengthBytes }),
    };
  });
  return { record, jobId };
}

/** What readers find until the copy is done. */
function nothingYet(tx: Transaction, storage: Storage, type: BlobType): BlobContent {
  if (type === 'PageBlob') return createPages(tx, storage.ids);
  return type === 'AppendBlob' ? { kind: 'appended', lists: [], blockCount: 0 } : { kind: 'empty' };
}

/** What a source outside promises now. */
export async function askSource(
  storage: Storage,
  { url, authorization }: OutsideSource,
  { conditions, ifTags }: Pick<SourceDemands, 'conditions' | 'ifTags'>,
): Promise<OutsideHead> {
  const { signal } = storage.copies;
  try {
    return await storage.outside.head({ url, authorization, range: null, ifMatch: null, conditions, ifTags, signal });
  } catch (error) {
    throw asVerifyFailure(error);
  }
}
