import { mayOverwrite } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import { copyBlob as copy } from '../../service/copy/copy-blob.ts';
import { refuseBody, shownSource } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { copiedHeaders } from './copy-headers.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseNewBlob } from './request-headers.ts';

export const copyBlob: Operation = {
  name: 'Copy Blob',
  need: blobNeeds.copyBlob,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    const copied = await copy(storage, {
      ...parseBlobRequest(exchange, resource),
      ...parseNewBlob(exchange, { plain: false }),
      mayOverwrite: mayOverwrite(exchange),
      demands: parseSourceDemands(exchange),
      shownSource: shownSource(exchange),
      seals: parseSeal(exchange),
      source: await resolveSource(exchange),
    });
    return { status: 202, headers: copiedHeaders(exchange, copied) };
  },
};

const SEAL = 'x-ms-seal-blob';

const parseSeal = (exchange: Exchange): boolean | null =>
  exchange.header(SEAL) === null ? null : parseFlag(exchange, SEAL);
