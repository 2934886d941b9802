import { fileNeeds } from '../../auth/needs.ts';
import { formatFileTime } from '../../rules/file-time.ts';
import { putRange as put } from '../../service/file/put-range.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import { requireContentLength } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { etagHeaders, hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseKeepsWriteTime } from './property-headers.ts';
import { parseFileRequest, parseRangeBody, requireRange } from './request-headers.ts';

export const putRange: Operation = {
  name: 'Put Range',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource) {
    const clears = parseWrite(exchange) === 'clear';
    const range = requireRange(exchange);
    if (clears) refuseBody(exchange);
    const body = clears ? null : parseRangeBody(exchange);
    if (body !== null && body.lengthBytes !== range.lengthBytes) {
      throw invalidHeader('Content-Length', String(body.lengthBytes));
    }
    const request = { ...parseFileRequest(exchange, resource), range, body };
    const { node, md5 } = await put(storage, { ...request, keepsWriteTime: parseKeepsWriteTime(exchange) });
    const headers = etagHeaders(exchange, node).concat(
      hashHeaders({ md5, crc64: null }),
      'x-ms-file-last-write-time',
      formatFileTime(node.writtenAt),
    );
    return { status: 201, headers: clears ? headers : headers.concat(SERVER_ENCRYPTED) };
  },
};

const WRITE = 'x-ms-write';

export function parseWrite(exchange: Pick<Exchange, 'header'>): 'update' | 'clear' {
  const text = exchange.header(WRITE);
  if (text === null) throw missingHeader(WRITE);
  const write = text.toLowerCase();
  if (write !== 'update' && write !== 'clear') throw invalidHeader(WRITE, text);
  return write;
}

/** Zeros have no body, and no hash. */
function refuseBody(exchange: Exchange): void {
  const lengthBytes = requireContentLength(exchange);
  if (lengthBytes !== 0) throw invalidHeader('Content-Length', String(lengthBytes));
  const md5 = exchange.header('content-md5');
  if (md5 !== null && md5 !== '') throw invalidHeader('Content-MD5', md5);
}
