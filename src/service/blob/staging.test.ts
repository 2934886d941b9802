import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { blobRequest, blockIdOf, TestStore } from '../../../test/harness/store.ts';
import { checkStore } from '../check.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';
import { getBlockList } from './get-block-list.ts';
import { STAGING_LIFE_MS } from './staging.ts';

const LIFE_SECONDS = STAGING_LIFE_MS / 1000;
const large = Buffer.alloc(20 * 1024, 'block');

let store: TestStore;
beforeEach(async () => {
  store = await TestStore.open();
  await store.createContainer('box');
});
afterEach(() => store.close());

const stage = (blob: string, number: number): Promise<void> => store.putBlock('box', blob, blockIdOf(number), large);
const commit = (blob: string, number: number): Promise<void> =>
  store.putBlockList('box', blob, [{ kind: 'latest', id: blockIdOf(number) }]);
const stagedCount = async (blob: string): Promise<number> =>
  (await getBlockList(store.storage, { ...blobRequest('box', blob), type: 'all' })).uncommitted.length;
const extentCount = async (): Promise<number> => {
  await store.sweep();
  const { findings, extents } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(findings, []);
  return extents;
};

test('staged blocks that nobody commits are gone a week after the last of them, and not before', async () => {
  await stage('b', 1);
  store.clock.advance({ seconds: LIFE_SECONDS - 1 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  assert.equal(await stagedCount('b'), 1);
  store.clock.advance({ seconds: 1 });
  assert.equal(await doWhatIsDue(store.storage), 1);
  await assert.rejects(stagedCount('b'), { code: 'BlobNotFound' });
  assert.equal(await extentCount(), 0);
  assert.deepEqual(
    (await store.records()).filter((key) => key.startsWith('E')),
    [],
  );
});

test('each block that is staged gives all of them another week', async () => {
  await stage('b', 1);
  store.clock.advance({ seconds: LIFE_SECONDS - 10 });
  await stage('b', 2);
  store.clock.advance({ seconds: 10 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  assert.equal(await stagedCount('b'), 2);
  store.clock.advance({ seconds: LIFE_SECONDS - 11 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  store.clock.advance({ seconds: 1 });
  assert.equal(await doWhatIsDue(store.storage), 1);
  assert.equal(await extentCount(), 0);
});

test('what was committed stays, though blocks that were staged for it expire', async () => {
  await stage('b', 1);
  await commit('b', 1);
  await stage('b', 2);
  store.clock.advance({ seconds: LIFE_SECONDS });
  assert.equal(await doWhatIsDue(store.storage), 1);
  assert.deepEqual(await store.read('box', 'b'), large);
  assert.equal(await stagedCount('b'), 0);
  assert.equal(await extentCount(), 1);
});

test('blocks staged after a commit have a week of their own', async () => {
  await stage('b', 1);
  await commit('b', 1);
  store.clock.advance({ seconds: LIFE_SECONDS - 1 });
  await stage('b', 2);
  store.clock.advance({ seconds: 1 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  assert.equal(await stagedCount('b'), 1);
});

test('nothing expires twice, nor in a container that is gone', async () => {
  await stage('b', 1);
  await store.deleteContainer('box');
  store.clock.advance({ seconds: LIFE_SECONDS });
  await doWhatIsDue(store.storage);
  assert.equal(await doWhatIsDue(store.storage), 0);
  assert.equal(await extentCount(), 0);
  assert.deepEqual(await store.records(), []);
});

test('a store that is opened discards what came due while it was closed', async () => {
  await stage('b', 1);
  await store.close();
  store.clock.advance({ seconds: LIFE_SECONDS });
  await store.reopen();
  await store.close();
  await assert.rejects(stagedCount('b'), { code: 'BlobNotFound' });
});
