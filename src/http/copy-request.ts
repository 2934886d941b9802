/** What requests for copies share, of blobs and of files: the source as it may be shown, that there is no body, aborting. */
import { parseLeaseId } from '../rules/lease.ts';
import { invalidHeader, invalidQuery, missingHeader, StorageError } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';

/** What in a URL's query says which state of a blob is meant. All else may be somebody's signature. */
const SHOWN_WORDS: ReadonlySet<string> = new Set(['snapshot', 'versionid', 'sharesnapshot']);

/** `x-ms-copy-source` as anybody who may read the copy is told it. */
export function shownSource(exchange: Exchange): string {
  const text = exchange.header('x-ms-copy-source') ?? '';
  const [path = '', query = ''] = text.split('#', 1)[0]?.split(/\?(.*)/s, 2) ?? [];
  const shown = query.split('&').filter((pair) => SHOWN_WORDS.has(pair.replace(/=.*/s, '').toLowerCase()));
  return shown.length === 0 ? path : `${path}?${shown.join('&')}`;
}

/** The bytes are the source's. */
export function refuseBody({ contentLengthBytes }: Exchange): void {
  if (contentLengthBytes !== null && contentLengthBytes !== 0) {
    throw invalidHeader('Content-Length', String(contentLengthBytes));
  }
}

export function requireAbort(exchange: Exchange): void {
  const action = exchange.header('x-ms-copy-action');
  if (action === null) throw missingHeader('x-ms-copy-action');
  if (action.toLowerCase() !== 'abort') throw invalidHeader('x-ms-copy-action', action);
}

/** A GUID, as a lease id is. */
export function parseCopyId(exchange: Exchange): string {
  const text = exchange.target.query.get('copyid');
  if (text === null) {
    throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: 'copyid' } });
  }
  const copyId = parseLeaseId(text);
  if (copyId === null) throw invalidQuery('copyid', text, 'Not a GUID.');
  return copyId;
}
