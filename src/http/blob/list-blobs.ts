import { blobNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { blobNameNeedsEncoding, type Metadata } from '../../rules/names.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { type BlobPage, type ListedBlob, listBlobs as list } from '../../service/blob/list-blobs.ts';
import { invalidQuery } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { XmlWriter } from '../xml.ts';
import { parseInclude, parseMarker, parseMaxResults, renderMarker, serviceEndpoint } from './list.ts';
import { containerNameOf, type Operation } from './operation.ts';

const INCLUDE: ReadonlySet<string> = new Set([
  'snapshots',
  'metadata',
  'uncommittedblobs',
  'copy',
  'deleted',
  'tags',
  'versions',
  'deletedwithversions',
  'immutabilitypolicy',
  'legalhold',
  'permissions',
]);

export const listBlobs: Operation = {
  name: 'List Blobs',
  need: blobNeeds.listBlobs,
  async handle(storage, exchange, resource) {
    const { query } = exchange.target;
    const include = parseInclude(exchange, INCLUDE);
    const delimiter = query.get('delimiter') ?? '';
    if (delimiter !== '' && include.has('snapshots')) {
      throw invalidQuery('include', 'snapshots', 'Not together with a delimiter.');
    }
    const showOnly = query.get('showonly');
    if (showOnly !== null) throw invalidQuery('showonly', showOnly, 'For accounts with a hierarchical namespace.');
    const page = await list(storage, {
      name: containerNameOf(exchange, resource),
      prefix: query.get('prefix') ?? '',
      delimiter,
      from: parseMarker(exchange) || (query.get('startfrom') ?? ''),
      before: query.get('endbefore'),
      limit: parseMaxResults(exchange),
      includeUncommitted: include.has('uncommittedblobs'),
    });
    const body = render(exchange, containerNameOf(exchange, resource).container, page, include);
    return { status: 200, headers: ['Content-Type', 'application/xml'], body };
  },
};

function render(exchange: Exchange, container: string, page: BlobPage, include: ReadonlySet<string>): string {
  const { query } = exchange.target;
  const xml = new XmlWriter()
    .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange), ContainerName: container })
    .leafIf('Prefix', query.get('prefix'))
    .leafIf('Marker', query.get('marker'))
    .leafIf('MaxResults', query.get('maxresults'))
    .leafIf('Delimiter', query.get('delimiter'))
    .open('Blobs');
  for (const item of page.items) renderItem(xml, item, include, page.nowMs);
  return xml.close().leaf('NextMarker', renderMarker(page.next)).toString();
}

function renderItem(xml: XmlWriter, item: ListedBlob, include: ReadonlySet<string>, nowMs: number): void {
  if (item.kind === 'prefix') {
    xml.open('BlobPrefix');
    renderName(xml, item.name);
    xml.close();
    return;
  }
  xml.open('Blob');
  renderName(xml, item.name);
  if (item.kind === 'blob') {
    renderProperties(xml, item.blob, nowMs);
    if (include.has('metadata')) renderMetadata(xml, item.blob.metadata);
  } else {
    renderUncommitted(xml, item.staging, nowMs);
  }
  xml.close();
}

export function renderName(xml: XmlWriter, name: string): void {
  if (blobNameNeedsEncoding(name)) xml.leaf('Name', encodeURIComponent(name), { Encoded: 'true' });
  else xml.leaf('Name', name);
}

function renderProperties(xml: XmlWriter, blob: (ListedBlob & { kind: 'blob' })['blob'], nowMs: number): void {
  const { headers } = blob;
  const lease = reportedLease(blob.lease, nowMs);
  xml
    .open('Properties')
    .leaf('Creation-Time', formatHttpDate(blob.createdMs))
    .leaf('Last-Modified', formatHttpDate(blob.lastModifiedMs))
    .leaf('Etag', blob.etag)
    .leaf('Content-Length', blob.lengthBytes)
    .leaf('Content-Type', headers.contentType ?? 'application/octet-stream')
    .leaf('Content-Encoding', headers.contentEncoding)
    .leaf('Content-Language', headers.contentLanguage)
    .leaf('Content-CRC64')
    .leaf('Content-MD5', headers.contentMd5)
    .leaf('Cache-Control', headers.cacheControl)
    .leaf('Content-Disposition', headers.contentDisposition)
    .leaf('BlobType', blob.type)
    .leaf('AccessTier', blob.tier ?? 'Hot')
    .leafIf('AccessTierInferred', blob.tier === undefined ? true : null)
    .leaf('LeaseStatus', lease.status)
    .leaf('LeaseState', lease.state)
    .leafIf('LeaseDuration', lease.duration)
    .leaf('ServerEncrypted', true)
    .close();
}

/** A blob of staged blocks only has no content, no ETag and no times to speak of. */
function renderUncommitted(
  xml: XmlWriter,
  staging: (ListedBlob & { kind: 'uncommitted' })['staging'],
  nowMs: number,
): void {
  const lease = reportedLease(staging.lease, nowMs);
  xml
    .open('Properties')
    .leaf('Creation-Time', formatHttpDate(staging.createdMs))
    .leaf('Content-Length', 0)
    .leaf('BlobType', 'BlockBlob')
    .leaf('LeaseStatus', lease.status)
    .leaf('LeaseState', lease.state)
    .leafIf('LeaseDuration', lease.duration)
    .leaf('ServerEncrypted', true)
    .close();
}

/** Metadata names are identifiers (rules/names.ts), so each makes an element's name. */
export function renderMetadata(xml: XmlWriter, metadata: Metadata): void {
  xml.open('Metadata');
  for (const [name, value] of metadata) xml.leaf(name, value);
  xml.close();
}
