/**
 * Put Blob From URL: a new block blob with the bytes of a source. Of a block blob of this server it takes a share, and
 * not its blocks: nobody can tell them from one body.
 */

import { type BlobWritten, written } from '../blob/new-version.ts';
import { putBlob } from '../blob/put-blob.ts';
import type { Held } from '../extents/extents.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import type { InsideSource } from './copy-source.ts';
import { type DestinationRequest, refuseEarly, storeCopy } from './destination.ts';
import { loadSource } from './inside-source.ts';
import { readingSource, type SourceRequest, sourceTooLarge } from './read-source.ts';
import { shareSource } from './share-source.ts';
import { refuseTagOption, type TagOption, tagsOfCopy } from './source-tags.ts';

export const PUT_BYTES_MAX = 5_000 * 1024 * 1024;

export interface PutBlobFromUrlRequest extends DestinationRequest, SourceRequest {
  readonly tagOption: TagOption;
  /** Content headers that the request does not set are the source's. */
  readonly takesHeaders: boolean;
}

export interface PutFromUrl extends BlobWritten {
  /** Null where no byte was read, and the source has none that it knows of. */
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

/** The source is of a type whose content a block blob cannot have. */
class NotShared extends Error {}

export async function putBlobFromUrl(storage: Storage, request: PutBlobFromUrlRequest): Promise<PutFromUrl> {
  refuseTagOption(request);
  const { source } = request;
  if (source.kind !== 'inside' || mustRead(request)) return fetch(storage, request);
  try {
    return await shareInside(storage, source, request);
  } catch (error) {
    if (error instanceof NotShared) return fetch(storage, request);
    throw error;
  }
}

/** A hash can be held against bytes only, and a key seals what it is given. */
const mustRead = ({ demands, headers, key = null }: PutBlobFromUrlRequest): boolean =>
  demands.md5 !== null || demands.crc64 !== null || headers.contentMd5 !== undefined || key !== null;

async function shareInside(
  storage: Storage,
  source: InsideSource,
  request: PutBlobFromUrlRequest,
): Promise<PutFromUrl> {
  const { demands, version } = request;
  const question = { source, conditions: demands.conditions, version, leavesArchive: false };
  const record = await storeCopy(storage, request, async (tx, { loaded, nowMs }) => {
    const found = await loadSource(tx, storage, question, nowMs);
    const { type, lengthBytes, metadata, tags = [], headers } = found.blob;
    if (lengthBytes > PUT_BYTES_MAX) throw sourceTooLarge(PUT_BYTES_MAX);
    if (type !== 'BlockBlob') throw new NotShared();
    const { held, destination } = await shareSource(tx, storage, found, loaded);
    const { contentMd5 } = headers;
    return {
      type,
      lengthBytes,
      held: withoutBlocks(held),
      destination,
      headers: { ...headersOf(request, headers), ...(contentMd5 === undefined ? {} : { contentMd5 }) },
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: tagsOfCopy(request, tags),
    };
  });
  const { contentMd5 } = record.headers;
  return { ...written(record), md5: contentMd5 === undefined ? null : Buffer.from(contentMd5, 'base64'), crc64: null };
}

const withoutBlocks = (held: Held): Held =>
  held.content.kind === 'layout' ? { ...held, content: { ...held.content, hidesBlocks: true } } : held;

async function fetch(storage: Storage, request: PutBlobFromUrlRequest): Promise<PutFromUrl> {
  await refuseEarly(storage, request);
  return readingSource(storage, { ...request, bytesMax: PUT_BYTES_MAX }, async ({ body, headers, metadata, tags }) => {
    const claimed = request.headers.contentMd5;
    const claimedMd5 = claimed === undefined ? null : Buffer.from(claimed, 'base64');
    return putBlob(storage, {
      ...request,
      headers: headersOf(request, headers),
      metadata: request.metadata.length > 0 ? request.metadata : metadata,
      tags: tagsOfCopy(request, tags),
      body: { ...body, md5: body.md5 ?? claimedMd5 },
    });
  });
}

/** The hash is never taken from the source's word where the bytes are read. */
function headersOf({ headers, takesHeaders }: PutBlobFromUrlRequest, ofSource: BlobHeaders): BlobHeaders {
  if (!takesHeaders) return headers;
  const { contentMd5: _, ...taken } = ofSource;
  return { ...taken, ...headers };
}
