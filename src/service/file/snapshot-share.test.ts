import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { formatIso7 } from '../../base/http-date.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Moment } from '../../rules/moment.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { changeNode, moveNode, removeNode } from './keep-past.ts';
import { type FoundNode, findNode, refuseMissing } from './load.ts';
import { SNAPSHOT_COUNT_MAX, snapshotShare } from './snapshot-share.ts';
import { getShare, lookUpShare, setShareMetadata } from './use-share.ts';

const SECOND_MS = 1_000;

const stamp = (text: string) => ({ metadata: [['stamp', text]] as const });

async function open(t: TestContext): Promise<TestShare> {
  const share = await TestShare.create();
  t.after(() => share.store.close());
  return share;
}

const recordOf = async ({ store, name }: TestShare): Promise<ShareRecord> =>
  (await lookUpShare(store.storage, name)) as ShareRecord;

const changing = (
  { store, ...share }: TestShare,
  path: string,
  change: (tx: Transaction, found: FoundNode) => unknown,
) =>
  transact(store.engine, async (tx) => {
    const found = await findNode(tx, { ...share.name, path: path.split('/'), snapshot: null }, store.storage.known);
    refuseMissing(found);
    await change(tx, found);
  });

/** What a path is: its metadata, null where there is nothing. */
async function stampAt(share: TestShare, path: string, snapshot: Moment | null): Promise<string | null> {
  const view = share.store.engine.snapshot();
  try {
    const { node } = await findNode(snapshotReader(view), share.nameOf(path, snapshot), share.store.storage.known);
    return node === null ? null : `${node.kind} ${node.metadata[0]?.[1] ?? ''}`;
  } finally {
    view.close();
  }
}

test('the moments of snapshots are whole seconds, and grow by one where they are taken faster, or the clock is set back', async (t) => {
  const share = await open(t);
  const { clock } = share.store;
  clock.advance({ seconds: 1 - (clock.nowMs() % SECOND_MS) / SECOND_MS + 0.25 });
  const startMs = Math.floor(clock.nowMs() / SECOND_MS) * SECOND_MS;
  const wanted = (seconds: number) => formatIso7(startMs + seconds * SECOND_MS);
  assert.equal(await share.snapshot(), wanted(0));
  clock.advance({ seconds: 0.5 });
  assert.equal(await share.snapshot(), wanted(1));
  assert.deepEqual((await Promise.all([0, 1, 2].map(() => share.snapshot()))).sort(), [2, 3, 4].map(wanted));
  clock.advance({ seconds: 10 });
  assert.equal(await share.snapshot(), wanted(10));
  clock.advance({ seconds: -100 });
  assert.equal(await share.snapshot(), wanted(11));
  await share.deleteSnapshot(wanted(11));
  assert.equal(await share.snapshot(), wanted(12), 'the name of one that is gone is not given again');
});

test('without metadata a snapshot is its share as it was; with metadata it has an ETag of its own; the share stays', async (t) => {
  const share = await open(t);
  const { storage, clock } = share.store;
  await setShareMetadata(storage, { name: share.name, leaseId: null, metadata: [['k', 'own']] });
  const base = (await getShare(storage, { name: share.name, leaseId: null, snapshot: null })).share;
  clock.advance({ seconds: 5 });
  const plain = await snapshotShare(storage, { name: share.name, metadata: null });
  const noted = await snapshotShare(storage, { name: share.name, metadata: [['k', 'other']] });
  await setShareMetadata(storage, { name: share.name, leaseId: null, metadata: [] });
  const read = async (snapshot: Moment) =>
    (await getShare(storage, { name: share.name, leaseId: null, snapshot })).share;
  const { etag, lastModifiedMs, quotaGiB, tier } = base;
  for (const state of [plain.snapshot, await read(plain.moment)]) {
    assert.deepEqual(
      [state.etag, state.lastModifiedMs, state.metadata, state.quotaGiB, state.tier],
      [etag, lastModifiedMs, [['k', 'own']], quotaGiB, tier],
    );
  }
  for (const state of [noted.snapshot, await read(noted.moment)]) {
    assert.ok(state.etag > etag);
    assert.deepEqual([state.lastModifiedMs, state.metadata], [clock.nowMs(), [['k', 'other']]]);
  }
});

test('a share has no more than 200 snapshots at a time', async (t) => {
  const share = await open(t);
  const moments: Moment[] = [];
  for (let count = 0; count < SNAPSHOT_COUNT_MAX; count++) moments.push(await share.snapshot());
  assert.equal(new Set(moments).size, SNAPSHOT_COUNT_MAX);
  assert.equal(await refusal(share.snapshot()), 'ShareSnapshotCountExceeded');
  await share.deleteSnapshot(moments[100] as Moment);
  await share.snapshot();
  assert.equal(await refusal(share.snapshot()), 'ShareSnapshotCountExceeded');
  assert.equal((await recordOf(share)).snapshotCount, SNAPSHOT_COUNT_MAX);
});

test('a snapshot writes two rows, whatever the share holds, and keeps the epoch that was the newest', async (t) => {
  const share = await open(t);
  for (let count = 0; count < 50; count++) await share.createFile(`f${count}`, Buffer.from('text'));
  const before = (await share.store.entries()).map(
    ({ key, version }) => `${Buffer.from(key).toString('hex')} ${version}`,
  );
  await share.snapshot();
  const after = (await share.store.entries()).map(
    ({ key, version }) => `${Buffer.from(key).toString('hex')} ${version}`,
  );
  assert.equal(after.filter((row) => !before.includes(row)).length, 2);
  const { epoch, keptEpoch, snapshotCount } = await recordOf(share);
  assert.deepEqual({ epoch, keptEpoch, snapshotCount }, { epoch: 2, keptEpoch: 1, snapshotCount: 1 });
});

test('the epoch that is kept is that of the newest snapshot left', async (t) => {
  const share = await open(t);
  const moments: Moment[] = [];
  for (let count = 0; count < 4; count++) moments.push(await share.snapshot());
  for (const [index, keptEpoch, snapshotCount] of [
    [1, 4, 3],
    [3, 3, 2],
    [0, 3, 1],
    [2, 0, 0],
  ] as const) {
    await share.deleteSnapshot(moments[index] as Moment);
    const record = await recordOf(share);
    assert.deepEqual([record.keptEpoch, record.snapshotCount, record.epoch], [keptEpoch, snapshotCount, 5]);
  }
});

test('a snapshot sees the tree as it was: what is added, changed, moved and removed later is not in it', async (t) => {
  const share = await open(t);
  const { storage } = share.store;
  await share.createDirectory('d', stamp('1'));
  await share.createDirectory('d/e', stamp('1'));
  await share.createFile('d/e/f', Buffer.from('old'), stamp('1'));
  await share.createFile('gone', Buffer.from('gone'), stamp('1'));
  const first = await share.snapshot();

  await share.createFile('new', 0, stamp('2'));
  await share.write('d/e/f', 0, Buffer.from('NEW'));
  await changing(share, 'd', (tx, found) => changeNode(tx, found, (node) => ({ ...node, ...stamp('2') })));
  await changing(share, 'gone', (tx, found) => removeNode(tx, storage, found));
  const second = await share.snapshot();
  await changing(share, 'd/e', (tx, found) =>
    moveNode(tx, { from: found, to: { parentId: found.above[0] as string, name: 'MOVED' } }, (node) => node),
  );
  await share.createFile('d/e', 3, stamp('3'));

  for (const [path, then, later, now] of [
    ['d', 'directory 1', 'directory 2', 'directory 2'],
    ['d/e', 'directory 1', 'directory 1', 'file 3'],
    ['moved', null, null, 'directory 1'],
    ['gone', 'file 1', null, null],
    ['new', null, 'file 2', 'file 2'],
  ] as const) {
    assert.deepEqual(
      [await stampAt(share, path, first), await stampAt(share, path, second), await stampAt(share, path, null)],
      [then, later, now],
      path,
    );
  }
  assert.equal((await share.read('d/e/f', first)).toString(), 'old');
  assert.equal((await share.read('gone', first)).toString(), 'gone');
  assert.equal((await share.read('d/e/f', second)).toString(), 'NEW');
  assert.equal((await share.read('moved/f')).toString(), 'NEW');
  assert.equal(await refusal(share.read('moved/f', second)), 'ParentNotFound');
});

test('a snapshot costs the same whatever is in the share', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const share = await TestShare.create({ engine });
  const empty = await engine.costOf(() => share.snapshot());
  await share.createDirectory('d');
  for (let index = 0; index < 200; index++) await share.createFile(`d/${index}`, Buffer.from('x'));
  const full = await engine.costOf(() => share.snapshot());
  assert.deepEqual([full.puts, full.deletes, full.commits], [empty.puts, empty.deletes, empty.commits]);
  assert.ok(full.entriesRead - empty.entriesRead <= 1, 'the snapshot before');
});
