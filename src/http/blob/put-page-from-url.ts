import { blobNeeds } from '../../auth/needs.ts';
import { PAGE_UPDATE_BYTES_MAX } from '../../rules/page-range.ts';
import { putPage } from '../../service/blob/put-page.ts';
import { readingSource } from '../../service/copy/read-source.ts';
import { beyondSource } from '../../service/copy/verify-failure.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { refuseBody } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import { parseWrite, refuseOtherLength, requireRange } from '../written-range.ts';
import type { Operation } from './operation.ts';
import { parseSequenceIf, refuseLongUpdate, renderPut } from './put-page.ts';
import { parseKeyedBlobRequest } from './request-headers.ts';

export const putPageFromUrl: Operation = {
  name: 'Put Page From URL',
  need: blobNeeds.putPageFromUrl,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    if (parseWrite(exchange, 'x-ms-page-write') === 'clear') throw invalidHeader('x-ms-page-write', 'clear');
    const range = requireRange(exchange);
    refuseLongUpdate(range);
    const demands = parseSourceDemands(exchange);
    refuseOtherLength(exchange, demands, range);
    const request = { ...parseKeyedBlobRequest(exchange, resource), range, sequence: parseSequenceIf(exchange) };
    const source = await resolveSource(exchange);
    const asked = { source, demands, version: exchange.version, bytesMax: PAGE_UPDATE_BYTES_MAX };
    const put = await readingSource(storage, asked, async ({ body }) => {
      // What is asked for beyond the end of a source is not there to be read.
      if (body.lengthBytes !== range.lengthBytes) throw beyondSource();
      return putPage(storage, { ...request, body });
    });
    return renderPut(exchange, put);
  },
};
