/** The head of a source's answer as typed values, whether the source is a blob store or any web server. */
import type { IncomingMessage } from 'node:http';
import { parseHttpDate } from '../base/http-date.ts';
import { type Metadata, refuseMetadata } from '../rules/names.ts';
import type { BlobType } from '../rules/precedence.ts';
import { type OutsideHead, SourceUnreachable } from '../service/copy/outside.ts';

type BlobHeaders = OutsideHead['headers'];

export type DescribedSource = Omit<OutsideHead, 'status' | 'lengthBytes' | 'totalBytes'>;

export function describeSource(response: IncomingMessage, shown: string): DescribedSource {
  const { headers } = response;
  const one = (name: string): string | null => {
    const value = headers[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const modified = one('last-modified');
  const sequenceNumber = one('x-ms-blob-sequence-number');
  return {
    etag: one('etag'),
    lastModifiedMs: modified === null ? null : parseHttpDate(modified),
    headers: contentHeaders(one, response.statusCode === 200),
    metadata: metadataOf(response, shown),
    blobType: BLOB_TYPES.find((type) => type === one('x-ms-blob-type')) ?? null,
    sequenceNumber: sequenceNumber !== null && /^\d{1,19}$/.test(sequenceNumber) ? sequenceNumber : null,
  };
}

const BLOB_TYPES: readonly BlobType[] = ['BlockBlob', 'PageBlob', 'AppendBlob'];

/** `isWhole`: only then is Content-MD5 the hash of the source and not of a part of it. */
function contentHeaders(one: (name: string) => string | null, isWhole: boolean): BlobHeaders {
  const md5 = one('x-ms-blob-content-md5') ?? (isWhole ? one('content-md5') : null);
  const headers = {
    contentType: one('content-type'),
    contentEncoding: one('content-encoding'),
    contentLanguage: one('content-language'),
    contentMd5: md5 !== null && isMd5(md5) ? md5 : null,
    cacheControl: one('cache-control'),
    contentDisposition: one('content-disposition'),
  } satisfies { [name in keyof BlobHeaders]-?: string | null };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
}

const isMd5 = (text: string): boolean => {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 16 && bytes.toString('base64') === text;
};

const METADATA_PREFIX = 'x-ms-meta-';

/** Names keep their case, which only the raw headers have. */
function metadataOf({ rawHeaders }: IncomingMessage, shown: string): Metadata {
  const metadata: [name: string, value: string][] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (!name.toLowerCase().startsWith(METADATA_PREFIX)) continue;
    metadata.push([name.slice(METADATA_PREFIX.length), (rawHeaders[index + 1] as string).trim()]);
  }
  const code = refuseMetadata(metadata);
  if (code !== null) throw new SourceUnreachable('answer', `${shown} has metadata that no blob can have (${code}).`);
  return metadata;
}

export interface ContentRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
  readonly totalBytes: number | null;
}

const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i;

/** Null for a head without one that can be read. */
export function contentRangeOf(response: IncomingMessage): ContentRange | null {
  const match = CONTENT_RANGE.exec(response.headers['content-range'] ?? '');
  if (match === null) return null;
  const [first, last] = [Number(match[1]), Number(match[2])];
  const totalBytes = match[3] === '*' ? null : Number(match[3]);
  if (last < first || (totalBytes !== null && last >= totalBytes)) return null;
  return { offsetBytes: first, lengthBytes: last - first + 1, totalBytes };
}

/** Content-Length; null where the answer announces none. */
export function contentLengthOf(response: IncomingMessage): number | null {
  const text = response.headers['content-length'];
  const lengthBytes = text === undefined ? Number.NaN : Number(text);
  return Number.isSafeInteger(lengthBytes) ? lengthBytes : null;
}
