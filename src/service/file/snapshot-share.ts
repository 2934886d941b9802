/**
 * Snapshot Share: keeps the newest epoch of the tree and goes on at the next, whatever the share holds (keep-past.ts).
 * Snapshots are named by whole seconds, one each. Whoever asks more often gets the next second that is free: clients take
 * a 409 for an answer and do not ask again, and to them a moment is a name.
 */
import { transact } from '../../engine/transact.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import { formatMoment, type Moment, parseMoment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { shareKey, snapshotKey, snapshotMomentOf, snapshotsRange, type TreeAddress } from '../records/file-keys.ts';
import type { RangeReader } from '../records/scan.ts';
import type { ShareRecord, ShareSnapshotRecord } from '../records/share-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { loadShare, type ShareName, treeOf } from './load.ts';

export const SNAPSHOT_COUNT_MAX = 200;

const TICKS_PER_SECOND = 10_000_000n;

export interface ShareSnapshot {
  readonly moment: Moment;
  readonly snapshot: ShareSnapshotRecord;
}

/** `metadata`: null for the share's own. With metadata of its own, a snapshot has an ETag of its own, too. */
export async function snapshotShare(
  storage: Storage,
  { name, metadata }: { readonly name: ShareName; readonly metadata: Metadata | null },
): Promise<ShareSnapshot> {
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const share = await loadShare(tx, name);
    if (share.snapshotCount >= SNAPSHOT_COUNT_MAX) throw new StorageError('ShareSnapshotCountExceeded');
    const { etag, lastModifiedMs, quotaGiB, tier, tierChangedMs, epoch } = share;
    const moment = nextSecond(share.lastSnapshot ?? null, nowMs);
    const snapshot: ShareSnapshotRecord = {
      etag: metadata === null ? etag : storage.etags.next(etag, nowMs),
      lastModifiedMs: metadata === null ? lastModifiedMs : changedAt(lastModifiedMs, nowMs),
      metadata: metadata ?? share.metadata,
      quotaGiB,
      tier,
      tierChangedMs,
      lease: AVAILABLE,
      epoch,
    };
    const after: ShareRecord = {
      ...share,
      epoch: epoch + 1,
      keptEpoch: epoch,
      snapshotCount: share.snapshotCount + 1,
      lastSnapshot: moment,
    };
    tx.put(snapshotKey(treeOf(name, share), moment), encodeJson(snapshot));
    tx.put(shareKey(name.account, name.share), encodeJson(after));
    return { moment, snapshot };
  });
}

function nextSecond(last: Moment | null, nowMs: number): Moment {
  const now = BigInt(Math.floor(nowMs / 1000)) * TICKS_PER_SECOND;
  const free = last === null ? now : (parseMoment(last) as bigint) + TICKS_PER_SECOND;
  return formatMoment(free > now ? free : now);
}

/** Oldest first; so their epochs grow as well. */
export async function snapshotsOf(reader: RangeReader, tree: TreeAddress): Promise<ShareSnapshot[]> {
  const rows = await reader.range(snapshotsRange(tree), { limit: SNAPSHOT_COUNT_MAX });
  return rows.map(({ key, value }) => ({
    moment: snapshotMomentOf(key),
    snapshot: decodeJson<ShareSnapshotRecord>(value),
  }));
}
