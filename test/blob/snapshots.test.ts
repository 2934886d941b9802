/** Snapshots: what they keep, how they are read, listed and deleted, and that nothing written later reaches them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BlobItem, BlockBlobClient, ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);

async function freshBlob(text = 'first'): Promise<{ container: ContainerClient; blob: BlockBlobClient }> {
  const container = await freshContainer(service);
  const blob = container.getBlockBlobClient('blob');
  await blob.upload(text, text.length, {
    metadata: { color: 'blue' },
    tags: { a: '1', b: '2' },
    blobHTTPHeaders: { blobContentType: 'text/plain', blobCacheControl: 'no-cache' },
  });
  return { container, blob };
}

const snapshotOf = async (blob: BlockBlobClient): Promise<BlockBlobClient> =>
  blob.withSnapshot((await blob.createSnapshot()).snapshot as string);

const textOf = async (blob: Pick<BlockBlobClient, 'downloadToBuffer'>): Promise<string> =>
  (await blob.downloadToBuffer()).toString();

async function items(container: ContainerClient): Promise<BlobItem[]> {
  const found: BlobItem[] = [];
  for await (const item of container.listBlobsFlat({ includeSnapshots: true })) found.push(item);
  return found;
}

const raw = (container: ContainerClient, method: string, query: string, headers: Record<string, string> = {}) =>
  send(server.url, { method, path: `/${container.containerName}/blob${query}`, headers });

const blockId = (number: number): string => Buffer.from(`block ${number}`).toString('base64');
const blockBody = (number: number): Buffer => Buffer.alloc(10_000, String(number));

describe('a snapshot', () => {
  test('is named by its time, to seven digits, and no two have the same', async () => {
    const { blob } = await freshBlob();
    const ids = new Set<string>();
    for (let count = 0; count < 20; count++) ids.add((await blob.createSnapshot()).snapshot as string);
    assert.equal(ids.size, 20);
    for (const id of ids) assert.match(id, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.deepEqual([...ids].sort(), [...ids], 'later ones are greater');
  });

  test('keeps everything of the blob, with its ETag and times, and leaves the blob as it is', async () => {
    const { blob } = await freshBlob();
    const before = await blob.getProperties();
    server.clock.advance({ seconds: 10 });
    const taken = await blob.createSnapshot();
    assert.equal(taken.etag, before.etag);
    assert.deepEqual(taken.lastModified, before.lastModified);
    assert.equal((await blob.getProperties()).etag, before.etag);
    const properties = await blob.withSnapshot(taken.snapshot as string).getProperties();
    assert.equal(properties.etag, before.etag);
    assert.deepEqual(properties.createdOn, before.createdOn);
    assert.deepEqual(properties.metadata, { color: 'blue' });
    assert.equal(properties.contentType, 'text/plain');
    assert.equal(properties.cacheControl, 'no-cache');
    assert.equal(properties.tagCount, 2);
    assert.deepEqual(properties.contentMD5, before.contentMD5);
  });

  test('with metadata of its own has an ETag of its own', async () => {
    const { blob } = await freshBlob();
    const before = await blob.getProperties();
    const taken = await blob.createSnapshot({ metadata: { taken: 'today' } });
    assert.notEqual(taken.etag, before.etag);
    const snapshot = blob.withSnapshot(taken.snapshot as string);
    assert.deepEqual((await snapshot.getProperties()).metadata, { taken: 'today' });
    assert.equal((await snapshot.getProperties()).etag, taken.etag);
    assert.deepEqual((await blob.getProperties()).metadata, { color: 'blue' });
    assert.equal((await blob.getProperties()).etag, before.etag);
  });

  test('does not change with the blob, whatever is written to it', async () => {
    const { blob } = await freshBlob();
    const snapshots = [await snapshotOf(blob)];
    await blob.setMetadata({ color: 'red' });
    snapshots.push(await snapshotOf(blob));
    await blob.setHTTPHeaders({ blobContentType: 'text/html' });
    await blob.setTags({});
    await blob.upload('second!', 7);
    snapshots.push(await snapshotOf(blob));
    await blob.stageBlock('YQ==', 'third...', 8);
    await blob.commitBlockList(['YQ==']);
    const told = await Promise.all(
      snapshots.map(async (snapshot) => {
        const { metadata, contentType, tagCount } = await snapshot.getProperties();
        return [await textOf(snapshot), metadata?.['color'], contentType, tagCount];
      }),
    );
    assert.deepEqual(told, [
      ['first', 'blue', 'text/plain', 2],
      ['first', 'red', 'text/plain', 2],
      ['second!', undefined, 'application/octet-stream', undefined],
    ]);
    assert.equal(await textOf(blob), 'third...');
  });

  test('of a block list keeps its blocks, though later lists take some of them over', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('blob');
    for (const number of [1, 2, 3]) await blob.stageBlock(blockId(number), blockBody(number), 10_000);
    await blob.commitBlockList([1, 2, 3].map(blockId));
    const first = await snapshotOf(blob);
    await blob.stageBlock(blockId(4), blockBody(4), 10_000);
    await blob.commitBlockList([4, 2].map(blockId));
    const second = await snapshotOf(blob);
    await blob.upload('', 0);
    assert.deepEqual(await first.downloadToBuffer(), Buffer.concat([1, 2, 3].map(blockBody)));
    assert.deepEqual(await second.downloadToBuffer(), Buffer.concat([4, 2].map(blockBody)));
    const list = await first.getBlockList('committed');
    assert.deepEqual(
      list.committedBlocks?.map(({ name }) => name),
      [1, 2, 3].map(blockId),
    );
    await first.delete();
    await blob.delete({ deleteSnapshots: 'include' });
    assert.deepEqual(await items(container), []);
  });

  test('is read in parts, and under conditions on its own ETag', async () => {
    const { blob } = await freshBlob('0123456789');
    const snapshot = await snapshotOf(blob);
    const { etag = '' } = await snapshot.getProperties();
    await blob.upload('other', 5);
    assert.equal((await snapshot.downloadToBuffer(2, 3)).toString(), '234');
    assert.equal((await snapshot.downloadToBuffer(0, 10, { conditions: { ifMatch: etag } })).toString(), '0123456789');
    const { etag: newer = '' } = await blob.getProperties();
    assert.equal(await refusal(snapshot.getProperties({ conditions: { ifMatch: newer } })), '412 ConditionNotMet');
    assert.equal(await refusal(snapshot.download(10)), '416 InvalidRange');
  });

  test('has no lease, and taking one needs none', async () => {
    const { blob } = await freshBlob();
    const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(-1);
    const snapshot = await snapshotOf(blob);
    const properties = await snapshot.getProperties();
    assert.equal(properties.leaseState, undefined);
    assert.equal(properties.leaseStatus, undefined);
    await blob.createSnapshot({ conditions: { leaseId } });
    const other = '00000000-0000-4000-8000-000000000000';
    assert.equal(
      await refusal(blob.createSnapshot({ conditions: { leaseId: other } })),
      '412 LeaseIdMismatchWithBlobOperation',
    );
    await snapshot.delete();
  });

  test('is taken under conditions', async () => {
    const { blob } = await freshBlob();
    const { etag = '' } = await blob.getProperties();
    await blob.createSnapshot({ conditions: { ifMatch: etag } });
    assert.equal(await refusal(blob.createSnapshot({ conditions: { ifMatch: '"0x1"' } })), '412 ConditionNotMet');
    assert.equal(await refusal(blob.createSnapshot({ conditions: { ifNoneMatch: etag } })), '412 ConditionNotMet');
    assert.equal(
      await refusal(blob.createSnapshot({ conditions: { tagConditions: `"a" = '2'` } })),
      '412 ConditionNotMet',
    );
  });

  test('cannot be taken of what is not there', async () => {
    const container = await freshContainer(service);
    assert.equal(await refusal(container.getBlobClient('none').createSnapshot()), '404 BlobNotFound');
    await container.getBlockBlobClient('staged').stageBlock('YQ==', 'x', 1);
    assert.equal(await refusal(container.getBlobClient('staged').createSnapshot()), '404 BlobNotFound');
    const missing = service.getContainerClient('missing-container').getBlobClient('b');
    assert.equal(await refusal(missing.createSnapshot()), '404 ContainerNotFound');
  });
});

describe('a snapshot that is addressed', () => {
  for (const [query, want] of [
    ['?snapshot=2020-01-01T00:00:00.0000000Z', '404 BlobNotFound'],
    ['?snapshot=yesterday', '400 InvalidQueryParameterValue'],
    ['?snapshot=', '400 InvalidQueryParameterValue'],
    [
      '?snapshot=2020-01-01T00:00:00.0000000Z&versionid=2020-01-01T00:00:00.0000000Z',
      '400 MutuallyExclusiveQueryParameters',
    ],
  ] as const) {
    test(`as ${query} gets ${want}`, async () => {
      const { container } = await freshBlob();
      assert.equal((await raw(container, 'GET', query)).outcome, want);
    });
  }

  for (const [what, method, suffix, headers] of [
    ['Put Blob', 'PUT', '', { 'x-ms-blob-type': 'BlockBlob' }],
    ['Set Blob Metadata', 'PUT', '&comp=metadata', {}],
    ['Set Blob Properties', 'PUT', '&comp=properties', {}],
    ['Snapshot Blob', 'PUT', '&comp=snapshot', {}],
    ['Lease Blob', 'PUT', '&comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }],
    ['Put Block', 'PUT', '&comp=block&blockid=YQ%3D%3D', {}],
    ['Undelete Blob', 'PUT', '&comp=undelete', {}],
  ] as const) {
    test(`by ${what} is refused: it is there to be read`, async () => {
      const { container, blob } = await freshBlob();
      const { snapshot = '' } = await blob.createSnapshot();
      const query = `?snapshot=${encodeURIComponent(snapshot)}${suffix}`;
      assert.equal((await raw(container, method, query, headers)).outcome, '400 InvalidQueryParameterValue');
      assert.equal(await textOf(blob.withSnapshot(snapshot)), 'first');
    });
  }
});

describe('deleting', () => {
  test('a blob with snapshots needs to say what becomes of them', async () => {
    const { container, blob } = await freshBlob();
    const snapshot = await snapshotOf(blob);
    assert.equal(await refusal(blob.delete()), '409 SnapshotsPresent');
    await blob.delete({ deleteSnapshots: 'only' });
    assert.equal(await textOf(blob), 'first');
    assert.equal(await refusal(snapshot.getProperties()), '404 BlobNotFound');
    await blob.delete();
    assert.deepEqual(await items(container), []);
  });

  test('a blob with its snapshots leaves nothing', async () => {
    const { container, blob } = await freshBlob();
    for (let count = 0; count < 3; count++) await blob.createSnapshot();
    await blob.delete({ deleteSnapshots: 'include' });
    assert.deepEqual(await items(container), []);
    await blob.upload('new', 3);
    assert.equal((await items(container)).length, 1, 'a new blob of the name starts without any');
    await blob.delete();
  });

  test('one snapshot leaves the others, and the blob, leased or not', async () => {
    const { container, blob } = await freshBlob();
    const first = await snapshotOf(blob);
    await blob.createSnapshot();
    await blob.getBlobLeaseClient().acquireLease(-1);
    await first.delete();
    assert.equal((await items(container)).length, 2);
    assert.equal(await refusal(first.delete()), '404 BlobNotFound');
  });

  test('with snapshots needs the lease id of a leased blob; the snapshots alone do not', async () => {
    const { blob } = await freshBlob();
    await blob.createSnapshot();
    const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(-1);
    assert.equal(await refusal(blob.delete({ deleteSnapshots: 'include' })), '412 LeaseIdMissing');
    await blob.delete({ deleteSnapshots: 'only' });
    await blob.createSnapshot();
    await blob.delete({ deleteSnapshots: 'include', conditions: { leaseId } });
  });

  test('a snapshot under a condition judges the snapshot', async () => {
    const { container, blob } = await freshBlob();
    const { snapshot = '', etag = '' } = await blob.createSnapshot();
    await blob.upload('second', 6);
    const query = `?snapshot=${encodeURIComponent(snapshot)}`;
    assert.equal((await raw(container, 'DELETE', query, { 'if-none-match': etag })).outcome, '412 ConditionNotMet');
    const { status, headers } = await raw(container, 'DELETE', query, { 'if-match': etag });
    assert.equal(status, 202);
    assert.equal(headers['x-ms-delete-type-permanent'], 'true');
  });

  test('says nothing twice: the header is for the blob', async () => {
    const { container, blob } = await freshBlob();
    const { snapshot = '' } = await blob.createSnapshot();
    const query = `?snapshot=${encodeURIComponent(snapshot)}`;
    const both = await raw(container, 'DELETE', query, { 'x-ms-delete-snapshots': 'include' });
    assert.equal(both.outcome, '400 InvalidQueryParameterValue');
    const odd = await raw(container, 'DELETE', '', { 'x-ms-delete-snapshots': 'all' });
    assert.equal(odd.outcome, '400 InvalidHeaderValue');
  });
});

describe('a listing', () => {
  test('has snapshots where they are asked for, oldest first and before their blob', async () => {
    const { container, blob } = await freshBlob();
    const ids: (string | undefined)[] = [];
    for (let count = 0; count < 3; count++) ids.push((await blob.createSnapshot()).snapshot);
    await container.uploadBlockBlob('blob/behind', 'x', 1);
    const found = await items(container);
    assert.deepEqual(
      found.map((item) => [item.name, item.snapshot || undefined]),
      [...ids.map((id) => ['blob', id]), ['blob', undefined], ['blob/behind', undefined]],
    );
    for (const item of found.slice(0, 3)) {
      assert.equal(item.properties.leaseState, undefined);
      assert.equal(item.properties.leaseStatus, undefined);
    }
    const plain: string[] = [];
    for await (const item of container.listBlobsFlat()) plain.push(item.name);
    assert.deepEqual(plain, ['blob', 'blob/behind']);
  });

  for (const maxPageSize of [1, 2, 3]) {
    test(`in pages of ${maxPageSize} goes on in the middle of a blob's snapshots`, async () => {
      const { container, blob } = await freshBlob();
      for (let count = 0; count < 4; count++) await blob.createSnapshot();
      await container.uploadBlockBlob('a', 'x', 1);
      await container.getBlockBlobClient('a').createSnapshot();
      const seen: string[] = [];
      for await (const page of container.listBlobsFlat({ includeSnapshots: true }).byPage({ maxPageSize })) {
        assert.ok(page.segment.blobItems.length <= maxPageSize);
        seen.push(...page.segment.blobItems.map((item) => `${item.name} ${item.snapshot}`));
      }
      assert.deepEqual(
        seen,
        (await items(container)).map((item) => `${item.name} ${item.snapshot}`),
      );
      assert.equal(new Set(seen).size, 7);
    });
  }

  test('cannot have both snapshots and a hierarchy', async () => {
    const { container } = await freshBlob();
    for (const word of ['snapshots', 'versions']) {
      const { outcome } = await send(server.url, {
        method: 'GET',
        path: `/${container.containerName}?restype=container&comp=list&delimiter=%2F&include=${word}`,
      });
      assert.equal(outcome, '400 InvalidQueryParameterValue');
    }
  });
});
