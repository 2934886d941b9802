/**
 * A blob whose time has come (Set Blob Expiry) goes as Delete Blob would have it go: with its snapshots, and to be had
 * back where the account keeps versions or what is deleted. A snapshot that a policy or a hold protects stays.
 */
import type { Transaction } from '../../engine/transact.ts';
import { refuseChange } from '../../rules/immutability.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { pastRange } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { putDeleted, type Removed, removeBlob } from './store-blob.ts';

const STEP_RECORDS = 500;

export async function endExpired(tx: Transaction, storage: Storage, expired: Removed, nowMs: number): Promise<void> {
  if (expired.blob?.hasOthers === true) await endSnapshots(tx, storage, expired, nowMs);
  await removeBlob(tx, storage, expired, nowMs);
}

async function endSnapshots(
  tx: Transaction,
  storage: Storage,
  { address, retentionDays }: Removed,
  nowMs: number,
): Promise<void> {
  for await (const entries of scanSteps(tx, pastRange(address, 'snapshot'), STEP_RECORDS)) {
    const live = entries
      .map(({ key, value }) => ({ key, record: decodeJson<BlobRecord>(value) }))
      .filter(({ record }) => record.deleted === undefined && refuseChange(record.immutability ?? {}, nowMs) === null);
    if (retentionDays !== null) {
      for (const snapshot of live) putDeleted(tx, storage, { ...snapshot, days: retentionDays, nowMs });
      continue;
    }
    await storage.extents.dropAll(
      tx,
      live.map(({ record }) => record),
    );
    for (const { key } of live) tx.delete(key);
  }
}
