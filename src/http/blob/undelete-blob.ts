import { blobNeeds } from '../../auth/needs.ts';
import { undeleteBlob as undelete } from '../../service/blob/undelete-blob.ts';
import { blobNameOf, type Operation } from './operation.ts';

/** It takes no conditions and no lease id. */
export const undeleteBlob: Operation = {
  name: 'Undelete Blob',
  need: blobNeeds.undeleteBlob,
  async handle(storage, exchange, resource) {
    await undelete(storage, blobNameOf(exchange, resource));
    return { status: 200, headers: [] };
  },
};
