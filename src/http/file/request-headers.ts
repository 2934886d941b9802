/** Request headers that operations on files share, parsed once: typed and complete, or refused. */

import type { LeaseId } from '../../rules/lease.ts';
import type { Body } from '../../service/extents/take-body.ts';
import { FILE_BYTES_MAX } from '../../service/file/create-file.ts';
import type { FileRequest } from '../../service/file/request.ts';
import type { BlobHeaders } from '../../service/records/blob-record.ts';
import { invalidHeader, missingHeader, notYet, StorageError } from '../../service/storage-error.ts';
import { bodyStream, bodyTooLarge, requireContentLength } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { parseHash, parseLeaseIdHeader } from '../header-values.ts';
import { type FileResource, nodeRequestOf } from './operation.ts';

export const RANGE_BYTES_MAX = 4 * 1024 ** 2;

export const parseFileRequest = (exchange: Exchange, resource: FileResource): FileRequest => ({
  ...nodeRequestOf(exchange, resource),
  leaseId: parseLeaseId(exchange),
});

const parseLeaseId = (exchange: Exchange): LeaseId | null => parseLeaseIdHeader(exchange, 'x-ms-lease-id');

// ---- what HTTP knows of a file

const CONTENT_HEADERS: readonly (readonly [field: keyof BlobHeaders, name: string])[] = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentLanguage', 'content-language'],
  ['contentMd5', 'content-md5'],
  ['cacheControl', 'cache-control'],
  ['contentDisposition', 'content-disposition'],
];

/** The request's own Content-MD5 is that of its body. */
const NEVER_PLAIN = 'content-md5';

/** `plain`: the request's own Content-Type and kin count where the `x-ms-` form is absent. */
export function parseContentHeaders(exchange: Pick<Exchange, 'header'>, { plain }: { plain: boolean }): BlobHeaders {
  const headers: { -readonly [field in keyof BlobHeaders]: string } = {};
  for (const [field, name] of CONTENT_HEADERS) {
    const value = exchange.header(`x-ms-${name}`) ?? (plain && name !== NEVER_PLAIN ? exchange.header(name) : null);
    if (value !== null && value !== '') headers[field] = value;
  }
  if (headers.contentMd5 !== undefined) refuseNoBase64('x-ms-content-md5', headers.contentMd5);
  return headers;
}

/** Null: none of them is named, and all stay as they are. One that is named stands for all: the others are unset. */
export const parseChangedContentHeaders = (exchange: Pick<Exchange, 'header'>): BlobHeaders | null =>
  CONTENT_HEADERS.some(([, name]) => exchange.header(`x-ms-${name}`) !== null)
    ? parseContentHeaders(exchange, { plain: false })
    : null;

/** What is kept as the file's MD5 is the client's own affair, as long as it can be one. */
function refuseNoBase64(name: string, text: string): void {
  if (Buffer.from(text, 'base64').toString('base64') !== text) {
    throw new StorageError('InvalidMd5', { elements: { HeaderName: name, HeaderValue: text } });
  }
}

const LENGTH = 'x-ms-content-length';

export function requireFileLength(exchange: Pick<Exchange, 'header'>): number {
  const lengthBytes = parseFileLength(exchange);
  if (lengthBytes === null) throw missingHeader(LENGTH);
  return lengthBytes;
}

export function parseFileLength(exchange: Pick<Exchange, 'header'>): number | null {
  const text = exchange.header(LENGTH);
  if (text === null) return null;
  if (!/^-?\d{1,19}$/.test(text)) throw invalidHeader(LENGTH, text);
  const lengthBytes = Number(text);
  if (lengthBytes < 0 || lengthBytes > FILE_BYTES_MAX) {
    throw new StorageError('OutOfRangeInput', { elements: { HeaderName: LENGTH, HeaderValue: text } });
  }
  return lengthBytes;
}

const OF_NFS = ['x-ms-mode', 'x-ms-owner', 'x-ms-group'];

/** Shares are for SMB: what only NFS knows would be lost. */
export function refuseNfsHeaders(exchange: Pick<Exchange, 'header'>): void {
  for (const name of OF_NFS) {
    const text = exchange.header(name);
    if (text !== null) {
      throw new StorageError('UnsupportedHeader', { elements: { HeaderName: name, HeaderValue: text } });
    }
  }
}

// ---- ranges and bodies

/** Whoever sends or asks for checksums within a body could not do without. */
export function refuseStructuredBody(exchange: Pick<Exchange, 'header'>): void {
  const framing = exchange.header('x-ms-structured-body');
  if (framing !== null) throw notYet('bodies that carry checksums within (x-ms-structured-body)');
}

/** Bytes to write, 4 MiB at most. */
export function parseRangeBody(exchange: Exchange): Body {
  refuseStructuredBody(exchange);
  const lengthBytes = requireContentLength(exchange);
  if (lengthBytes > RANGE_BYTES_MAX) throw bodyTooLarge(RANGE_BYTES_MAX);
  return {
    stream: () => bodyStream(exchange),
    whole: () => exchange.wholeBody(),
    lengthBytes,
    md5: parseHash(exchange, 'content-md5', 16),
    crc64: null,
  };
}
