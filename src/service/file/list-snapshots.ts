/** The snapshots of one share, as SMB clients list them. */
import type { Moment } from '../../rules/moment.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { loadShare, type ShareName, treeOf } from './load.ts';
import { snapshotsOf } from './snapshot-share.ts';

/** Newest first. */
export async function listSnapshots(storage: Storage, name: ShareName): Promise<readonly Moment[]> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    const share = await loadShare(reader, name);
    const snapshots = await snapshotsOf(reader, treeOf(name, share));
    return snapshots.map(({ moment }) => moment).toReversed();
  });
}
