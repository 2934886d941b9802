/** Headers that copies of blobs share. */
import type { BlobCopied } from '../../service/copy/copy-blob.ts';
import type { TagOption } from '../../service/copy/source-tags.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { requirePermission } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

const TAG_OPTION = 'x-ms-copy-source-tag-option';

export function parseTagOption(exchange: AuthorizedExchange): TagOption {
  const text = exchange.header(TAG_OPTION);
  if (text === null || text === '' || text === 'REPLACE') return 'REPLACE';
  if (text !== 'COPY') throw invalidHeader(TAG_OPTION, text);
  requirePermission(exchange, 't');
  return 'COPY';
}

export const copiedHeaders = (exchange: Exchange, copied: BlobCopied): string[] => [
  ...writtenHeaders(exchange, copied),
  'x-ms-copy-id',
  copied.copy.id,
  'x-ms-copy-status',
  copied.copy.status,
];
