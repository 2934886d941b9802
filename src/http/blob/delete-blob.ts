import { blobNeeds } from '../../auth/needs.ts';
import { deleteBlob as remove } from '../../service/blob/delete-blob.ts';
import { invalidHeader, invalidQuery } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest } from './request-headers.ts';

export const deleteBlob: Operation = {
  name: 'Delete Blob',
  need({ target: { query } }) {
    if (query.has('deletetype')) return blobNeeds.deleteBlobPermanently;
    return query.has('versionid') ? blobNeeds.deleteBlobVersion : blobNeeds.deleteBlob;
  },
  takesPast: true,
  async handle(storage, exchange, resource) {
    const isGone = await remove(storage, {
      ...parseBlobRequest(exchange, resource),
      deleteSnapshots: parseDeleteSnapshots(exchange),
      isPermanent: parseDeleteType(exchange),
    });
    return { status: 202, headers: ['x-ms-delete-type-permanent', String(isGone)] };
  },
};

function parseDeleteType(exchange: Exchange): boolean {
  const text = exchange.target.query.get('deletetype');
  if (text !== null && text.toLowerCase() !== 'permanent') throw invalidQuery('deletetype', text);
  return text !== null;
}

/** Snapshots go with the blob; of one snapshot or version there are none. */
function parseDeleteSnapshots(exchange: Exchange): 'include' | 'only' | null {
  const text = exchange.header('x-ms-delete-snapshots');
  if (text !== null && text !== 'include' && text !== 'only') throw invalidHeader('x-ms-delete-snapshots', text);
  const { query } = exchange.target;
  const past = query.get('snapshot') ?? query.get('versionid');
  if (text !== null && past !== null) {
    throw invalidQuery('snapshot', past, 'It is not allowed together with x-ms-delete-snapshots.');
  }
  return text;
}
