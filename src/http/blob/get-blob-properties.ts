import { blobNeeds } from '../../auth/needs.ts';
import { getBlobProperties as get } from '../../service/blob/get-blob.ts';
import { metadataHeaders } from '../metadata.ts';
import { etagHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseKeyedBlobRequest } from './request-headers.ts';
import { blobHeaders, tierHeaders } from './response-headers.ts';

export const getBlobProperties: Operation = {
  name: 'Get Blob Properties',
  need: blobNeeds.getBlobProperties,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const read = await get(storage, parseKeyedBlobRequest(exchange, resource));
    const { blob } = read;
    const headers = [...blobHeaders(exchange, read), ...tierHeaders(blob, read.nowMs)];
    headers.push('Content-Length', String(blob.lengthBytes));
    if (blob.headers.contentMd5 !== undefined) headers.push('Content-MD5', blob.headers.contentMd5);
    return { status: 200, headers };
  },
};

export const getBlobMetadata: Operation = {
  name: 'Get Blob Metadata',
  need: blobNeeds.getBlobMetadata,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const { blob } = await get(storage, parseKeyedBlobRequest(exchange, resource));
    return { status: 200, headers: [...etagHeaders(exchange, blob), ...metadataHeaders(blob.metadata)] };
  },
};
