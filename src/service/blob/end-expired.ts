/**
 * A blob whose time has come (Set Blob Expiry) goes as Delete Blob would have it go: with its snapshots, and to be had
 * back where the account keeps versions or what is deleted. A snapshot that a policy or a hold protects stays.
 */
import type { Transaction } from '../../engine/transact.ts';
import { refuseChange } from '../../rules/immutability.ts';
import type { Storage } from '../storage.ts';
import { liveSnapshots, removePast } from './past-states.ts';
import { type Removed, removeBlob } from './store-blob.ts';

export async function endExpired(tx: Transaction, storage: Storage, expired: Removed, nowMs: number): Promise<void> {
  const snapshots = await liveSnapshots(tx, expired);
  const states = snapshots.filter(({ record }) => refuseChange(record.immutability ?? {}, nowMs) === null);
  await removePast(tx, storage, { states, retentionDays: expired.retentionDays, nowMs });
  await removeBlob(tx, storage, expired, nowMs);
}
