/** The quota of a share beside many who use it up and give back at once: never exceeded, and the sum is exact. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { together } from '../../../test/harness/parallel.ts';
import { Random } from '../../../test/harness/random.ts';
import { decodeJson } from '../records/codec.ts';
import type { NodeRecord } from '../records/node-record.ts';
import { deleteFile } from './delete-file.ts';
import { getShareStats } from './get-share-stats.ts';
import { setShareProperties } from './use-share.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

async function open(t: TestContext, quotaGiB: number): Promise<TestShare> {
  const share = await TestShare.create({}, { quotaGiB });
  t.after(() => share.store.close());
  return share;
}

const usedBytes = async ({ store, name }: TestShare): Promise<number> =>
  (await getShareStats(store.storage, { name, leaseId: null })).usedBytes;

/** What the files have together, counted one by one. */
async function countedBytes({ store }: TestShare): Promise<number> {
  const nodes = (await store.entries())
    .filter(({ key }) => key[0] === 'f'.charCodeAt(0))
    .map(({ value }) => decodeJson<NodeRecord>(value));
  return nodes.reduce((sum, node) => sum + (node.kind === 'file' ? node.lengthBytes : 0), 0);
}

test('the stats of a share are exact after every creation, overwrite, resize and deletion', async (t) => {
  const share = await open(t, 5_120);
  const { storage } = share.store;
  for (const [act, wanted] of [
    [() => share.createFile('a', 10), 10],
    [() => share.createFile('b', Buffer.from('12345')), 15],
    [() => share.createFile('a', 4), 9],
    [() => share.createFile('b', 20 * MIB), 4 + 20 * MIB],
    [() => share.write('b', 100, Buffer.from('bytes')), 4 + 20 * MIB],
    [() => share.resize('b', 1), 5],
    [() => share.resize('a', 1_000), 1_001],
    [() => share.snapshot(), 1_001],
    [() => deleteFile(storage, share.requestOf('a')), 1],
    [() => deleteFile(storage, share.requestOf('b')), 0],
  ] as const) {
    await act();
    assert.equal(await usedBytes(share), wanted);
    assert.equal(await countedBytes(share), wanted);
  }
});

for (const [quotaGiB, usedMiB, eachMiB, fitting] of [
  [1, 0, 100, 10],
  [1, 1_023, 1, 1],
  [65, 64 * 1_024 + 924, 16, 6],
  [65, 0, 20, 40],
  [200, 135 * 1_024, 512, 40],
  [200, 199 * 1_024, 100, 10],
] as const) {
  test(`of 40 who create ${eachMiB} MiB each at once where ${usedMiB} MiB of ${quotaGiB} GiB are used, ${fitting} succeed`, async (t) => {
    const share = await open(t, quotaGiB);
    await share.createFile('before', usedMiB * MIB);
    const results = await together(40, (index) => refusal(share.createFile(`f${index}`, eachMiB * MIB)));
    const refusals = results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)));
    assert.equal(refusals.filter((code) => code === null).length, fitting);
    assert.deepEqual(
      new Set(refusals.filter((code) => code !== null)),
      new Set(fitting === 40 ? [] : ['ShareSizeLimitReached']),
    );
    assert.equal(await usedBytes(share), (usedMiB + fitting * eachMiB) * MIB);
    assert.equal(await countedBytes(share), await usedBytes(share));
  });
}

test('what others give back can be used at once, and nobody is refused who shrinks a file or replaces it by less', async (t) => {
  const share = await open(t, 1);
  await share.createFile('a', GIB);
  assert.equal(await refusal(share.createFile('b', 1)), 'ShareSizeLimitReached');
  assert.equal(await refusal(share.resize('a', GIB + 1)), 'ShareSizeLimitReached');
  assert.equal(await refusal(share.createFile('a', GIB + 1)), 'ShareSizeLimitReached');
  await share.createFile('a', GIB - 1);
  await share.createFile('b', 1);
  const { storage } = share.store;
  const setQuota = (quotaGiB: number) =>
    setShareProperties(storage, { name: share.name, leaseId: null, quotaGiB, tier: null });
  await setQuota(2);
  await share.createFile('c', GIB);
  await setQuota(1);
  await share.resize('c', GIB - 5);
  assert.equal(await refusal(share.resize('c', GIB - 4)), 'ShareSizeLimitReached');
});

test('many who create, resize and delete at once never get past the quota, and leave an exact sum', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const share = await open(t, 1);
  const { storage } = share.store;
  for (let round = 0; round < 20; round++) {
    const acts = Array.from({ length: 12 }, () => {
      const [path, lengthBytes] = [`f${random.below(8)}`, random.below(400) * MIB];
      return random.pick([
        () => share.createFile(path, lengthBytes),
        () => share.resize(path, lengthBytes),
        () => deleteFile(storage, share.requestOf(path)),
      ]);
    });
    const results = await together(acts.length, (index) => refusal((acts[index] as () => Promise<unknown>)()));
    for (const result of results) {
      if (result.status === 'rejected') throw result.reason;
      assert.ok([null, 'ShareSizeLimitReached', 'ResourceNotFound'].includes(result.value), String(result.value));
    }
    const used = await usedBytes(share);
    assert.equal(used, await countedBytes(share));
    assert.ok(used <= GIB, `${used}`);
  }
});
