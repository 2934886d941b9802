/** Append Block: adds a block at the end. Appends are serialized by their commits: none interleaves, none is lost. */
import type { Transaction } from '../../engine/transact.ts';
import { refuseAppend } from '../../rules/append.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { StagedExtent } from '../extents/extents.ts';
import { type Body, takeBody } from '../extents/take-body.ts';
import type { AppendedBlock, AppendedContent, BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { appendedBlockKey } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { invalidHeader, StorageError } from '../storage-error.ts';
import { changeBlob } from './change-blob.ts';
import { type BlobRequest, loadCommittedBlob, refuse, situation } from './load.ts';

export interface AppendBlockRequest extends BlobRequest {
  readonly body: Body;
  /** The block goes in only if it comes to stand here. */
  readonly positionBytes: number | null;
  /** The block goes in only if the blob is then no longer than this. */
  readonly sizeMaxBytes: number | null;
}

export interface BlockAppended {
  readonly record: BlobRecord;
  readonly offsetBytes: number;
  readonly blockCount: number;
  readonly md5: Buffer | null;
  readonly crc64: Buffer | null;
}

export async function appendBlock(storage: Storage, request: AppendBlockRequest): Promise<BlockAppended> {
  if (!storage.extents.isSmall(request.body.lengthBytes)) await refuseEarly(storage, request);
  const want = { md5: false, crc64: request.body.md5 === null, key: request.key };
  const { extent, md5, crc64 } = await takeBody(storage, request.body, want);
  if (extent === null) throw invalidHeader('Content-Length', '0');
  const record = await storage.extents.publishing(extent, () =>
    changeBlob(storage, { ...request, requiredType: 'AppendBlob' }, (blob, tx) => {
      refuseBlock(blob, request);
      storage.extents.publish(tx, extent);
      const content = append(tx, storage, { blob, extent });
      return { ...blob, content, lengthBytes: blob.lengthBytes + extent.lengthBytes };
    }),
  );
  const { blockCount } = record.content as AppendedContent;
  return { record, offsetBytes: record.lengthBytes - extent.lengthBytes, blockCount, md5, crc64 };
}

function append(
  tx: Transaction,
  storage: Storage,
  { blob, extent }: { blob: BlobRecord; extent: StagedExtent },
): AppendedContent {
  const { lists, blockCount, isBorrowed = false } = blob.content as AppendedContent;
  const last = isBorrowed ? undefined : lists.at(-1);
  const id = last?.id ?? storage.ids.next();
  const block: AppendedBlock = { extent: extent.ref, lengthBytes: extent.lengthBytes };
  tx.put(appendedBlockKey(id, blob.lengthBytes), encodeJson(block));
  const grown = { id, endBytes: blob.lengthBytes + extent.lengthBytes };
  return {
    kind: 'appended',
    lists: [...(last === undefined ? lists : lists.slice(0, -1)), grown],
    blockCount: blockCount + 1,
  };
}

/** A long body is not taken in for a request that is refused anyway. Judged again in the transaction. */
async function refuseEarly(storage: Storage, request: AppendBlockRequest): Promise<void> {
  await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const { name } = request;
    const loaded = await loadCommittedBlob(snapshotReader(snapshot), { name }, { nowMs, known: storage.known });
    const asked = situation(loaded, request, nowMs);
    refuse(refuseBlobWriteOperation({ ...asked, creates: false, requiredType: 'AppendBlob' }));
    refuseBlock(loaded.blob as BlobRecord, request);
  });
}

function refuseBlock(blob: BlobRecord, { body, positionBytes, sizeMaxBytes }: AppendBlockRequest): void {
  const { blockCount } = blob.content as AppendedContent;
  const state = { lengthBytes: blob.lengthBytes, blockCount, sealed: blob.isSealed === true };
  const code = refuseAppend(state, { appendedBytes: body.lengthBytes, positionBytes, sizeMaxBytes });
  if (code === 'BlockCountExceedsLimit') throw new StorageError(code, { message: TOO_MANY_BLOCKS });
  if (code !== null) throw new StorageError(code);
}

const TOO_MANY_BLOCKS = 'The committed block count cannot exceed the maximum limit of 50,000 blocks.';
