/** Put Block List: makes a version of the blob from staged and committed blocks, all or nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Transaction, transact } from '../../engine/transact.ts';
import { type BlockListEntry, blockIdLengthBytes, resolveBlockList } from '../../rules/block-list.ts';
import { refuseKey } from '../../rules/encryption.ts';
import { refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { BlobContent, BlobRecord, StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, UnreadableRecord } from '../records/codec.ts';
import { layoutKey, stagedBlockKey } from '../records/keys.ts';
import { decodeLayout, encodeLayout, type LayoutBlock } from '../records/layout.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, loadBlobToWrite, refuse, situation } from './load.ts';
import { type BlobWritten, type NewBlob, newBlobFields, newVersion, refuseOtherTier, written } from './new-version.ts';
import { endStaging } from './staging.ts';
import { replaceBlob, replacing } from './store-blob.ts';

/** Blocks looked up per turn of the event loop. */
const LOOK_UP_STEP = 1_000;

export interface PutBlockListRequest extends BlobRequest, NewBlob {
  readonly entries: readonly BlockListEntry[];
}

export async function putBlockList(storage: Storage, request: PutBlockListRequest): Promise<BlobWritten> {
  refuseOtherTier(request, { blobType: 'BlockBlob', lengthBytes: 0 });
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
    const asked = { ...situation(loaded, request, nowMs), keySha256: undefined };
    refuse(
      refuseBlobWriteOperation({
        ...asked,
        creates: true,
        requiredType: 'BlockBlob',
        effect: replacing(storage, loaded),
      }),
    );
    const { blob, staging, keys } = loaded;

    const committed = await loadCommitted(tx, blob?.content ?? null);
    const staged = await loadStaged(tx, staging, request.entries);
    const resolved = resolveBlockList(request.entries, { committed, staged });
    if ('refusal' in resolved) throw new StorageError(resolved.refusal);
    const { blocks } = resolved;
    if (blocks.some((block) => staged.get(block.blockId) === block)) refuseOtherKey(staging, request);
    if (blocks.some((block) => committed.get(block.blockId) === block)) refuseOtherKey(blob, request);
    const content = storeLayout(tx, storage, blocks);

    const record: BlobRecord = {
      type: 'BlockBlob',
      ...newVersion(storage, loaded, nowMs),
      lengthBytes: blocks.reduce((sum, block) => sum + block.lengthBytes, 0),
      content,
      ...newBlobFields(request, loaded, nowMs),
    };
    const keeping = content.kind === 'layout' ? content.id : null;
    if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging, keeping });
    return written(await replaceBlob(tx, storage, loaded, { record, keeping, nowMs }));
  });
}

/** A blob's blocks are all sealed with one key. */
function refuseOtherKey(stored: BlobRecord | StagingRecord | null, { key = null }: BlobRequest): void {
  const code = refuseKey(stored?.encryption, key?.sha256 ?? null);
  if (code !== null) throw new StorageError(code);
}

function storeLayout(tx: Transaction, storage: Storage, blocks: readonly LayoutBlock[]): BlobContent {
  const [first] = blocks;
  if (first === undefined) return { kind: 'empty' };
  const id = storage.ids.next();
  tx.put(layoutKey(id), encodeLayout(blocks));
  return { kind: 'layout', id, blockIdBytes: blockIdLengthBytes(first.blockId) as number };
}

async function loadCommitted(tx: Transaction, content: BlobContent | null): Promise<Map<string, LayoutBlock>> {
  if (content?.kind !== 'layout' || content.hidesBlocks === true) return new Map();
  const value = await tx.get(layoutKey(content.id));
  if (value === null) throw new UnreadableRecord(`the block list ${content.id} has no record`);
  return new Map(decodeLayout(value).map((block) => [block.blockId, block]));
}

async function loadStaged(
  tx: Transaction,
  staging: StagingRecord | null,
  entries: readonly BlockListEntry[],
): Promise<Map<string, LayoutBlock>> {
  const staged = new Map<string, LayoutBlock>();
  if (staging === null) return staged;
  const wanted = [...new Set(entries.filter((entry) => entry.kind !== 'committed').map((entry) => entry.id))];
  for (let at = 0; at < wanted.length; at += LOOK_UP_STEP) {
    if (at > 0) await nextTurn();
    const step = wanted.slice(at, at + LOOK_UP_STEP);
    const values = await tx.getMany(step.map((id) => stagedBlockKey(staging.id, id)));
    for (const [index, value] of values.entries()) {
      if (value === null) continue;
      const blockId = step[index] as string;
      const { extent, lengthBytes } = decodeJson<StagedBlock>(value);
      staged.set(blockId, { blockId, extent, lengthBytes });
    }
  }
  return staged;
}
