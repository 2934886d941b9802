import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEW_SHARE, TestShare } from '../../../test/harness/file-store.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { setServiceProperties } from '../service-properties.ts';
import { createShare } from './create-share.ts';
import { deleteShare } from './delete-share.ts';
import { type ListedShare, type ListSharesRequest, listShares, type SharePage } from './list-shares.ts';
import { lookUpShare } from './use-share.ts';

const DAY_SECONDS = 86_400;

const describe = ({ name, snapshot, deleted }: ListedShare): string =>
  deleted === null ? (snapshot === null ? name : `${name} ${snapshot}`) : `${name} ${deleted.version}`;

test('every page size walks over all shares, their snapshots and those deleted, each once and in order', async (t) => {
  const store = await TestStore.open();
  t.after(() => store.close());
  const { storage } = store;
  const retention = { shareDeleteRetention: { enabled: true, days: 1 } };
  await setServiceProperties(storage, ACCOUNT, 'f', retention);
  const make = async (name: string, snapshotCount: number): Promise<string[]> => {
    const share = new TestShare(store, name);
    await createShare(storage, share.name, NEW_SHARE);
    const moments: string[] = [];
    for (let count = 0; count < snapshotCount; count++) moments.push(await share.snapshot());
    return moments.map((moment) => `${name} ${moment}`);
  };
  const remove = async (name: string): Promise<string> => {
    const request = { name: { account: ACCOUNT, share: name }, leaseId: null, snapshot: null };
    const share = await lookUpShare(storage, request.name);
    await deleteShare(storage, { ...request, deleteSnapshots: 'include' });
    return `${name} ${share?.id}`;
  };
  const list = (rest: Partial<ListSharesRequest> = {}): Promise<SharePage> =>
    listShares(storage, {
      account: ACCOUNT,
      prefix: '',
      from: '',
      limit: 5_000,
      includeSnapshots: false,
      includeDeleted: false,
      ...rest,
    });

  await make('gone', 1);
  await remove('gone');
  store.clock.advance({ seconds: DAY_SECONDS });
  await createShare(storage, { account: 'account2', share: 'theirs' }, NEW_SHARE);
  const deletedMany: string[] = [];
  for (let count = 0; count < 3; count++) {
    await make('many', 2);
    deletedMany.push(await remove('many'));
  }
  await make('nothing', 0);
  const deletedNothing = await remove('nothing');
  const [snapshotsA, snapshotsMany] = [await make('a-b', 2), await make('many', 3)];
  await make('a', 0);
  await make('a0', 0);
  const all: readonly (readonly [kind: 'share' | 'snapshot' | 'deleted', text: string])[] = [
    ['share', 'a'],
    ...snapshotsA.map((text) => ['snapshot', text] as const),
    ['share', 'a-b'],
    ['share', 'a0'],
    ...snapshotsMany.map((text) => ['snapshot', text] as const),
    ['share', 'many'],
    ...deletedMany.map((text) => ['deleted', text] as const),
    ['deleted', deletedNothing],
  ];

  for (const includeSnapshots of [false, true]) {
    for (const includeDeleted of [false, true]) {
      for (const prefix of ['', 'a', 'a-', 'many', 'n', 'nothing0']) {
        const wanted = all
          .filter(([kind]) => kind === 'share' || (kind === 'snapshot' ? includeSnapshots : includeDeleted))
          .map(([, text]) => text)
          .filter((text) => text.startsWith(prefix));
        for (let limit = 1; limit <= all.length + 1; limit++) {
          const seen: string[] = [];
          for (let from: string | null = ''; from !== null; ) {
            const page: SharePage = await list({ from, limit, prefix, includeSnapshots, includeDeleted });
            assert.ok(page.next === null || page.shares.length === limit, 'pages are full');
            seen.push(...page.shares.map(describe));
            from = page.next;
          }
          assert.deepEqual(seen, wanted, JSON.stringify({ includeSnapshots, includeDeleted, prefix, limit }));
        }
      }
    }
  }
});

test('a page goes on where the one before ended, though what it ended before is gone', async (t) => {
  const store = await TestStore.open();
  t.after(() => store.close());
  const shares = ['a', 'b', 'c'].map((name) => new TestShare(store, name));
  for (const share of shares) await createShare(store.storage, share.name, NEW_SHARE);
  const [, b] = shares as [TestShare, TestShare, TestShare];
  const [, second] = [await b.snapshot(), await b.snapshot()];
  const rest = { account: ACCOUNT, prefix: '', limit: 2, includeSnapshots: true, includeDeleted: false };
  const first = await listShares(store.storage, { ...rest, from: '' });
  await b.deleteSnapshot(second);
  const next = await listShares(store.storage, { ...rest, from: first.next as string });
  assert.deepEqual(next.shares.map(describe), ['b', 'c']);
  for (const strange of ['b\0', 'b\0\0', 'b\x009', 'b\x001', `b\x003${'f'.repeat(24)}`, '\0', '\uffff']) {
    await listShares(store.storage, { ...rest, includeDeleted: true, from: strange });
  }
});
