/** One entry of a listing of blobs as XML: a blob, something of its past, an uncommitted blob, or a prefix. */
import { formatHttpDate } from '../../base/http-date.ts';
import type { CopyState } from '../../rules/copy.ts';
import type { Immutability } from '../../rules/immutability.ts';
import { blobNameNeedsEncoding } from '../../rules/names.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { remainingDays } from '../../rules/retention.ts';
import { sortTags, type Tags } from '../../rules/tags.ts';
import { archiveStatus, tierAt } from '../../rules/tier.ts';
import type { ListedBlob } from '../../service/blob/list-blobs.ts';
import type { BlobRecord, StagingRecord } from '../../service/records/blob-record.ts';
import { renderMetadata } from '../metadata.ts';
import type { XmlWriter } from '../xml.ts';

/** The words of `include`, and the time of the listing. */
export interface Asked {
  readonly include: ReadonlySet<string>;
  readonly nowMs: number;
}

export function renderListedBlob(xml: XmlWriter, item: ListedBlob, asked: Asked): void {
  xml.open(item.kind === 'prefix' ? 'BlobPrefix' : 'Blob');
  renderName(xml, item.name);
  if (item.kind === 'uncommitted') renderUncommitted(xml, item.staging, asked.nowMs);
  else if (item.kind !== 'prefix') renderBlob(xml, item, asked);
  xml.close();
}

export function renderName(xml: XmlWriter, name: string): void {
  if (blobNameNeedsEncoding(name)) xml.leaf('Name', encodeURIComponent(name), { Encoded: 'true' });
  else xml.leaf('Name', name);
}

type ListedState = Extract<ListedBlob, { blob: BlobRecord }>;

function renderBlob(xml: XmlWriter, item: ListedState, asked: Asked): void {
  const { kind, blob } = item;
  const { include } = asked;
  if (kind === 'snapshot') xml.leaf('Snapshot', item.moment);
  if (kind !== 'versionsOnly') xml.leafIf('VersionId', blob.versionId);
  if (kind === 'blob' && blob.versionId !== undefined) xml.leaf('IsCurrentVersion', true);
  if (blob.deleted !== undefined && kind !== 'versionsOnly') xml.leaf('Deleted', true);
  if (kind === 'versionsOnly') xml.leaf('HasVersionsOnly', true);
  renderProperties(xml, item, asked);
  if (include.has('metadata')) renderBlobMetadata(xml, blob);
  if (include.has('tags') && blob.tags !== undefined) renderTags(xml, blob.tags);
}

function renderProperties(xml: XmlWriter, { kind, blob }: ListedState, { include, nowMs }: Asked): void {
  const { headers } = blob;
  xml
    .open('Properties')
    .leaf('Creation-Time', formatHttpDate(blob.createdMs))
    .leaf('Last-Modified', formatHttpDate(blob.lastModifiedMs))
    .leafIf('Expiry-Time', httpDate(blob.expiresMs))
    .leaf('Etag', blob.etag)
    .leaf('Content-Length', blob.lengthBytes)
    .leaf('Content-Type', headers.contentType ?? 'application/octet-stream')
    .leaf('Content-Encoding', headers.contentEncoding)
    .leaf('Content-Language', headers.contentLanguage)
    .leaf('Content-CRC64')
    .leaf('Content-MD5', headers.contentMd5)
    .leaf('Cache-Control', headers.cacheControl)
    .leaf('Content-Disposition', headers.contentDisposition)
    .leafIf('x-ms-blob-sequence-number', blob.type === 'PageBlob' ? (blob.sequenceNumber ?? '0') : null)
    .leaf('BlobType', blob.type);
  renderTier(xml, blob, nowMs);
  // Leases are the blob's own: nothing of its past has one.
  if (kind === 'blob' || kind === 'versionsOnly') renderLease(xml, blob.lease, nowMs);
  if (include.has('copy') && blob.copy !== undefined) renderCopy(xml, blob.copy);
  xml.leaf('ServerEncrypted', true).leafIf('IncrementalCopy', blob.copy?.incremental);
  renderEncryption(xml, blob);
  if (blob.deleted !== undefined && kind !== 'versionsOnly') {
    xml
      .leaf('DeletedTime', formatHttpDate(blob.deleted.atMs))
      .leaf('RemainingRetentionDays', remainingDays(blob.deleted, nowMs));
  }
  xml.leafIf('TagCount', blob.tags?.length).leafIf('Sealed', blob.isSealed);
  renderImmutability(xml, blob.immutability ?? {}, include);
  xml.close();
}

const httpDate = (ms: number | undefined): string | null => (ms === undefined ? null : formatHttpDate(ms));

/** Only block blobs have a tier that nobody has set. */
function renderTier(xml: XmlWriter, blob: BlobRecord, nowMs: number): void {
  if (blob.type !== 'BlockBlob' && blob.tier === undefined) return;
  const state = tierAt(blob, nowMs);
  xml
    .leaf('AccessTier', state.tier ?? 'Hot')
    .leafIf('AccessTierInferred', state.tier === undefined ? true : null)
    .leafIf('AccessTierChangeTime', httpDate(state.changedMs))
    .leafIf('ArchiveStatus', archiveStatus(state))
    .leafIf('RehydratePriority', state.rehydrating?.priority);
}

function renderLease(xml: XmlWriter, stored: BlobRecord['lease'], nowMs: number): void {
  const lease = reportedLease(stored, nowMs);
  xml.leaf('LeaseStatus', lease.status).leaf('LeaseState', lease.state).leafIf('LeaseDuration', lease.duration);
}

function renderCopy(xml: XmlWriter, copy: CopyState): void {
  xml
    .leaf('CopyId', copy.id)
    .leaf('CopySource', copy.source)
    .leaf('CopyStatus', copy.status)
    .leaf('CopyProgress', `${copy.bytesCopied}/${copy.bytesTotal}`)
    .leafIf('CopyCompletionTime', httpDate(copy.completedMs))
    .leafIf('CopyStatusDescription', copy.description)
    .leafIf('CopyDestinationSnapshot', copy.destinationSnapshot);
}

function renderEncryption(xml: XmlWriter, { encryption }: BlobRecord): void {
  if (encryption === undefined) return;
  if ('scope' in encryption) xml.leaf('EncryptionScope', encryption.scope);
  else xml.leaf('CustomerProvidedKeySha256', encryption.keySha256);
}

function renderImmutability(xml: XmlWriter, { until, legalHold }: Immutability, include: Asked['include']): void {
  if (include.has('immutabilitypolicy') && until !== undefined) {
    xml
      .leaf('ImmutabilityPolicyUntilDate', formatHttpDate(until.ms))
      .leaf('ImmutabilityPolicyMode', until.mode.toLowerCase());
  }
  if (include.has('legalhold')) xml.leafIf('LegalHold', legalHold);
}

/** A blob of staged blocks only has no content, no ETag and no times to speak of. */
function renderUncommitted(xml: XmlWriter, staging: StagingRecord, nowMs: number): void {
  xml
    .open('Properties')
    .leaf('Creation-Time', formatHttpDate(staging.createdMs))
    .leaf('Content-Length', 0)
    .leaf('BlobType', 'BlockBlob');
  renderLease(xml, staging.lease, nowMs);
  xml.leaf('ServerEncrypted', true).close();
}

/** What only the customer's key opens is not told to whoever lists. */
function renderBlobMetadata(xml: XmlWriter, { metadata, encryption }: BlobRecord): void {
  const isSealedOff = encryption !== undefined && 'keySha256' in encryption && metadata.length > 0;
  if (isSealedOff) xml.leaf('Metadata', '', { Encrypted: 'true' });
  else renderMetadata(xml, metadata);
}

/** By name. */
export function renderTags(xml: XmlWriter, tags: Tags): void {
  xml.open('Tags').open('TagSet');
  for (const [key, value] of sortTags(tags)) xml.open('Tag').leaf('Key', key).leaf('Value', value).close();
  xml.close().close();
}
