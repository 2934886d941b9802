import { mayOverwrite } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import type { CopySource } from '../../service/copy/copy-source.ts';
import { incrementalCopyBlob as copy } from '../../service/copy/incremental-copy.ts';
import { StorageError } from '../../service/storage-error.ts';
import { refuseBody, shownSource } from '../copy-request.ts';
import { copiedHeaders } from './copy-headers.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest } from './request-headers.ts';

export const incrementalCopyBlob: Operation = {
  name: 'Incremental Copy Blob',
  need: blobNeeds.incrementalCopyBlob,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    const copied = await copy(storage, {
      ...parseBlobRequest(exchange, resource),
      mayOverwrite: mayOverwrite(exchange),
      shownSource: shownSource(exchange),
      source: await resolveBlobUrl(() => resolveSource(exchange)),
    });
    return { status: 202, headers: copiedHeaders(exchange, copied) };
  },
};

/** What names no blob has a code of its own here. */
async function resolveBlobUrl(resolve: () => Promise<CopySource>): Promise<CopySource> {
  try {
    return await resolve();
  } catch (error) {
    const isUrl = error instanceof StorageError && error.details.elements?.['HeaderName'] === 'x-ms-copy-source';
    throw isUrl && error.code === 'InvalidHeaderValue' ? new StorageError('InvalidSourceBlobUrl') : error;
  }
}
