/**
 * The life of a staging: it begins with a blob's first staged block and ends when its blocks are committed or discarded,
 * or one week after the last of them was staged. That it has expired is derived whenever it is read; a row per staging,
 * in the order of due times, tells where to look for those that nobody reads any more.
 */
import type { Id } from '../../base/ids.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { DueRecord } from '../due.ts';
import type { Extents } from '../extents/extents.ts';
import type { StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { expiryKey, stagedBlockRange } from '../records/keys.ts';
import { type RangeReader, scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';

export const STAGING_LIFE_MS = 7 * 24 * 60 * 60 * 1000;

const STEP_RECORDS = 1_000;

type StagingDue = Extract<DueRecord, { stagingId: string }>;

export function beginStaging(tx: Transaction, headKey: Uint8Array, staging: StagingRecord): void {
  tx.put(headKey, encodeJson(staging));
  putExpiry(tx, { headKey: Buffer.from(headKey).toString('base64'), stagingId: staging.id }, staging.createdMs);
}

/** An upload that goes on for more than a week starts a new one, so that its blocks need not be looked at each time. */
export function keepAlive(
  tx: Transaction,
  { headKey, staging, nowMs }: { headKey: Uint8Array; staging: StagingRecord; nowMs: number },
): void {
  if (nowMs >= staging.createdMs + STAGING_LIFE_MS) beginStaging(tx, headKey, { ...staging, createdMs: nowMs });
}

/** `keeping` is the layout that took over some of its blocks. */
export function endStaging(
  tx: Transaction,
  extents: Extents,
  ended: { headKey: Uint8Array; staging: StagingRecord; keeping?: Id | null },
): void {
  const { headKey, staging, keeping = null } = ended;
  extents.dropStaging(tx, staging.id, keeping);
  tx.delete(headKey);
  tx.delete(expiryKey(staging.createdMs + STAGING_LIFE_MS, staging.id));
}

export async function hasExpired(reader: RangeReader, staging: StagingRecord, nowMs: number): Promise<boolean> {
  // Only a staging that began a week ago can have ended its week, so its blocks are hardly ever looked at.
  if (nowMs < staging.createdMs + STAGING_LIFE_MS) return false;
  return nowMs >= (await newestBlockMs(reader, staging)) + STAGING_LIFE_MS;
}

function putExpiry(tx: Transaction, record: StagingDue, lastStagedMs: number): void {
  tx.put(expiryKey(lastStagedMs + STAGING_LIFE_MS, record.stagingId), encodeJson(record));
}

/** Looks at a staging whose week seems to be over; whether it went. */
export async function expireStaging(storage: Storage, key: Uint8Array, record: StagingDue): Promise<boolean> {
  const headKey = Buffer.from(record.headKey, 'base64');
  return transact(storage.engine, async (tx) => {
    tx.delete(key);
    const head = await tx.get(headKey);
    const staging = head === null ? null : decodeJson<StagingRecord>(head);
    // Committed, discarded, or deleted with its container since.
    if (staging?.id !== record.stagingId) return false;
    if (!(await hasExpired(tx, staging, storage.clock.nowMs()))) {
      putExpiry(tx, record, await newestBlockMs(tx, staging));
      return false;
    }
    endStaging(tx, storage.extents, { headKey, staging });
    return true;
  });
}

async function newestBlockMs(reader: RangeReader, staging: StagingRecord): Promise<number> {
  let newestMs = staging.createdMs;
  for await (const entries of scanSteps(reader, stagedBlockRange(staging.id), STEP_RECORDS)) {
    for (const entry of entries) newestMs = Math.max(newestMs, decodeJson<StagedBlock>(entry.value).stagedMs);
  }
  return newestMs;
}
