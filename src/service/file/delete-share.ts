/**
 * Delete Share: gone at once with all it holds, whatever leases its files have, and the name is free. Kept with its
 * snapshots for as long as the account keeps deleted shares; swept later (sweep-tree.ts). A snapshot is never kept.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import { retentionUntil } from '../../rules/retention.ts';
import { type DeleteSnapshots, refuseShareDelete } from '../../rules/share-precedence.ts';
import { noteDue } from '../due.ts';
import { encodeJson } from '../records/codec.ts';
import { deletedShareKey, shareKey, shareUsesRange, snapshotKey } from '../records/file-keys.ts';
import { servicePropertiesKey } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { shareRetentionDaysOf } from '../service-properties.ts';
import type { Storage } from '../storage.ts';
import { invalidQuery, StorageError } from '../storage-error.ts';
import { loadShare, loadSnapshot, type ShareName, treeOf } from './load.ts';
import { type ShareSnapshot, snapshotsOf } from './snapshot-share.ts';
import type { ShareRequest } from './use-share.ts';

const STEP_RECORDS = 1_000;

export interface DeleteShareRequest extends ShareRequest {
  readonly deleteSnapshots: DeleteSnapshots | null;
}

export async function deleteShare(storage: Storage, request: DeleteShareRequest): Promise<void> {
  const { name, snapshot } = request;
  if (snapshot !== null && request.deleteSnapshots !== null) {
    throw invalidQuery('sharesnapshot', snapshot, 'A snapshot has no snapshots to delete.');
  }
  await transact(storage.engine, async (tx) => {
    const share = await loadShare(tx, name);
    if (snapshot === null) await deleteBase(tx, storage, { request, share });
    else await deleteSnapshot(tx, storage, { request, share, moment: snapshot });
  });
}

type Deletion = { readonly request: DeleteShareRequest; readonly share: ShareRecord };

async function deleteBase(tx: Transaction, storage: Storage, { request, share }: Deletion): Promise<void> {
  const { name } = request;
  const tree = treeOf(name, share);
  const nowMs = storage.clock.nowMs();
  const snapshots = share.snapshotCount === 0 ? [] : await snapshotsOf(tx, tree);
  const snapshotLeases = snapshots.map(({ snapshot: { lease } }) => lease);
  const refusal = refuseShareDelete({ ...request, lease: share.lease, snapshotLeases, nowMs });
  if (refusal !== null) throw new StorageError(refusal);
  const days = shareRetentionDaysOf(await tx.get(servicePropertiesKey(name.account, 'f')));
  if (days === null) storage.extents.discardLater(tx, { kind: 'tree', account: name.account, id: share.id });
  else keepDeleted(tx, storage, { name, share, snapshots, nowMs, untilMs: retentionUntil(nowMs, days) });
  tx.delete(shareKey(name.account, name.share));
  await endUses(tx, share);
}

/** Leases end; the tree stays as it is, where nobody finds it without the share. */
function keepDeleted(
  tx: Transaction,
  storage: Storage,
  {
    name,
    share,
    snapshots,
    nowMs,
    untilMs,
  }: { name: ShareName; share: ShareRecord; snapshots: readonly ShareSnapshot[]; nowMs: number; untilMs: number },
): void {
  const key = deletedShareKey(name.account, name.share, share.id);
  const record: ShareRecord = { ...share, lease: AVAILABLE, deleted: { atMs: nowMs, untilMs } };
  tx.put(key, encodeJson(record));
  for (const { moment, snapshot } of snapshots) {
    if (snapshot.lease.state === 'available') continue;
    tx.put(snapshotKey(treeOf(name, share), moment), encodeJson({ ...snapshot, lease: AVAILABLE }));
  }
  noteDue(tx, storage.ids, { dueMs: untilMs, shareKey: key });
}

/** Whoever has something of the share open loses it, on whichever node. */
async function endUses(tx: Transaction, { id }: ShareRecord): Promise<void> {
  for await (const entries of scanSteps(tx, shareUsesRange(id), STEP_RECORDS)) {
    for (const { key } of entries) tx.delete(key);
  }
}

async function deleteSnapshot(
  tx: Transaction,
  storage: Storage,
  { request: { name, leaseId }, share, moment }: Deletion & { readonly moment: Moment },
): Promise<void> {
  const tree = treeOf(name, share);
  const { lease, epoch } = await loadSnapshot(tx, tree, moment);
  const nowMs = storage.clock.nowMs();
  const refusal = refuseShareDelete({ lease, leaseId, nowMs, snapshotLeases: [], deleteSnapshots: null });
  if (refusal !== null) throw new StorageError(refusal);
  tx.delete(snapshotKey(tree, moment));
  const left = await snapshotsOf(tx, tree);
  const after: ShareRecord = {
    ...share,
    keptEpoch: left.at(-1)?.snapshot.epoch ?? 0,
    snapshotCount: left.length,
  };
  tx.put(shareKey(name.account, name.share), encodeJson(after));
  storage.extents.discardLater(tx, { kind: 'treeEpoch', account: name.account, id: share.id, epoch });
}
