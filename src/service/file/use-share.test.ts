import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { ACCOUNT } from '../../../test/harness/store.ts';
import { INFINITE_SECONDS, type LeaseAction } from '../../rules/lease.ts';
import { getShareStats } from './get-share-stats.ts';
import { leaseShare } from './lease-share.ts';
import { snapshotShare } from './snapshot-share.ts';
import {
  getShare,
  lookUpShare,
  type ShareRequest,
  setShareAcl,
  setShareMetadata,
  setShareProperties,
} from './use-share.ts';

const [A, B] = ['a', 'b'].map((digit) => `${digit.repeat(8)}-0000-0000-0000-000000000000`) as [string, string];
const POLICIES = [{ id: 'one', permission: 'r' }];

async function open(t: TestContext): Promise<TestShare> {
  const share = await TestShare.create();
  t.after(() => share.store.close());
  return share;
}

const asked = ({ name }: TestShare, rest: Partial<ShareRequest> = {}): ShareRequest => ({
  name,
  leaseId: null,
  snapshot: null,
  ...rest,
});

const acquire = (id: string, durationSeconds: number): LeaseAction => ({
  action: 'acquire',
  proposedId: id,
  freshId: id,
  durationSeconds,
});

test('a share that is not there is looked up as nothing, and refused to all else', async (t) => {
  const { store } = await open(t);
  const { storage } = store;
  const name = { account: ACCOUNT, share: 'other' };
  assert.equal(await lookUpShare(storage, name), null);
  const request = { name, leaseId: A, snapshot: null };
  for (const act of [
    () => getShare(storage, request),
    () => getShareStats(storage, request),
    () => setShareProperties(storage, { ...request, quotaGiB: 1, tier: null }),
    () => setShareMetadata(storage, { ...request, metadata: [] }),
    () => setShareAcl(storage, { ...request, policies: [] }),
    () => leaseShare(storage, { ...request, action: acquire(A, 15) }),
    () => snapshotShare(storage, { name, metadata: null }),
  ]) {
    assert.equal(await refusal(act()), 'ShareNotFound');
  }
});

test('every change to a share has its ETag and its time, and leaves the rest as it was', async (t) => {
  const share = await open(t);
  const { storage, clock } = share.store;
  const request = asked(share);
  let before = (await lookUpShare(storage, share.name)) as Exclude<Awaited<ReturnType<typeof lookUpShare>>, null>;
  for (const [act, change] of [
    [() => setShareProperties(storage, { ...request, quotaGiB: 7, tier: null }), { quotaGiB: 7 }],
    [() => setShareMetadata(storage, { ...request, metadata: [['k', 'v']] }), { metadata: [['k', 'v']] }],
    [() => setShareAcl(storage, { ...request, policies: POLICIES }), { policies: POLICIES }],
    [() => setShareMetadata(storage, { ...request, metadata: [] }), { metadata: [] }],
  ] as const) {
    clock.advance({ seconds: 1 });
    const after = await act();
    assert.ok(after.etag > before.etag);
    assert.deepEqual(after, { ...before, ...change, etag: after.etag, lastModifiedMs: clock.nowMs() });
    assert.deepEqual(await lookUpShare(storage, share.name), after);
    assert.deepEqual(await getShare(storage, request), { share: after, base: after, nowMs: clock.nowMs() });
    before = after;
  }
});

test('the time of a tier is that of its last change', async (t) => {
  const share = await open(t);
  const { storage, clock } = share.store;
  const set = (tier: 'Hot' | null) => setShareProperties(storage, { ...asked(share), quotaGiB: null, tier });
  const createdMs = clock.nowMs();
  for (const [tier, wanted, changedMs] of [
    [null, 'TransactionOptimized', createdMs],
    ['Hot', 'Hot', createdMs + 2_000],
    ['Hot', 'Hot', createdMs + 2_000],
    [null, 'Hot', createdMs + 2_000],
  ] as const) {
    clock.advance({ seconds: 1 });
    const after = await set(tier);
    assert.deepEqual([after.tier, after.tierChangedMs], [wanted, changedMs]);
  }
});

test('a quota is from 1 to 102,400 GiB, and may be less than what is used', async (t) => {
  const share = await open(t);
  const { storage } = share.store;
  await share.createFile('large', 3 * 1024 ** 3);
  const set = (quotaGiB: number) => setShareProperties(storage, { ...asked(share), quotaGiB, tier: null });
  for (const quotaGiB of [0, -1, 1.5, 102_401, Number.NaN]) {
    assert.equal(await refusal(set(quotaGiB)), 'InvalidHeaderValue', String(quotaGiB));
  }
  for (const quotaGiB of [102_400, 1]) assert.equal((await set(quotaGiB)).quotaGiB, quotaGiB);
  assert.equal(await refusal(share.createFile('more', 1)), 'ShareSizeLimitReached');
  await share.createFile('none', 0);
  await share.resize('large', 1024 ** 3 - 1);
  await share.createFile('more', 1);
  assert.equal(await refusal(share.createFile('yet more', 1)), 'ShareSizeLimitReached');
  assert.equal((await getShareStats(storage, asked(share))).usedBytes, 1024 ** 3);
});

test('a lease guards what is said about a share, its files stay as free as they were, and its ETag is the same', async (t) => {
  const share = await open(t);
  const { storage, clock } = share.store;
  const before = (await getShare(storage, asked(share))).share;
  const leased = await leaseShare(storage, { ...asked(share), action: acquire(A, 60) });
  assert.equal(leased.share.etag, before.etag);
  assert.equal(leased.share.lastModifiedMs, before.lastModifiedMs);

  const changes = [
    (leaseId: string | null) => setShareProperties(storage, { ...asked(share), leaseId, quotaGiB: 9, tier: null }),
    (leaseId: string | null) => setShareMetadata(storage, { ...asked(share), leaseId, metadata: [] }),
    (leaseId: string | null) => setShareAcl(storage, { ...asked(share), leaseId, policies: [] }),
  ];
  for (const change of changes) {
    assert.equal(await refusal(change(null)), 'LeaseIdMissing');
    assert.equal(await refusal(change(B)), 'LeaseIdMismatchWithContainerOperation');
    await change(A);
  }
  for (const read of [
    (leaseId: string | null) => getShare(storage, asked(share, { leaseId })),
    (leaseId: string | null) => getShareStats(storage, asked(share, { leaseId })),
  ]) {
    assert.equal((await read(null)).share.lease.state, 'leased');
    assert.equal((await read(A)).share.lease.state, 'leased');
    assert.equal(await refusal(read(B)), 'LeaseIdMismatchWithContainerOperation');
  }
  await share.createFile('a', 10);
  await share.snapshot();

  clock.advance({ seconds: 60 });
  assert.equal((await getShare(storage, asked(share))).share.lease.state, 'expired');
  assert.equal(await refusal(getShare(storage, asked(share, { leaseId: A }))), 'LeaseLost');
  for (const change of changes) await change(null);
  const lease = (action: LeaseAction) => leaseShare(storage, { ...asked(share), action });
  assert.equal((await lease({ action: 'renew', id: A })).lease.state, 'leased');
  assert.equal(await refusal(lease({ action: 'release', id: B })), 'LeaseIdMismatchWithLeaseOperation');
  assert.equal((await lease({ action: 'change', id: A, proposedId: B })).lease.state, 'leased');
  const broken = await lease({ action: 'break', periodSeconds: 10 });
  assert.deepEqual([broken.lease.state, broken.remainingSeconds], ['breaking', 10]);
  assert.equal((await lease({ action: 'release', id: B })).lease.state, 'available');
});

test('a snapshot has a lease of its own', async (t) => {
  const share = await open(t);
  const { storage } = share.store;
  await leaseShare(storage, { ...asked(share), action: acquire(A, INFINITE_SECONDS) });
  const snapshot = await share.snapshot();
  const lease = () => leaseShare(storage, { ...asked(share, { snapshot }), action: acquire(B, INFINITE_SECONDS) });
  const before = await getShare(storage, asked(share, { snapshot }));
  assert.equal(before.share.lease.state, 'available');
  const leased = await lease();
  assert.equal(leased.share.etag, before.share.etag);
  assert.deepEqual((await getShare(storage, asked(share, { snapshot, leaseId: B }))).share.lease, leased.lease);
  const mismatch = 'LeaseIdMismatchWithContainerOperation';
  assert.equal(await refusal(getShare(storage, asked(share, { snapshot, leaseId: A }))), mismatch);
  assert.equal(await refusal(getShare(storage, asked(share, { leaseId: B }))), mismatch);
});

test('an unknown snapshot is refused like an unknown share', async (t) => {
  const share = await open(t);
  const { storage } = share.store;
  await share.snapshot();
  for (const snapshot of ['2020-01-01T00:00:00.0000000Z', 'never', '']) {
    assert.equal(await refusal(getShare(storage, asked(share, { snapshot }))), 'ShareNotFound');
    const action = acquire(A, 15);
    assert.equal(await refusal(leaseShare(storage, { ...asked(share, { snapshot }), action })), 'ShareNotFound');
  }
});
