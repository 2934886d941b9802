import { fileNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { formatAttributes } from '../../rules/file-attributes.ts';
import { formatFileTime } from '../../rules/file-time.ts';
import { blobNameNeedsEncoding } from '../../rules/names.ts';
import { type ListedNode, listEntries } from '../../service/file/list-entries.ts';
import { fileIdOf } from '../../service/records/node-record.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { parseInclude, parseMarker, parseMaxResults, renderMarker, serviceEndpoint } from '../list.ts';
import { XmlWriter } from '../xml.ts';
import { fileNameOf, nodeRequestOf, type Operation } from './operation.ts';

const ALL = 'all';
const INCLUDE: ReadonlySet<string> = new Set(['timestamps', 'etag', 'attributes', 'permissionkey', ALL]);

type Page = Awaited<ReturnType<typeof listEntries>>;

export const listDirectoriesAndFiles: Operation = {
  name: 'List Directories and Files',
  need: fileNeeds.listDirectoriesAndFiles,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const include = parseInclude(exchange, INCLUDE);
    const isExtended = parseFlag(exchange, 'x-ms-file-extended-info');
    const page = await listEntries(storage, {
      ...nodeRequestOf(exchange, resource),
      prefix: exchange.target.query.get('prefix') ?? '',
      from: parseMarker(exchange) || null,
      limit: parseMaxResults(exchange),
    });
    const shown: Shown = {
      includes: (word) => include.has(word) || include.has(ALL),
      ids: isExtended || include.size > 0 || exchange.version >= SINCE_IDS,
    };
    const xml = openListing(exchange, fileNameOf(exchange, resource));
    if (shown.ids) xml.leaf('DirectoryId', fileIdOf(page.directory.id));
    renderEntries(xml, page, shown);
    const body = xml.leaf('NextMarker', renderMarker(page.next)).toString();
    return { status: 200, headers: ['Content-Type', 'application/xml'], body };
  },
};

/** Ids are in every listing. */
const SINCE_IDS = '2020-10-02';

interface Shown {
  readonly includes: (word: string) => boolean;
  readonly ids: boolean;
}

function openListing(exchange: Exchange, name: ReturnType<typeof fileNameOf>): XmlWriter {
  const { query } = exchange.target;
  const path = name.path.join('/');
  const isEncoded = blobNameNeedsEncoding(path);
  const xml = new XmlWriter().open('EnumerationResults', {
    ServiceEndpoint: serviceEndpoint(exchange),
    ShareName: name.share,
    ...(name.snapshot === null ? {} : { ShareSnapshot: name.snapshot }),
    ...(isEncoded ? { Encoded: 'true' } : {}),
    DirectoryPath: isEncoded ? encodeURIComponent(path) : path,
  });
  const prefix = query.get('prefix');
  if (prefix !== null) renderName(xml, 'Prefix', prefix);
  return xml.leafIf('Marker', query.get('marker')).leafIf('MaxResults', query.get('maxresults'));
}

function renderEntries(xml: XmlWriter, { entries }: Page, shown: Shown): void {
  if (entries.length === 0) {
    xml.leaf('Entries');
    return;
  }
  xml.open('Entries');
  for (const entry of entries) renderEntry(xml, entry, shown);
  xml.close();
}

function renderEntry(xml: XmlWriter, node: ListedNode, shown: Shown): void {
  xml.open(node.kind === 'file' ? 'File' : 'Directory');
  renderName(xml, 'Name', node.name);
  if (shown.ids) xml.leaf('FileId', fileIdOf(node.id));
  renderProperties(xml, node, shown);
  if (shown.includes('attributes')) xml.leaf('Attributes', formatAttributes(node.attributes));
  if (shown.includes('permissionkey')) xml.leaf('PermissionKey', node.permission);
  xml.close();
}

function renderProperties(xml: XmlWriter, node: ListedNode, { includes }: Shown): void {
  const isEmpty = node.kind === 'directory' && !includes('timestamps') && !includes('etag');
  if (isEmpty) {
    xml.leaf('Properties');
    return;
  }
  xml.open('Properties');
  if (node.kind === 'file') xml.leaf('Content-Length', node.lengthBytes);
  if (includes('timestamps')) renderTimes(xml, node);
  if (includes('etag')) xml.leaf('Etag', `"${node.etag}"`);
  xml.close();
}

/** When something was last read is not kept: reading would be writing. */
function renderTimes(xml: XmlWriter, node: ListedNode): void {
  xml
    .leaf('CreationTime', formatFileTime(node.createdAt))
    .leaf('LastAccessTime', formatFileTime(node.createdAt))
    .leaf('LastWriteTime', formatFileTime(node.writtenAt))
    .leaf('ChangeTime', formatFileTime(node.changedAt))
    .leaf('Last-Modified', formatHttpDate(node.lastModifiedMs));
}

/** A name that XML cannot carry is percent-encoded, and says so. */
export function renderName(xml: XmlWriter, element: string, name: string): void {
  if (blobNameNeedsEncoding(name)) xml.leaf(element, encodeURIComponent(name), { Encoded: 'true' });
  else xml.leaf(element, name);
}
