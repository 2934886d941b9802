/** Put Block: stages a block. Readers see nothing of it; the blob need not exist. */

import type { Id } from '../../base/ids.ts';
import { transact } from '../../engine/transact.ts';
import { blockIdLengthBytes, refuseBlockId } from '../../rules/block-list.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { type BlobEncryption, refuseKey } from '../../rules/encryption.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import { type Body, takeBody } from '../extents/take-body.ts';
import type { StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { stagedBlockKey, stagedBlockRange } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, type LoadedBlob, loadBlob, loadBlobToWrite, refuse, situation } from './load.ts';
import { encryptionOf, keptLease } from './new-version.ts';
import { beginStaging, keepAlive } from './staging.ts';

export const STAGED_BLOCK_COUNT_MAX = 100_000;

/** Counting staged blocks means walking them, so only one Put Block in so many does it. */
const COUNTED_ONE_IN = 64;
const STEP_RECORDS = 1_000;

export interface PutBlockRequest extends Omit<BlobRequest, 'conditions'> {
  /** Base64, as sent. */
  readonly blockId: string;
  readonly body: Body;
  /** Null: the container's, if it has one. */
  readonly encryptionScope?: string | null;
}

export interface BlockStaged {
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
  readonly encryption?: BlobEncryption;
}

export async function putBlock(storage: Storage, put: PutBlockRequest): Promise<BlockStaged> {
  const request = { ...put, conditions: NO_CONDITIONS };
  if (!storage.extents.isSmall(request.body.lengthBytes) || isCounted(request.blockId)) {
    await refuseEarly(storage, request);
  }
  const want = { md5: false, crc64: request.body.md5 === null, key: request.key };
  const { extent, md5, crc64 } = await takeBody(storage, request.body, want);
  if (extent === null) throw new StorageError('InvalidHeaderValue', { elements: { HeaderName: 'Content-Length' } });
  const { encryption } = await storage.extents.publishing(extent, () =>
    transact(storage.engine, async (tx) => {
      const nowMs = storage.clock.nowMs();
      const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
      refusePutBlock(loaded, request, nowMs);
      const staging = loaded.staging ?? newStaging(storage, loaded, request, nowMs);
      if (loaded.staging === null) beginStaging(tx, loaded.keys.staging, staging);
      else keepAlive(tx, { headKey: loaded.keys.staging, staging, nowMs });

      const key = stagedBlockKey(staging.id, request.blockId);
      const replaced = await tx.get(key);
      if (replaced !== null) storage.extents.dropExtent(tx, decodeJson<StagedBlock>(replaced).extent);
      storage.extents.publish(tx, extent);
      const block: StagedBlock = { extent: extent.ref, lengthBytes: extent.lengthBytes, stagedMs: nowMs };
      tx.put(key, encodeJson(block));
      forgetEndedLease(loaded, nowMs, tx);
      return staging;
    }),
  );
  return { md5, crc64, ...(encryption === undefined ? {} : { encryption }) };
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
async function refuseEarly(storage: Storage, request: PutBlockRequest & BlobRequest): Promise<void> {
  const staging = await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlob(snapshotReader(snapshot), request.name, { nowMs, known: storage.known });
    refusePutBlock(loaded, request, nowMs);
    return loaded.staging;
  });
  if (staging !== null && isCounted(request.blockId)) await refuseTooManyBlocks(storage, staging.id);
}

function refusePutBlock(loaded: LoadedBlob, request: PutBlockRequest & BlobRequest, nowMs: number): void {
  // The blob's own content is nothing to a block, nor is its key; the blocks staged before are.
  const asked = { ...situation(loaded, request, nowMs), keySha256: undefined };
  refuse(refuseBlobWriteOperation({ ...asked, creates: true, requiredType: 'BlockBlob', effect: 'stages' }));
  const code = refuseBlockId(request.blockId, idLengthSoFar(loaded));
  if (code !== null) throw new StorageError(code);
  encryptionOf(encryptionAsked(request), loaded.container);
  const otherKey = loaded.staging === null ? null : refuseKey(loaded.staging.encryption, request.key?.sha256 ?? null);
  if (otherKey !== null) throw new StorageError(otherKey);
}

const encryptionAsked = ({ key = null, encryptionScope = null }: PutBlockRequest) => ({ key, encryptionScope });

function idLengthSoFar({ staging, blob }: LoadedBlob): number | null {
  if (staging !== null) return staging.blockIdBytes;
  return blob?.content.kind === 'layout' && blob.content.hidesBlocks !== true ? blob.content.blockIdBytes : null;
}

function newStaging(
  storage: Storage,
  { container }: LoadedBlob,
  request: PutBlockRequest,
  nowMs: number,
): StagingRecord {
  return {
    id: storage.ids.next(),
    blockIdBytes: blockIdLengthBytes(request.blockId) as number,
    createdMs: nowMs,
    ...encryptionOf(encryptionAsked(request), container),
    lease: AVAILABLE,
  };
}

/** Staging a block is a write, and a write without an id lets an ended lease be forgotten (rules/lease.ts). */
function forgetEndedLease(
  loaded: LoadedBlob,
  nowMs: number,
  tx: { put(key: Uint8Array, value: Uint8Array): void },
): void {
  const lease = keptLease(loaded, nowMs);
  if (loaded.state === null || lease.state === loaded.state.lease.state) return;
  if (loaded.blob !== null) tx.put(loaded.keys.blob, encodeJson({ ...loaded.blob, lease }));
  else tx.put(loaded.keys.staging, encodeJson({ ...loaded.staging, lease }));
}

const isCounted = (blockId: string): boolean => {
  let sum = 0;
  for (let at = 0; at < blockId.length; at++) sum += blockId.charCodeAt(at);
  return sum % COUNTED_ONE_IN === 0;
};

async function refuseTooManyBlocks(storage: Storage, stagingId: Id): Promise<void> {
  let count = 0;
  const reader = freshSnapshots(storage.engine);
  for await (const entries of scanSteps(reader, stagedBlockRange(stagingId), STEP_RECORDS)) {
    count += entries.length;
    if (count >= STAGED_BLOCK_COUNT_MAX) throw new StorageError('BlockCountExceedsLimit');
  }
}
