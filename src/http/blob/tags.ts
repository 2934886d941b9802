/** Get and Set Blob Tags, Find Blobs by Tags in an account or in a container. */
import { blobNeeds } from '../../auth/needs.ts';
import { type Conditions, NO_CONDITIONS } from '../../rules/conditions.ts';
import { matchedTags, parseTagQuery, type TagQuery } from '../../rules/tag-expression.ts';
import { refuseTags, type Tags } from '../../rules/tags.ts';
import { SINCE_CONDITIONS_ON_TAGS } from '../../rules/versions.ts';
import { type FoundPage, findBlobsByTags as find } from '../../service/blob/find-blobs-by-tags.ts';
import { getBlobProperties } from '../../service/blob/get-blob.ts';
import { setBlobTags as set } from '../../service/blob/set-blob-tags.ts';
import { invalidQuery, invalidXml, StorageError } from '../../service/storage-error.ts';
import { readWhole, requireContentLength } from '../body.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';
import { parseKeyMarker, parseMaxResults, renderKeyMarker, serviceEndpoint } from '../list.ts';
import { childNamed, parseXml, type XmlNode, XmlWriter } from '../xml.ts';
import { renderName, renderTags } from './listed-blob.ts';
import type { BlobResource, Operation } from './operation.ts';
import { parseBlobRequest, parseBodyHashes, parseConditions, refuseBodyHashes } from './request-headers.ts';

/** Ten tags of 128 and 256 characters, in elements. */
const TAGS_BYTES_MAX = 64 * 1024;

export const getBlobTags: Operation = {
  name: 'Get Blob Tags',
  need: blobNeeds.getBlobTags,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const request = parseBlobRequest(exchange, resource);
    const { blob } = await getBlobProperties(storage, { ...request, conditions: tagConditions(exchange, request) });
    const xml = new XmlWriter();
    renderTags(xml, blob.tags ?? []);
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.toString() };
  },
};

export const setBlobTags: Operation = {
  name: 'Set Blob Tags',
  need: blobNeeds.setBlobTags,
  takesPast: true,
  async handle(storage, exchange, resource) {
    requireContentLength(exchange);
    const hashes = parseBodyHashes(exchange);
    const request = parseBlobRequest(exchange, resource);
    const body = await readWhole(exchange, { maxBytes: TAGS_BYTES_MAX });
    refuseBodyHashes(hashes, body);
    const tags = parseTagsBody(parseXml(body));
    await set(storage, { ...request, conditions: tagConditions(exchange, request), tags });
    return { status: 204, headers: [] };
  },
};

export const findBlobsByTags: Operation = findIn('Find Blobs by Tags', blobNeeds.findBlobsByTags);

export const findBlobsByTagsInContainer: Operation = findIn(
  'Find Blobs by Tags in Container',
  blobNeeds.findBlobsByTagsInContainer,
);

function findIn(name: string, need: Operation['need']): Operation {
  return {
    name,
    need,
    async handle(storage, exchange, resource) {
      const query = parseWhere(exchange, resource);
      const page = await find(storage, {
        account: exchange.target.account,
        container: resource.kind === 'service' ? null : resource.container,
        query,
        from: parseKeyMarker(exchange),
        limit: parseMaxResults(exchange),
      });
      return renderFound(exchange, page, query);
    },
  };
}

const OWN_HEADERS = {
  ifMatch: 'x-ms-blob-if-match',
  ifNoneMatch: 'x-ms-blob-if-none-match',
  ifModifiedSince: 'x-ms-blob-if-modified-since',
  ifUnmodifiedSince: 'x-ms-blob-if-unmodified-since',
} as const;

/** The usual conditional headers were never for tags: these operations have their own. */
function tagConditions(exchange: Exchange, { conditions }: { conditions: Conditions }): Conditions {
  const own = exchange.version >= SINCE_CONDITIONS_ON_TAGS ? parseConditions(exchange, OWN_HEADERS) : NO_CONDITIONS;
  return { ...own, ifTags: conditions.ifTags ?? null };
}

function parseTagsBody(root: XmlNode): Tags {
  const set = root.name === 'Tags' ? childNamed(root, 'TagSet') : null;
  if (set === null) throw invalidXml('Tags with a TagSet are expected.');
  const tags = set.children.map((node) => {
    const key = childNamed(node, 'Key');
    const value = childNamed(node, 'Value');
    if (node.name !== 'Tag' || key === null || value === null) {
      throw invalidXml('A TagSet must consist of Tags, each with a Key and a Value.');
    }
    return [key.text, value.text] as const;
  });
  const code = refuseTags(tags);
  if (code !== null) throw new StorageError(code);
  return tags;
}

function parseWhere(exchange: AuthorizedExchange, resource: BlobResource): TagQuery {
  const text = exchange.target.query.get('where');
  if (text === null) {
    throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: 'where' } });
  }
  const query = parseTagQuery(text);
  if (query === null) throw invalidQuery('where', text, 'Not a valid tag expression.');
  if (query.container !== null && resource.kind !== 'service') {
    throw invalidQuery('where', text, '@container is allowed only in a search of a whole account.');
  }
  return query;
}

function renderFound(exchange: Exchange, { blobs, next }: FoundPage, query: TagQuery): Reply {
  const { query: words } = exchange.target;
  const xml = new XmlWriter()
    .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange) })
    .leaf('Where', words.get('where') ?? '')
    .open('Blobs');
  for (const { container, blob, record } of blobs) {
    xml.open('Blob');
    renderName(xml, blob);
    xml.leaf('ContainerName', container);
    if (record.versionId !== undefined) xml.leaf('VersionId', record.versionId).leaf('IsCurrentVersion', true);
    renderTags(xml, matchedTags(query, record.tags ?? []));
    xml.close();
  }
  const body = xml.close().leaf('NextMarker', renderKeyMarker(next)).toString();
  return { status: 200, headers: ['Content-Type', 'application/xml'], body };
}
