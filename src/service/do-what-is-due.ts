/** Clears away what has ended by itself and was not met by any request since: see due.ts. */
import { EngineUnavailable, type Entry } from '../engine/engine.ts';
import { transact } from '../engine/transact.ts';
import { isGone } from '../rules/retention.ts';
import { endExpired } from './blob/end-expired.ts';
import { retentionDaysOf } from './blob/load.ts';
import { expireStaging } from './blob/staging.ts';
import type { DueRecord } from './due.ts';
import type { BlobRecord } from './records/blob-record.ts';
import { decodeJson } from './records/codec.ts';
import type { ContainerRecord } from './records/container-record.ts';
import { accountOf, blobKeys, expiryRange, parseBlobKey, servicePropertiesKey } from './records/keys.ts';
import { freshSnapshots, scanSteps } from './records/scan.ts';
import type { ShareRecord } from './records/share-record.ts';
import type { Storage } from './storage.ts';

const STEP_RECORDS = 1_000;

/** Returns how much went. A row that cannot be dealt with is thrown about at the end: it must not keep the others. */
export async function doWhatIsDue(storage: Storage): Promise<number> {
  let count = 0;
  const failures: unknown[] = [];
  const due = expiryRange(storage.clock.nowMs());
  for await (const entries of scanSteps(freshSnapshots(storage.engine), due, STEP_RECORDS)) {
    for (const entry of entries) {
      try {
        if (await doOne(storage, entry)) count++;
      } catch (error) {
        if (error instanceof EngineUnavailable) throw error;
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
  return count;
}

async function doOne(storage: Storage, { key, value }: Entry): Promise<boolean> {
  const record = decodeJson<DueRecord>(value);
  if ('stagingId' in record) return expireStaging(storage, key, record);
  if ('blobKey' in record) return endBlob(storage, key, Buffer.from(record.blobKey, 'base64'));
  if ('shareKey' in record) return endShare(storage, key, Buffer.from(record.shareKey, 'base64'));
  return endContainer(storage, key, Buffer.from(record.containerKey, 'base64'));
}

/** A deleted state that cannot be had back any more, or a blob that has expired. */
async function endBlob(storage: Storage, key: Uint8Array, blobKey: Uint8Array): Promise<boolean> {
  return transact(storage.engine, async (tx) => {
    tx.delete(key);
    const value = await tx.get(blobKey);
    if (value === null) return false;
    const record = decodeJson<BlobRecord>(value);
    const nowMs = storage.clock.nowMs();
    // Restored, written again or given more time since: then another row tells when.
    if (!isOver(record, nowMs)) return false;
    const address = parseBlobKey(blobKey);
    if (address.kind === 'blob') {
      const retentionDays = retentionDaysOf(await tx.get(servicePropertiesKey(address.account, 'b')));
      await endExpired(tx, storage, { address, keys: blobKeys(address), blob: record, retentionDays }, nowMs);
      return true;
    }
    await storage.extents.drop(tx, record);
    tx.delete(blobKey);
    return true;
  });
}

const isOver = ({ deleted, expiresMs = Infinity }: BlobRecord, nowMs: number): boolean =>
  deleted === undefined ? expiresMs <= nowMs : isGone(deleted, nowMs);

async function endContainer(storage: Storage, key: Uint8Array, containerKey: Uint8Array): Promise<boolean> {
  return transact(storage.engine, async (tx) => {
    tx.delete(key);
    const value = await tx.get(containerKey);
    const container = value === null ? null : decodeJson<ContainerRecord>(value);
    if (container?.deleted === undefined || !isGone(container.deleted, storage.clock.nowMs())) return false;
    storage.extents.dropContainer(tx, accountOf(containerKey), container.id);
    tx.delete(containerKey);
    return true;
  });
}

async function endShare(storage: Storage, key: Uint8Array, shareKey: Uint8Array): Promise<boolean> {
  return transact(storage.engine, async (tx) => {
    tx.delete(key);
    const value = await tx.get(shareKey);
    const share = value === null ? null : decodeJson<ShareRecord>(value);
    if (share?.deleted === undefined || !isGone(share.deleted, storage.clock.nowMs())) return false;
    storage.extents.discardLater(tx, { kind: 'tree', account: accountOf(shareKey), id: share.id });
    tx.delete(shareKey);
    return true;
  });
}
