import { hasPermission } from '../../auth/authorize.ts';
import { blobNeeds } from '../../auth/needs.ts';
import { SINCE_LARGE_BLOCKS, SINCE_VERY_LARGE_BLOCKS } from '../../rules/versions.ts';
import { putBlob as put } from '../../service/blob/put-blob.ts';
import { invalidHeader, missingHeader, notYet } from '../../service/storage-error.ts';
import type { AuthorizedExchange } from '../exchange.ts';
import type { Operation } from './operation.ts';
import {
  parseBlobHeaders,
  parseBlobRequest,
  parseBody,
  parseMetadata,
  parseTier,
  refuseFeaturesToCome,
} from './request-headers.ts';
import { etagHeaders, hashHeaders, SERVER_ENCRYPTED } from './response-headers.ts';

const MIB = 1024 * 1024;

export const putBlob: Operation = {
  name: 'Put Blob',
  need: blobNeeds.putBlob,
  async handle(storage, exchange, resource) {
    refuseBlobType(exchange);
    refuseFeaturesToCome(exchange);
    const headers = parseBlobHeaders(exchange, { plain: true });
    const body = parseBody(exchange, { maxBytes: putBlobBytesMax(exchange.version) });
    const claimedMd5 = headers.contentMd5 === undefined ? null : Buffer.from(headers.contentMd5, 'base64');
    const written = await put(storage, {
      ...parseBlobRequest(exchange, resource),
      body: { ...body, md5: body.md5 ?? claimedMd5 },
      headers,
      metadata: parseMetadata(exchange),
      tier: parseTier(exchange),
      // A token with `c` and without `w` may make a blob, not replace one.
      mayOverwrite: hasPermission(exchange.identity, 'w'),
    });
    return {
      status: 201,
      headers: [...etagHeaders(exchange, written), ...hashHeaders(written), ...SERVER_ENCRYPTED],
    };
  },
};

function refuseBlobType(exchange: AuthorizedExchange): void {
  const type = exchange.header('x-ms-blob-type');
  if (type === null) throw missingHeader('x-ms-blob-type');
  if (type === 'PageBlob' || type === 'AppendBlob') throw notYet(`A blob of type ${type}`);
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type);
  const length = exchange.header('x-ms-blob-content-length');
  if (length !== null) throw invalidHeader('x-ms-blob-content-length', length);
}

function putBlobBytesMax(version: string): number {
  if (version >= SINCE_VERY_LARGE_BLOCKS) return 5_000 * MIB;
  return version >= SINCE_LARGE_BLOCKS ? 256 * MIB : 64 * MIB;
}
