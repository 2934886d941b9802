import { fileNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { reportedLease } from '../../rules/precedence.ts';
import { type ListedShare, listShares as list } from '../../service/file/list-shares.ts';
import { endListing, openListing, parseInclude, parseMarker, parseMaxResults, renderDeleted } from '../list.ts';
import { renderMetadata } from '../metadata.ts';
import type { XmlWriter } from '../xml.ts';
import type { Operation } from './operation.ts';

const INCLUDE: ReadonlySet<string> = new Set(['metadata', 'snapshots', 'deleted']);

export const listShares: Operation = {
  name: 'List Shares',
  need: fileNeeds.listShares,
  async handle(storage, exchange) {
    const { query, account } = exchange.target;
    const include = parseInclude(exchange, INCLUDE);
    const page = await list(storage, {
      account,
      prefix: query.get('prefix') ?? '',
      from: parseMarker(exchange),
      limit: parseMaxResults(exchange),
      includeSnapshots: include.has('snapshots'),
      includeDeleted: include.has('deleted'),
    });
    const xml = openListing(exchange).open('Shares');
    for (const listed of page.shares) {
      renderShare(xml, listed, { withMetadata: include.has('metadata'), nowMs: page.nowMs });
    }
    return endListing(xml, page.next);
  },
};

function renderShare(
  xml: XmlWriter,
  { name, share, snapshot, deleted }: ListedShare,
  { withMetadata, nowMs }: { withMetadata: boolean; nowMs: number },
): void {
  const lease = reportedLease(share.lease, nowMs);
  xml.open('Share').leaf('Name', name).leafIf('Snapshot', snapshot);
  if (deleted !== null) xml.leaf('Deleted', true).leaf('Version', deleted.version);
  xml
    .open('Properties')
    .leaf('Last-Modified', formatHttpDate(share.lastModifiedMs))
    .leaf('Etag', `"${share.etag}"`)
    .leaf('LeaseStatus', lease.status)
    .leaf('LeaseState', lease.state)
    .leafIf('LeaseDuration', lease.duration)
    .leaf('Quota', share.quotaGiB)
    .leaf('AccessTier', share.tier)
    .leaf('AccessTierChangeTime', formatHttpDate(share.tierChangedMs));
  if (deleted !== null) renderDeleted(xml, deleted, nowMs);
  xml.close();
  if (withMetadata) renderMetadata(xml, share.metadata);
  xml.close();
}
