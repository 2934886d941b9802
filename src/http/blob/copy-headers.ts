/** Headers that the copies share: the source as it may be shown, its tags, and that there is no body. */
import type { BlobCopied } from '../../service/copy/copy-blob.ts';
import type { TagOption } from '../../service/copy/source-tags.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { requirePermission } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

/** What in a URL's query says which state of a blob is meant. All else may be somebody's signature. */
const SHOWN_WORDS: ReadonlySet<string> = new Set(['snapshot', 'versionid', 'sharesnapshot']);

/** `x-ms-copy-source` as anybody who may read the copy is told it. */
export function shownSource(exchange: Exchange): string {
  const text = exchange.header('x-ms-copy-source') ?? '';
  const [path = '', query = ''] = text.split('#', 1)[0]?.split(/\?(.*)/s, 2) ?? [];
  const shown = query.split('&').filter((pair) => SHOWN_WORDS.has(pair.replace(/=.*/s, '').toLowerCase()));
  return shown.length === 0 ? path : `${path}?${shown.join('&')}`;
}

const TAG_OPTION = 'x-ms-copy-source-tag-option';

export function parseTagOption(exchange: AuthorizedExchange): TagOption {
  const text = exchange.header(TAG_OPTION);
  if (text === null || text === '' || text === 'REPLACE') return 'REPLACE';
  if (text !== 'COPY') throw invalidHeader(TAG_OPTION, text);
  requirePermission(exchange, 't');
  return 'COPY';
}

/** The bytes are the source's. */
export function refuseBody({ contentLengthBytes }: Exchange): void {
  if (contentLengthBytes !== null && contentLengthBytes !== 0) {
    throw invalidHeader('Content-Length', String(contentLengthBytes));
  }
}

export const copiedHeaders = (exchange: Exchange, copied: BlobCopied): string[] => [
  ...writtenHeaders(exchange, copied),
  'x-ms-copy-id',
  copied.copy.id,
  'x-ms-copy-status',
  copied.copy.status,
];
