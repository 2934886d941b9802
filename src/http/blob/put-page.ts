import { blobNeeds } from '../../auth/needs.ts';
import { PAGE_UPDATE_BYTES_MAX } from '../../rules/page-range.ts';
import type { Slice } from '../../rules/range-header.ts';
import { parseSequenceNumber, type SequenceNumber } from '../../rules/sequence-number.ts';
import { type PagePut, putPage as put, type SequenceConditions } from '../../service/blob/put-page.ts';
import { invalidHeader, StorageError } from '../../service/storage-error.ts';
import { bodyTooLarge, requireNoBody } from '../body.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { hashHeaders } from '../reply-headers.ts';
import { parseWrite, requireRange } from '../written-range.ts';
import type { Operation } from './operation.ts';
import { parseBody, parseKeyedBlobRequest } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

export const putPage: Operation = {
  name: 'Put Page',
  need: blobNeeds.putPage,
  async handle(storage, exchange, resource) {
    const clears = parseWrite(exchange, 'x-ms-page-write') === 'clear';
    const range = requireRange(exchange);
    if (clears) requireNoBody(exchange);
    const body = clears ? null : parseBody(exchange, { maxBytes: PAGE_UPDATE_BYTES_MAX });
    if (body !== null && body.lengthBytes !== range.lengthBytes) {
      throw invalidHeader('Content-Length', String(body.lengthBytes));
    }
    const request = { ...parseKeyedBlobRequest(exchange, resource), range, body, sequence: parseSequenceIf(exchange) };
    return renderPut(exchange, await put(storage, request));
  },
};

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
