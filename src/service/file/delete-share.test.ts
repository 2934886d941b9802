import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { NEW_SHARE, refusal, TestShare } from '../../../test/harness/file-store.ts';
import { ACCOUNT } from '../../../test/harness/store.ts';
import { transact } from '../../engine/transact.ts';
import { INFINITE_SECONDS, type LeaseAction } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';
import { shareUsesRange, useKey } from '../records/file-keys.ts';
import { ROOT_ID } from '../records/node-record.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { getServiceProperties, setServiceProperties } from '../service-properties.ts';
import { createShare } from './create-share.ts';
import { type DeleteShareRequest, deleteShare } from './delete-share.ts';
import { getShareStats } from './get-share-stats.ts';
import { leaseShare } from './lease-share.ts';
import { type ListedShare, listShares } from './list-shares.ts';
import { restoreShare } from './restore-share.ts';
import { getShare, lookUpShare } from './use-share.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const DAY_SECONDS = 86_400;
const DAYS = 7;
const ACQUIRE: LeaseAction = { action: 'acquire', proposedId: A, freshId: A, durationSeconds: INFINITE_SECONDS };

async function open(t: TestContext, { days = null }: { days?: number | null } = {}): Promise<TestShare> {
  const share = await TestShare.create();
  t.after(() => share.store.close());
  if (days !== null) {
    await setServiceProperties(share.store.storage, ACCOUNT, 'f', { shareDeleteRetention: { enabled: true, days } });
  }
  return share;
}

const remove = ({ store, name }: TestShare, rest: Partial<DeleteShareRequest> = {}): Promise<void> =>
  deleteShare(store.storage, { name, leaseId: null, snapshot: null, deleteSnapshots: null, ...rest });

const lease = ({ store, name }: TestShare, snapshot: Moment | null): Promise<unknown> =>
  leaseShare(store.storage, { name, snapshot, action: ACQUIRE });

const recordOf = async ({ store, name }: TestShare): Promise<ShareRecord> =>
  (await lookUpShare(store.storage, name)) as ShareRecord;

async function deletedOf({ store }: TestShare): Promise<readonly ListedShare[]> {
  const request = { account: ACCOUNT, prefix: '', from: '', limit: 100, includeSnapshots: false, includeDeleted: true };
  return (await listShares(store.storage, request)).shares.filter(({ deleted }) => deleted !== null);
}

const restore = ({ store, name }: TestShare, version: string): Promise<ShareRecord> =>
  restoreShare(store.storage, { name, version });

/** The tables of what is left after a sweep: one letter each, in their order. */
async function tablesOf({ store }: TestShare): Promise<string> {
  await store.sweep();
  return (await store.records()).map((key) => key[0]).join('');
}

async function fill(share: TestShare): Promise<Moment> {
  await share.createDirectory('d');
  await share.createFile('d/short', Buffer.from('short'));
  await share.createFile('long', Buffer.alloc(100_000, 'long'));
  const moment = await share.snapshot();
  await share.write('d/short', 0, Buffer.from('SHORT'));
  await share.createFile('long', 10);
  return moment;
}

test('nothing keeps deleted shares unless it is asked for', async (t) => {
  const { store } = await open(t);
  const { shareDeleteRetention } = await getServiceProperties(store.storage, ACCOUNT, 'f');
  assert.deepEqual(shareDeleteRetention, { enabled: false });
});

test('a deleted share is gone at once, its name is free, and nothing of it is left after a sweep', async (t) => {
  const share = await open(t);
  await fill(share);
  await remove(share, { deleteSnapshots: 'include' });
  assert.equal(await lookUpShare(share.store.storage, share.name), null);
  assert.equal(await refusal(share.read('long')), 'ShareNotFound');
  assert.equal(await refusal(remove(share)), 'ShareNotFound');

  const again = await createShare(share.store.storage, share.name, NEW_SHARE);
  assert.equal(await refusal(share.read('long')), 'ResourceNotFound');
  await share.createFile('long', Buffer.from('other'));
  await tablesOf(share);
  assert.equal((await share.read('long')).toString(), 'other');
  assert.deepEqual(await deletedOf(share), []);

  assert.equal((await recordOf(share)).id, again.id);
  await remove(share);
  assert.equal(await tablesOf(share), '');
});

test('a leased share is deleted by its holder', async (t) => {
  const share = await open(t);
  await lease(share, null);
  assert.equal(await refusal(remove(share)), 'LeaseIdMissing');
  await remove(share, { leaseId: A });
  assert.equal(await refusal(remove(share, { leaseId: A })), 'ShareNotFound');
});

test('a share with snapshots goes with them or not at all, and a leased one stays in the way', async (t) => {
  const share = await open(t);
  const [first, second] = [await share.snapshot(), await share.snapshot()];
  assert.equal(await refusal(remove(share)), 'ShareHasSnapshots');
  await lease(share, first);
  assert.equal(await refusal(remove(share, { deleteSnapshots: 'include' })), 'ShareHasSnapshots');
  assert.equal(await refusal(remove(share, { snapshot: first })), 'LeaseIdMissing');
  await remove(share, { snapshot: second });
  await remove(share, { snapshot: first, leaseId: A });
  assert.equal(await refusal(remove(share, { snapshot: first, leaseId: A })), 'ShareNotFound');
  const third = await share.snapshot();
  await lease(share, third);
  await remove(share, { deleteSnapshots: 'include-leased' });
  assert.equal(await tablesOf(share), '');
});

test('what goes with a share is not asked of a snapshot', async (t) => {
  const share = await open(t);
  const snapshot = await share.snapshot();
  const refused = await refusal(remove(share, { snapshot, deleteSnapshots: 'include' }));
  assert.equal(refused, 'InvalidQueryParameterValue');
  await remove(share, { snapshot });
});

test('a snapshot is deleted alone, and not kept, whatever is done with shares', async (t) => {
  const share = await open(t, { days: DAYS });
  const snapshot = await fill(share);
  await remove(share, { snapshot });
  assert.equal(await refusal(share.read('d/short', snapshot)), 'ShareNotFound');
  assert.equal((await share.read('d/short')).toString(), 'SHORT');
  assert.ok(!/[hjp]/.test(await tablesOf(share)));
});

test('whoever has files of a deleted share open loses them, and nobody else', async (t) => {
  const share = await open(t);
  const { engine, storage } = share.store;
  const other = await createShare(storage, { account: ACCOUNT, share: 'other' }, NEW_SHARE);
  const { id } = await recordOf(share);
  const [one, two] = [storage.ids.next(), storage.ids.next()];
  await transact(engine, async (tx) => {
    for (const shareId of [id, other.id]) {
      for (const openId of [one, two]) tx.put(useKey(shareId, ROOT_ID, 'open', openId), Buffer.from('{}'));
      tx.put(useKey(shareId, ROOT_ID, 'pending'), Buffer.from('{}'));
    }
  });
  await remove(share);
  const count = async (shareId: string): Promise<number> => {
    const view = engine.snapshot();
    const rows = await view.range(shareUsesRange(shareId), { limit: 10 }).finally(() => view.close());
    return rows.length;
  };
  assert.deepEqual([await count(id), await count(other.id)], [0, 3]);
});

test('a share that is kept comes back with its files, its snapshots and what they hold; its leases have ended', async (t) => {
  const share = await open(t, { days: DAYS });
  const snapshot = await fill(share);
  const { storage, clock } = share.store;
  await lease(share, snapshot);
  await lease(share, null);
  const before = await recordOf(share);
  const { usedBytes } = await getShareStats(storage, { name: share.name, leaseId: null });
  await remove(share, { leaseId: A, deleteSnapshots: 'include-leased' });

  assert.equal(await refusal(share.read('long')), 'ShareNotFound');
  assert.equal(await refusal(share.read('long', snapshot)), 'ShareNotFound');
  const [listed] = await deletedOf(share);
  const untilMs = clock.nowMs() + DAYS * DAY_SECONDS * 1000;
  assert.deepEqual(listed?.deleted, { atMs: clock.nowMs(), untilMs, version: before.id });
  clock.advance({ seconds: DAYS * DAY_SECONDS - 1 });
  assert.equal(await doWhatIsDue(storage), 0);
  await share.store.sweep();

  const after = await restore(share, before.id.toUpperCase());
  assert.deepEqual(after, { ...before, lease: { state: 'available' } });
  assert.deepEqual(await recordOf(share), after);
  const past = await getShare(storage, { name: share.name, leaseId: null, snapshot });
  assert.equal(past.share.lease.state, 'available');
  assert.equal((await share.read('d/short')).toString(), 'SHORT');
  assert.equal((await share.read('d/short', snapshot)).toString(), 'short');
  assert.equal((await share.read('long', snapshot)).length, 100_000);
  assert.equal((await getShareStats(storage, { name: share.name, leaseId: null })).usedBytes, usedBytes);
  assert.deepEqual(await deletedOf(share), []);

  // The row that told when it would be over is out of date by now.
  clock.advance({ seconds: DAY_SECONDS });
  assert.equal(await doWhatIsDue(storage), 0);
  await share.store.sweep();
  assert.equal((await share.read('d/short', snapshot)).toString(), 'short');
});

test('a share is restored neither over another of its name, nor by what is no version of it', async (t) => {
  const share = await open(t, { days: DAYS });
  const { id } = await recordOf(share);
  await share.createFile('old', 1);
  await remove(share);
  const { id: otherId } = await createShare(share.store.storage, { ...share.name, share: 'other' }, NEW_SHARE);
  for (const version of ['', 'x', '01D99A2B34CDACB7', otherId, id.slice(1)]) {
    assert.equal(await refusal(restore(share, version)), 'ShareNotFound', version);
  }
  const { id: secondId } = await createShare(share.store.storage, share.name, NEW_SHARE);
  assert.equal(await refusal(restore(share, id)), 'ShareAlreadyExists');
  await remove(share);
  assert.deepEqual(
    (await deletedOf(share)).map(({ deleted }) => deleted?.version),
    [id, secondId],
  );
  await restore(share, id);
  assert.equal((await share.read('old')).length, 1);
  assert.equal(await refusal(restore(share, secondId)), 'ShareAlreadyExists');
});

test('a share whose days are over is gone to everybody, and is cleared away when it is due', async (t) => {
  const share = await open(t, { days: 1 });
  await fill(share);
  const { id } = await recordOf(share);
  await remove(share, { deleteSnapshots: 'include' });
  share.store.clock.advance({ seconds: DAY_SECONDS });
  assert.deepEqual(await deletedOf(share), []);
  assert.equal(await refusal(restore(share, id)), 'ShareNotFound');
  assert.match(await tablesOf(share), /f+.*h+.*p/);
  assert.equal(await doWhatIsDue(share.store.storage), 1);
  assert.equal(await tablesOf(share), 'P');
});

test('what is kept is as long as it was said when it was deleted', async (t) => {
  const share = await open(t, { days: 1 });
  const { id } = await recordOf(share);
  await remove(share);
  const { storage, clock } = share.store;
  await setServiceProperties(storage, ACCOUNT, 'f', { shareDeleteRetention: { enabled: false } });
  clock.advance({ seconds: DAY_SECONDS - 1 });
  await restore(share, id);
  await remove(share);
  assert.equal(await refusal(restore(share, id)), 'ShareNotFound');
});
