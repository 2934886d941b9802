import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { treeOf } from './load.ts';
import { usedBytes } from './usage.ts';
import { type BaseShareRequest, readShare, type ShareRead } from './use-share.ts';

export interface ShareStats extends ShareRead {
  /** What the lengths of the share's files sum up to; snapshots do not count. */
  readonly usedBytes: number;
}

/** Get Share Stats: exact, as of one moment. */
export async function getShareStats(storage: Storage, request: BaseShareRequest): Promise<ShareStats> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    const read = await readShare(storage, reader, { ...request, snapshot: null });
    return { ...read, usedBytes: await usedBytes(reader, treeOf(request.name, read.base)) };
  });
}
