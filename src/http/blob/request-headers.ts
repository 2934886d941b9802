/** Request headers that many Blob operations share, parsed once: typed and complete, or refused. */
import { parseHttpDate } from '../../base/http-date.ts';
import type { PublicAccess } from '../../rules/acl.ts';
import { type Conditions, parseEtagCondition } from '../../rules/conditions.ts';
import { type LeaseId, parseLeaseId } from '../../rules/lease.ts';
import { type Metadata, refuseMetadata } from '../../rules/names.ts';
import type { BlobRequest } from '../../service/blob/load.ts';
import type { Body } from '../../service/blob/take-body.ts';
import type { ContainerRequest } from '../../service/blob/use-container.ts';
import type { AccessTier, BlobHeaders } from '../../service/records/blob-record.ts';
import { invalidHeader, notYet, StorageError } from '../../service/storage-error.ts';
import { bodyStream, bodyTooLarge, requireContentLength } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { type BlobResource, blobNameOf, containerNameOf } from './operation.ts';

const METADATA_PREFIX = 'x-ms-meta-';

export function parseBlobRequest(exchange: Exchange, resource: BlobResource): BlobRequest {
  return {
    name: blobNameOf(exchange, resource),
    conditions: parseConditions(exchange),
    leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
    version: exchange.version,
  };
}

export function parseContainerRequest(exchange: Exchange, resource: BlobResource): ContainerRequest {
  return {
    name: containerNameOf(exchange, resource),
    conditions: parseConditions(exchange),
    leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
  };
}

export function parseConditions(exchange: Exchange): Conditions {
  const ifMatch = exchange.header('if-match');
  const ifNoneMatch = exchange.header('if-none-match');
  return {
    ifMatch: ifMatch === null ? null : parseEtagCondition(ifMatch),
    ifNoneMatch: ifNoneMatch === null ? null : parseEtagCondition(ifNoneMatch),
    ifModifiedSinceMs: parseDateHeader(exchange, 'if-modified-since'),
    ifUnmodifiedSinceMs: parseDateHeader(exchange, 'if-unmodified-since'),
  };
}

function parseDateHeader(exchange: Exchange, name: string): number | null {
  const text = exchange.header(name);
  if (text === null) return null;
  const ms = parseHttpDate(text);
  if (ms === null) throw invalidHeader(name, text);
  return ms;
}

export function parseLeaseIdHeader(exchange: Exchange, name: string): LeaseId | null {
  const text = exchange.header(name);
  if (text === null) return null;
  const id = parseLeaseId(text);
  if (id === null) throw invalidHeader(name, text);
  return id;
}

export function parseMetadata(exchange: Exchange): Metadata {
  const metadata = exchange
    .headersWithPrefix(METADATA_PREFIX)
    .map(([name, value]) => [name.slice(METADATA_PREFIX.length), value.trim()] as const);
  const code = refuseMetadata(metadata);
  if (code !== null) throw new StorageError(code);
  return metadata;
}

export function parsePublicAccess(exchange: Exchange): PublicAccess | null {
  const text = exchange.header('x-ms-blob-public-access');
  if (text === null) return null;
  if (text === 'blob' || text === 'container') return text;
  throw invalidHeader('x-ms-blob-public-access', text);
}

/** `plain`: the request's own Content-Type and kin count where the `x-ms-blob-` form is absent. */
export function parseBlobHeaders(exchange: Exchange, { plain }: { plain: boolean }): BlobHeaders {
  const read = (name: string): string | undefined =>
    exchange.header(`x-ms-blob-${name}`) ?? (plain ? exchange.header(name) : null) ?? undefined;
  const md5 = parseHash(exchange, 'x-ms-blob-content-md5', 16);
  return withoutUndefined({
    contentType: read('content-type'),
    contentEncoding: read('content-encoding'),
    contentLanguage: read('content-language'),
    contentMd5: md5?.toString('base64'),
    cacheControl: read('cache-control'),
    contentDisposition: exchange.header('x-ms-blob-content-disposition') ?? undefined,
  });
}

/** An empty text unsets, as leaving the header away does. */
function withoutUndefined(headers: { [name in keyof BlobHeaders]: string | undefined }): BlobHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined && value !== ''));
}

export function parseBody(exchange: Exchange, { maxBytes }: { maxBytes: number }): Body {
  const lengthBytes = requireContentLength(exchange);
  if (lengthBytes > maxBytes) throw bodyTooLarge(maxBytes);
  return {
    stream: () => bodyStream(exchange),
    whole: () => exchange.wholeBody(),
    lengthBytes,
    ...parseBodyHashes(exchange),
  };
}

export function parseBodyHashes(exchange: Exchange): { md5: Buffer | null; crc64: Buffer | null } {
  const md5 = parseHash(exchange, 'content-md5', 16);
  const crc64 = parseHash(exchange, 'x-ms-content-crc64', 8);
  if (md5 !== null && crc64 !== null) throw new StorageError('BothCrc64AndMd5HeaderPresent');
  return { md5, crc64 };
}

function parseHash(exchange: Exchange, name: string, sizeBytes: number): Buffer | null {
  const text = exchange.header(name);
  if (text === null || text === '') return null;
  const hash = Buffer.from(text, 'base64');
  if (hash.length !== sizeBytes || hash.toString('base64') !== text) {
    if (name.endsWith('md5')) {
      throw new StorageError('InvalidMd5', { elements: { HeaderName: name, HeaderValue: text } });
    }
    throw invalidHeader(name, text);
  }
  return hash;
}

const TIERS: ReadonlySet<string> = new Set<AccessTier>(['Hot', 'Cool', 'Cold']);

export function parseTier(exchange: Exchange): AccessTier | null {
  const text = exchange.header('x-ms-access-tier');
  if (text === null) return null;
  if (TIERS.has(text)) return text as AccessTier;
  if (text === 'Archive' || text === 'Smart') throw notYet(`The access tier ${text}`);
  throw invalidHeader('x-ms-access-tier', text);
}

/** Features whose headers, if ignored, would give the user something else than was asked for. */
const NOT_YET: readonly (readonly [header: string, feature: string])[] = [
  ['x-ms-tags', 'Blob tags'],
  ['x-ms-if-tags', 'A condition on blob tags'],
  ['x-ms-encryption-key', 'A customer-provided encryption key'],
  ['x-ms-encryption-scope', 'An encryption scope'],
  ['x-ms-immutability-policy-until-date', 'An immutability policy'],
];

export function refuseFeaturesToCome(exchange: Exchange): void {
  for (const [header, feature] of NOT_YET) {
    const value = exchange.header(header);
    if (value !== null && value !== '') throw notYet(feature);
  }
  if (exchange.header('x-ms-legal-hold') === 'true') throw notYet('A legal hold');
}
