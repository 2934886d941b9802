/**
 * What a job reads: a source outside; or a blob or file of this server, read as those outside are, from some byte on and in
 * the one state that it had when the copy began.
 */
import { NO_CONDITIONS, parseEtagCondition } from '../../rules/conditions.ts';
import type { ErrorCode } from '../../rules/error-code.ts';
import { NEWEST_VERSION } from '../../rules/versions.ts';
import { getBlob } from '../blob/get-blob.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { FetchedSource } from './copy-job.ts';
import { readFileSource } from './file-source.ts';
import { type Outside, type OutsideBody, type OutsideReply, type OutsideRequest, SourceRefused } from './outside.ts';

export const readerOf = (storage: Storage, { inside }: FetchedSource): Pick<Outside, 'open'> =>
  inside === undefined ? storage.outside : { open: (request) => openInside(storage, inside, request) };

async function openInside(
  storage: Storage,
  inside: NonNullable<FetchedSource['inside']>,
  { range, ifMatch }: OutsideRequest,
): Promise<OutsideReply> {
  const conditions = { ...NO_CONDITIONS, ifMatch: ifMatch === null ? null : parseEtagCondition(ifMatch) };
  const asked = { conditions, range, version: NEWEST_VERSION };
  try {
    if ('file' in inside) {
      const { node, slice, bytes } = await readFileSource(storage, { ...asked, name: inside.file });
      return replyOf(node, { range, lengthBytes: slice?.lengthBytes ?? node.lengthBytes, bytes });
    }
    const { blob, slice, bytes } = await getBlob(storage, { ...asked, ...inside, leaseId: null, key: null });
    return replyOf(blob, { range, lengthBytes: slice?.lengthBytes ?? blob.lengthBytes, bytes });
  } catch (error) {
    throw asRefused(error);
  }
}

interface Read {
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly lengthBytes: number;
  readonly headers: BlobHeaders;
  readonly metadata: OutsideReply['metadata'];
}

const replyOf = (
  { etag, lastModifiedMs, lengthBytes: totalBytes, headers, metadata }: Read,
  {
    range,
    lengthBytes,
    bytes,
  }: Pick<OutsideRequest, 'range'> & { lengthBytes: number; bytes: Uint8Array | AsyncIterable<Uint8Array> },
): OutsideReply => ({
  status: range === null ? 200 : 206,
  etag: `"${etag}"`,
  lastModifiedMs,
  lengthBytes,
  totalBytes,
  headers,
  metadata,
  blobType: null,
  sequenceNumber: null,
  body: bodyOf(bytes),
});

function bodyOf(bytes: Uint8Array | AsyncIterable<Uint8Array>): OutsideBody {
  const pieces: AsyncIterator<Uint8Array> =
    bytes instanceof Uint8Array ? onePiece(bytes) : bytes[Symbol.asyncIterator]();
  return {
    next: () => pieces.next(),
    async return() {
      return (await pieces.return?.()) ?? { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What refuses for a while: an SMB client, too, may yet give up what it caches. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ServerBusy', 'ClientCacheFlushDelay']);

/** Otherwise trying again would not help: the state that was to be copied is gone, or closed by now. */
function asRefused(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  const { code } = error;
  if (PASSING.has(code)) return new SourceRefused({ status: 503, code });
  const isGone = code.endsWith('NotFound');
  return new SourceRefused({ status: isGone ? 404 : code === 'ConditionNotMet' ? 412 : 409, code });
}
