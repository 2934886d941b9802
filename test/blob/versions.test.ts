/** Versions: what makes one, how they are read, listed, deleted and had back, for accounts that keep them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BlobItem, BlockBlobClient, ContainerClient, ContainerListBlobsOptions } from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({
  accounts: [SECOND_ACCOUNT],
  settings: { versioning: [DEVELOPMENT_ACCOUNT.name] },
});
const service = blobService(server);

async function freshBlob(): Promise<{ container: ContainerClient; blob: BlockBlobClient }> {
  const container = await freshContainer(service);
  return { container, blob: container.getBlockBlobClient('blob') };
}

/** Writes each text over the one before; the ids of the versions. */
async function write(blob: BlockBlobClient, ...texts: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) {
    ids.push((await blob.upload(text, text.length)).versionId as string);
    server.clock.advance({ seconds: 0.01 });
  }
  return ids;
}

const textOf = async (blob: Pick<BlockBlobClient, 'downloadToBuffer'>): Promise<string> =>
  (await blob.downloadToBuffer()).toString();

async function items(container: ContainerClient, options: ContainerListBlobsOptions): Promise<BlobItem[]> {
  const found: BlobItem[] = [];
  for await (const item of container.listBlobsFlat(options)) found.push(item);
  return found;
}

const versionsIn = async (container: ContainerClient): Promise<(string | undefined)[]> =>
  (await items(container, { includeVersions: true })).map((item) => item.versionId);

const raw = (container: ContainerClient, method: string, query: string, headers: Record<string, string> = {}) =>
  send(server.url, { method, path: `/${container.containerName}/blob${query}`, headers });

describe('a version', () => {
  test('is made by every write of the whole blob, and can be read by its id', async () => {
    const { blob } = await freshBlob();
    const ids = await write(blob, 'first', 'second', 'third');
    assert.deepEqual(ids.toSorted(), ids, 'later ones are greater');
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    const texts = await Promise.all(ids.map((id) => textOf(blob.withVersion(id))));
    assert.deepEqual(texts, ['first', 'second', 'third']);
    assert.equal(await textOf(blob), 'third');
  });

  test('says which it is, and the current one that it is the current one', async () => {
    const { blob } = await freshBlob();
    const [first = '', second = ''] = await write(blob, 'first', 'second');
    const current = await blob.getProperties();
    assert.equal(current.versionId, second);
    assert.equal(current.isCurrentVersion, true);
    const byId = await blob.withVersion(second).getProperties();
    assert.equal(byId.isCurrentVersion, true);
    assert.equal(byId.leaseState, 'available');
    const earlier = await blob.withVersion(first).getProperties();
    assert.equal(earlier.versionId, first);
    assert.equal(earlier.isCurrentVersion, undefined);
    assert.equal(earlier.leaseState, undefined, 'only the blob itself can be leased');
  });

  test('is made by Put Block List and Set Blob Metadata too', async () => {
    const { blob } = await freshBlob();
    await write(blob, 'first');
    await blob.stageBlock('YQ==', 'second', 6);
    const { versionId: list = '' } = await blob.commitBlockList(['YQ==']);
    server.clock.advance({ seconds: 0.01 });
    const { versionId: metadata = '' } = await blob.setMetadata({ a: 'b' });
    assert.ok(metadata > list);
    assert.equal(await textOf(blob.withVersion(list)), 'second');
    assert.equal(await textOf(blob.withVersion(metadata)), 'second', 'over the same content');
    assert.deepEqual((await blob.withVersion(list).getProperties()).metadata, {});
    assert.deepEqual((await blob.withVersion(metadata).getProperties()).metadata, { a: 'b' });
  });

  test('is not made by what only changes or notes something about the blob', async () => {
    const { container, blob } = await freshBlob();
    const [only] = await write(blob, 'first');
    await blob.setHTTPHeaders({ blobContentType: 'text/html' });
    await blob.setTags({ a: 'b' });
    await blob.setAccessTier('Cool');
    await blob.getBlobLeaseClient().acquireLease(-1);
    assert.deepEqual(await versionsIn(container), [only]);
    assert.equal((await blob.getProperties()).versionId, only);
  });

  test('keeps metadata, headers, tags and tier as they were', async () => {
    const { blob } = await freshBlob();
    const { versionId = '', etag } = await blob.upload('first', 5, {
      metadata: { a: '1' },
      tags: { t: 'x' },
      tier: 'Cool',
      blobHTTPHeaders: { blobContentType: 'text/plain' },
    });
    server.clock.advance({ seconds: 0.01 });
    await write(blob, 'second');
    const properties = await blob.withVersion(versionId).getProperties();
    assert.equal(properties.etag, etag);
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.contentType, 'text/plain');
    assert.equal(properties.tagCount, 1);
    assert.equal(properties.accessTier, 'Cool');
  });

  test('is told in the answer to a snapshot of the current one', async () => {
    const { blob } = await freshBlob();
    const [current] = await write(blob, 'first');
    const { snapshot = '', versionId } = await blob.createSnapshot();
    assert.equal(versionId, current);
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'first');
    assert.equal((await blob.withSnapshot(snapshot).getProperties()).versionId, undefined);
  });

  for (const [query, want] of [
    ['?versionid=2020-01-01T00:00:00.0000000Z', '404 BlobNotFound'],
    ['?versionid=first', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`as ${query} gets ${want}`, async () => {
      const { container, blob } = await freshBlob();
      await write(blob, 'first');
      assert.equal((await raw(container, 'GET', query)).outcome, want);
    });
  }

  test('cannot be written to, nor leased', async () => {
    const { container, blob } = await freshBlob();
    const [first = ''] = await write(blob, 'first', 'second');
    const at = `?versionid=${encodeURIComponent(first)}`;
    for (const [suffix, headers] of [
      ['', { 'x-ms-blob-type': 'BlockBlob' }],
      ['&comp=metadata', {}],
      ['&comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }],
    ] as const) {
      assert.equal((await raw(container, 'PUT', `${at}${suffix}`, headers)).outcome, '400 InvalidQueryParameterValue');
    }
    assert.equal(await textOf(blob.withVersion(first)), 'first');
  });
});

describe('a listing', () => {
  test('has versions where they are asked for, oldest first, the current one last', async () => {
    const { container, blob } = await freshBlob();
    const ids = await write(blob, 'first', 'second', 'third');
    await container.uploadBlockBlob('other', 'x', 1);
    const found = await items(container, { includeVersions: true });
    assert.deepEqual(
      found.map((item) => [item.name, item.isCurrentVersion]),
      [
        ['blob', undefined],
        ['blob', undefined],
        ['blob', true],
        ['other', true],
      ],
    );
    assert.deepEqual(
      found.slice(0, 3).map((item) => item.versionId),
      ids,
    );
    assert.equal(found[0]?.properties.leaseState, undefined);
    assert.equal(found[2]?.properties.leaseState, 'available');
    const plain = await items(container, {});
    assert.deepEqual(
      plain.map((item) => [item.name, item.versionId === ids[2]]),
      [
        ['blob', true],
        ['other', false],
      ],
    );
  });

  for (const maxPageSize of [1, 2, 3]) {
    test(`in pages of ${maxPageSize} goes on in the middle of a blob's versions`, async () => {
      const { container, blob } = await freshBlob();
      await write(blob, 'a', 'b', 'c', 'd');
      await blob.createSnapshot();
      await container.uploadBlockBlob('other', 'x', 1);
      const asked = { includeVersions: true, includeSnapshots: true };
      const seen: string[] = [];
      for await (const page of container.listBlobsFlat(asked).byPage({ maxPageSize })) {
        assert.ok(page.segment.blobItems.length <= maxPageSize);
        seen.push(...page.segment.blobItems.map((item) => `${item.name} ${item.snapshot} ${item.versionId}`));
      }
      const whole = (await items(container, asked)).map((item) => `${item.name} ${item.snapshot} ${item.versionId}`);
      assert.deepEqual(seen, whole);
      assert.equal(new Set(seen).size, 6);
    });
  }

  test('has names of which only versions are left, once each, where those are asked for', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first', 'second');
    await container.uploadBlockBlob('dir/live', 'x', 1);
    await blob.delete();
    const found = await items(container, { includeDeletedWithVersions: true });
    assert.deepEqual(
      found.map((item) => [
        item.name,
        item.hasVersionsOnly,
        item.versionId === undefined,
        item.properties.contentLength,
      ]),
      [
        ['blob', true, true, 6],
        ['dir/live', undefined, false, 1],
      ],
    );
    const level: string[] = [];
    for await (const item of container.listBlobsByHierarchy('/', { includeDeletedWithVersions: true })) {
      level.push(`${item.kind} ${item.name}`);
    }
    assert.deepEqual(level.toSorted(), ['blob blob', 'prefix dir/']);
    assert.deepEqual(
      (await items(container, {})).map((item) => item.name),
      ['dir/live'],
    );
  });
});

describe('deleting', () => {
  test('the blob leaves its versions, the last one among them', async () => {
    const { container, blob } = await freshBlob();
    const ids = await write(blob, 'first', 'second');
    const { headers } = await raw(container, 'DELETE', '');
    assert.equal(headers['x-ms-delete-type-permanent'], 'false');
    assert.equal(await refusal(blob.getProperties()), '404 BlobNotFound');
    assert.deepEqual(await versionsIn(container), ids);
    assert.equal(await textOf(blob.withVersion(ids[1] as string)), 'second');
    assert.equal((await blob.withVersion(ids[1] as string).getProperties()).isCurrentVersion, undefined);
    assert.equal(await refusal(blob.delete()), '404 BlobNotFound');
  });

  test('a blob that was written anew goes on where its versions ended', async () => {
    const { container, blob } = await freshBlob();
    const before = await write(blob, 'first', 'second');
    await blob.delete();
    const [after = ''] = await write(blob, 'third');
    assert.ok(after > (before[1] as string));
    assert.deepEqual(await versionsIn(container), [...before, after]);
  });

  test('a version leaves the others', async () => {
    const { container, blob } = await freshBlob();
    const [first = '', second = '', third = ''] = await write(blob, 'first', 'second', 'third');
    const { status, headers } = await raw(container, 'DELETE', `?versionid=${encodeURIComponent(second)}`);
    assert.equal(status, 202);
    assert.equal(headers['x-ms-delete-type-permanent'], 'true');
    assert.deepEqual(await versionsIn(container), [first, third]);
    assert.equal(await refusal(blob.withVersion(second).getProperties()), '404 BlobNotFound');
    assert.equal(await refusal(blob.withVersion(second).delete()), '404 BlobNotFound');
  });

  test('the current version by its id is refused', async () => {
    const { blob } = await freshBlob();
    const [, second = ''] = await write(blob, 'first', 'second');
    assert.equal(await refusal(blob.withVersion(second).delete()), '403 OperationNotAllowedOnRootBlob');
    assert.equal(await textOf(blob), 'second');
  });

  test('every version leaves nothing', async () => {
    const { container, blob } = await freshBlob();
    const ids = await write(blob, 'first', 'second');
    await blob.delete();
    for (const id of ids) await blob.withVersion(id).delete();
    assert.deepEqual(await items(container, { includeVersions: true, includeDeletedWithVersions: true }), []);
  });
});

describe('an earlier version', () => {
  test('is had back by copying it over the blob', async () => {
    const { container, blob } = await freshBlob();
    const [first = ''] = await write(blob, 'first', 'second');
    await blob.delete();
    const poller = await blob.beginCopyFromURL(blob.withVersion(first).url);
    await poller.pollUntilDone();
    assert.equal(await textOf(blob), 'first');
    assert.equal((await versionsIn(container)).length, 3);
  });

  test('survives a lease, a condition and an append to what came after it', async () => {
    const container = await freshContainer(service);
    const log = container.getAppendBlobClient('blob');
    await log.create();
    await log.appendBlock('one', 3);
    server.clock.advance({ seconds: 0.01 });
    const { versionId = '' } = await log.setMetadata({ a: 'b' });
    await log.appendBlock('two', 3);
    assert.equal((await log.downloadToBuffer()).toString(), 'onetwo');
    const found = await items(container, { includeVersions: true });
    assert.equal(found.at(-1)?.versionId, versionId);
    const texts = await Promise.all(found.map((item) => textOf(log.withVersion(item.versionId as string))));
    assert.deepEqual(texts, ['one', 'onetwo']);
  });
});

describe('an account that keeps no versions', () => {
  test('makes none, and says nothing of them', async () => {
    const container = await freshContainer(blobService(server, SECOND_ACCOUNT));
    const blob = container.getBlockBlobClient('blob');
    assert.equal((await blob.upload('first', 5)).versionId, undefined);
    assert.equal((await blob.upload('second', 6)).versionId, undefined);
    const found = await items(container, { includeVersions: true });
    assert.deepEqual(
      found.map((item) => [item.name, item.versionId, item.isCurrentVersion]),
      [['blob', undefined, undefined]],
    );
    await blob.delete();
    assert.deepEqual(await items(container, { includeVersions: true, includeDeletedWithVersions: true }), []);
  });

  test('says so of its containers, and the other one that it does', async () => {
    for (const [account, keeps] of [
      [DEVELOPMENT_ACCOUNT, 'true'],
      [SECOND_ACCOUNT, 'false'],
    ] as const) {
      const container = await freshContainer(blobService(server, account));
      const path = `/${container.containerName}?restype=container`;
      const { headers } = await send(server.url, { method: 'HEAD', path, account });
      assert.equal(headers['x-ms-immutable-storage-with-versioning-enabled'], keeps);
    }
  });
});
