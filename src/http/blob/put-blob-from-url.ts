import { mayOverwrite } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import { putBlobFromUrl as put } from '../../service/copy/put-blob-from-url.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { refuseBody } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { hashHeaders } from '../reply-headers.ts';
import { parseTagOption } from './copy-headers.ts';
import type { Operation } from './operation.ts';
import { parseKeyedBlobRequest, parseNewBlob } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

export const putBlobFromUrl: Operation = {
  name: 'Put Blob From URL',
  need: blobNeeds.putBlobFromUrl,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    refuseOtherType(exchange);
    const written = await put(storage, {
      ...parseKeyedBlobRequest(exchange, resource),
      ...parseNewBlob(exchange, { plain: false }),
      mayOverwrite: mayOverwrite(exchange),
      demands: { ...parseSourceDemands(exchange), range: null },
      tagOption: parseTagOption(exchange),
      takesHeaders: parseTakesHeaders(exchange),
      source: await resolveSource(exchange),
    });
    return {
      status: 201,
      headers: [...writtenHeaders(exchange, written), ...hashHeaders(written)],
    };
  },
};

function refuseOtherType(exchange: Exchange): void {
  const type = exchange.header('x-ms-blob-type') ?? '';
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type);
}

const TAKES_HEADERS = 'x-ms-copy-source-blob-properties';

const parseTakesHeaders = (exchange: Exchange): boolean =>
  exchange.header(TAKES_HEADERS) === null || parseFlag(exchange, TAKES_HEADERS);
