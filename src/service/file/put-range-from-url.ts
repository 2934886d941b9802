/** Put Range From URL: Put Range with bytes of a blob or file here, or of something outside, held to their checksum. */
import { crc64Of } from '../../base/crc64.ts';
import type { SourceRequest } from '../copy/read-source.ts';
import { readingSource } from '../copy/read-source.ts';
import { beyondSource } from '../copy/verify-failure.ts';
import { refuseHashMismatch } from '../extents/take-body.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type PutRangeRequest, putRange, type RangePut, refuseRangeEarly } from './put-range.ts';

export interface PutRangeFromUrlRequest extends Omit<PutRangeRequest, 'body'>, SourceRequest {
  /** What the checksum of the bytes must be, or must not be. */
  readonly ifMatchCrc64: Buffer | null;
  readonly ifNoneMatchCrc64: Buffer | null;
}

export interface RangePutFromUrl extends RangePut {
  readonly crc64: Buffer;
}

export async function putRangeFromUrl(storage: Storage, request: PutRangeFromUrlRequest): Promise<RangePutFromUrl> {
  const { lengthBytes } = request.range;
  await refuseRangeEarly(storage, request);
  return readingSource(storage, { ...request, bytesMax: lengthBytes }, async ({ body }) => {
    // What is asked for beyond the end of a source is not there to be read.
    if (body.lengthBytes !== lengthBytes) throw beyondSource();
    const bytes = await body.whole();
    const crc64 = crc64Of(bytes);
    refuseChecksum(request, crc64);
    const put = await putRange(storage, {
      ...request,
      body: { ...body, stream: () => onePiece(bytes), whole: async () => bytes, crc64: null },
    });
    return { ...put, crc64 };
  });
}

function refuseChecksum({ demands, ifMatchCrc64, ifNoneMatchCrc64 }: PutRangeFromUrlRequest, crc64: Buffer): void {
  refuseHashMismatch({ md5: null, crc64: demands.crc64 }, { md5: null, crc64 });
  const isMet = ifMatchCrc64?.equals(crc64) !== false && ifNoneMatchCrc64?.equals(crc64) !== true;
  if (!isMet) throw new StorageError('ConditionNotMet');
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
