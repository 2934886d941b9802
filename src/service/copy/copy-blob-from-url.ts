/** Copy Blob From URL: a block blob copied before the answer is given, shared if it is here and fetched if it is not. */
import { randomUUID } from 'node:crypto';
import { contentOf } from '../extents/extents.ts';
import { takeBody } from '../extents/take-body.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobCopied, copiedAs, doneCopy } from './copy-blob.ts';
import type { InsideSource } from './copy-source.ts';
import { type DestinationRequest, refuseEarly, storeCopy } from './destination.ts';
import { loadSource } from './inside-source.ts';
import { readingSource, type SourceRequest, sourceTooLarge } from './read-source.ts';
import { shareSource } from './share-source.ts';
import { refuseTagOption, type TagOption, tagsOfCopy } from './source-tags.ts';

export const COPIED_BYTES_MAX = 256 * 1024 * 1024;

export interface CopyFromUrlRequest extends DestinationRequest, SourceRequest {
  readonly shownSource: string;
  readonly tagOption: TagOption;
}

export interface CopiedNow extends BlobCopied {
  /** Null where no byte was read. */
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

export async function copyBlobFromUrl(storage: Storage, request: CopyFromUrlRequest): Promise<CopiedNow> {
  refuseTagOption(request);
  const { source, demands } = request;
  // A hash can be held against bytes only.
  const isShared = source.kind === 'inside' && demands.md5 === null && demands.crc64 === null;
  return isShared ? shareInside(storage, source, request) : fetch(storage, request);
}

async function shareInside(storage: Storage, source: InsideSource, request: CopyFromUrlRequest): Promise<CopiedNow> {
  const { demands, version, shownSource } = request;
  const copyId = randomUUID();
  const question = { source, conditions: demands.conditions, version, leavesArchive: false };
  const record = await storeCopy(storage, request, async (tx, { loaded, nowMs }) => {
    const found = await loadSource(tx, storage, question, nowMs);
    const { type, lengthBytes, headers, metadata, tags = [] } = found.blob;
    if (type !== 'BlockBlob') throw new StorageError('InvalidSourceBlobType');
    if (lengthBytes > COPIED_BYTES_MAX) throw sourceTooLarge(COPIED_BYTES_MAX);
    return {
      type,
      lengthBytes,
      ...(await shareSource(tx, storage, found, loaded)),
      headers,
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: tagsOfCopy(request, tags),
      copy: doneCopy({ id: copyId, source: shownSource, lengthBytes, nowMs }),
    };
  });
  return { ...copiedAs(record), md5: null, crc64: null };
}

async function fetch(storage: Storage, request: CopyFromUrlRequest): Promise<CopiedNow> {
  await refuseEarly(storage, request);
  const copyId = randomUUID();
  return readingSource(storage, { ...request, bytesMax: COPIED_BYTES_MAX }, async (read) => {
    if (read.type !== null && read.type !== 'BlockBlob') throw new StorageError('InvalidSourceBlobType');
    const { lengthBytes } = read.body;
    const want = { md5: true, crc64: request.demands.md5 === null };
    const { extent, md5, crc64 } = await takeBody(storage, read.body, want);
    const contentMd5 = (md5 as Buffer).toString('base64');
    const record = await storage.extents.publishing(extent, () =>
      storeCopy(storage, request, async (tx, { nowMs }) => {
        if (extent !== null) storage.extents.publish(tx, extent);
        return {
          type: 'BlockBlob',
          lengthBytes,
          held: { content: contentOf(extent) },
          headers: { ...read.headers, contentMd5 },
          metadata: request.metadata.length > 0 ? request.metadata : read.metadata,
          tags: tagsOfCopy(request, read.tags),
          copy: doneCopy({ id: copyId, source: request.shownSource, lengthBytes, nowMs }),
        };
      }),
    );
    return { ...copiedAs(record), md5, crc64 };
  });
}
