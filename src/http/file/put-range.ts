import { fileNeeds } from '../../auth/needs.ts';
import { formatFileTime } from '../../rules/file-time.ts';
import { putRange as put } from '../../service/file/put-range.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { requireNoBody } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { etagHeaders, hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import { parseWrite, requireRange } from '../written-range.ts';
import type { Operation } from './operation.ts';
import { parseKeepsWriteTime } from './property-headers.ts';
import { parseFileRequest, parseRangeBody } from './request-headers.ts';

export const putRange: Operation = {
  name: 'Put Range',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource) {
    const clears = parseWrite(exchange, 'x-ms-write') === 'clear';
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

/** Zeros have no body, and no hash. */
function refuseBody(exchange: Exchange): void {
  requireNoBody(exchange);
  const md5 = exchange.header('content-md5');
  if (md5 !== null && md5 !== '') throw invalidHeader('Content-MD5', md5);
}
