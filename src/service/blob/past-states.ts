/** Snapshots and versions on their way out: found, and removed or marked as deleted. */
import type { Transaction } from '../../engine/transact.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { type BlobAddress, pastRange } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { putDeleted } from './store-blob.ts';

const STEP_RECORDS = 500;

export interface PastState {
  readonly key: Uint8Array;
  readonly record: BlobRecord;
}

/** Those that are not deleted already. */
export async function liveSnapshots(
  tx: Transaction,
  { address, blob }: { address: BlobAddress; blob: BlobRecord | null },
): Promise<PastState[]> {
  const found: PastState[] = [];
  if (!mayHaveSnapshots(blob)) return found;
  for await (const entries of scanSteps(tx, pastRange(address, 'snapshot'), STEP_RECORDS)) {
    for (const { key, value } of entries) {
      const record = decodeJson<BlobRecord>(value);
      if (record.deleted === undefined) found.push({ key, record });
    }
  }
  return found;
}

/** A current version may have come to a name whose snapshots were there before: undeleted without a blob of theirs. */
const mayHaveSnapshots = (blob: BlobRecord | null): boolean =>
  blob !== null && (blob.hasOthers === true || blob.versionId !== undefined);

/** For good, or to be had back for as long as the account keeps what is deleted. */
export async function removePast(
  tx: Transaction,
  storage: Storage,
  { states, retentionDays, nowMs }: { states: readonly PastState[]; retentionDays: number | null; nowMs: number },
): Promise<void> {
  if (retentionDays !== null) {
    for (const state of states) putDeleted(tx, storage, { ...state, days: retentionDays, nowMs });
    return;
  }
  await storage.extents.dropAll(
    tx,
    states.map(({ record }) => record),
  );
  for (const { key } of states) tx.delete(key);
}
