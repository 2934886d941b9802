/** Headers that answers of blobs, files and what holds them share, as flat name, value, name, value lists. */
import type { ResponseOverrides } from '../auth/identity.ts';
import { formatHttpDate } from '../base/http-date.ts';
import type { CopyState } from '../rules/copy.ts';
import type { Lease } from '../rules/lease.ts';
import { reportedLease } from '../rules/precedence.ts';
import { SINCE_QUOTED_ETAGS } from '../rules/versions.ts';
import type { BlobHeaders } from '../service/records/blob-record.ts';
import type { AuthorizedExchange, Exchange } from './exchange.ts';

interface Stamped {
  readonly etag: string;
  readonly lastModifiedMs: number;
}

export function etagHeaders(exchange: Exchange, { etag, lastModifiedMs }: Stamped): string[] {
  const text = exchange.version >= SINCE_QUOTED_ETAGS ? `"${etag}"` : etag;
  return ['ETag', text, 'Last-Modified', formatHttpDate(lastModifiedMs)];
}

export function leaseResponseHeaders(stored: Lease, nowMs: number): string[] {
  const { status, state, duration } = reportedLease(stored, nowMs);
  const headers = ['x-ms-lease-status', status, 'x-ms-lease-state', state];
  if (duration !== null) headers.push('x-ms-lease-duration', duration);
  return headers;
}

/** Every write says that what it wrote is encrypted at rest, as far as the disk below is. SDKs expect the header. */
export const SERVER_ENCRYPTED: readonly string[] = ['x-ms-request-server-encrypted', 'true'];

export function hashHeaders(hashes: { md5: Buffer | null; crc64: Buffer | null }): string[] {
  const headers: string[] = [];
  if (hashes.md5 !== null) headers.push('Content-MD5', hashes.md5.toString('base64'));
  if (hashes.crc64 !== null) headers.push('x-ms-content-crc64', hashes.crc64.toString('base64'));
  return headers;
}

const CONTENT_HEADERS: readonly (readonly [field: keyof BlobHeaders, name: string])[] = [
  ['contentType', 'Content-Type'],
  ['contentEncoding', 'Content-Encoding'],
  ['contentLanguage', 'Content-Language'],
  ['cacheControl', 'Cache-Control'],
  ['contentDisposition', 'Content-Disposition'],
];

const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** Content-Type and kin of a blob or file; a SAS may put others in their place. Content-MD5 is for the caller to place. */
export function contentHeaders(exchange: AuthorizedExchange, stored: BlobHeaders): string[] {
  const overrides: ResponseOverrides = exchange.identity.kind === 'serviceSas' ? exchange.identity.overrides : {};
  const headers: string[] = [];
  for (const [field, name] of CONTENT_HEADERS) {
    const value = overrides[name] ?? stored[field] ?? (field === 'contentType' ? DEFAULT_CONTENT_TYPE : undefined);
    if (value !== undefined) headers.push(name, value);
  }
  return headers;
}

export function copyHeaders(copy: CopyState): string[] {
  const headers = [
    'x-ms-copy-id',
    copy.id,
    'x-ms-copy-source',
    copy.source,
    'x-ms-copy-status',
    copy.status,
    'x-ms-copy-progress',
    `${copy.bytesCopied}/${copy.bytesTotal}`,
  ];
  if (copy.completedMs !== undefined) headers.push('x-ms-copy-completion-time', formatHttpDate(copy.completedMs));
  if (copy.description !== undefined) headers.push('x-ms-copy-status-description', copy.description);
  if (copy.incremental === true) headers.push('x-ms-incremental-copy', 'true');
  if (copy.destinationSnapshot !== undefined) {
    headers.push('x-ms-copy-destination-snapshot', copy.destinationSnapshot);
  }
  return headers;
}
