/**
 * Undelete Blob: everything that soft delete still keeps of a name comes back at once. The newest deleted state becomes
 * the blob, unless there is one; other states become snapshots; deleted snapshots and versions are live again. ETags and
 * times are as they were; leases ended with the deletion. https://learn.microsoft.com/rest/api/storageservices/undelete-blob
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import { formatMoment, type Moment, nextMoment, parseMoment } from '../../rules/moment.ts';
import { isGone } from '../../rules/retention.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { type BlobAddress, type PastKind, parseBlobKey, pastKey, pastRange } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobName, type LoadedToWrite, loadBlobToWrite } from './load.ts';
import { putBlob, putPast } from './store-blob.ts';

const STEP_RECORDS = 500;

export async function undeleteBlob(storage: Storage, name: BlobName): Promise<void> {
  await transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlobToWrite(tx, storage, name, nowMs);
    if (loaded.container === null) throw new StorageError('ContainerNotFound');
    const all = await loadPast(tx, loaded.address);
    const past = all.filter(({ record: { deleted } }) => deleted === undefined || !isGone(deleted, nowMs));
    if (loaded.blob === null && past.length === 0) throw new StorageError('BlobNotFound');
    // Also by those that are gone, and stand there until they are cleared away.
    const taken = new Set(all.filter(({ kind }) => kind === 'snapshot').map(({ moment }) => moment));
    restore(tx, storage, { loaded, past, taken, nowMs });
  });
}

interface PastState {
  readonly key: Uint8Array;
  readonly kind: PastKind;
  readonly moment: Moment;
  readonly record: BlobRecord;
}

/** Oldest first in each kind. */
async function loadPast(tx: Transaction, address: BlobAddress): Promise<PastState[]> {
  const found: PastState[] = [];
  // The kinds follow each other.
  const everything = { from: pastRange(address, 'snapshot').from, to: pastRange(address, 'deleted').to };
  for await (const entries of scanSteps(tx, everything, STEP_RECORDS)) {
    for (const { key, value } of entries) {
      const { kind, moment } = parseBlobKey(key);
      if (kind === 'blob' || kind === 'staging') continue;
      found.push({ key, kind, moment, record: decodeJson<BlobRecord>(value) });
    }
  }
  return found;
}

function restore(
  tx: Transaction,
  storage: Storage,
  restored: { loaded: LoadedToWrite; past: readonly PastState[]; taken: Set<Moment>; nowMs: number },
): void {
  const { loaded, past, taken, nowMs } = restored;
  const deleted = past.filter(({ record }) => record.deleted !== undefined);
  const states = deleted.filter(({ kind }) => kind === 'deleted');
  const base = loaded.blob === null ? (states.at(-1) ?? null) : null;
  for (const { key, kind, moment, record } of deleted) {
    if (kind === 'deleted') tx.delete(key);
    if (key === base?.key) continue;
    const at = kind === 'deleted' ? pastKey(loaded.address, 'snapshot', freeMoment(moment, taken)) : key;
    putPast(tx, { key: at, record: alive(record, nowMs) });
  }
  const blob = loaded.blob ?? (base === null ? null : alive(base.record, nowMs));
  if (blob !== null && deleted.length > 0) putBlob(tx, storage, loaded, { ...blob, hasOthers: true });
}

/** The time of the deletion, or right behind the snapshots taken at that very time. */
function freeMoment(moment: Moment, taken: Set<Moment>): Moment {
  let free = moment;
  while (taken.has(free)) free = formatMoment(nextMoment(parseMoment(free), 0));
  taken.add(free);
  return free;
}

/** What had expired before it was deleted, or since, would be gone again at once. */
function alive(stored: BlobRecord, nowMs: number): BlobRecord {
  const { deleted: _, expiresMs, ...record } = stored;
  return expiresMs === undefined || expiresMs <= nowMs ? record : { ...record, expiresMs };
}
