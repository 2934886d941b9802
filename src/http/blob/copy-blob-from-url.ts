import { mayOverwrite } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import { copyBlobFromUrl as copy } from '../../service/copy/copy-blob-from-url.ts';
import { refuseBody, shownSource } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import { hashHeaders } from '../reply-headers.ts';
import { copiedHeaders, parseTagOption } from './copy-headers.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseNewBlob } from './request-headers.ts';

export const copyBlobFromUrl: Operation = {
  name: 'Copy Blob From URL',
  need: blobNeeds.copyBlobFromUrl,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    const copied = await copy(storage, {
      ...parseBlobRequest(exchange, resource),
      ...parseNewBlob(exchange, { plain: false }),
      mayOverwrite: mayOverwrite(exchange),
      demands: { ...parseSourceDemands(exchange), range: null },
      shownSource: shownSource(exchange),
      tagOption: parseTagOption(exchange),
      source: await resolveSource(exchange),
    });
    // One of the two: the MD5 where it was asked for.
    const hashes = copied.crc64 === null ? copied : { ...copied, md5: null };
    return { status: 202, headers: [...copiedHeaders(exchange, copied), ...hashHeaders(hashes)] };
  },
};
