import { blobNeeds } from '../../auth/needs.ts';
import { getBlobProperties as get } from '../../service/blob/get-blob.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, refuseFeaturesToCome } from './request-headers.ts';
import { blobHeaders, etagHeaders, metadataHeaders } from './response-headers.ts';

export const getBlobProperties: Operation = {
  name: 'Get Blob Properties',
  need: blobNeeds.getBlobProperties,
  async handle(storage, exchange, resource) {
    refuseFeaturesToCome(exchange);
    const { blob, nowMs } = await get(storage, parseBlobRequest(exchange, resource));
    const headers = blobHeaders(exchange, blob, nowMs);
    headers.push('Content-Length', String(blob.lengthBytes), 'x-ms-access-tier', blob.tier ?? 'Hot');
    if (blob.tier === undefined) headers.push('x-ms-access-tier-inferred', 'true');
    if (blob.headers.contentMd5 !== undefined) headers.push('Content-MD5', blob.headers.contentMd5);
    return { status: 200, headers };
  },
};

export const getBlobMetadata: Operation = {
  name: 'Get Blob Metadata',
  need: blobNeeds.getBlobMetadata,
  async handle(storage, exchange, resource) {
    refuseFeaturesToCome(exchange);
    const { blob } = await get(storage, parseBlobRequest(exchange, resource));
    return { status: 200, headers: [...etagHeaders(exchange, blob), ...metadataHeaders(blob.metadata)] };
  },
};
