import { blobNeeds } from '../../auth/needs.ts';
import { setBlobMetadata as setMetadata } from '../../service/blob/set-blob-metadata.ts';
import { setBlobProperties as setProperties } from '../../service/blob/set-blob-properties.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { Operation } from './operation.ts';
import { parseBlobHeaders, parseKeyedBlobRequest, parseMetadata } from './request-headers.ts';
import { etagHeaders, writtenHeaders } from './response-headers.ts';

export const setBlobMetadata: Operation = {
  name: 'Set Blob Metadata',
  need: blobNeeds.setBlobMetadata,
  async handle(storage, exchange, resource) {
    const request = { ...parseKeyedBlobRequest(exchange, resource), metadata: parseMetadata(exchange) };
    const written = await setMetadata(storage, request);
    return { status: 200, headers: writtenHeaders(exchange, written) };
  },
};

/** Resizing and sequence numbers are for page blobs. */
const PAGE_BLOB_HEADERS = [
  'x-ms-blob-content-length',
  'x-ms-sequence-number-action',
  'x-ms-blob-sequence-number',
] as const;

export const setBlobProperties: Operation = {
  name: 'Set Blob Properties',
  need: blobNeeds.setBlobProperties,
  async handle(storage, exchange, resource) {
    if (PAGE_BLOB_HEADERS.some((name) => exchange.header(name) !== null)) throw new StorageError('InvalidBlobType');
    const request = {
      ...parseKeyedBlobRequest(exchange, resource),
      headers: parseBlobHeaders(exchange, { plain: false }),
    };
    return { status: 200, headers: etagHeaders(exchange, await setProperties(storage, request)) };
  },
};
