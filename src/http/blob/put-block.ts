import { blobNeeds } from '../../auth/needs.ts';
import { refuseBlockId } from '../../rules/block-list.ts';
import { SINCE_LARGE_BLOCKS, SINCE_VERY_LARGE_BLOCKS } from '../../rules/versions.ts';
import { putBlock as put } from '../../service/blob/put-block.ts';
import { invalidHeader, invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseLeaseIdHeader } from '../header-values.ts';
import { hashHeaders, SERVER_ENCRYPTED } from '../reply-headers.ts';
import { parseCustomerKey, parseEncryptionScope } from './encryption-headers.ts';
import { blobNameOf, type Operation } from './operation.ts';
import { parseBody } from './request-headers.ts';
import { encryptionHeaders } from './response-headers.ts';

const MIB = 1024 * 1024;

export const putBlock: Operation = {
  name: 'Put Block',
  need: blobNeeds.putBlock,
  async handle(storage, exchange, resource) {
    const blockId = parseBlockId(exchange);
    const body = parseBody(exchange, { maxBytes: blockBytesMax(exchange.version) });
    if (body.lengthBytes === 0) throw invalidHeader('Content-Length', '0');
    const staged = await put(storage, {
      name: blobNameOf(exchange, resource),
      leaseId: parseLeaseIdHeader(exchange, 'x-ms-lease-id'),
      version: exchange.version,
      key: parseCustomerKey(exchange),
      encryptionScope: parseEncryptionScope(exchange),
      blockId,
      body,
    });
    return { status: 201, headers: [...hashHeaders(staged), ...encryptionHeaders(staged), ...SERVER_ENCRYPTED] };
  },
};

export function parseBlockId(exchange: Exchange): string {
  const blockId = exchange.target.query.get('blockid');
  if (blockId === null) {
    throw new StorageError('MissingRequiredQueryParameter', { elements: { QueryParameterName: 'blockid' } });
  }
  if (refuseBlockId(blockId, null) !== null) throw invalidQuery('blockid', blockId, 'Not a valid base64 string.');
  return blockId;
}

export function blockBytesMax(version: string): number {
  if (version >= SINCE_VERY_LARGE_BLOCKS) return 4_000 * MIB;
  return version >= SINCE_LARGE_BLOCKS ? 100 * MIB : 4 * MIB;
}
