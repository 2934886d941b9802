/** What a customer's key seals is nowhere in the store as the customer sent it, in whatever way it was written. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { blobRequest, blockIdOf, bodyOf, gather, NEW_BLOB, TestStore } from '../../../test/harness/store.ts';
import type { CustomerKey } from '../extents/customer-key.ts';
import { placedExtents } from '../open-storage.ts';
import { StorageError } from '../storage-error.ts';
import { appendBlock } from './append-block.ts';
import { getBlob } from './get-blob.ts';
import { putBlob, putEmptyBlob } from './put-blob.ts';
import { putBlock } from './put-block.ts';
import { putBlockList } from './put-block-list.ts';
import { snapshotBlob } from './snapshot-blob.ts';

const SHORT = Buffer.from('a secret that fits into a record');
const LONG = Buffer.alloc(100_000, 'a secret that does not. ');

function freshKey(): CustomerKey {
  const key = randomBytes(32);
  return { key, sha256: createHash('sha256').update(key).digest('base64') };
}

async function openStore(t: TestContext): Promise<TestStore> {
  const store = await TestStore.open();
  t.after(() => store.close());
  await store.createContainer('c');
  return store;
}

/** Every byte there is, of records and of content. */
async function everything(store: TestStore): Promise<Buffer> {
  const parts: Uint8Array[] = (await store.entries()).flatMap(({ key, value }) => [key, value]);
  for await (const { placement, lengthBytes } of placedExtents(store.engine)) {
    parts.push(await gather(store.content.read(placement, { offsetBytes: 0, lengthBytes })));
  }
  return Buffer.concat(parts);
}

type Write = (store: TestStore, key: CustomerKey | null) => Promise<unknown>;

const request = (key: CustomerKey | null) => ({ ...blobRequest('c', 'blob'), ...NEW_BLOB, key });

const putWhole =
  (bytes: Buffer): Write =>
  (store, key) =>
    putBlob(store.storage, { ...request(key), body: bodyOf(bytes), mayOverwrite: true });

const commit: Write = async (store, key) => {
  for (const [number, bytes] of [SHORT, LONG].entries()) {
    await putBlock(store.storage, { ...request(key), blockId: blockIdOf(number), body: bodyOf(bytes) });
  }
  const entries = [0, 1].map((number) => ({ kind: 'latest', id: blockIdOf(number) }) as const);
  await putBlockList(store.storage, { ...request(key), entries });
};

const append: Write = async (store, key) => {
  const empty = { type: 'AppendBlob', lengthBytes: 0, sequenceNumber: '0', mayOverwrite: true } as const;
  await putEmptyBlob(store.storage, { ...request(key), ...empty });
  for (const bytes of [SHORT, LONG]) {
    const conditions = { positionBytes: null, sizeMaxBytes: null };
    await appendBlock(store.storage, { ...request(key), body: bodyOf(bytes), ...conditions });
  }
};

for (const [how, write, expected] of [
  ['Put Blob of a short body', putWhole(SHORT), SHORT],
  ['Put Blob of a long body', putWhole(LONG), LONG],
  ['Put Block and Put Block List', commit, Buffer.concat([SHORT, LONG])],
  ['Append Block', append, Buffer.concat([SHORT, LONG])],
] as const) {
  test(`what ${how} writes with a key is read with the key, and found nowhere`, async (t) => {
    const store = await openStore(t);
    const key = freshKey();
    await write(store, key);
    await snapshotBlob(store.storage, { ...blobRequest('c', 'blob'), key, metadata: [] });
    const { bytes } = await getBlob(store.storage, { ...blobRequest('c', 'blob'), key, range: null });
    assert.ok((await gather(bytes)).equals(expected));
    const stored = await everything(store);
    for (const text of ['a secret', 'fits into', 'does not']) assert.ok(!stored.includes(text), `${text} is there`);
    assert.ok(!stored.includes(key.key) && !stored.includes(key.key.toString('base64')), 'nor is the key');
    await write(store, null);
    assert.ok((await everything(store)).includes('a secret'), 'what is written without one is found');
  });
}

const wantsKey = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'BlobUsesCustomerSpecifiedEncryption';

test('no content is given to whoever does not say whether there is a key', async (t) => {
  const store = await openStore(t);
  await putWhole(SHORT)(store, freshKey());
  await assert.rejects(store.open('c', 'blob'), wantsKey);
});
