/** The bytes of a copy's source, here or outside, as the body of a write: one state of it, read once, held to its hashes. */
import type { Metadata } from '../../rules/names.ts';
import type { BlobType } from '../../rules/precedence.ts';
import type { Tags } from '../../rules/tags.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import { getBlob } from '../blob/get-blob.ts';
import type { Body } from '../extents/take-body.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import type { CopySource, FileSource, InsideSource, OutsideSource, SourceDemands } from './copy-source.ts';
import { asFileSourceRefusal, readFileSource } from './file-source.ts';
import { asSourceRefusal, refuseAsSource } from './inside-source.ts';
import { asVerifyFailure, cannotVerify } from './verify-failure.ts';

export interface SourceRequest {
  readonly source: CopySource;
  readonly demands: SourceDemands;
  readonly version: ApiVersion;
}

export interface ReadSource {
  /** Null for what is no blob. */
  readonly type: BlobType | null;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  /** Null: a source outside does not say. */
  readonly tags: Tags | null;
  readonly body: Body;
}

type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

type OpenedSource = Omit<ReadSource, 'body'> & { readonly bytes: Bytes; readonly lengthBytes: number };

/** Opens the source, hands it to `use`, and closes it whatever happens. A failure to read it refuses the request. */
export async function readingSource<T>(
  storage: Storage,
  request: SourceRequest & { readonly bytesMax: number },
  use: (read: ReadSource) => Promise<T>,
): Promise<T> {
  const { demands } = request;
  const opened = await open(storage, request);
  try {
    if (opened.lengthBytes > request.bytesMax) throw sourceTooLarge(request.bytesMax);
    return await use({ ...opened, body: bodyOf(opened, demands) });
  } catch (error) {
    throw asVerifyFailure(error);
  } finally {
    await close(opened.bytes);
  }
}

export const sourceTooLarge = (bytesMax: number): Error =>
  cannotVerify({ status: 409, code: null, sentence: `The source is larger than ${bytesMax} bytes.` });

function open(storage: Storage, request: SourceRequest): Promise<OpenedSource> {
  const { source } = request;
  switch (source.kind) {
    case 'inside':
      return openInside(storage, source, request);
    case 'file':
      return openFile(storage, source, request);
    case 'outside':
      return openOutside(storage, source, request);
  }
}

async function openFile(
  storage: Storage,
  { name }: FileSource,
  { demands, version }: SourceRequest,
): Promise<OpenedSource> {
  const { conditions, range } = demands;
  const read = await readFileSource(storage, { name, conditions, range, version }).catch((error: unknown) => {
    throw asFileSourceRefusal(error);
  });
  const { node, bytes, slice } = read;
  const { headers, metadata, lengthBytes } = node;
  return { type: null, headers, metadata, tags: null, bytes, lengthBytes: slice?.lengthBytes ?? lengthBytes };
}

async function openInside(
  storage: Storage,
  source: InsideSource,
  { demands, version }: SourceRequest,
): Promise<OpenedSource> {
  const { conditions, range } = demands;
  const read = await getBlob(storage, { ...source, conditions, leaseId: null, version, key: null, range }).catch(
    (error: unknown) => {
      throw asSourceRefusal(error);
    },
  );
  const { blob, bytes, slice } = read;
  try {
    refuseAsSource(blob, { isPast: read.kind !== 'blob' });
  } catch (error) {
    await close(bytes);
    throw error;
  }
  const { type, headers, metadata, tags = [] } = blob;
  return { type, headers, metadata, tags, bytes, lengthBytes: slice?.lengthBytes ?? blob.lengthBytes };
}

async function openOutside(
  storage: Storage,
  { url, authorization }: OutsideSource,
  { demands }: SourceRequest,
): Promise<OpenedSource> {
  const { conditions, ifTags, range } = demands;
  const { signal } = storage.copies;
  const reply = await storage.outside
    .open({ url, authorization, range, ifMatch: null, conditions, ifTags, signal })
    .catch((error: unknown) => {
      throw asVerifyFailure(error);
    });
  const { blobType, headers, metadata, body, lengthBytes } = reply;
  return { type: blobType, headers, metadata, tags: null, bytes: body, lengthBytes };
}

const bodyOf = ({ bytes, lengthBytes }: OpenedSource, { md5, crc64 }: SourceDemands): Body => ({
  stream: () => (bytes instanceof Uint8Array ? onePiece(bytes) : bytes),
  whole: async () => (bytes instanceof Uint8Array ? bytes : gather(bytes)),
  lengthBytes,
  md5,
  crc64,
});

async function gather(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** One that was read to its end is closed already, and closing it again does nothing. */
async function close(bytes: Bytes): Promise<void> {
  if (!(bytes instanceof Uint8Array)) await bytes[Symbol.asyncIterator]().return?.();
}
