/** Response headers that many Blob operations share, as flat name, value, name, value lists. */

import type { ResponseOverrides } from '../../auth/identity.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import type { CopyState } from '../../rules/copy.ts';
import type { BlobEncryption } from '../../rules/encryption.ts';
import type { Immutability } from '../../rules/immutability.ts';
import type { Lease } from '../../rules/lease.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { archiveStatus, tierAt } from '../../rules/tier.ts';
import { SINCE_QUOTED_ETAGS } from '../../rules/versions.ts';
import type { BlobRead } from '../../service/blob/get-blob.ts';
import type { BlobWritten } from '../../service/blob/new-version.ts';
import type { BlobHeaders, BlobRecord } from '../../service/records/blob-record.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { metadataHeaders } from '../metadata.ts';

interface Stamped {
  readonly etag: string;
  readonly lastModifiedMs: number;
}

/** Of a write: the new ETag and time, the version where versions are kept, and how it is encrypted. */
export function writtenHeaders(exchange: Exchange, blob: BlobWritten): string[] {
  const headers = etagHeaders(exchange, blob);
  if (blob.versionId !== undefined) headers.push('x-ms-version-id', blob.versionId);
  return headers.concat(encryptionHeaders(blob), SERVER_ENCRYPTED);
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

/** Content-Type and kin of a blob; a SAS may put others in their place. Content-MD5 is for the caller to place. */
export function contentHeaders(exchange: AuthorizedExchange, stored: BlobHeaders): string[] {
  const overrides: ResponseOverrides = exchange.identity.kind === 'serviceSas' ? exchange.identity.overrides : {};
  const headers: string[] = [];
  for (const [field, name] of CONTENT_HEADERS) {
    const value = overrides[name] ?? stored[field] ?? (field === 'contentType' ? DEFAULT_CONTENT_TYPE : undefined);
    if (value !== undefined) headers.push(name, value);
  }
  return headers;
}

/** What Get Blob and Get Blob Properties both say of a blob. */
export function blobHeaders(exchange: AuthorizedExchange, { blob, kind, nowMs }: BlobRead): string[] {
  return [
    ...etagHeaders(exchange, blob),
    ...contentHeaders(exchange, blob.headers),
    'Accept-Ranges',
    'bytes',
    'x-ms-creation-time',
    formatHttpDate(blob.createdMs),
    'x-ms-blob-type',
    blob.type,
    // Leases are the blob's own: its snapshots and versions have none to speak of.
    ...(kind === 'blob' ? leaseResponseHeaders(blob.lease, nowMs) : []),
    ...typeHeaders(blob),
    ...(blob.copy === undefined ? [] : copyHeaders(blob.copy)),
    ...stateHeaders(blob, kind),
    ...encryptionHeaders(blob),
    'x-ms-server-encrypted',
    'true',
    ...metadataHeaders(blob.metadata),
  ];
}

function typeHeaders({ type, sequenceNumber, content, isSealed }: BlobRecord): string[] {
  if (type === 'PageBlob') return ['x-ms-blob-sequence-number', sequenceNumber ?? '0'];
  if (content.kind !== 'appended') return [];
  const headers = ['x-ms-blob-committed-block-count', String(content.blockCount)];
  if (isSealed === true) headers.push('x-ms-blob-sealed', 'true');
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

function stateHeaders({ tags, versionId, immutability, expiresMs }: BlobRecord, kind: BlobRead['kind']): string[] {
  const headers: string[] = [];
  if (tags !== undefined) headers.push('x-ms-tag-count', String(tags.length));
  if (versionId !== undefined) headers.push('x-ms-version-id', versionId);
  if (versionId !== undefined && kind === 'blob') headers.push('x-ms-is-current-version', 'true');
  if (expiresMs !== undefined) headers.push('x-ms-expiry-time', formatHttpDate(expiresMs));
  return headers.concat(immutabilityHeaders(immutability ?? {}));
}

export function immutabilityHeaders({ until, legalHold }: Immutability): string[] {
  const headers: string[] = [];
  if (until !== undefined) {
    headers.push('x-ms-immutability-policy-until-date', formatHttpDate(until.ms));
    headers.push('x-ms-immutability-policy-mode', until.mode.toLowerCase());
  }
  if (legalHold !== undefined) headers.push('x-ms-legal-hold', String(legalHold));
  return headers;
}

export function encryptionHeaders({ encryption }: { readonly encryption?: BlobEncryption }): string[] {
  if (encryption === undefined) return [];
  return 'scope' in encryption
    ? ['x-ms-encryption-scope', encryption.scope]
    : ['x-ms-encryption-key-sha256', encryption.keySha256];
}

/** What only Get Blob Properties says: the tier, and where it is going. */
export function tierHeaders(blob: BlobRecord, nowMs: number): string[] {
  if (blob.type !== 'BlockBlob' && blob.tier === undefined) return [];
  const state = tierAt(blob, nowMs);
  const headers = ['x-ms-access-tier', state.tier ?? 'Hot'];
  if (state.tier === undefined) headers.push('x-ms-access-tier-inferred', 'true');
  if (state.changedMs !== undefined) headers.push('x-ms-access-tier-change-time', formatHttpDate(state.changedMs));
  const status = archiveStatus(state);
  if (status !== null) headers.push('x-ms-archive-status', status);
  if (state.rehydrating !== undefined) headers.push('x-ms-rehydrate-priority', state.rehydrating.priority);
  return headers;
}
