/** List Blobs: order, prefixes, hierarchies, pages of every size, and what each entry tells. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { BlobItem, ContainerClient, ContainerListBlobsOptions } from '@azure/storage-blob';
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

/** Everything that can be asked for, of a blob by name. */
async function entry(container: ContainerClient, name: string, options?: ContainerListBlobsOptions): Promise<BlobItem> {
  const everything = {
    includeCopy: true,
    includeDeleted: true,
    includeDeletedWithVersions: true,
    includeImmutabilityPolicy: true,
    includeLegalHold: true,
    includeMetadata: true,
    includeSnapshots: true,
    includeTags: true,
    includeUncommitedBlobs: true,
    includeVersions: true,
  };
  for await (const item of container.listBlobsFlat(options ?? everything)) if (item.name === name) return item;
  return assert.fail(`${name} is not listed`);
}

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

describe('an entry', () => {
  test('tells tags, where they are asked for, and always how many there are', async () => {
    const container = await freshContainer(service);
    await container.getBlockBlobClient('blob').upload('x', 1, { tags: { b: '2', 'a b': 'c+d' } });
    const asked = await entry(container, 'blob');
    assert.deepEqual(asked.tags, { b: '2', 'a b': 'c+d' });
    assert.equal(asked.properties.tagCount, 2);
    const plain = await entry(container, 'blob', {});
    assert.equal(plain.tags, undefined);
    assert.equal(plain.properties.tagCount, 2);
    await container.uploadBlockBlob('other', 'x', 1);
    assert.equal((await entry(container, 'other')).properties.tagCount, undefined);
  });

  test('tells the last copy into the blob, where it is asked for', async () => {
    const container = await freshContainer(service);
    const source = container.getBlockBlobClient('source');
    await source.upload('12345', 5);
    const blob = container.getBlockBlobClient('blob');
    await (await blob.beginCopyFromURL(source.url)).pollUntilDone();
    const { properties } = await entry(container, 'blob');
    const { copyId } = await blob.getProperties();
    assert.equal(properties.copyId, copyId);
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copyProgress, '5/5');
    assert.match(properties.copySource ?? '', /\/source/);
    assert.ok(properties.copyCompletedOn instanceof Date);
    assert.equal((await entry(container, 'blob', {})).properties.copyId, undefined);
    assert.equal((await entry(container, 'source')).properties.copyId, undefined);
  });

  test('tells the tier, and where it is going', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('blob');
    await blob.upload('x', 1);
    const inferred = (await entry(container, 'blob')).properties;
    assert.deepEqual([inferred.accessTier, inferred.accessTierInferred], ['Hot', true]);
    assert.equal(inferred.accessTierChangedOn, undefined);
    await blob.setAccessTier('Archive');
    const archived = (await entry(container, 'blob')).properties;
    assert.deepEqual([archived.accessTier, archived.accessTierInferred], ['Archive', undefined]);
    assert.ok(archived.accessTierChangedOn instanceof Date);
    await blob.setAccessTier('Cool', { rehydratePriority: 'High' });
    const coming = (await entry(container, 'blob')).properties;
    assert.deepEqual(
      [coming.accessTier, coming.archiveStatus, coming.rehydratePriority],
      ['Archive', 'rehydrate-pending-to-cool', 'High'],
    );
    server.clock.advance({ seconds: 60 });
    const back = (await entry(container, 'blob')).properties;
    assert.deepEqual([back.accessTier, back.archiveStatus, back.rehydratePriority], ['Cool', undefined, undefined]);
  });

  test('tells what only page blobs and append blobs have', async () => {
    const container = await freshContainer(service);
    await container.getPageBlobClient('pages').create(1024, { blobSequenceNumber: 7 });
    const log = container.getAppendBlobClient('log');
    await log.create();
    await log.appendBlock('12', 2);
    const pages = (await entry(container, 'pages')).properties;
    assert.deepEqual([pages.blobType, pages.contentLength, pages.blobSequenceNumber], ['PageBlob', 1024, 7]);
    assert.equal(pages.accessTier, undefined);
    const open = (await entry(container, 'log')).properties;
    assert.deepEqual([open.blobType, open.contentLength, open.isSealed], ['AppendBlob', 2, undefined]);
    await log.seal();
    assert.equal((await entry(container, 'log')).properties.isSealed, true);
  });

  test('tells policies and holds, where they are asked for', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('blob');
    await blob.upload('x', 1);
    const expiriesOn = new Date(Math.floor(server.clock.nowMs() / 1000) * 1000 + 60_000);
    await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' });
    await blob.setLegalHold(true);
    const asked = (await entry(container, 'blob')).properties;
    assert.deepEqual(asked.immutabilityPolicyExpiresOn, expiriesOn);
    assert.equal(asked.immutabilityPolicyMode?.toLowerCase(), 'unlocked');
    assert.equal(asked.legalHold, true);
    const plain = (await entry(container, 'blob', {})).properties;
    assert.deepEqual(
      [plain.immutabilityPolicyExpiresOn, plain.immutabilityPolicyMode, plain.legalHold],
      [undefined, undefined, undefined],
    );
    await blob.setLegalHold(false);
    await blob.deleteImmutabilityPolicy();
  });

  test('of a blob with a customer’s key tells that there is metadata, and not which', async () => {
    const container = await freshContainer(service);
    const key = Buffer.alloc(32, 'k');
    await send(server.url, {
      method: 'PUT',
      path: `/${container.containerName}/blob`,
      headers: {
        'x-ms-blob-type': 'BlockBlob',
        'x-ms-meta-secret': 'hidden',
        'x-ms-encryption-key': key.toString('base64'),
        'x-ms-encryption-key-sha256': createHash('sha256').update(key).digest('base64'),
        'x-ms-encryption-algorithm': 'AES256',
      },
      body: 'x',
    });
    const { body } = await rawList(container, '&include=metadata');
    assert.match(body.toString(), /<Metadata Encrypted="true" ?\/>/);
    assert.doesNotMatch(body.toString(), /hidden/);
    const { properties } = await entry(container, 'blob');
    assert.ok(properties.customerProvidedKeySha256);
  });

  test('tells the encryption scope', async () => {
    const container = await freshContainer(service);
    await container.getBlockBlobClient('blob').upload('x', 1, { encryptionScope: 'team-scope' });
    assert.equal((await entry(container, 'blob')).properties.encryptionScope, 'team-scope');
  });

  test('tells when the blob ends by itself; when it has, there is none', async () => {
    const container = await freshContainer(service);
    await container.uploadBlockBlob('blob', 'x', 1);
    await container.uploadBlockBlob('lasting', 'x', 1);
    const { outcome } = await send(server.url, {
      method: 'PUT',
      path: `/${container.containerName}/blob?comp=expiry`,
      headers: { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '60000' },
    });
    assert.equal(outcome, '200');
    const { properties } = await entry(container, 'blob');
    assert.ok(properties.expiresOn instanceof Date);
    assert.deepEqual(await flat(container), ['blob', 'lasting']);
    server.clock.advance({ seconds: 60 });
    assert.deepEqual(await flat(container), ['lasting']);
  });

  test('is the same in a hierarchy', async () => {
    const container = await freshContainer(service);
    await container.getBlockBlobClient('blob').upload('x', 1, { tags: { a: 'b' }, metadata: { c: 'd' } });
    await container.uploadBlockBlob('dir/blob', 'x', 1);
    const listed = container.listBlobsByHierarchy('/', {
      includeCopy: true,
      includeDeleted: true,
      includeDeletedWithVersions: true,
      includeImmutabilityPolicy: true,
      includeLegalHold: true,
      includeMetadata: true,
      includeTags: true,
      includeUncommitedBlobs: true,
    });
    const found: unknown[] = [];
    for await (const item of listed) found.push(item.kind === 'prefix' ? item.name : [item.tags, item.metadata]);
    assert.deepEqual(found.toReversed(), ['dir/', [{ a: 'b' }, { c: 'd' }]].toReversed());
  });

  test('with tags is for those who may read tags', async () => {
    const container = await freshContainer(service);
    await container.setAccessPolicy('container');
    const anonymous = { method: 'GET', account: null } as const;
    const path = `/${container.containerName}?restype=container&comp=list`;
    assert.equal((await send(server.url, { ...anonymous, path })).outcome, '200');
    const { outcome } = await send(server.url, { ...anonymous, path: `${path}&include=tags` });
    assert.equal(outcome, '403 AuthorizationPermissionMismatch');
  });

  test('of an append blob is kept from clients of before there were any', async () => {
    const container = await freshContainer(service);
    await container.uploadBlockBlob('a', 'x', 1);
    const path = `/${container.containerName}?restype=container&comp=list`;
    const old = (query: string) =>
      send(server.url, {
        method: 'GET',
        path: `${path}${query}`,
        headers: { 'x-ms-version': '2014-02-14' },
      });
    assert.equal((await old('')).outcome, '200');
    await container.getAppendBlobClient('b').create();
    assert.equal((await old('')).outcome, '409 FeatureVersionMismatch');
    assert.equal((await old('&maxresults=1')).outcome, '200', 'it is not on this page');
    assert.equal((await rawList(container, '')).outcome, '200');
  });
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
