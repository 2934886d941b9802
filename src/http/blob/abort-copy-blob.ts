import { blobNeeds } from '../../auth/needs.ts';
import { abortCopyBlob as abort } from '../../service/copy/abort-copy-blob.ts';
import { parseCopyId, requireAbort } from '../copy-request.ts';
import { parseLeaseIdHeader } from '../header-values.ts';
import { blobNameOf, type Operation } from './operation.ts';

export const abortCopyBlob: Operation = {
  name: 'Abort Copy Blob',
  need: blobNeeds.abortCopyBlob,
  async handle(storage, exchange, resource) {
    requireAbort(exchange);
    await abort(storage, {
      name: blobNameOf(exchange, resource),
      leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
      version: exchange.version,
      copyId: parseCopyId(exchange),
    });
    return { status: 204, headers: [] };
  },
};
