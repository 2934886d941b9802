import { blobNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { type ListedContainer, listContainers as list } from '../../service/blob/list-containers.ts';
import { XmlWriter } from '../xml.ts';
import { parseInclude, parseMarker, parseMaxResults, renderMarker, serviceEndpoint } from './list.ts';
import { renderMetadata } from './list-blobs.ts';
import type { Operation } from './operation.ts';

const INCLUDE: ReadonlySet<string> = new Set(['metadata', 'deleted', 'system']);

export const listContainers: Operation = {
  name: 'List Containers',
  need: blobNeeds.listContainers,
  async handle(storage, exchange) {
    const { query, account } = exchange.target;
    const include = parseInclude(exchange, INCLUDE);
    const page = await list(storage, {
      account,
      prefix: query.get('prefix') ?? '',
      from: parseMarker(exchange),
      limit: parseMaxResults(exchange),
    });
    const xml = new XmlWriter()
      .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange) })
      .leafIf('Prefix', query.get('prefix'))
      .leafIf('Marker', query.get('marker'))
      .leafIf('MaxResults', query.get('maxresults'))
      .open('Containers');
    for (const listed of page.containers) renderContainer(xml, listed, include, page.nowMs);
    xml.close().leaf('NextMarker', renderMarker(page.next));
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.toString() };
  },
};

function renderContainer(
  xml: XmlWriter,
  { name, container }: ListedContainer,
  include: ReadonlySet<string>,
  nowMs: number,
): void {
  const lease = reportedLease(container.lease, nowMs);
  xml
    .open('Container')
    .leaf('Name', name)
    .open('Properties')
    .leaf('Last-Modified', formatHttpDate(container.lastModifiedMs))
    .leaf('Etag', `"${container.etag}"`)
    .leaf('LeaseStatus', lease.status)
    .leaf('LeaseState', lease.state)
    .leafIf('LeaseDuration', lease.duration)
    .leafIf('PublicAccess', container.publicAccess)
    .leaf('HasImmutabilityPolicy', false)
    .leaf('HasLegalHold', false)
    .leaf('ImmutableStorageWithVersioningEnabled', false)
    .close();
  if (include.has('metadata')) renderMetadata(xml, container.metadata);
  xml.close();
}
