import { blobNeeds } from '../../auth/needs.ts';
import { snapshotBlob as snapshot } from '../../service/blob/snapshot-blob.ts';
import { parseMetadata } from '../metadata.ts';
import type { Operation } from './operation.ts';
import { parseKeyedBlobRequest } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

export const snapshotBlob: Operation = {
  name: 'Snapshot Blob',
  need: blobNeeds.snapshotBlob,
  async handle(storage, exchange, resource) {
    const request = { ...parseKeyedBlobRequest(exchange, resource), metadata: parseMetadata(exchange) };
    const { snapshot: id, record, ...version } = await snapshot(storage, request);
    return {
      status: 201,
      headers: ['x-ms-snapshot', id, ...writtenHeaders(exchange, { ...record, ...version })],
    };
  },
};
