/** List Blobs: order, prefixes, hierarchies, pages of every size, and what each entry tells. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { BlobItem, ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const server = await startInProcess();
const service = blobService(server);

async function containerWith(names: readonly string[]): Promise<ContainerClient> {
  const container = await freshContainer(service);
  for (const name of names) await container.uploadBlockBlob(name, name, Buffer.byteLength(name));
  return container;
}

async function flat(container: ContainerClient, prefix?: string): Promise<string[]> {
  const names = [];
  for await (const item of container.listBlobsFlat(prefix === undefined ? {} : { prefix })) names.push(item.name);
  return names;
}

/** Blobs as they are, prefixes in brackets, in the order of each page's answer. */
async function hierarchy(container: ContainerClient, delimiter: string, prefix = ''): Promise<string[]> {
  const found = [];
  for await (const item of container.listBlobsByHierarchy(delimiter, { prefix })) {
    found.push(item.kind === 'prefix' ? `[${item.name}]` : item.name);
  }
  return found.sort();
}

const rawList = (container: ContainerClient, query: string): ReturnType<typeof send> =>
  send(server.url, { method: 'GET', path: `/${container.containerName}?restype=container&comp=list${query}` });

const NAMES = ['B', 'a', 'a/1', 'a/2', 'a/b/1', 'a-1', 'b', 'c/1', 'Ä', 'z', '🪨'];
const ORDINAL = NAMES.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe('a flat list', () => {
  test('is in ordinal order, upper case first', async () => {
    assert.deepEqual(await flat(await containerWith(NAMES.toReversed())), ORDINAL);
  });

  test('by prefix is exact and knows case', async () => {
    const container = await containerWith(NAMES);
    assert.deepEqual(await flat(container, 'a'), ['a', 'a-1', 'a/1', 'a/2', 'a/b/1']);
    assert.deepEqual(await flat(container, 'a/'), ['a/1', 'a/2', 'a/b/1']);
    assert.deepEqual(await flat(container, 'B'), ['B']);
    assert.deepEqual(await flat(container, 'Ä'), ['Ä']);
    assert.deepEqual(await flat(container, 'nothing'), []);
  });

  for (const maxPageSize of [1, 2, 3, 5000]) {
    test(`comes in pages of ${maxPageSize}, none missing, none twice`, async () => {
      const container = await containerWith(NAMES);
      const seen: string[] = [];
      for await (const page of container.listBlobsFlat().byPage({ maxPageSize })) {
        assert.ok(page.segment.blobItems.length <= maxPageSize);
        seen.push(...page.segment.blobItems.map((item) => item.name));
      }
      assert.deepEqual(seen, ORDINAL);
    });
  }

  test('goes on from a marker when blobs before it are deleted and added', async () => {
    const container = await containerWith(['a', 'b', 'c', 'd', 'e']);
    const first = await container.listBlobsFlat().byPage({ maxPageSize: 2 }).next();
    await container.deleteBlob('b');
    await container.deleteBlob('c');
    await container.uploadBlockBlob('aa', 'x', 1);
    const continuationToken = first.value.continuationToken as string;
    const rest = [];
    for await (const page of container.listBlobsFlat().byPage({ continuationToken, maxPageSize: 2 })) {
      rest.push(...page.segment.blobItems.map((item: BlobItem) => item.name));
    }
    assert.deepEqual(rest, ['d', 'e']);
  });

  test('of an empty container is empty, and says so with an empty marker', async () => {
    const container = await freshContainer(service);
    const { body } = await rawList(container, '');
    assert.match(body.toString(), /<Blobs ?\/>|<Blobs><\/Blobs>/);
    assert.match(body.toString(), /<NextMarker ?\/>|<NextMarker><\/NextMarker>/);
  });

  test('tells what each blob is', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('blob');
    const headers = {
      blobContentType: 'text/plain',
      blobContentLanguage: 'en',
      blobContentEncoding: 'gzip',
      blobCacheControl: 'no-cache',
      blobContentDisposition: 'inline',
    };
    const { etag, contentMD5 } = await blob.upload('content', 7, { blobHTTPHeaders: headers, metadata: { a: 'b' } });
    await blob.getBlobLeaseClient().acquireLease(-1);
    const { value: item } = await container.listBlobsFlat().next();
    assert.equal(item.name, 'blob');
    const { properties } = item;
    assert.equal(`"${properties.etag}"`, etag);
    assert.deepEqual(properties.contentMD5, contentMD5);
    assert.equal(properties.contentLength, 7);
    assert.equal(properties.contentType, 'text/plain');
    assert.equal(properties.contentLanguage, 'en');
    assert.equal(properties.contentEncoding, 'gzip');
    assert.equal(properties.cacheControl, 'no-cache');
    assert.equal(properties.contentDisposition, 'inline');
    assert.equal(properties.blobType, 'BlockBlob');
    assert.equal(properties.leaseState, 'leased');
    assert.equal(properties.leaseStatus, 'locked');
    assert.equal(properties.leaseDuration, 'infinite');
    assert.equal(properties.serverEncrypted, true);
    assert.ok(properties.createdOn instanceof Date);
    assert.ok(properties.lastModified instanceof Date);
    assert.equal(item.metadata, undefined, 'metadata comes only when asked for');
    const { value: asked } = await container.listBlobsFlat({ includeMetadata: true }).next();
    assert.deepEqual(asked.metadata, { a: 'b' });
  });

  test('has uncommitted blobs only when asked for', async () => {
    const container = await containerWith(['a', 'c']);
    await container.getBlockBlobClient('b').stageBlock('YQ==', 'x', 1);
    assert.deepEqual(await flat(container), ['a', 'c']);
    const items: BlobItem[] = [];
    for await (const item of container.listBlobsFlat({ includeUncommitedBlobs: true })) items.push(item);
    assert.deepEqual(
      items.map((item) => item.name),
      ['a', 'b', 'c'],
    );
    assert.equal(items[1]?.properties.contentLength, 0);
    const { body } = await rawList(container, '&include=uncommittedblobs&prefix=b');
    assert.doesNotMatch(body.toString(), /<Etag>|<Last-Modified>/);
  });

  test('echoes what it was asked', async () => {
    const container = await containerWith(['a/1', 'a/2']);
    const { body, headers } = await rawList(container, '&prefix=a%2F&maxresults=1&delimiter=%2F');
    const text = body.toString();
    assert.match(headers['content-type'] ?? '', /^application\/xml/);
    assert.match(
      text,
      new RegExp(
        `<EnumerationResults ServiceEndpoint="${server.endpoint()}/" ContainerName="${container.containerName}">`,
      ),
    );
    assert.match(text, /<Prefix>a\/<\/Prefix>/);
    assert.match(text, /<MaxResults>1<\/MaxResults>/);
    assert.match(text, /<Delimiter>\/<\/Delimiter>/);
    assert.match(text, /<NextMarker>[^<]+<\/NextMarker>/);
  });

  for (const [query, want] of [
    ['&maxresults=0', '400 OutOfRangeQueryParameterValue'],
    ['&maxresults=-5', '400 OutOfRangeQueryParameterValue'],
    ['&maxresults=many', '400 InvalidQueryParameterValue'],
    ['&include=everything', '400 InvalidQueryParameterValue'],
    ['&maxresults=9999', '200'],
    ['&include=metadata,copy', '200'],
  ] as const) {
    test(`${query} gets ${want}`, async () => {
      assert.equal((await rawList(await freshContainer(service), query)).outcome, want);
    });
  }
});

describe('a hierarchical list', () => {
  test('gives blobs and prefixes, level by level', async () => {
    const container = await containerWith(NAMES);
    assert.deepEqual(await hierarchy(container, '/'), ['B', '[a/]', '[c/]', 'a', 'a-1', 'b', 'z', 'Ä', '🪨'].sort());
    assert.deepEqual(await hierarchy(container, '/', 'a/'), ['[a/b/]', 'a/1', 'a/2'].sort());
    assert.deepEqual(await hierarchy(container, '/', 'a'), ['[a/]', 'a', 'a-1'].sort());
    assert.deepEqual(await hierarchy(container, '/', 'a/b/'), ['a/b/1']);
  });

  test('takes a delimiter of several characters', async () => {
    const container = await containerWith(['a--b', 'a--c', 'd-e']);
    assert.deepEqual(await hierarchy(container, '--'), ['[a--]', 'd-e']);
  });

  for (const maxPageSize of [1, 2, 5000]) {
    test(`comes in pages of ${maxPageSize}; a prefix counts as one entry and comes once`, async () => {
      const container = await containerWith([...NAMES, 'a/3', 'a/4', 'c/2']);
      const seen: string[] = [];
      for await (const page of container.listBlobsByHierarchy('/').byPage({ maxPageSize })) {
        const { blobItems, blobPrefixes = [] } = page.segment;
        assert.ok(blobItems.length + blobPrefixes.length <= maxPageSize);
        seen.push(...blobItems.map((item) => item.name), ...blobPrefixes.map((item) => `[${item.name}]`));
      }
      assert.deepEqual(seen.sort(), ['B', '[a/]', '[c/]', 'a', 'a-1', 'b', 'z', 'Ä', '🪨'].sort());
    });
  }
});

describe('many blobs', () => {
  test('5,001 blobs come in two pages, whatever their names', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const container = await freshContainer(service);
    const names = Array.from({ length: 5001 }, () => `${random.pick(['a/', 'b/', ''])}${randomUUID()}`);
    const put = async (lane: number): Promise<void> => {
      for (let index = lane; index < names.length; index += 16) {
        await container.uploadBlockBlob(names[index] as string, '', 0);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, lane) => put(lane)));
    const pages: string[][] = [];
    for await (const page of container.listBlobsFlat().byPage()) {
      pages.push(page.segment.blobItems.map((item) => item.name));
    }
    assert.deepEqual(
      pages.map((page) => page.length),
      [5000, 1],
    );
    assert.deepEqual(pages.flat(), names.toSorted());
    const prefixes = await hierarchy(container, '/');
    assert.deepEqual(
      prefixes.filter((name) => name.startsWith('[')),
      ['[a/]', '[b/]'],
    );
  });
});
