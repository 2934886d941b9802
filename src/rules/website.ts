/**
 * Which document of a static website a path stands for: a path that ends with a slash for the index of that directory,
 * any other for itself; and what is shown in place of a document that is not there.
 * https://learn.microsoft.com/azure/storage/blobs/storage-blob-static-website
 */

export const WEB_CONTAINER = '$web';

export interface Website {
  readonly indexDocument?: string;
  readonly defaultIndexDocumentPath?: string;
  readonly errorDocument404Path?: string;
}

export interface WebDocument {
  /** The blob's name. */
  readonly name: string;
  readonly status: 200 | 404;
}

/** `path` decoded, from the root of the site on, without a slash before it. The first document that is there counts. */
export function documentsAt(path: string, site: Website): WebDocument[] {
  const own = path === '' || path.endsWith('/') ? indexOf(path, site) : path;
  const documents: WebDocument[] = own === null ? [] : [{ name: own, status: 200 }];
  if (site.defaultIndexDocumentPath !== undefined) {
    documents.push({ name: fromRoot(site.defaultIndexDocumentPath), status: 200 });
  } else if (site.errorDocument404Path !== undefined) {
    documents.push({ name: fromRoot(site.errorDocument404Path), status: 404 });
  }
  return documents;
}

const indexOf = (directory: string, { indexDocument }: Website): string | null =>
  indexDocument === undefined ? null : directory + indexDocument;

const fromRoot = (path: string): string => (path.startsWith('/') ? path.slice(1) : path);
