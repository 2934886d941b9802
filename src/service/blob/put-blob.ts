/** Put Blob: a whole new version of a block blob, published in one step. */
import { transact } from '../../engine/transact.ts';
import type { Metadata } from '../../rules/names.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import { contentOf } from '../extents/extents.ts';
import type { AccessTier, BlobHeaders, BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import {
  type BlobRequest,
  type LoadedBlob,
  loadBlob,
  loadBlobToWrite,
  refuse,
  situation,
  snapshotReader,
} from './load.ts';
import { type BlobWritten, newVersion, tierOf } from './new-version.ts';
import { endStaging } from './staging.ts';
import { type Body, takeBody } from './take-body.ts';

export interface PutBlobRequest extends BlobRequest {
  readonly body: Body;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly tier: AccessTier | null;
  /** False for a token that may only create. */
  readonly mayOverwrite: boolean;
}

export async function putBlob(
  storage: Storage,
  request: PutBlobRequest,
): Promise<BlobWritten & { md5: Buffer; crc64: Buffer }> {
  if (!storage.extents.isSmall(request.body.lengthBytes)) await refuseEarly(storage, request);
  const { extent, md5, crc64 } = await takeBody(storage, request.body, { md5: true, crc64: true });
  const written = await storage.extents.publishing(extent, () =>
    transact(storage.engine, async (tx) => {
      const nowMs = storage.clock.nowMs();
      const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
      refusePut(loaded, request, nowMs);
      const { blob, staging, keys } = loaded;

      const record: BlobRecord = {
        type: 'BlockBlob',
        ...newVersion(storage, loaded, nowMs),
        lengthBytes: request.body.lengthBytes,
        content: contentOf(extent),
        headers: { contentMd5: (md5 as Buffer).toString('base64'), ...request.headers },
        metadata: request.metadata,
        ...tierOf(request.tier, blob),
      };
      if (extent !== null) storage.extents.publish(tx, extent);
      if (blob !== null) storage.extents.drop(tx, blob.content);
      if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging });
      tx.put(keys.blob, encodeJson(record));
      return { etag: record.etag, lastModifiedMs: record.lastModifiedMs };
    }),
  );
  return { ...written, md5: md5 as Buffer, crc64: crc64 as Buffer };
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
async function refuseEarly(storage: Storage, request: PutBlobRequest): Promise<void> {
  await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    refusePut(await loadBlob(snapshotReader(snapshot), request.name, { nowMs, known: storage.known }), request, nowMs);
  });
}

function refusePut(loaded: LoadedBlob, request: PutBlobRequest, nowMs: number): void {
  refuse(refuseBlobWriteOperation({ ...situation(loaded, request, nowMs), creates: true, requiredType: null }));
  if (loaded.blob !== null && !request.mayOverwrite) throw new StorageError('UnauthorizedBlobOverwrite');
}
