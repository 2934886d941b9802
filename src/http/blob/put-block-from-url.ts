import { blobNeeds } from '../../auth/needs.ts';
import { putBlock } from '../../service/blob/put-block.ts';
import { readingSource } from '../../service/copy/read-source.ts';
import { refuseBody } from '../copy-request.ts';
import { parseSourceDemands } from '../copy-source-headers.ts';
import { parseLeaseIdHeader } from '../header-values.ts';
import { hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import { parseCustomerKey, parseEncryptionScope } from './encryption-headers.ts';
import { blobNameOf, type Operation } from './operation.ts';
import { blockBytesMax, parseBlockId } from './put-block.ts';

export const putBlockFromUrl: Operation = {
  name: 'Put Block From URL',
  need: blobNeeds.putBlockFromUrl,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    const { version } = exchange;
    const request = {
      name: blobNameOf(exchange, resource),
      leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
      version,
      key: parseCustomerKey(exchange),
      encryptionScope: parseEncryptionScope(exchange),
      blockId: parseBlockId(exchange),
    };
    const demands = parseSourceDemands(exchange);
    const source = await resolveSource(exchange);
    const hashes = await readingSource(
      storage,
      { source, demands, version, bytesMax: blockBytesMax(version) },
      ({ body }) => putBlock(storage, { ...request, body }),
    );
    return { status: 201, headers: [...hashHeaders(hashes), ...SERVER_ENCRYPTED] };
  },
};
