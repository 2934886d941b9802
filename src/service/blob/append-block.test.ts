import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ACCOUNT, blobRequest, bodyOf, NEW_BLOB, TestStore } from '../../../test/harness/store.ts';
import { transact } from '../../engine/transact.ts';
import { APPENDED_BLOCK_COUNT_MAX } from '../../rules/append.ts';
import { checkStore } from '../check.ts';
import type { AppendedContent, BlobRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { blobKeys } from '../records/keys.ts';
import { StorageError } from '../storage-error.ts';
import { appendBlock, type BlockAppended } from './append-block.ts';
import { findContainer } from './load.ts';
import { putEmptyBlob } from './put-blob.ts';
import { snapshotBlob } from './snapshot-blob.ts';

async function openStore(t: TestContext): Promise<TestStore> {
  const store = await TestStore.open();
  t.after(() => store.close());
  await store.createContainer('logs');
  return store;
}

async function create(store: TestStore, blob: string): Promise<void> {
  const empty = { type: 'AppendBlob', lengthBytes: 0, sequenceNumber: '0', mayOverwrite: true } as const;
  await putEmptyBlob(store.storage, { ...blobRequest('logs', blob), ...NEW_BLOB, ...empty });
}

const append = (store: TestStore, blob: string, text: string): Promise<BlockAppended> =>
  appendBlock(store.storage, {
    ...blobRequest('logs', blob),
    body: bodyOf(Buffer.from(text)),
    positionBytes: null,
    sizeMaxBytes: null,
  });

async function keyOf(store: TestStore, blob: string): Promise<Uint8Array> {
  return transact(store.engine, async (tx) => {
    const container = await findContainer(tx, { account: ACCOUNT, container: 'logs' });
    return blobKeys({ account: ACCOUNT, containerId: container?.id as string, name: blob }).blob;
  });
}

async function findings({ engine, content }: TestStore): Promise<readonly string[]> {
  return (await checkStore({ engine, content, afterCrash: false })).findings;
}

/** Changes a blob's record behind the back of every operation. */
async function rewrite(store: TestStore, blob: string, change: (record: BlobRecord) => BlobRecord): Promise<void> {
  const key = await keyOf(store, blob);
  await transact(store.engine, async (tx) => {
    tx.put(key, encodeJson(change(decodeJson((await tx.get(key)) as Uint8Array))));
  });
}

const isOverLimit = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'BlockCountExceedsLimit';

test('the 50,000th block goes in, and the next one not', async (t) => {
  const store = await openStore(t);
  await create(store, 'long');
  await append(store, 'long', 'first ');
  const blockCount = APPENDED_BLOCK_COUNT_MAX - 1;
  await rewrite(store, 'long', (record) => ({
    ...record,
    content: { ...(record.content as AppendedContent), blockCount },
  }));
  assert.equal((await append(store, 'long', 'last')).blockCount, APPENDED_BLOCK_COUNT_MAX);
  for (const text of ['one more', 'one more'.repeat(2_000)]) {
    await assert.rejects(append(store, 'long', text), isOverLimit);
  }
  assert.equal((await store.read('logs', 'long')).toString(), 'first last');
});

/** Gives a blob the content of another, as a copy within the account does. */
async function shareWith(store: TestStore, from: string, to: string): Promise<void> {
  const [fromKey, toKey] = [await keyOf(store, from), await keyOf(store, to)];
  await transact(store.engine, async (tx) => {
    const source = decodeJson<BlobRecord>((await tx.get(fromKey)) as Uint8Array);
    const { own, other } = await store.storage.extents.share(tx, source);
    tx.put(fromKey, encodeJson({ ...source, ...own }));
    tx.put(toKey, encodeJson({ ...source, ...other }));
  });
}

test('two blobs that began as one grow apart, and what they share lives as long as either', async (t) => {
  const store = await openStore(t);
  await create(store, 'a');
  await append(store, 'a', 'both ');
  await shareWith(store, 'a', 'b');
  await append(store, 'a', 'a1 ');
  assert.equal((await append(store, 'b', 'b1 ')).offsetBytes, 5);
  await append(store, 'a', 'a2');
  assert.equal((await append(store, 'b', 'b2')).blockCount, 3);
  await shareWith(store, 'b', 'c');
  await append(store, 'c', '!');
  const texts = async (...names: string[]): Promise<string[]> => {
    const read: string[] = [];
    for (const name of names) read.push((await store.read('logs', name)).toString());
    return read;
  };
  assert.deepEqual(await texts('a', 'b', 'c'), ['both a1 a2', 'both b1 b2', 'both b1 b2!']);
  await store.delete('logs', 'a');
  await store.sweep();
  assert.deepEqual(await texts('b', 'c'), ['both b1 b2', 'both b1 b2!']);
  await store.delete('logs', 'b');
  await store.sweep();
  assert.deepEqual(await texts('c'), ['both b1 b2!']);
  assert.deepEqual(await findings(store), []);
  await store.delete('logs', 'c');
  await store.sweep();
  assert.deepEqual(
    (await store.records()).map((key) => key[0]),
    ['C'],
  );
});

test('a block that is refused leaves neither a row nor bytes', async (t) => {
  const store = await openStore(t);
  await create(store, 'a');
  await append(store, 'a', 'x');
  await snapshotBlob(store.storage, { ...blobRequest('logs', 'a'), metadata: [] });
  const before = await store.records();
  for (const text of ['short', 'long'.repeat(5_000)]) {
    const body = { ...bodyOf(Buffer.from(text)), md5: Buffer.alloc(16) };
    const request = { ...blobRequest('logs', 'a'), body, positionBytes: null, sizeMaxBytes: null };
    await assert.rejects(appendBlock(store.storage, request), /Md5Mismatch/);
  }
  assert.deepEqual(await store.records(), before);
  assert.deepEqual(await findings(store), []);
});
