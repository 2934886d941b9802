import { blobNeeds } from '../../auth/needs.ts';
import { SINCE_LARGE_APPENDS } from '../../rules/versions.ts';
import { appendBlock as append, type BlockAppended } from '../../service/blob/append-block.ts';
import { sealAppendBlob as seal } from '../../service/blob/seal-append-blob.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { parseNumberHeader } from '../header-values.ts';
import { etagHeaders, hashHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseBody, parseKeyedBlobRequest } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

const MIB = 1024 * 1024;

export const appendBlock: Operation = {
  name: 'Append Block',
  need: blobNeeds.appendBlock,
  async handle(storage, exchange, resource) {
    const body = parseBody(exchange, { maxBytes: appendBlockBytesMax(exchange.version) });
    if (body.lengthBytes === 0) throw invalidHeader('Content-Length', '0');
    const request = { ...parseKeyedBlobRequest(exchange, resource), ...parseAppendConditions(exchange), body };
    return renderAppended(exchange, await append(storage, request));
  },
};

export const sealAppendBlob: Operation = {
  name: 'Append Blob Seal',
  need: blobNeeds.sealAppendBlob,
  async handle(storage, exchange, resource) {
    const { positionBytes } = parseAppendConditions(exchange);
    const record = await seal(storage, { ...parseBlobRequest(exchange, resource), positionBytes });
    return { status: 200, headers: [...etagHeaders(exchange, record), 'x-ms-blob-sealed', 'true'] };
  },
};

export const appendBlockBytesMax = (version: string): number => (version >= SINCE_LARGE_APPENDS ? 100 : 4) * MIB;

export const parseAppendConditions = (
  exchange: Exchange,
): { positionBytes: number | null; sizeMaxBytes: number | null } => ({
  positionBytes: parseNumberHeader(exchange, 'x-ms-blob-condition-appendpos'),
  sizeMaxBytes: parseNumberHeader(exchange, 'x-ms-blob-condition-maxsize'),
});

export function renderAppended(exchange: Exchange, appended: BlockAppended): Reply {
  return {
    status: 201,
    headers: [
      ...writtenHeaders(exchange, appended.record),
      'x-ms-blob-append-offset',
      String(appended.offsetBytes),
      'x-ms-blob-committed-block-count',
      String(appended.blockCount),
      ...hashHeaders(appended),
    ],
  };
}
