import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEW_SHARE, refusal } from '../../../test/harness/file-store.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { checkStore } from '../check.ts';
import { createShare } from './create-share.ts';
import { lookUpShare } from './use-share.ts';

const NAME = { account: ACCOUNT, share: 'share' };

test('a new share has what it was given, no snapshot, and a root', async () => {
  const store = await TestStore.open();
  const metadata = [['colour', 'blue']] as const;
  const share = await createShare(store.storage, NAME, { metadata, quotaGiB: 7, tier: 'Hot' });
  assert.deepEqual(await lookUpShare(store.storage, NAME), share);
  const { quotaGiB, tier, epoch, keptEpoch, snapshotCount, lease } = share;
  assert.deepEqual([quotaGiB, tier, epoch, keptEpoch, snapshotCount], [7, 'Hot', 1, 0, 0]);
  assert.equal(lease.state, 'available');
  const { findings, shares, directories } = await checkStore({
    engine: store.engine,
    content: store.content,
    afterCrash: false,
  });
  assert.deepEqual([findings, shares, directories], [[], 1, 0]);
});

test('of many who create one share at once one does, and the others are told', async () => {
  const store = await TestStore.open();
  const codes = await Promise.all(
    Array.from({ length: 16 }, () => refusal(createShare(store.storage, NAME, NEW_SHARE))),
  );
  assert.equal(codes.filter((code) => code === null).length, 1);
  assert.equal(codes.filter((code) => code === 'ShareAlreadyExists').length, 15);
  assert.equal((await store.entries()).filter(({ key }) => key[0] === 'f'.charCodeAt(0)).length, 1);
});

test('shares of one name in two accounts are two', async () => {
  const store = await TestStore.open();
  const one = await createShare(store.storage, NAME, NEW_SHARE);
  const other = await createShare(store.storage, { ...NAME, account: 'account2' }, NEW_SHARE);
  assert.notEqual(one.id, other.id);
});
