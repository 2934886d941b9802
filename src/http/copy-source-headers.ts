/** The `x-ms-source-*` headers: what a copy asks of its source, beside where it is. */

import { parseRange } from '../rules/range-header.ts';
import { parseTagCondition } from '../rules/tag-expression.ts';
import type { SourceDemands } from '../service/copy/copy-source.ts';
import { invalidHeader, StorageError } from '../service/storage-error.ts';
import { parseConditions } from './blob/request-headers.ts';
import type { Exchange } from './exchange.ts';
import { parseHash } from './header-values.ts';

const SOURCE_CONDITIONS = {
  ifMatch: 'x-ms-source-if-match',
  ifNoneMatch: 'x-ms-source-if-none-match',
  ifModifiedSince: 'x-ms-source-if-modified-since',
  ifUnmodifiedSince: 'x-ms-source-if-unmodified-since',
} as const;

export const SOURCE_IF_TAGS = 'x-ms-source-if-tags';

/** Each operation takes some of them, and refuses or ignores the others itself. */
export function parseSourceDemands(exchange: Exchange): SourceDemands {
  const ifTags = exchange.header(SOURCE_IF_TAGS) || null;
  const tagCondition = ifTags === null ? null : parseTagCondition(ifTags);
  if (ifTags !== null && tagCondition === null) throw invalidHeader(SOURCE_IF_TAGS, ifTags);
  return {
    conditions: { ...parseConditions(exchange, SOURCE_CONDITIONS), ifTags: tagCondition },
    ifTags,
    range: parseSourceRange(exchange),
    ...parseSourceHashes(exchange),
  };
}

/** Unlike a read's, a range that cannot be understood is refused: the whole source is not what was asked for. */
function parseSourceRange(exchange: Exchange): SourceDemands['range'] {
  const text = exchange.header('x-ms-source-range');
  if (text === null || text === '') return null;
  const range = parseRange(text);
  if (range === null) throw invalidHeader('x-ms-source-range', text);
  return range;
}

function parseSourceHashes(exchange: Exchange): Pick<SourceDemands, 'md5' | 'crc64'> {
  const md5 = parseHash(exchange, 'x-ms-source-content-md5', 16);
  const crc64 = parseHash(exchange, 'x-ms-source-content-crc64', 8);
  if (md5 !== null && crc64 !== null) throw new StorageError('BothCrc64AndMd5HeaderPresent');
  return { md5, crc64 };
}
