import { blobNeeds } from '../../auth/needs.ts';
import { deleteBlob as remove } from '../../service/blob/delete-blob.ts';
import { invalidHeader, notYet } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, refuseFeaturesToCome } from './request-headers.ts';

export const deleteBlob: Operation = {
  name: 'Delete Blob',
  need: blobNeeds.deleteBlob,
  async handle(storage, exchange, resource) {
    refuseFeaturesToCome(exchange);
    const deleteType = exchange.target.query.get('deletetype');
    if (deleteType !== null) throw notYet(`Deleting with deletetype=${deleteType}`);
    const request = { ...parseBlobRequest(exchange, resource), deleteSnapshots: parseDeleteSnapshots(exchange) };
    await remove(storage, request);
    return { status: 202, headers: ['x-ms-delete-type-permanent', 'true'] };
  },
};

function parseDeleteSnapshots(exchange: Exchange): 'include' | 'only' | null {
  const text = exchange.header('x-ms-delete-snapshots');
  if (text === null || text === 'include' || text === 'only') return text;
  throw invalidHeader('x-ms-delete-snapshots', text);
}
