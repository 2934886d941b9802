/** Snapshots of a share by the time that an SMB client asks for: of file times, or of names that go to the second. */
import type { FileTime } from '../../rules/file-time.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { type Moment, parseMoment } from '../../rules/moment.ts';
import type { TreeAddress } from '../records/file-keys.ts';
import type { RangeReader } from '../records/scan.ts';
import { snapshotsOf } from './snapshot-share.ts';

const TICKS_PER_SECOND = 10_000_000n;
const UNIX_EPOCH = BigInt(fileTimeAt(0));

/** The one of exactly this time, or else the newest of this second; null: there is none. */
export async function findSnapshotAt(
  reader: RangeReader,
  tree: TreeAddress,
  fileTime: FileTime,
): Promise<Moment | null> {
  const wanted = BigInt(fileTime) - UNIX_EPOCH;
  const moments = (await snapshotsOf(reader, tree)).map(({ moment }) => ({
    moment,
    ticks: parseMoment(moment) ?? -1n,
  }));
  const found =
    moments.find(({ ticks }) => ticks === wanted) ??
    moments.findLast(({ ticks }) => ticks / TICKS_PER_SECOND === wanted / TICKS_PER_SECOND);
  return found?.moment ?? null;
}
