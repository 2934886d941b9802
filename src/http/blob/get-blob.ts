import { hash } from 'node:crypto';
import { blobNeeds } from '../../auth/needs.ts';
import { crc64Of } from '../../base/crc64.ts';
import { gather } from '../../base/gather.ts';
import { parseRange } from '../../rules/range-header.ts';
import { type BlobReadWithBytes, getBlob as get } from '../../service/blob/get-blob.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { AuthorizedExchange, Reply } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import type { Operation } from './operation.ts';
import { parseKeyedBlobRequest } from './request-headers.ts';
import { blobHeaders } from './response-headers.ts';

const HASHED_RANGE_BYTES_MAX = 4 * 1024 * 1024;

type RangeHash = 'md5' | 'crc64';

export const getBlob: Operation = {
  name: 'Get Blob',
  need: blobNeeds.getBlob,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const rangeText = exchange.header('x-ms-range') ?? exchange.header('range');
    const range = rangeText === null ? null : parseRange(rangeText);
    const rangeHash = parseRangeHash(exchange, range !== null);
    const read = await get(storage, { ...parseKeyedBlobRequest(exchange, resource), range });
    return rangeHash === null ? render(exchange, read) : renderHashed(exchange, read, rangeHash);
  },
};

/** `x-ms-range-get-content-md5: true` or its CRC64 twin; not both, and only with a range. */
function parseRangeHash(exchange: AuthorizedExchange, hasRange: boolean): RangeHash | null {
  const wanted = (['md5', 'crc64'] as const).filter((kind) => parseFlag(exchange, `x-ms-range-get-content-${kind}`));
  const [kind] = wanted;
  if (kind === undefined) return null;
  if (wanted.length > 1 || !hasRange) throw invalidHeader(`x-ms-range-get-content-${kind}`, 'true');
  return kind;
}

function render(exchange: AuthorizedExchange, read: BlobReadWithBytes, rangeHashHeaders: string[] = []): Reply {
  const { blob, slice, bytes } = read;
  const headers = blobHeaders(exchange, read);
  const md5 = blob.headers.contentMd5;
  // Bytes in hand tell their length themselves.
  if (!(bytes instanceof Uint8Array)) headers.push('Content-Length', String(slice?.lengthBytes ?? blob.lengthBytes));
  if (slice === null) {
    if (md5 !== undefined) headers.push('Content-MD5', md5);
    return { status: 200, headers, body: bytes };
  }
  const last = slice.offsetBytes + slice.lengthBytes - 1;
  headers.push('Content-Range', `bytes ${slice.offsetBytes}-${last}/${blob.lengthBytes}`);
  if (md5 !== undefined) headers.push('x-ms-blob-content-md5', md5);
  headers.push(...rangeHashHeaders);
  return { status: 206, headers, body: bytes };
}

async function renderHashed(exchange: AuthorizedExchange, read: BlobReadWithBytes, kind: RangeHash): Promise<Reply> {
  if ((read.slice?.lengthBytes ?? 0) > HASHED_RANGE_BYTES_MAX) {
    if (!(read.bytes instanceof Uint8Array)) await read.bytes[Symbol.asyncIterator]().return?.();
    throw invalidHeader(`x-ms-range-get-content-${kind}`, 'true');
  }
  const bytes = await gather(read.bytes);
  return render(exchange, { ...read, bytes }, kind === 'md5' ? md5Header(bytes) : crc64Header(bytes));
}

const md5Header = (bytes: Uint8Array): string[] => ['Content-MD5', hash('md5', bytes, 'base64')];

const crc64Header = (bytes: Uint8Array): string[] => ['x-ms-content-crc64', crc64Of(bytes).toString('base64')];
