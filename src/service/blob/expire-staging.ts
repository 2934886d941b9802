/**
 * Staged blocks that nobody commits are discarded one week after the last of them was staged. A row per staging, in
 * the order of due times, says when to look; whether the week is really over is judged by the blocks themselves.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import type { StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { expiryKey, expiryRange, stagedBlockRange } from '../records/keys.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';

export const STAGING_LIFE_MS = 7 * 24 * 60 * 60 * 1000;

const STEP_RECORDS = 1_000;

/** Names the staging head to look at, and the staging it held. */
interface ExpiryRecord {
  readonly headKey: string;
  readonly stagingId: string;
}

/** To be called where a staging begins. */
export function expectExpiry(tx: Transaction, headKey: Uint8Array, staging: StagingRecord): void {
  putExpiry(tx, { headKey: Buffer.from(headKey).toString('base64'), stagingId: staging.id }, staging.createdMs);
}

function putExpiry(tx: Transaction, record: ExpiryRecord, lastStagedMs: number): void {
  tx.put(expiryKey(lastStagedMs + STAGING_LIFE_MS, record.stagingId), encodeJson(record));
}

/** Discards what is due now; returns how many stagings went. */
export async function expireStaging(storage: Storage): Promise<number> {
  let count = 0;
  const due = expiryRange(storage.clock.nowMs());
  for await (const entries of scanSteps(freshSnapshots(storage.engine), due, STEP_RECORDS)) {
    for (const { key, value } of entries) {
      if (await expireOne(storage, key, decodeJson<ExpiryRecord>(value))) count++;
    }
  }
  return count;
}

async function expireOne(storage: Storage, key: Uint8Array, record: ExpiryRecord): Promise<boolean> {
  const headKey = Buffer.from(record.headKey, 'base64');
  return transact(storage.engine, async (tx) => {
    tx.delete(key);
    const head = await tx.get(headKey);
    // Committed, discarded, or deleted with its container since.
    if (head === null || decodeJson<StagingRecord>(head).id !== record.stagingId) return false;
    const lastStagedMs = await newestBlockMs(tx, decodeJson<StagingRecord>(head));
    if (lastStagedMs + STAGING_LIFE_MS > storage.clock.nowMs()) {
      putExpiry(tx, record, lastStagedMs);
      return false;
    }
    storage.extents.dropStaging(tx, record.stagingId);
    tx.delete(headKey);
    return true;
  });
}

async function newestBlockMs(tx: Transaction, staging: StagingRecord): Promise<number> {
  let newestMs = staging.createdMs;
  for await (const entries of scanSteps(tx, stagedBlockRange(staging.id), STEP_RECORDS)) {
    for (const entry of entries) newestMs = Math.max(newestMs, decodeJson<StagedBlock>(entry.value).stagedMs);
  }
  return newestMs;
}
