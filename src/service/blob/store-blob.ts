/**
 * Writing a blob's record, and what becomes of the state before: an account that keeps versions keeps it as one, soft
 * delete keeps it for a while, otherwise its content is let go of. What is derived from records (the index of tags, the
 * rows that tell when something is due) is kept in step here and nowhere else.
 */
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import { formatMoment, type Moment, nextMoment, parseMoment } from '../../rules/moment.ts';
import type { Effect } from '../../rules/precedence.ts';
import { type Deleted, retentionUntil } from '../../rules/retention.ts';
import { noteDue } from '../due.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { type PastKind, parseBlobKey, pastKey, pastRange } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import type { LoadedBlob, LoadedToWrite } from './load.ts';
import { indexTags } from './tag-index.ts';

/** For the rules: whether an operation that puts another state in place of the blob's keeps the one before for good. */
export const replacing = (storage: Storage, { address, blob }: LoadedToWrite): Effect =>
  keepsAsVersion(storage, address.account, blob) ? 'replacesKept' : 'replaces';

/** One that was given as a version stays one, though the account may have ceased to keep versions since. */
const keepsAsVersion = (storage: Storage, account: string, before: BlobRecord | null): boolean =>
  storage.settings(account).keepsVersions || before?.versionId !== undefined;

/**
 * Puts a new state in place of the blob's, with a content of its own. `keeping` is a layout that took over some of the
 * old one's extents.
 */
export async function replaceBlob(
  tx: Transaction,
  storage: Storage,
  loaded: LoadedToWrite,
  { record, keeping = null, nowMs }: { record: BlobRecord; keeping?: Id | null; nowMs: number },
): Promise<BlobRecord> {
  const before = loaded.blob;
  const isKept = before !== null && (await letGo(tx, storage, loaded, { nowMs, keeping }));
  // Not before the old state has an id of its own, which this one is to be behind.
  const { keepsVersions } = storage.settings(loaded.address.account);
  const versionId = keepsVersions ? await nextVersionId(tx, loaded, nowMs) : null;
  const hasOthers = isKept || before?.hasOthers === true;
  const sharesExtents = keeping !== null && (isKept || before?.isShared === true);
  const stored: BlobRecord = {
    ...record,
    ...(versionId === null ? {} : { versionId }),
    ...(hasOthers ? { hasOthers } : {}),
    ...(sharesExtents ? { isShared: true } : {}),
  };
  putBlob(tx, storage, loaded, stored);
  return stored;
}

/** Changes the blob in place: content, properties or what is noted about it. */
export function putBlob(tx: Transaction, storage: Storage, loaded: LoadedToWrite, record: BlobRecord): void {
  const { address, blob, keys } = loaded;
  if (record.immutability !== undefined) noteImmutable(tx, loaded);
  indexTags(tx, address, { before: blob?.tags, after: record.tags });
  if (record.expiresMs !== undefined && record.expiresMs !== blob?.expiresMs) {
    noteDue(tx, storage.ids, { dueMs: record.expiresMs, blobKey: keys.blob });
  }
  tx.put(keys.blob, encodeJson(record));
}

/** So that whoever deletes the container knows that there is something to look for. */
export function noteImmutable(tx: Transaction, { container, containerKey }: LoadedBlob): void {
  if (container === null || container.mayHoldImmutable === true) return;
  tx.put(containerKey, encodeJson({ ...container, mayHoldImmutable: true }));
}

/** A blob, and how the account keeps what is deleted. */
export type Removed = Pick<LoadedToWrite, 'address' | 'blob' | 'keys' | 'retentionDays'>;

/** Removes the blob, as Delete Blob does; its snapshots are the caller's business. Whether it can be had back. */
export async function removeBlob(tx: Transaction, storage: Storage, loaded: Removed, nowMs: number): Promise<boolean> {
  const isKept = await letGo(tx, storage, loaded, { nowMs, keeping: null });
  indexTags(tx, loaded.address, { before: loaded.blob?.tags, after: undefined });
  tx.delete(loaded.keys.blob);
  return isKept;
}

/** Whether the state before lives on somewhere. */
async function letGo(
  tx: Transaction,
  storage: Storage,
  loaded: Removed,
  { nowMs, keeping }: { nowMs: number; keeping: Id | null },
): Promise<boolean> {
  const before = loaded.blob as BlobRecord;
  if (keepsAsVersion(storage, loaded.address.account, before)) {
    await keepAsVersion(tx, storage, loaded, { keeping });
    return true;
  }
  if (loaded.retentionDays !== null) {
    await keepAsDeleted(tx, storage, loaded, { nowMs, keeping, days: loaded.retentionDays });
    return true;
  }
  await storage.extents.drop(tx, before, keeping);
  return false;
}

/** A state from before the account kept versions gets the time of its last change as its id. */
async function keepAsVersion(
  tx: Transaction,
  storage: Storage,
  { address, blob }: Removed,
  { keeping }: { keeping: Id | null },
): Promise<void> {
  const before = blob as BlobRecord;
  const versionId = before.versionId ?? (await freeMoment(tx, address, 'version', before.lastModifiedMs));
  const kept = { ...before, ...storage.extents.keepBeside(tx, before, keeping), versionId };
  putPast(tx, { key: pastKey(address, 'version', versionId), record: kept });
}

async function keepAsDeleted(
  tx: Transaction,
  storage: Storage,
  { address, blob }: Removed,
  { nowMs, days, keeping }: { nowMs: number; days: number; keeping: Id | null },
): Promise<void> {
  const before = blob as BlobRecord;
  const key = pastKey(address, 'deleted', await freeMoment(tx, address, 'deleted', nowMs));
  const kept = { ...before, ...storage.extents.keepBeside(tx, before, keeping) };
  putDeleted(tx, storage, { key, record: kept, days, nowMs });
}

/** Marks a past state as deleted, to be had back for so many days. */
export function putDeleted(
  tx: Transaction,
  storage: Storage,
  { key, record, days, nowMs }: { key: Uint8Array; record: BlobRecord; days: number; nowMs: number },
): void {
  const deleted: Deleted = { atMs: nowMs, untilMs: retentionUntil(nowMs, days) };
  putPast(tx, { key, record: { ...record, deleted } });
  noteDue(tx, storage.ids, { dueMs: deleted.untilMs, blobKey: key });
}

/**
 * A past state has no lease, no others beside it, and does not end by itself. One that was deleted goes on to end when
 * it would have, once it is had back.
 */
export function putPast(tx: Transaction, { key, record }: { key: Uint8Array; record: BlobRecord }): void {
  const { hasOthers: _, expiresMs, ...past } = record;
  const ends = past.deleted === undefined || expiresMs === undefined ? {} : { expiresMs };
  tx.put(key, encodeJson({ ...past, ...ends, lease: AVAILABLE }));
}

/** Now, or right behind the newest one of its kind. */
export async function freeMoment(
  tx: Transaction,
  address: LoadedToWrite['address'],
  kind: PastKind,
  nowMs: number,
): Promise<Moment> {
  const [newest] = await tx.range(pastRange(address, kind), { limit: 1, reverse: true });
  const previous = newest === undefined ? null : parseMoment(parseBlobKey(newest.key).moment);
  return formatMoment(nextMoment(previous, nowMs));
}

/** The id of the version that a write makes. */
async function nextVersionId(tx: Transaction, { address, blob }: LoadedToWrite, nowMs: number): Promise<Moment> {
  // Versions that are there already are older than the current one.
  if (blob?.versionId === undefined) return freeMoment(tx, address, 'version', nowMs);
  return formatMoment(nextMoment(parseMoment(blob.versionId), nowMs));
}
