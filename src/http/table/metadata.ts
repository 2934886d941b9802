/**
 * How much an answer says about itself: `odata=nometadata`, `minimalmetadata` or `fullmetadata`, as `$format` asks, or else
 * `Accept`. Also what of a request's own format is understood: JSON, and Atom no more.
 * https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
 */
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';

export type MetadataLevel = 'none' | 'minimal' | 'full';

const LEVELS: ReadonlyMap<string, MetadataLevel> = new Map([
  ['nometadata', 'none'],
  ['minimalmetadata', 'minimal'],
  ['fullmetadata', 'full'],
]);

const ODATA = /^application\/json\s*;(?:.*;)?\s*odata\s*=\s*"?(\w*)/i;
const ANY_JSON = /^(?:|json|(?:application\/json|application\/\*|\*\/\*)\s*(?:;.*)?)$/i;
const ATOM = /^(?:application\/)?atom(?:svc)?(?:\+xml)?\s*(?:;|$)/i;

/** Clients ask in few ways, and each with every request. */
const known = new Map<string, MetadataLevel>();
const KNOWN_COUNT_MAX = 100;

export function parseMetadataLevel(exchange: Pick<Exchange, 'header' | 'target'>): MetadataLevel {
  const asked = exchange.target.query.get('$format') ?? exchange.header('accept') ?? '';
  const level = known.get(asked) ?? chooseLevel(asked);
  if (known.size < KNOWN_COUNT_MAX) known.set(asked, level);
  return level;
}

/** Of several media types the one that the caller likes best, of those that it likes alike the first, if it is understood. */
function chooseLevel(asked: string): MetadataLevel {
  const types = asked
    .split(',')
    .map((type) => type.trim())
    .filter((type) => qualityOf(type) > 0)
    .toSorted((a, b) => qualityOf(b) - qualityOf(a));
  for (const type of types) {
    const level = levelOf(type);
    if (level !== null) return level;
  }
  if (types.some((type) => ATOM.test(type))) throw new StorageError('AtomFormatNotSupported');
  throw new StorageError('MediaTypeNotSupported');
}

/** What is not known of JSON (`odata=verbose`) is another format, which the caller could not do without. */
function levelOf(type: string): MetadataLevel | null {
  const odata = ODATA.exec(type)?.[1];
  if (odata !== undefined) return LEVELS.get(odata.toLowerCase()) ?? null;
  return ANY_JSON.test(type) ? 'minimal' : null;
}

const QUALITY = /;\s*q\s*=\s*([\d.]*)/i;

const qualityOf = (type: string): number => Number(QUALITY.exec(type)?.[1] ?? 1);

/** JSON, or nothing said. */
export function refuseContentType(exchange: Pick<Exchange, 'header'>): void {
  const type = exchange.header('content-type');
  if (type === null || type === '' || /^application\/json\s*(?:;|$)/i.test(type)) return;
  throw new StorageError(ATOM.test(type) ? 'AtomFormatNotSupported' : 'MediaTypeNotSupported');
}

const CONTENT_TYPES: Readonly<Record<MetadataLevel, string>> = {
  none: 'application/json;odata=nometadata;streaming=true;charset=utf-8',
  minimal: 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
  full: 'application/json;odata=fullmetadata;streaming=true;charset=utf-8',
};

/** What every answer with a body of JSON carries. */
export const jsonHeaders = (level: MetadataLevel): readonly string[] => [
  'Content-Type',
  CONTENT_TYPES[level],
  ...PLAIN_HEADERS,
];

/** What every answer of this service carries. */
export const PLAIN_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-cache'];

/** `http://host:port/account`, the root that URLs in answers start from. */
export function serviceUrl({ origin, target }: Pick<Exchange, 'origin' | 'target'>): string {
  if (target.hostStyle) return origin;
  return `${origin}/${target.account}${target.secondary ? '-secondary' : ''}`;
}
