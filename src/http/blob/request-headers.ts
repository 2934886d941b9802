/** Request headers that many Blob operations share, parsed once: typed and complete, or refused. */

import { hash } from 'node:crypto';
import { hasPermission } from '../../auth/authorize.ts';
import { crc64Of } from '../../base/crc64.ts';
import type { PublicAccess } from '../../rules/acl.ts';
import { type Conditions, parseEtagCondition } from '../../rules/conditions.ts';
import { type Immutability, type ImmutabilityMode, parseImmutabilityMode } from '../../rules/immutability.ts';
import { formatMoment, type Moment, parseMoment } from '../../rules/moment.ts';
import { parseTagCondition, type TagExpression } from '../../rules/tag-expression.ts';
import { parseTagsHeader, type Tags } from '../../rules/tags.ts';
import { parseTier, type Tier } from '../../rules/tier.ts';
import { SINCE_SMART_TIER } from '../../rules/versions.ts';
import type { BlobAt, BlobRequest } from '../../service/blob/load.ts';
import type { NewBlob } from '../../service/blob/new-version.ts';
import type { ContainerRequest } from '../../service/blob/use-container.ts';
import { type Body, refuseHashMismatch } from '../../service/extents/take-body.ts';
import type { BlobHeaders } from '../../service/records/blob-record.ts';
import { invalidHeader, invalidQuery, missingHeader, StorageError } from '../../service/storage-error.ts';
import { bodyStream, bodyTooLarge, requireContentLength } from '../body.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { parseDateHeader, parseFlag, parseHash, parseLeaseIdHeader } from '../header-values.ts';
import { parseMetadata } from '../metadata.ts';
import { parseCustomerKey, parseEncryptionScope } from './encryption-headers.ts';
import { type BlobResource, blobNameOf, containerNameOf } from './operation.ts';

export function parseBlobRequest(exchange: AuthorizedExchange, resource: BlobResource): BlobRequest {
  return {
    name: blobNameOf(exchange, resource),
    at: parseAt(exchange),
    conditions: parseBlobConditions(exchange),
    leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
    version: exchange.version,
  };
}

/** The same for operations on content and metadata, which a key of the customer's may seal. */
export function parseKeyedBlobRequest(exchange: AuthorizedExchange, resource: BlobResource): BlobRequest {
  return { ...parseBlobRequest(exchange, resource), key: parseCustomerKey(exchange) };
}

/** The snapshot or version that a request addresses; null: the blob itself. */
export function parseAt(exchange: Pick<Exchange, 'target'>): BlobAt | null {
  const { query } = exchange.target;
  const snapshot = query.get('snapshot');
  const versionId = query.get('versionid');
  if (snapshot !== null && versionId !== null) throw new StorageError('MutuallyExclusiveQueryParameters');
  if (snapshot !== null) return { kind: 'snapshot', moment: parseMomentQuery('snapshot', snapshot) };
  return versionId === null ? null : { kind: 'version', moment: parseMomentQuery('versionid', versionId) };
}

/** In its canonical form, whatever the number of digits sent. */
export function parseMomentQuery(name: string, text: string): Moment {
  const ticks = parseMoment(text);
  if (ticks === null) throw invalidQuery(name, text);
  return formatMoment(ticks);
}

/** A condition on tags says something about them, so it takes the right to read them. */
export function parseTagConditionHeader(exchange: AuthorizedExchange, name: string): TagExpression | null {
  const text = exchange.header(name);
  if (text === null || text === '') return null;
  requirePermission(exchange, 't');
  const expression = parseTagCondition(text);
  if (expression === null) throw invalidHeader(name, text);
  return expression;
}

/** For what only some requests of an operation ask, such as tags. */
export function requirePermission({ identity }: AuthorizedExchange, letter: string): void {
  if (!hasPermission(identity, letter)) throw new StorageError('AuthorizationPermissionMismatch');
}

export function parseNewBlob(exchange: AuthorizedExchange, { plain }: { plain: boolean }): NewBlob {
  return {
    headers: parseBlobHeaders(exchange, { plain }),
    metadata: parseMetadata(exchange),
    tags: parseTags(exchange),
    tier: parseTierHeader(exchange),
    immutability: parseImmutability(exchange),
    encryptionScope: parseEncryptionScope(exchange),
  };
}

export function parseTags(exchange: AuthorizedExchange): Tags | null {
  const text = exchange.header('x-ms-tags');
  if (text === null || text === '') return null;
  requirePermission(exchange, 't');
  const tags = parseTagsHeader(text);
  if ('refusal' in tags) {
    throw new StorageError(tags.refusal, { elements: { HeaderName: 'x-ms-tags', HeaderValue: text } });
  }
  return tags;
}

function parseImmutability(exchange: Exchange): Immutability | null {
  const untilMs = parseDateHeader(exchange, 'x-ms-immutability-policy-until-date');
  const mode = parseImmutabilityModeHeader(exchange);
  const legalHold = parseFlag(exchange, 'x-ms-legal-hold');
  if (untilMs === null && mode !== null) throw missingHeader('x-ms-immutability-policy-until-date');
  if (untilMs === null && !legalHold) return null;
  return {
    ...(untilMs === null ? {} : { until: { ms: untilMs, mode: mode ?? 'Unlocked' } }),
    ...(legalHold ? { legalHold } : {}),
  };
}

/** The mode is written in any case, and `Mutable` is what an answer may say of none. */
export function parseImmutabilityModeHeader(exchange: Exchange): ImmutabilityMode | null {
  const text = exchange.header('x-ms-immutability-policy-mode');
  if (text === null) return null;
  const mode = parseImmutabilityMode(text);
  if (mode === null) throw invalidHeader('x-ms-immutability-policy-mode', text);
  return mode;
}

export function parseContainerRequest(exchange: Exchange, resource: BlobResource): ContainerRequest {
  return {
    name: containerNameOf(exchange, resource),
    conditions: parseConditions(exchange),
    leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
  };
}

export const parseBlobConditions = (exchange: AuthorizedExchange): Conditions => ({
  ...parseConditions(exchange),
  ifTags: parseTagConditionHeader(exchange, 'x-ms-if-tags'),
});

const CONDITION_HEADERS = {
  ifMatch: 'if-match',
  ifNoneMatch: 'if-none-match',
  ifModifiedSince: 'if-modified-since',
  ifUnmodifiedSince: 'if-unmodified-since',
} as const;

/** `names`: of the headers, where the conditions are not on what the request addresses. */
export function parseConditions(
  exchange: Exchange,
  names: Readonly<Record<keyof typeof CONDITION_HEADERS, string>> = CONDITION_HEADERS,
): Conditions {
  // Some clients send an empty header where they have no ETag.
  const ifMatch = exchange.header(names.ifMatch) || null;
  const ifNoneMatch = exchange.header(names.ifNoneMatch) || null;
  return {
    ifMatch: ifMatch === null ? null : parseEtagCondition(ifMatch),
    ifNoneMatch: ifNoneMatch === null ? null : parseEtagCondition(ifNoneMatch),
    ifModifiedSinceMs: parseDateHeader(exchange, names.ifModifiedSince),
    ifUnmodifiedSinceMs: parseDateHeader(exchange, names.ifUnmodifiedSince),
  };
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

/** For a body that was gathered: whether it is what the client says. */
export function refuseBodyHashes(given: { md5: Buffer | null; crc64: Buffer | null }, body: Uint8Array): void {
  refuseHashMismatch(given, {
    md5: given.md5 === null ? null : hash('md5', body, 'buffer'),
    crc64: given.crc64 === null ? null : crc64Of(body),
  });
}

export function parseTierHeader(exchange: Exchange): Tier | null {
  const text = exchange.header('x-ms-access-tier');
  if (text === null || text === '') return null;
  const tier = parseTier(text);
  if (tier === null || (tier === 'Smart' && exchange.version < SINCE_SMART_TIER)) {
    throw invalidHeader('x-ms-access-tier', text);
  }
  return tier;
}
