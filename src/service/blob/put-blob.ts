/** Put Blob: a whole new state of a block blob, or an empty append or page blob, published in one step. */
import { transact } from '../../engine/transact.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import { contentOf } from '../extents/extents.ts';
import { type Body, takeBody } from '../extents/take-body.ts';
import { createPages } from '../pages/page-map.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, type LoadedToWrite, loadBlob, loadBlobToWrite, refuse, situation } from './load.ts';
import {
  type BlobWritten,
  type NewBlob,
  newBlobFields,
  newVersion,
  refuseOtherTier,
  written as writtenAs,
} from './new-version.ts';
import { endStaging } from './staging.ts';
import { replaceBlob, replacing } from './store-blob.ts';

export interface PutBlobRequest extends BlobRequest, NewBlob {
  readonly body: Body;
  /** False for a token that may only create. */
  readonly mayOverwrite: boolean;
}

export async function putBlob(
  storage: Storage,
  request: PutBlobRequest,
): Promise<BlobWritten & { md5: Buffer; crc64: Buffer }> {
  refuseOtherTier(request, { blobType: 'BlockBlob', lengthBytes: request.body.lengthBytes });
  if (!storage.extents.isSmall(request.body.lengthBytes)) await refuseEarly(storage, request);
  const { extent, md5, crc64 } = await takeBody(storage, request.body, { md5: true, crc64: true, key: request.key });
  const written = await storage.extents.publishing(extent, () =>
    transact(storage.engine, async (tx) => {
      const nowMs = storage.clock.nowMs();
      const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
      refusePut(storage, loaded, request, nowMs);
      const { staging, keys } = loaded;

      const record: BlobRecord = {
        type: 'BlockBlob',
        ...newVersion(storage, loaded, nowMs),
        lengthBytes: request.body.lengthBytes,
        content: contentOf(extent),
        ...newBlobFields(request, loaded, nowMs),
        headers: { contentMd5: (md5 as Buffer).toString('base64'), ...request.headers },
      };
      if (extent !== null) storage.extents.publish(tx, extent);
      if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging });
      return writtenAs(await replaceBlob(tx, storage, loaded, { record, nowMs }));
    }),
  );
  return { ...written, md5: md5 as Buffer, crc64: crc64 as Buffer };
}

export interface PutEmptyBlobRequest extends BlobRequest, NewBlob {
  readonly type: 'AppendBlob' | 'PageBlob';
  /** Of a page blob. */
  readonly lengthBytes: number;
  readonly sequenceNumber: string;
  readonly mayOverwrite: boolean;
}

/** An append blob without blocks, or a page blob without pages. */
export async function putEmptyBlob(storage: Storage, request: PutEmptyBlobRequest): Promise<BlobWritten> {
  const { type, lengthBytes, sequenceNumber } = request;
  refuseOtherTier(request, { blobType: type, lengthBytes });
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    refusePut(storage, loaded, request, nowMs);
    const { staging, keys } = loaded;
    const record: BlobRecord = {
      type,
      ...newVersion(storage, loaded, nowMs),
      lengthBytes,
      content: type === 'PageBlob' ? createPages(tx, storage.ids) : { kind: 'appended', lists: [], blockCount: 0 },
      ...newBlobFields(request, loaded, nowMs),
      ...(type === 'PageBlob' ? { sequenceNumber } : {}),
    };
    if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging });
    return writtenAs(await replaceBlob(tx, storage, loaded, { record, nowMs }));
  });
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
async function refuseEarly(storage: Storage, request: PutBlobRequest): Promise<void> {
  await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlob(snapshotReader(snapshot), request.name, { nowMs, known: storage.known });
    refusePut(storage, loaded, request, nowMs);
  });
}

/** Whoever may put a blob in another's place may make it of another type. */
export function refusePut(
  storage: Storage,
  loaded: LoadedToWrite,
  request: BlobRequest & { readonly mayOverwrite: boolean },
  nowMs: number,
): void {
  // What was there before, and its key, are nothing to whoever puts another in its place.
  const asked = { ...situation(loaded, request, nowMs), keySha256: undefined };
  refuse(refuseBlobWriteOperation({ ...asked, creates: true, requiredType: null, effect: replacing(storage, loaded) }));
  if (loaded.blob !== null && !request.mayOverwrite) throw new StorageError('UnauthorizedBlobOverwrite');
}
