/**
 * The parts of a copy under way: durable, and named by rows, so that a restart goes on behind the last of them. Those of
 * a block blob stand as blocks staged under the job's own id, those of an append blob as the list that the blob will
 * have. Only who holds the job's claim adds to them.
 */
import type { Id } from '../../base/ids.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import { contentOf, type Extents, type StagedExtent } from '../extents/extents.ts';
import type { AppendedBlock, BlobContent, StagedBlock } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import {
  appendedBlockKey,
  appendedListRange,
  layoutKey,
  stagedBlockIdOf,
  stagedBlockKey,
  stagedBlockRange,
} from '../records/keys.ts';
import { encodeLayout, type LayoutBlock } from '../records/layout.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import type { FetchBlobJob } from './copy-job.ts';

const STEP_RECORDS = 1_000;
/** As many digits as the largest number of parts has. */
const PART_ID_DIGITS = 6;

export interface Parts {
  readonly count: number;
  readonly bytes: number;
  /** Of a block blob. */
  readonly blocks: readonly LayoutBlock[];
}

export const NO_PARTS: Parts = { count: 0, bytes: 0, blocks: [] };

export async function loadParts(engine: Engine, { type, partsId }: FetchBlobJob): Promise<Parts> {
  const range = type === 'AppendBlob' ? appendedListRange(partsId) : stagedBlockRange(partsId);
  const blocks: LayoutBlock[] = [];
  let count = 0;
  let bytes = 0;
  for await (const entries of scanSteps(freshSnapshots(engine), range, STEP_RECORDS)) {
    for (const { key, value } of entries) {
      const { extent, lengthBytes } = decodeJson<AppendedBlock | StagedBlock>(value);
      count++;
      bytes += lengthBytes;
      if (type === 'BlockBlob') blocks.push({ blockId: stagedBlockIdOf(key), extent, lengthBytes });
    }
  }
  return { count, bytes, blocks };
}

/** The parts with one more, which the transaction makes durable. */
export function putPart(
  tx: Transaction,
  extents: Extents,
  { job, parts, extent, nowMs }: { job: FetchBlobJob; parts: Parts; extent: StagedExtent; nowMs: number },
): Parts {
  const { count, bytes } = parts;
  const { ref, lengthBytes } = extent;
  const blockId = String(count).padStart(PART_ID_DIGITS, '0');
  extents.publish(tx, extent);
  if (job.type === 'AppendBlob') {
    tx.put(appendedBlockKey(job.partsId, bytes), encodeJson({ extent: ref, lengthBytes } satisfies AppendedBlock));
  } else {
    const block: StagedBlock = { extent: ref, lengthBytes, stagedMs: nowMs };
    tx.put(stagedBlockKey(job.partsId, blockId), encodeJson(block));
  }
  const blocks = job.type === 'BlockBlob' ? [...parts.blocks, { blockId, extent: ref, lengthBytes }] : [];
  return { count: count + 1, bytes: bytes + lengthBytes, blocks };
}

/** Makes the content of the copy from its parts and the last one, which is in no row yet. */
export function joinParts(
  tx: Transaction,
  extents: Extents,
  joined: { job: FetchBlobJob; parts: Parts; last: StagedExtent | null; layoutId: Id; nowMs: number },
): BlobContent {
  const { job, parts, last, layoutId, nowMs } = joined;
  if (job.type === 'AppendBlob') {
    const { count, bytes } = last === null ? parts : putPart(tx, extents, { job, parts, extent: last, nowMs });
    const lists = count === 0 ? [] : [{ id: job.partsId, endBytes: bytes }];
    return { kind: 'appended', lists, blockCount: count };
  }
  if (last !== null) extents.publish(tx, last);
  if (parts.count === 0 || last === null) return contentOf(last);
  const blockId = String(parts.count).padStart(PART_ID_DIGITS, '0');
  const blocks = [...parts.blocks, { blockId, extent: last.ref, lengthBytes: last.lengthBytes }];
  tx.put(layoutKey(layoutId), encodeLayout(blocks));
  extents.dropStaging(tx, job.partsId, layoutId);
  return { kind: 'layout', id: layoutId, blockIdBytes: PART_ID_DIGITS, hidesBlocks: true };
}

/** The copy will not be. */
export function dropParts(tx: Transaction, extents: Extents, { type, partsId }: FetchBlobJob): void {
  if (type === 'AppendBlob') extents.discardLater(tx, { kind: 'list', id: partsId });
  else extents.dropStaging(tx, partsId);
}
