/** The content contract over a real S3 server, and what only a real one can show: its listings, and its refusals. */
// tier: both
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { freshBucket, type TestBucket } from '../../../test/harness/s3.ts';
import { missingTool } from '../../../test/packages.ts';
import { type ContentStore, ContentUnavailable, type PlacedExtent } from '../content.ts';
import { contentContract, each, get, put } from '../contract.ts';
import { openS3Content } from './s3-content.ts';

const KIB = 1024;
const HOUR_MS = 60 * 60 * 1000;
const skip = missingTool('radosgw');

let shared: Promise<TestBucket> | null = null;

/** One bucket for all, below a prefix: stores that share it are told apart by their ids. */
async function url(): Promise<string> {
  shared ??= freshBucket();
  return (await shared).url.replace('?', '/some/prefix?');
}

const freshStoreId = (): string => randomBytes(8).toString('hex');

async function open(storeId = freshStoreId()): Promise<ContentStore> {
  return openS3Content({ url: await url(), storeId });
}

after(async () => {
  await (await shared)?.drop();
});

if (skip === false) {
  contentContract(
    's3',
    async () => {
      const storeId = freshStoreId();
      return { open: () => open(storeId), dispose: async () => {} };
    },
    // Sent from memory up to 256 KiB; radosgw keeps what is beyond 4 MiB in objects of its own.
    { boundariesBytes: [256 * KIB, 4096 * KIB] },
  );
}

describe('content in a real bucket', { skip }, () => {
  test('stores that share a bucket do not see each other', async () => {
    const storeId = freshStoreId();
    const [one, other] = [await open(storeId), await open(`${storeId}0`)];
    const extent = await put(one, randomBytes(100));
    assert.deepEqual(await other.recover(each([])), { extentCount: 0, bytes: 0 });
    assert.equal(await other.verify(extent), 'missing');
    assert.equal(await one.verify(extent), 'ok');
    await Promise.all([one.close(), other.close()]);
  });

  test('nodes that share a store see each other', async () => {
    const storeId = freshStoreId();
    const [one, other] = [await open(storeId), await open(storeId)];
    const bytes = randomBytes(100_000);
    const extent = await put(one, bytes);
    assert.ok((await get(other, extent)).equals(bytes));
    assert.deepEqual(await other.recover(each([]), { spareYoungerThanMs: HOUR_MS }), { extentCount: 0, bytes: 0 });
    assert.equal(await one.verify(extent), 'ok');
    await other.free(extent.placement, extent.lengthBytes);
    assert.equal(await one.verify(extent), 'missing');
    await Promise.all([one.close(), other.close()]);
  });

  test('a store of more objects than a page of its listing holds is recovered as a whole', async () => {
    const store = await openS3Content({ url: await url(), storeId: freshStoreId(), pageObjectCountMax: 7 });
    const extents = await Promise.all(Array.from({ length: 50 }, () => put(store, randomBytes(10))));
    // Two placements under one id, as after a move that was not finished.
    const moved = extents[13] as PlacedExtent;
    await store.write(moved.id, each([randomBytes(10)]), 10);
    const live = extents.filter((_, index) => index % 10 !== 7).sort((one, other) => (one.id < other.id ? -1 : 1));
    const strays = { extentCount: 6, bytes: 60 };
    assert.deepEqual(await store.strays(each(live)), strays);
    assert.deepEqual(await store.recover(each(live)), strays);
    for (const extent of live) assert.equal(await store.verify(extent), 'ok');
    assert.deepEqual(await store.strays(each([])), { extentCount: live.length, bytes: 10 * live.length });
    await store.close();
  });

  test('a wrong secret is refused with what the server said, and does not appear', async () => {
    const wrong = (await url()).replace(/^s3:\/\/([^:]+):[^@]+@/, 's3://$1:hush@');
    await assert.rejects(openS3Content({ url: wrong, storeId: 'store' }), (error: Error) => {
      assert.ok(error instanceof ContentUnavailable);
      assert.match(error.message, /refuses access to the bucket .*403 SignatureDoesNotMatch/);
      assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}`, /hush/);
      return true;
    });
  });

  test('credentials that are given stand in for those of the URL', async () => {
    const [, accessKeyId = '', secretAccessKey = ''] = /^s3:\/\/([^:]+):([^@]+)@/.exec(await url()) ?? [];
    const bare = (await url()).replace(/^s3:\/\/[^@]+@/, 's3://KEY:hush@');
    const credentials = { accessKeyId, secretAccessKey };
    const store = await openS3Content({ url: bare, storeId: freshStoreId(), credentials });
    assert.equal(await store.verify(await put(store, randomBytes(1))), 'ok');
    await store.close();
  });
});
