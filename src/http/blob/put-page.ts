import { blobNeeds } from '../../auth/needs.ts';
import { PAGE_UPDATE_BYTES_MAX } from '../../rules/page-range.ts';
import { parseRange, type Slice } from '../../rules/range-header.ts';
import { parseSequenceNumber, type SequenceNumber } from '../../rules/sequence-number.ts';
import { type PagePut, putPage as put, type SequenceConditions } from '../../service/blob/put-page.ts';
import { invalidHeader, missingHeader, StorageError } from '../../service/storage-error.ts';
import { bodyTooLarge, requireContentLength } from '../body.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { hashHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseBody, parseKeyedBlobRequest } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

export const putPage: Operation = {
  name: 'Put Page',
  need: blobNeeds.putPage,
  async handle(storage, exchange, resource) {
    const clears = parsePageWrite(exchange) === 'clear';
    const range = parsePageRange(exchange);
    if (clears && requireContentLength(exchange) !== 0) {
      throw invalidHeader('Content-Length', String(exchange.contentLengthBytes));
    }
    const body = clears ? null : parseBody(exchange, { maxBytes: PAGE_UPDATE_BYTES_MAX });
    if (body !== null && body.lengthBytes !== range.lengthBytes) {
      throw invalidHeader('Content-Length', String(body.lengthBytes));
    }
    const request = { ...parseKeyedBlobRequest(exchange, resource), range, body, sequence: parseSequenceIf(exchange) };
    return renderPut(exchange, await put(storage, request));
  },
};

export function parsePageWrite(exchange: Exchange): 'update' | 'clear' {
  const text = exchange.header('x-ms-page-write');
  if (text === null) throw missingHeader('x-ms-page-write');
  const write = text.toLowerCase();
  if (write !== 'update' && write !== 'clear') throw invalidHeader('x-ms-page-write', text);
  return write;
}

/** Both ends are named; whether it lies on pages is for the blob to say. */
export function parsePageRange(exchange: Exchange): Slice {
  const name = exchange.header('x-ms-range') === null ? 'Range' : 'x-ms-range';
  const text = exchange.header('x-ms-range') ?? exchange.header('range');
  if (text === null) throw missingHeader('x-ms-range');
  const range = parseRange(text);
  if (range === null || range.lastOffsetBytes === null) throw invalidHeader(name, text);
  const { firstOffsetBytes, lastOffsetBytes } = range;
  return { offsetBytes: firstOffsetBytes, lengthBytes: lastOffsetBytes - firstOffsetBytes + 1 };
}

export const refuseLongUpdate = ({ lengthBytes }: Slice): void => {
  if (lengthBytes > PAGE_UPDATE_BYTES_MAX) throw bodyTooLarge(PAGE_UPDATE_BYTES_MAX);
};

export const parseSequenceIf = (exchange: Exchange): SequenceConditions => ({
  le: parseSequenceHeader(exchange, 'x-ms-if-sequence-number-le'),
  lt: parseSequenceHeader(exchange, 'x-ms-if-sequence-number-lt'),
  eq: parseSequenceHeader(exchange, 'x-ms-if-sequence-number-eq'),
});

function parseSequenceHeader(exchange: Exchange, name: string): SequenceNumber | null {
  const text = exchange.header(name);
  if (text === null) return null;
  const number = parseSequenceNumber(text);
  if (number !== null) return number;
  if (/^-\d+$/.test(text)) throw new StorageError('InvalidInput');
  throw invalidHeader(name, text);
}

export function renderPut(exchange: Exchange, { record, md5, crc64 }: PagePut): Reply {
  return {
    status: 201,
    headers: [
      ...writtenHeaders(exchange, record),
      ...hashHeaders({ md5, crc64 }),
      'x-ms-blob-sequence-number',
      record.sequenceNumber ?? '0',
    ],
  };
}
