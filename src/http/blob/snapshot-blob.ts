import { blobNeeds } from '../../auth/needs.ts';
import { snapshotBlob as snapshot } from '../../service/blob/snapshot-blob.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseMetadata } from './request-headers.ts';
import { etagHeaders, SERVER_ENCRYPTED } from './response-headers.ts';

export const snapshotBlob: Operation = {
  name: 'Snapshot Blob',
  need: blobNeeds.snapshotBlob,
  async handle(storage, exchange, resource) {
    const request = { ...parseBlobRequest(exchange, resource), metadata: parseMetadata(exchange) };
    const taken = await snapshot(storage, request);
    return {
      status: 201,
      headers: ['x-ms-snapshot', taken.snapshot, ...etagHeaders(exchange, taken.record), ...SERVER_ENCRYPTED],
    };
  },
};
