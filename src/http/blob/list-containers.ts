import { blobNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { type Deleted, remainingDays } from '../../rules/retention.ts';
import { type ListedContainer, listContainers as list } from '../../service/blob/list-containers.ts';
import { parseInclude, parseMarker, parseMaxResults, renderMarker, serviceEndpoint } from '../list.ts';
import { renderMetadata } from '../metadata.ts';
import { XmlWriter } from '../xml.ts';
import { reportedScope } from './container.ts';
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
      includeDeleted: include.has('deleted'),
    });
    const { keepsVersions } = storage.settings(account);
    const xml = new XmlWriter()
      .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange) })
      .leafIf('Prefix', query.get('prefix'))
      .leafIf('Marker', query.get('marker'))
      .leafIf('MaxResults', query.get('maxresults'))
      .open('Containers');
    for (const listed of page.containers) {
      renderContainer(xml, listed, { withMetadata: include.has('metadata'), keepsVersions, nowMs: page.nowMs });
    }
    xml.close().leaf('NextMarker', renderMarker(page.next));
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.toString() };
  },
};

function renderContainer(
  xml: XmlWriter,
  { name, container }: ListedContainer,
  { withMetadata, keepsVersions, nowMs }: { withMetadata: boolean; keepsVersions: boolean; nowMs: number },
): void {
  const lease = reportedLease(container.lease, nowMs);
  const scope = reportedScope(container);
  const { deleted } = container;
  xml.open('Container').leaf('Name', name);
  if (deleted !== undefined) xml.leaf('Version', container.id).leaf('Deleted', true);
  xml
    .open('Properties')
    .leaf('Last-Modified', formatHttpDate(container.lastModifiedMs))
    .leaf('Etag', `"${container.etag}"`)
    .leaf('LeaseStatus', lease.status)
    .leaf('LeaseState', lease.state)
    .leafIf('LeaseDuration', lease.duration)
    .leafIf('PublicAccess', container.publicAccess)
    .leaf('HasImmutabilityPolicy', false)
    .leaf('HasLegalHold', false)
    .leaf('DefaultEncryptionScope', scope.name)
    .leaf('DenyEncryptionScopeOverride', scope.deniesOthers)
    .leaf('ImmutableStorageWithVersioningEnabled', keepsVersions);
  if (deleted !== undefined) renderDeleted(xml, deleted, nowMs);
  xml.close();
  if (withMetadata) renderMetadata(xml, container.metadata);
  xml.close();
}

function renderDeleted(xml: XmlWriter, deleted: Deleted, nowMs: number): void {
  xml.leaf('DeletedTime', formatHttpDate(deleted.atMs)).leaf('RemainingRetentionDays', remainingDays(deleted, nowMs));
}
