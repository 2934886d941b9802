import { mayOverwrite } from '../../auth/authorize.ts';
import { fileNeeds } from '../../auth/needs.ts';
import type { Body } from '../../service/extents/take-body.ts';
import { createFile as create } from '../../service/file/create-file.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import { requireContentLength } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { parseMetadata } from '../metadata.ts';
import { hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseNewProperties } from './property-headers.ts';
import {
  parseContentHeaders,
  parseFileRequest,
  parseRangeBody,
  refuseNfsHeaders,
  requireFileLength,
} from './request-headers.ts';
import { nodeHeaders } from './response-headers.ts';

export const createFile: Operation = {
  name: 'Create File',
  need: fileNeeds.createFile,
  async handle(storage, exchange, resource) {
    refuseOtherType(exchange);
    refuseNfsHeaders(exchange);
    const lengthBytes = requireFileLength(exchange);
    const created = await create(storage, {
      ...parseFileRequest(exchange, resource),
      lengthBytes,
      headers: parseContentHeaders(exchange, { plain: true }),
      metadata: parseMetadata(exchange),
      properties: parseNewProperties(exchange, 'file'),
      body: parseFirstBytes(exchange, lengthBytes),
      mayOverwrite: mayOverwrite(exchange),
    });
    const headers = nodeHeaders(exchange, created).concat(hashHeaders({ md5: created.md5, crc64: null }));
    return { status: 201, headers: headers.concat(SERVER_ENCRYPTED) };
  },
};

const TYPE = 'x-ms-type';

function refuseOtherType(exchange: Exchange): void {
  const type = exchange.header(TYPE);
  if (type === null) throw missingHeader(TYPE);
  if (type.toLowerCase() !== 'file') throw invalidHeader(TYPE, type);
}

const SINCE_FIRST_BYTES = '2026-06-06';

/** What the file begins with; null: nothing is written yet. */
function parseFirstBytes(exchange: Exchange, fileBytes: number): Body | null {
  const lengthBytes = requireContentLength(exchange);
  if (lengthBytes === 0) return null;
  if (exchange.version < SINCE_FIRST_BYTES) throw invalidHeader('Content-Length', String(lengthBytes));
  const body = parseRangeBody(exchange);
  if (lengthBytes > fileBytes) throw invalidHeader('Content-Length', String(lengthBytes));
  return body;
}
