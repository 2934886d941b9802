import { hash } from 'node:crypto';
import { fileNeeds } from '../../auth/needs.ts';
import { gather } from '../../base/gather.ts';
import { parseRange } from '../../rules/range-header.ts';
import { type FileReadWithBytes, getFile as get } from '../../service/file/get-file.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { AuthorizedExchange, Reply } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import type { Operation } from './operation.ts';
import { parseFileRequest, RANGE_BYTES_MAX, refuseStructuredBody } from './request-headers.ts';
import { fileHeaders } from './response-headers.ts';

const RANGE_HASH = 'x-ms-range-get-content-md5';

export const getFile: Operation = {
  name: 'Get File',
  need: fileNeeds.getFile,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    refuseStructuredBody(exchange);
    const rangeText = exchange.header('x-ms-range') ?? exchange.header('range');
    const range = rangeText === null ? null : parseRange(rangeText);
    const wantsHash = parseFlag(exchange, RANGE_HASH);
    if (wantsHash && range === null) throw invalidHeader(RANGE_HASH, 'true');
    const read = await get(storage, { ...parseFileRequest(exchange, resource), range });
    return wantsHash ? renderHashed(exchange, read) : render(exchange, read);
  },
};

function render(exchange: AuthorizedExchange, read: FileReadWithBytes, rangeMd5: string | null = null): Reply {
  const { node, slice, bytes } = read;
  const headers = fileHeaders(exchange, read);
  const md5 = node.headers.contentMd5;
  // Bytes in hand tell their length themselves.
  if (!(bytes instanceof Uint8Array)) headers.push('Content-Length', String(slice?.lengthBytes ?? node.lengthBytes));
  if (slice === null) {
    if (md5 !== undefined) headers.push('Content-MD5', md5);
    return { status: 200, headers, body: bytes };
  }
  const last = slice.offsetBytes + slice.lengthBytes - 1;
  headers.push('Content-Range', `bytes ${slice.offsetBytes}-${last}/${node.lengthBytes}`);
  if (md5 !== undefined) headers.push('x-ms-content-md5', md5);
  if (rangeMd5 !== null) headers.push('Content-MD5', rangeMd5);
  return { status: 206, headers, body: bytes };
}

async function renderHashed(exchange: AuthorizedExchange, read: FileReadWithBytes): Promise<Reply> {
  if ((read.slice?.lengthBytes ?? 0) > RANGE_BYTES_MAX) {
    if (!(read.bytes instanceof Uint8Array)) await read.bytes[Symbol.asyncIterator]().return?.();
    throw invalidHeader(RANGE_HASH, 'true');
  }
  const bytes = await gather(read.bytes);
  return render(exchange, { ...read, bytes }, hash('md5', bytes, 'base64'));
}
