/**
 * Copy Blob: from a blob of this server at once, by sharing its content; from outside in the background, while the
 * destination is an empty blob with a pending copy.
 */
import { randomUUID } from 'node:crypto';
import type { CopyState } from '../../rules/copy.ts';
import { type Tier, isPageTier } from '../../rules/tier.ts';
import { type BlobWritten, written } from '../blob/new-version.ts';
import type { BlobContent, BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { invalidHeader, notYet, StorageError } from '../storage-error.ts';
import { type CopyJob, partBytesFor } from './copy-job.ts';
import type { CopySource, InsideSource, OutsideSource, SourceDemands } from './copy-source.ts';
import { type DestinationRequest, refuseEarly, storeCopy } from './destination.ts';
import { loadSource } from './inside-source.ts';
import type { OutsideHead } from './outside.ts';
import { shareSource } from './share-source.ts';
import { asVerifyFailure, sourceConditionNotMet } from './verify-failure.ts';

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
  const { source } = request;
  try {
    return source.kind === 'inside'
      ? await copyInside(storage, source, request)
      : await beginFetching(storage, source, request);
  } catch (error) {
    throw asConditionNotMet(error);
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
  const question = { source, conditions: demands.conditions, version, leavesArchive: isOnline(tier) };
  const record = await storeCopy(storage, request, async (tx, { loaded, nowMs }) => {
    const found = await loadSource(tx, storage, question, nowMs);
    const { type, lengthBytes, headers, metadata, sequenceNumber, isSealed = false } = found.blob;
    if (type === 'PageBlob') throw notYet('Copy Blob of a page blob');
    refuseSeal(seals, type);
    return {
      type,
      lengthBytes,
      ...(await shareSource(tx, storage, found, loaded)),
      headers,
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: request.tags,
      sequenceNumber,
      isSealed: seals ?? isSealed,
      copy: doneCopy({ id: copyId, source: shownSource, lengthBytes, nowMs }),
    };
  });
  return copiedAs(record);
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

function refuseSeal(seals: boolean | null, type: BlobRecord['type']): void {
  if (seals === true && type !== 'AppendBlob') throw invalidHeader('x-ms-seal-blob', 'true');
}

// ---- outside

async function beginFetching(
  storage: Storage,
  source: OutsideSource,
  request: CopyBlobRequest,
): Promise<BlobCopied> {
  await refuseEarly(storage, request);
  const head = await askSource(storage, source, request.demands);
  const type = head.blobType ?? 'BlockBlob';
  if (type === 'PageBlob') throw notYet('Copy Blob of a page blob outside of this server');
  refuseSeal(request.seals, type);
  const { lengthBytes, metadata } = head;
  const { contentMd5 = null, ...headers } = head.headers;
  const [jobId, partsId, copyId] = [storage.ids.next(), storage.ids.next(), randomUUID()];
  const record = await storeCopy(storage, request, async (tx, { loaded, nowMs }) => {
    const job: CopyJob = {
      copyId,
      blobKey: Buffer.from(loaded.keys.blob).toString('base64'),
      startedMs: nowMs,
      type,
      source: { ...source, etag: head.etag, lastModifiedMs: head.lastModifiedMs, lengthBytes, contentMd5 },
      partsId,
      partBytes: partBytesFor(lengthBytes),
      isSealed: request.seals ?? false,
    };
    tx.put(copyJobKey(jobId), encodeJson(job));
    return {
      type,
      lengthBytes: 0,
      held: { content: NOTHING[type] },
      headers,
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: request.tags,
      copy: {
        id: copyId,
        source: request.shownSource,
        status: 'pending',
        bytesCopied: 0,
        bytesTotal: lengthBytes,
      },
    };
  });
  storage.copies.begun(jobId);
  return copiedAs(record);
}

const NOTHING: Readonly<Record<CopyJob['type'], BlobContent>> = {
  BlockBlob: { kind: 'empty' },
  AppendBlob: { kind: 'appended', lists: [], blockCount: 0 },
};

async function askSource(
  storage: Storage,
  { url, authorization }: OutsideSource,
  { conditions, ifTags }: SourceDemands,
): Promise<OutsideHead> {
  const { signal } = storage.copies;
  try {
    return await storage.outside.head({ url, authorization, range: null, ifMatch: null, conditions, ifTags, signal });
  } catch (error) {
    throw asVerifyFailure(error);
  }
}
