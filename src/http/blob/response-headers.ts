/** Response headers that many Blob operations share, as flat name, value, name, value lists. */

import { formatHttpDate } from '../../base/http-date.ts';
import type { BlobEncryption } from '../../rules/encryption.ts';
import type { Immutability } from '../../rules/immutability.ts';
import { archiveStatus, tierAt } from '../../rules/tier.ts';
import type { BlobRead } from '../../service/blob/get-blob.ts';
import type { BlobWritten } from '../../service/blob/new-version.ts';
import type { BlobRecord } from '../../service/records/blob-record.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { metadataHeaders } from '../metadata.ts';
import { contentHeaders, copyHeaders, etagHeaders, leaseResponseHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';

/** Of a write: the new ETag and time, the version where versions are kept, and how it is encrypted. */
export function writtenHeaders(exchange: Exchange, blob: BlobWritten): string[] {
  const headers = etagHeaders(exchange, blob);
  if (blob.versionId !== undefined) headers.push('x-ms-version-id', blob.versionId);
  return headers.concat(encryptionHeaders(blob), SERVER_ENCRYPTED);
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
