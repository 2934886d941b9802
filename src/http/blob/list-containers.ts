import { blobNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { type ListedContainer, listContainers as list } from '../../service/blob/list-containers.ts';
import { endListing, openListing, parseInclude, parseMarker, parseMaxResults, renderDeleted } from '../list.ts';
import { renderMetadata } from '../metadata.ts';
import type { XmlWriter } from '../xml.ts';
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
    const xml = openListing(exchange).open('Containers');
    for (const listed of page.containers) {
      renderContainer(xml, listed, { withMetadata: include.has('metadata'), keepsVersions, nowMs: page.nowMs });
    }
    return endListing(xml, page.next);
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
