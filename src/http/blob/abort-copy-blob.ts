import { blobNeeds } from '../../auth/needs.ts';
import { parseLeaseId } from '../../rules/lease.ts';
import { abortCopyBlob as abort } from '../../service/copy/abort-copy-blob.ts';
import { invalidHeader, invalidQuery, missingHeader, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { blobNameOf, type Operation } from './operation.ts';
import { parseLeaseIdHeader } from './request-headers.ts';

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

export function requireAbort(exchange: Exchange): void {
  const action = exchange.header('x-ms-copy-action');
  if (action === null) throw missingHeader('x-ms-copy-action');
  if (action.toLowerCase() !== 'abort') throw invalidHeader('x-ms-copy-action', action);
}

/** A GUID, as a lease id is. */
export function parseCopyId(exchange: Exchange): string {
  const text = exchange.target.query.get('copyid');
  if (text === null) {
    throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: 'copyid' } });
  }
  const copyId = parseLeaseId(text);
  if (copyId === null) throw invalidQuery('copyid', text, 'Not a GUID.');
  return copyId;
}
