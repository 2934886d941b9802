import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { TestShare } from '../../../test/harness/file-store.ts';
import { type FileTime, parseFileTime } from '../../rules/file-time.ts';
import type { Moment } from '../../rules/moment.ts';
import { encodeJson } from '../records/codec.ts';
import { snapshotKey } from '../records/file-keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { findSnapshotAt } from './find-snapshot-at.ts';
import { listSnapshots } from './list-snapshots.ts';
import { loadShare, treeOf } from './load.ts';

let share: TestShare;

beforeEach(async () => {
  share = await TestShare.create();
});

afterEach(() => share.store.close());

const fileTimeOf = (moment: string): FileTime => parseFileTime(moment) as FileTime;

const find = (time: FileTime): Promise<Moment | null> =>
  share.store.storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    return findSnapshotAt(reader, treeOf(share.name, await loadShare(reader, share.name)), time);
  });

test('a snapshot is found by the time of its name, to the tick and to the second', async () => {
  const [first, second] = [await share.snapshot(), await share.snapshot()];
  assert.equal(await find(fileTimeOf(first)), first);
  assert.equal(await find(fileTimeOf(second)), second);
  assert.equal(await find(fileTimeOf(first.replace('.0000000Z', '.9999999Z'))), first);
});

test('before the first snapshot, behind the last one, and in a share that has none, there is none', async () => {
  assert.equal(await find('0'), null);
  const moment = await share.snapshot();
  const time = BigInt(fileTimeOf(moment));
  assert.equal(await find(String(time - 1n)), null);
  assert.equal(await find(String(time + 10_000_000n)), null);
  assert.equal(await find('0'), null);
});

test('of several in one second it is the one of exactly that time, or else the newest', async () => {
  const { storage } = share.store;
  const moment = await share.snapshot();
  const later = moment.replace('.0000000Z', '.5000000Z');
  const tree = await storage.readers.inSnapshot(async (snapshot) =>
    treeOf(share.name, await loadShare(snapshotReader(snapshot), share.name)),
  );
  await storage.engine.commit({
    checks: [],
    puts: [{ key: snapshotKey(tree, later), value: encodeJson({ epoch: 0 }) }],
    deletes: [],
  });
  assert.equal(await find(fileTimeOf(moment)), moment);
  assert.equal(await find(fileTimeOf(later)), later);
  assert.equal(await find(fileTimeOf(moment.replace('.0000000Z', '.3000000Z'))), later);
});

test('the snapshots of a share are listed from the newest on', async () => {
  assert.deepEqual(await listSnapshots(share.store.storage, share.name), []);
  const moments = [await share.snapshot(), await share.snapshot(), await share.snapshot()];
  assert.deepEqual(await listSnapshots(share.store.storage, share.name), moments.toReversed());
});
