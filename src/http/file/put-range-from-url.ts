import { fileNeeds } from '../../auth/needs.ts';
import { formatFileTime } from '../../rules/file-time.ts';
import { putRangeFromUrl as put } from '../../service/file/put-range-from-url.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { bodyTooLarge } from '../body.ts';
import { refuseBody } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import { parseHash } from '../header-values.ts';
import { etagHeaders, hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import { parseWrite, refuseOtherLength, requireRange } from '../written-range.ts';
import type { Operation } from './operation.ts';
import { parseKeepsWriteTime } from './property-headers.ts';
import { parseFileRequest, RANGE_BYTES_MAX } from './request-headers.ts';

export const putRangeFromUrl: Operation = {
  name: 'Put Range From URL',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    if (parseWrite(exchange, 'x-ms-write') === 'clear') throw invalidHeader('x-ms-write', 'clear');
    const range = requireRange(exchange);
    if (range.lengthBytes > RANGE_BYTES_MAX) throw bodyTooLarge(RANGE_BYTES_MAX);
    const demands = parseSourceDemands(exchange);
    refuseOtherLength(exchange, demands, range);
    const { node, crc64 } = await put(storage, {
      ...parseFileRequest(exchange, resource),
      range,
      demands,
      keepsWriteTime: parseKeepsWriteTime(exchange),
      ifMatchCrc64: parseHash(exchange, 'x-ms-source-if-match-crc64', 8),
      ifNoneMatchCrc64: parseHash(exchange, 'x-ms-source-if-none-match-crc64', 8),
      version: exchange.version,
      source: await resolveSource(exchange),
    });
    const headers = etagHeaders(exchange, node).concat(
      hashHeaders({ md5: null, crc64 }),
      'x-ms-file-last-write-time',
      formatFileTime(node.writtenAt),
    );
    return { status: 201, headers: headers.concat(SERVER_ENCRYPTED) };
  },
};
