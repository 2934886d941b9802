import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ACCOUNT, blobRequest, bodyOf, gather, NEW_BLOB, TestStore } from '../../test/harness/store.ts';
import { transact } from '../engine/transact.ts';
import type { Tags } from '../rules/tags.ts';
import { getBlob } from './blob/get-blob.ts';
import { setLegalHold } from './blob/immutability.ts';
import type { BlobAt } from './blob/load.ts';
import { putBlob } from './blob/put-blob.ts';
import { setBlobExpiry } from './blob/set-blob-expiry.ts';
import { snapshotBlob } from './blob/snapshot-blob.ts';
import { checkStore } from './check.ts';
import { doWhatIsDue } from './do-what-is-due.ts';
import { UnreadableRecord } from './records/codec.ts';
import { expiryKey } from './records/keys.ts';
import { setServiceProperties } from './service-properties.ts';
import { DEFAULT_SETTINGS } from './storage.ts';
import { StorageError } from './storage-error.ts';

const DAY_SECONDS = 86_400;
const TAGS: Tags = [['colour', 'red']];

async function openStore(t: TestContext, { keepsVersions = false } = {}): Promise<TestStore> {
  const store = await TestStore.open({ settings: () => ({ ...DEFAULT_SETTINGS, keepsVersions }) });
  t.after(() => store.close());
  await store.createContainer('c');
  return store;
}

async function put(store: TestStore, blob: string, text: string): Promise<void> {
  const rest = { ...NEW_BLOB, tags: TAGS, mayOverwrite: true };
  await putBlob(store.storage, { ...blobRequest('c', blob), ...rest, body: bodyOf(Buffer.from(text)) });
}

const expireIn = (store: TestStore, blob: string, seconds: number): Promise<unknown> =>
  setBlobExpiry(store.storage, { ...blobRequest('c', blob), option: 'RelativeToNow', time: String(seconds * 1000) });

/** The tables of what is left after a sweep: one letter each, in their order. */
async function tablesOf(store: TestStore): Promise<string> {
  await store.sweep();
  const { findings } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(findings, []);
  return (await store.records()).map((key) => key[0]).join('');
}

const isMissing = (error: unknown): boolean => error instanceof StorageError && error.code === 'BlobNotFound';

test('of an expired blob that nobody asks for nothing is left: no bytes, no snapshot, no tag, no row', async (t) => {
  const store = await openStore(t);
  for (const text of ['short', 'long'.repeat(10_000)]) {
    await put(store, 'a', text);
    await snapshotBlob(store.storage, { ...blobRequest('c', 'a'), metadata: [] });
    await expireIn(store, 'a', 10);
    store.clock.advance({ seconds: 9 });
    assert.equal(await doWhatIsDue(store.storage), 0);
    assert.equal((await store.read('c', 'a')).toString(), text);
    store.clock.advance({ seconds: 1 });
    assert.equal(await doWhatIsDue(store.storage), 1);
    assert.equal(await tablesOf(store), 'C');
  }
});

test('a snapshot under a hold outlives the expired blob', async (t) => {
  const store = await openStore(t);
  await put(store, 'a', 'text');
  const taken = await Promise.all(
    [0, 1].map(() => snapshotBlob(store.storage, { ...blobRequest('c', 'a'), metadata: [] })),
  );
  const [held, other] = taken.map(({ snapshot }) => ({ kind: 'snapshot', moment: snapshot }) as const) as [
    BlobAt,
    BlobAt,
  ];
  await setLegalHold(store.storage, { ...blobRequest('c', 'a'), at: held, legalHold: true });
  await expireIn(store, 'a', 10);
  store.clock.advance({ seconds: 10 });
  await doWhatIsDue(store.storage);
  const read = (at: BlobAt) => getBlob(store.storage, { ...blobRequest('c', 'a'), at, range: null });
  await assert.rejects(read(other), isMissing);
  assert.equal((await gather((await read(held)).bytes)).toString(), 'text');
  assert.equal(await tablesOf(store), 'BCI');
});

test('a row that is out of date does nothing but go', async (t) => {
  const store = await openStore(t);
  for (const blob of ['longer', 'anew', 'deleted']) {
    await put(store, blob, blob);
    await expireIn(store, blob, 10);
  }
  await expireIn(store, 'longer', 100);
  await put(store, 'anew', 'anew');
  await store.delete('c', 'deleted');
  store.clock.advance({ seconds: 50 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  for (const blob of ['longer', 'anew']) assert.equal((await store.read('c', blob)).toString(), blob);
  store.clock.advance({ seconds: 50 });
  assert.equal(await doWhatIsDue(store.storage), 1);
  await assert.rejects(store.read('c', 'longer'), isMissing);
  await store.delete('c', 'anew');
  assert.equal(await tablesOf(store), 'C');
});

test('a row that cannot be read keeps none of the others', async (t) => {
  const store = await openStore(t);
  await transact(store.engine, async (tx) => tx.put(expiryKey(1, '0'.repeat(24)), Buffer.from('?')));
  await put(store, 'a', 'text');
  await expireIn(store, 'a', 10);
  store.clock.advance({ seconds: 10 });
  await assert.rejects(doWhatIsDue(store.storage), UnreadableRecord);
  await store.sweep();
  assert.deepEqual(
    (await store.records()).map((key) => key[0]),
    ['C', 'E'],
  );
});

test('a container that is deleted takes what would expire in it', async (t) => {
  const store = await openStore(t);
  await put(store, 'a', 'text');
  await expireIn(store, 'a', 10);
  await store.deleteContainer('c');
  await store.sweep();
  store.clock.advance({ seconds: 10 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  assert.equal(await tablesOf(store), '');
});

test('soft delete keeps an expired blob and its snapshots for its days, and not a day longer', async (t) => {
  const store = await openStore(t);
  await setServiceProperties(store.storage, ACCOUNT, 'b', { deleteRetention: { enabled: true, days: 3 } });
  await put(store, 'a', 'text');
  await snapshotBlob(store.storage, { ...blobRequest('c', 'a'), metadata: [] });
  await expireIn(store, 'a', 10);
  store.clock.advance({ seconds: 10 });
  assert.equal(await doWhatIsDue(store.storage), 1);
  await assert.rejects(store.read('c', 'a'), isMissing);
  // The snapshot, the deleted blob, what they share, and when each is due.
  assert.equal(await tablesOf(store), 'BBCEEIPR');
  store.clock.advance({ seconds: 3 * DAY_SECONDS - 1 });
  assert.equal(await doWhatIsDue(store.storage), 0);
  store.clock.advance({ seconds: 1 });
  assert.equal(await doWhatIsDue(store.storage), 2);
  assert.equal(await tablesOf(store), 'CP');
});

test('an account that keeps versions keeps an expired blob as one', async (t) => {
  const store = await openStore(t, { keepsVersions: true });
  await put(store, 'a', 'text');
  await expireIn(store, 'a', 10);
  store.clock.advance({ seconds: 10 });
  assert.equal(await doWhatIsDue(store.storage), 1);
  await assert.rejects(store.read('c', 'a'), isMissing);
  assert.equal(await tablesOf(store), 'BCI');
  store.clock.advance({ seconds: 100 * DAY_SECONDS });
  assert.equal(await doWhatIsDue(store.storage), 0);
});
