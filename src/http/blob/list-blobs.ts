import { blobNeeds } from '../../auth/needs.ts';
import { SINCE_APPEND_BLOBS } from '../../rules/versions.ts';
import { type BlobPage, listBlobs as list } from '../../service/blob/list-blobs.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';
import { endListing, openListing, parseInclude, parseMarker, parseMaxResults } from '../list.ts';
import { renderListedBlob } from './listed-blob.ts';
import { containerNameOf, type Operation } from './operation.ts';
import { requirePermission } from './request-headers.ts';

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
    refuseInclude(exchange, include);
    const showOnly = query.get('showonly');
    if (showOnly !== null)
      throw invalidQuery('showonly', showOnly, 'It is only for accounts with a hierarchical namespace.');
    const page = await list(storage, {
      name: containerNameOf(exchange, resource),
      prefix: query.get('prefix') ?? '',
      delimiter: query.get('delimiter') ?? '',
      from: parseMarker(exchange) || (query.get('startfrom') ?? ''),
      before: query.get('endbefore'),
      limit: parseMaxResults(exchange),
      includeUncommitted: include.has('uncommittedblobs'),
      includeSnapshots: include.has('snapshots'),
      includeVersions: include.has('versions'),
      includeDeleted: include.has('deleted'),
      includeDeletedWithVersions: include.has('deletedwithversions'),
    });
    refusePage(exchange, page);
    return render(exchange, containerNameOf(exchange, resource).container, page, include);
  },
};

function refuseInclude(exchange: AuthorizedExchange, include: ReadonlySet<string>): void {
  const isHierarchy = (exchange.target.query.get('delimiter') ?? '') !== '';
  for (const word of ['snapshots', 'versions']) {
    if (isHierarchy && include.has(word))
      throw invalidQuery('include', word, 'It is not allowed together with a delimiter.');
  }
  if (include.has('tags')) requirePermission(exchange, 't');
}

/** A client from before append blobs would not know what it reads. */
function refusePage({ version }: Exchange, { items }: BlobPage): void {
  if (version >= SINCE_APPEND_BLOBS) return;
  if (items.some((item) => 'blob' in item && item.blob.type === 'AppendBlob')) {
    throw new StorageError('FeatureVersionMismatch');
  }
}

function render(exchange: Exchange, container: string, page: BlobPage, include: ReadonlySet<string>): Reply {
  const { query } = exchange.target;
  const xml = openListing(exchange, { ContainerName: container })
    .leafIf('Delimiter', query.get('delimiter'))
    .open('Blobs');
  for (const item of page.items) renderListedBlob(xml, item, { include, nowMs: page.nowMs });
  return endListing(xml, page.next);
}
