import { mayOverwrite } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import { refusePageBlobLength } from '../../rules/page-range.ts';
import type { BlobType } from '../../rules/precedence.ts';
import { parseSequenceNumber } from '../../rules/sequence-number.ts';
import { SINCE_LARGE_BLOCKS, SINCE_VERY_LARGE_BLOCKS } from '../../rules/versions.ts';
import { putBlob as put, putEmptyBlob } from '../../service/blob/put-blob.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import { requireNoBody } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { hashHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseBody, parseKeyedBlobRequest, parseNewBlob } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

const MIB = 1024 * 1024;

export const putBlob: Operation = {
  name: 'Put Blob',
  need: blobNeeds.putBlob,
  async handle(storage, exchange, resource) {
    const type = parseBlobType(exchange);
    const request = { ...parseKeyedBlobRequest(exchange, resource), mayOverwrite: mayOverwrite(exchange) };
    if (type === 'BlockBlob') {
      const blob = parseNewBlob(exchange, { plain: true });
      const body = parseBody(exchange, { maxBytes: putBlobBytesMax(exchange.version) });
      const claimedMd5 = blob.headers.contentMd5 === undefined ? null : Buffer.from(blob.headers.contentMd5, 'base64');
      const written = await put(storage, { ...request, ...blob, body: { ...body, md5: body.md5 ?? claimedMd5 } });
      return { status: 201, headers: [...writtenHeaders(exchange, written), ...hashHeaders(written)] };
    }
    // Page and append blobs begin empty.
    requireNoBody(exchange);
    const lengthBytes = type === 'PageBlob' ? parsePageBlobLength(exchange) : 0;
    const sequenceNumber = type === 'PageBlob' ? parseFirstSequenceNumber(exchange) : '0';
    const blob = parseNewBlob(exchange, { plain: true });
    const written = await putEmptyBlob(storage, { ...request, ...blob, type, lengthBytes, sequenceNumber });
    return { status: 201, headers: writtenHeaders(exchange, written) };
  },
};

function parseBlobType(exchange: Exchange): BlobType {
  const type = exchange.header('x-ms-blob-type');
  if (type === null) throw missingHeader('x-ms-blob-type');
  if (type !== 'BlockBlob' && type !== 'PageBlob' && type !== 'AppendBlob') throw invalidHeader('x-ms-blob-type', type);
  const length = exchange.header('x-ms-blob-content-length');
  if (length !== null && type !== 'PageBlob') throw invalidHeader('x-ms-blob-content-length', length);
  return type;
}

export function parsePageBlobLength(exchange: Exchange): number {
  const text = exchange.header('x-ms-blob-content-length');
  if (text === null) throw missingHeader('x-ms-blob-content-length');
  const isLength = /^\d{1,15}$/.test(text) && refusePageBlobLength(Number(text)) === null;
  if (!isLength) throw invalidHeader('x-ms-blob-content-length', text);
  return Number(text);
}

function parseFirstSequenceNumber(exchange: Exchange): string {
  const text = exchange.header('x-ms-blob-sequence-number');
  if (text === null) return '0';
  const number = parseSequenceNumber(text);
  if (number === null) throw invalidHeader('x-ms-blob-sequence-number', text);
  return String(number);
}

function putBlobBytesMax(version: string): number {
  if (version >= SINCE_VERY_LARGE_BLOCKS) return 5_000 * MIB;
  return version >= SINCE_LARGE_BLOCKS ? 256 * MIB : 64 * MIB;
}
