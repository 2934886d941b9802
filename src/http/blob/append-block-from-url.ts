import { blobNeeds } from '../../auth/needs.ts';
import { appendBlock } from '../../service/blob/append-block.ts';
import { readingSource } from '../../service/copy/read-source.ts';
import { refuseBody } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import { appendBlockBytesMax, parseAppendConditions, renderAppended } from './append-block.ts';
import type { Operation } from './operation.ts';
import { parseKeyedBlobRequest } from './request-headers.ts';

export const appendBlockFromUrl: Operation = {
  name: 'Append Block From URL',
  need: blobNeeds.appendBlockFromUrl,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    const { version } = exchange;
    const request = { ...parseKeyedBlobRequest(exchange, resource), ...parseAppendConditions(exchange) };
    const demands = parseSourceDemands(exchange);
    const source = await resolveSource(exchange);
    const appended = await readingSource(
      storage,
      { source, demands, version, bytesMax: appendBlockBytesMax(version) },
      ({ body }) => appendBlock(storage, { ...request, body }),
    );
    return renderAppended(exchange, appended);
  },
};
