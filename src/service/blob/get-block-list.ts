/** Get Block List: the committed blocks in the blob's order, the staged ones by name. */
import type { Snapshot } from '../../engine/engine.ts';
import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import type { BlobRecord, StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, UnreadableRecord } from '../records/codec.ts';
import { layoutKey, stagedBlockIdOf, stagedBlockRange } from '../records/keys.ts';
import { decodeLayout } from '../records/layout.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { type BlobRequest, loadBlob, loadCommittedBlob, refuse, situation } from './load.ts';

const STEP_RECORDS = 1_000;

export interface NamedBlock {
  readonly blockId: string;
  readonly lengthBytes: number;
}

export interface BlockList {
  /** Null while nothing is committed. */
  readonly blob: BlobRecord | null;
  readonly committed: readonly NamedBlock[];
  readonly uncommitted: readonly NamedBlock[];
}

export async function getBlockList(
  storage: Storage,
  request: BlobRequest & { type: 'committed' | 'uncommitted' | 'all' },
): Promise<BlockList> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const reader = snapshotReader(snapshot);
    const at = { nowMs, known: storage.known };
    const isPast = request.at != null;
    const loaded = await (isPast ? loadCommittedBlob(reader, request, at) : loadBlob(reader, request.name, at));
    const asked = situation(loaded, request, nowMs);
    refuse(refuseBlobReadOperation({ ...asked, requiredType: 'BlockBlob', acceptsUncommitted: true }));
    return {
      blob: loaded.blob,
      committed: request.type === 'uncommitted' ? [] : await loadCommitted(snapshot, loaded.blob),
      uncommitted: request.type === 'committed' ? [] : await loadStaged(snapshot, loaded.staging),
    };
  });
}

async function loadCommitted(snapshot: Snapshot, blob: BlobRecord | null): Promise<NamedBlock[]> {
  if (blob?.content.kind !== 'layout' || blob.content.hidesBlocks === true) return [];
  const [entry] = await snapshot.get([layoutKey(blob.content.id)]);
  if (!entry) throw new UnreadableRecord(`the block list ${blob.content.id} has no record`);
  return decodeLayout(entry.value);
}

async function loadStaged(snapshot: Snapshot, staging: StagingRecord | null): Promise<NamedBlock[]> {
  if (staging === null) return [];
  const blocks: NamedBlock[] = [];
  for await (const entries of scanSteps(snapshot, stagedBlockRange(staging.id), STEP_RECORDS)) {
    for (const { key, value } of entries) {
      blocks.push({ blockId: stagedBlockIdOf(key), lengthBytes: decodeJson<StagedBlock>(value).lengthBytes });
    }
  }
  return blocks;
}
