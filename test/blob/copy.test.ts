/** Copy Blob within one server: done when it is answered, whatever the size, and independent of its source from then on. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  type AppendBlobClient,
  BlobSASPermissions,
  type BlockBlobClient,
  generateBlobSASQueryParameters,
  type PageBlobClient,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT], settings: { versioning: [SECOND_ACCOUNT.name] } });
const container = await freshContainer(blobService(server));
/** In an account that keeps versions. */
const versioned = await freshContainer(blobService(server, SECOND_ACCOUNT));

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());

async function freshBlob(text = 'source', options = {}): Promise<BlockBlobClient> {
  const blob = freshName();
  await blob.upload(text, Buffer.byteLength(text), options);
  return blob;
}

type AnyBlob = Pick<BlockBlobClient, 'beginCopyFromURL' | 'downloadToBuffer' | 'getProperties' | 'url'>;

const copy = async (
  from: { url: string },
  to: AnyBlob,
  options: Parameters<BlockBlobClient['beginCopyFromURL']>[1] = {},
): Promise<void> => {
  const poller = await to.beginCopyFromURL(from.url, options);
  const done = await poller.pollUntilDone();
  assert.equal(done.copyStatus, 'success');
};

const textOf = async (blob: AnyBlob): Promise<string> => (await blob.downloadToBuffer()).toString();
const blockId = (text: string): string => Buffer.from(text).toString('base64');

const rawCopy = (to: BlockBlobClient, headers: Record<string, string>): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path: `/${to.containerName}/${to.name}`, headers });

const freshAppend = async (...blocks: string[]): Promise<AppendBlobClient> => {
  const blob = container.getAppendBlobClient(randomUUID());
  await blob.create();
  for (const block of blocks) await blob.appendBlock(block, block.length);
  return blob;
};

const freshPages = async (lengthBytes: number): Promise<PageBlobClient> => {
  const blob = container.getPageBlobClient(randomUUID());
  await blob.create(lengthBytes, { blobSequenceNumber: 5, metadata: { a: '1' } });
  return blob;
};

const page = (text: string): Buffer => Buffer.alloc(512, text);

describe('a copy has of its source', () => {
  test('content, content headers, MD5 and metadata, and says where it came from', async () => {
    const from = await freshBlob('content', {
      metadata: { Colour: 'blue' },
      blobHTTPHeaders: { blobContentType: 'text/x', blobCacheControl: 'no-store', blobContentLanguage: 'rm' },
    });
    const to = freshName();
    await copy(from, to);
    const [source, copied] = [await from.getProperties(), await to.getProperties()];
    assert.equal(await textOf(to), 'content');
    assert.deepEqual(copied.metadata, source.metadata);
    for (const field of ['contentType', 'cacheControl', 'contentLanguage', 'contentMD5', 'blobType'] as const) {
      assert.deepEqual(copied[field], source[field], field);
    }
    assert.equal(copied.copySource, from.url);
    assert.equal(copied.copyStatus, 'success');
    assert.equal(copied.copyProgress, '7/7');
    assert.ok(copied.copyCompletedOn instanceof Date);
    assert.notEqual(copied.etag, source.etag);
    assert.equal((await from.getProperties()).etag, source.etag, 'the source does not change');
    assert.equal(source.copyId, undefined);
  });

  test('neither metadata that the request replaces, nor tags, nor lease, nor snapshots', async () => {
    const from = await freshBlob('content', { metadata: { old: '1' }, tags: { a: 'b' } });
    await from.getBlobLeaseClient().acquireLease(-1);
    await from.createSnapshot();
    const to = freshName();
    await copy(from, to, { metadata: { fresh: '2' }, tags: { c: 'd' } });
    const { metadata, leaseState } = await to.getProperties();
    assert.deepEqual(metadata, { fresh: '2' });
    assert.equal(leaseState, 'available');
    assert.deepEqual((await to.getTags()).tags, { c: 'd' });
    const untagged = freshName();
    await copy(from, untagged);
    assert.deepEqual((await untagged.getTags()).tags, {});
    const listed = [];
    for await (const { snapshot, name } of container.listBlobsFlat({ includeSnapshots: true, prefix: to.name })) {
      listed.push([name, snapshot]);
    }
    assert.deepEqual(listed, [[to.name, undefined]]);
  });

  test('its committed blocks, which both can go on from, and no staged ones', async () => {
    const from = freshName();
    const large = randomBytes(40_000);
    await from.stageBlock(blockId('a'), 'first', 5);
    await from.stageBlock(blockId('b'), large, large.length);
    await from.commitBlockList([blockId('a'), blockId('b')]);
    await from.stageBlock(blockId('c'), 'staged', 6);
    const to = freshName();
    await to.stageBlock(blockId('z'), 'gone', 4);
    await copy(from, to);
    const { committedBlocks = [], uncommittedBlocks = [] } = await to.getBlockList('all');
    assert.deepEqual(
      committedBlocks.map(({ name, size }) => [name, size]),
      [
        [blockId('a'), 5],
        [blockId('b'), large.length],
      ],
    );
    assert.deepEqual(uncommittedBlocks, []);
    await to.stageBlock(blockId('x'), 'more', 4);
    await to.commitBlockList([blockId('b'), blockId('x')]);
    await from.commitBlockList([blockId('c'), blockId('b')]);
    assert.deepEqual(await to.downloadToBuffer(), Buffer.concat([large, Buffer.from('more')]));
    assert.deepEqual(await from.downloadToBuffer(), Buffer.concat([Buffer.from('staged'), large]));
    await from.delete();
    assert.deepEqual(await to.downloadToBuffer(), Buffer.concat([large, Buffer.from('more')]));
  });

  for (const lengthBytes of [0, 100, 300_000]) {
    test(`all ${lengthBytes} bytes, also when the source is overwritten or deleted, and the copy of the copy`, async () => {
      const bytes = randomBytes(lengthBytes);
      const from = freshName();
      await from.upload(bytes, lengthBytes);
      const [first, second] = [freshName(), freshName()];
      await copy(from, first);
      await from.upload('other', 5);
      await copy(first, second);
      await first.delete();
      assert.deepEqual(await second.downloadToBuffer(), bytes);
      assert.equal(await textOf(from), 'other');
    });
  }
});

describe('an append blob', () => {
  test('and its copy grow apart', async () => {
    const from = await freshAppend('one,', 'two,');
    const to = container.getAppendBlobClient(randomUUID());
    await copy(from, to);
    await from.appendBlock('three', 5);
    await to.appendBlock('drei', 4);
    assert.equal(await textOf(from), 'one,two,three');
    assert.equal(await textOf(to), 'one,two,drei');
    assert.equal((await to.getProperties()).blobCommittedBlockCount, 3);
    await from.delete();
    await to.appendBlock('!', 1);
    assert.equal(await textOf(to), 'one,two,drei!');
  });

  test('is copied sealed or not, as the source is or as the request says', async () => {
    const sealed = await freshAppend('x');
    await sealed.seal();
    const open = await freshAppend('x');
    for (const [from, options, want] of [
      [sealed, {}, true],
      [sealed, { sealBlob: false }, undefined],
      [open, {}, undefined],
      [open, { sealBlob: true }, true],
    ] as const) {
      const to = container.getAppendBlobClient(randomUUID());
      await copy(from, to, options);
      assert.equal((await to.getProperties()).isSealed, want, JSON.stringify(options));
      assert.equal(await outcome(to.appendBlock('y', 1)), want === true ? '409 BlobIsSealed' : 'ok');
    }
    const block = await freshBlob();
    assert.equal(await refusal(freshName().beginCopyFromURL(block.url, { sealBlob: true })), '400 InvalidHeaderValue');
  });
});

describe('a page blob', () => {
  test('is copied with its pages and sequence number, and both are written on apart', async () => {
    const from = await freshPages(4 * 1024 * 1024);
    await from.uploadPages(page('a'), 0, 512);
    await from.uploadPages(page('b'), 2 * 1024 * 1024, 512);
    const to = container.getPageBlobClient(randomUUID());
    await copy(from, to);
    const want = await from.downloadToBuffer();
    assert.deepEqual(await to.downloadToBuffer(), want);
    const properties = await to.getProperties();
    assert.equal(properties.blobSequenceNumber, 5);
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.copyProgress, `${want.length}/${want.length}`);
    assert.deepEqual((await to.getPageRanges()).pageRange, (await from.getPageRanges()).pageRange);
    await from.uploadPages(page('c'), 0, 512);
    await to.uploadPages(page('d'), 512, 512);
    assert.deepEqual((await to.downloadToBuffer(0, 1024)).toString(), page('a').toString() + page('d').toString());
    assert.deepEqual((await from.downloadToBuffer(0, 512)).toString(), page('c').toString());
    await from.delete();
    assert.deepEqual((await to.downloadToBuffer(2 * 1024 * 1024, 512)).toString(), page('b').toString());
  });

  test('can be copied onto itself, and a snapshot of it promoted', async () => {
    const blob = await freshPages(1024);
    await blob.uploadPages(page('a'), 0, 512);
    await copy(blob, blob, { metadata: { b: '2' } });
    assert.deepEqual((await blob.downloadToBuffer(0, 512)).toString(), page('a').toString());
    assert.deepEqual((await blob.getProperties()).metadata, { b: '2' });
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.uploadPages(page('z'), 0, 512);
    await copy(blob.withSnapshot(snapshot), blob);
    assert.deepEqual((await blob.downloadToBuffer(0, 512)).toString(), page('a').toString());
    await blob.uploadPages(page('y'), 512, 512);
    assert.deepEqual((await blob.withSnapshot(snapshot).downloadToBuffer(512, 512)).toString(), '\0'.repeat(512));
  });
});

describe('under the same name', () => {
  test('a copy takes new metadata, drops what was staged, and keeps the content', async () => {
    const blob = await freshBlob('content', { metadata: { old: '1' } });
    const { etag } = await blob.getProperties();
    await blob.stageBlock(blockId('a'), 'staged', 6);
    await copy(blob, blob, { metadata: { fresh: '2' } });
    const properties = await blob.getProperties();
    assert.equal(await textOf(blob), 'content');
    assert.deepEqual(properties.metadata, { fresh: '2' });
    assert.notEqual(properties.etag, etag);
    assert.deepEqual((await blob.getBlockList('all')).uncommittedBlocks ?? [], []);
    await blob.upload('next', 4);
    assert.equal(await textOf(blob), 'next');
    assert.equal((await blob.getProperties()).copyId, undefined, 'a blob that is written anew is no copy any more');
  });

  test('a snapshot is promoted over its blob, and stays', async () => {
    const blob = await freshBlob('earlier');
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.upload('later', 5);
    await copy(blob.withSnapshot(snapshot), blob);
    assert.equal(await textOf(blob), 'earlier');
    await blob.upload('last', 4);
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'earlier');
    assert.equal((await blob.getProperties()).copySource, undefined);
  });

  test('a version is promoted over its blob, and the state before becomes one', async () => {
    const blob = versioned.getBlockBlobClient(randomUUID());
    const { versionId: first = '' } = await blob.upload('first', 5);
    const { versionId: second = '' } = await blob.upload('second', 6);
    await copy(blob.withVersion(first), blob);
    assert.equal(await textOf(blob), 'first');
    assert.equal(await textOf(blob.withVersion(second)), 'second');
    assert.equal(await textOf(blob.withVersion(first)), 'first');
    const { versionId } = await blob.getProperties();
    assert.ok(versionId !== undefined && versionId > second);
  });

  test('an append blob in an account that keeps versions goes on where it was', async () => {
    const blob = versioned.getAppendBlobClient(randomUUID());
    await blob.create();
    await blob.appendBlock('one,', 4);
    const { versionId = '' } = await blob.getProperties();
    await copy(blob, blob);
    await blob.appendBlock('two', 3);
    assert.equal(await textOf(blob), 'one,two');
    assert.equal((await blob.withVersion(versionId).downloadToBuffer()).toString(), 'one,');
  });
});

describe('a source', () => {
  const credential = new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key);

  const signed = (blob: BlockBlobClient): string => {
    const sas = generateBlobSASQueryParameters(
      {
        containerName: blob.containerName,
        blobName: blob.name,
        permissions: BlobSASPermissions.parse('r'),
        protocol: SASProtocol.HttpsAndHttp,
        expiresOn: new Date(server.clock.nowMs() + 3_600_000),
      },
      credential,
    );
    return `${blob.url}?${sas.toString()}`;
  };

  test('in another account is copied with a signature, which nobody is shown', async () => {
    const from = versioned.getBlockBlobClient(randomUUID());
    await from.upload('theirs', 6);
    const to = freshName();
    await copy({ url: signed(from) }, to);
    assert.equal(await textOf(to), 'theirs');
    assert.equal((await to.getProperties()).copySource, from.url);
    const unsigned = freshName();
    assert.match(await refusal(unsigned.beginCopyFromURL(from.url)), /^40[134] CannotVerifyCopySource$/);
    assert.equal(await unsigned.exists(), false);
  });

  test('that is not there is refused, and nothing is made', async () => {
    const to = freshName();
    const missing = container.getBlockBlobClient('missing');
    assert.equal(await refusal(to.beginCopyFromURL(missing.url)), '404 CannotVerifyCopySource');
    const nowhere = missing.url.replace(container.containerName, 'no-such-container');
    assert.equal(await refusal(to.beginCopyFromURL(nowhere)), '404 CannotVerifyCopySource');
    assert.equal((await rawCopy(to, { 'x-ms-copy-source': 'nonsense' })).outcome, '400 InvalidHeaderValue');
    assert.equal(await to.exists(), false);
  });

  test('whose key is the customer’s own is refused', async () => {
    const key = randomBytes(32);
    const headers = {
      'x-ms-encryption-key': key.toString('base64'),
      'x-ms-encryption-key-sha256': createHash('sha256').update(key).digest('base64'),
      'x-ms-encryption-algorithm': 'AES256',
      'x-ms-blob-type': 'BlockBlob',
    };
    const from = freshName();
    const path = `/${container.containerName}/${from.name}`;
    assert.equal((await send(server.url, { method: 'PUT', path, headers, body: 'secret' })).outcome, '201');
    const to = freshName();
    const want = '409 BlobUsesCustomerSpecifiedEncryption';
    assert.equal(await refusal(to.beginCopyFromURL(from.url)), want);
    assert.equal(await refusal(to.syncCopyFromURL(from.url)), want);
    assert.equal(await refusal(to.syncUploadFromURL(from.url)), want);
    assert.equal(await refusal(to.stageBlockFromURL(blockId('a'), from.url)), want);
  });

  test('in the archive is copied to an online tier alone', async () => {
    const from = await freshBlob('cold');
    await from.setAccessTier('Archive');
    const to = freshName();
    assert.equal(await refusal(to.beginCopyFromURL(from.url)), '409 BlobArchived');
    assert.equal(await refusal(to.beginCopyFromURL(from.url, { tier: 'Archive' })), '409 BlobArchived');
    await copy(from, to, { tier: 'Cool' });
    assert.equal(await textOf(to), 'cold');
    assert.equal((await to.getProperties()).accessTier, 'Cool');
    assert.equal((await from.getProperties()).accessTier, 'Archive');
    assert.equal(await refusal(freshName().syncCopyFromURL(from.url)), '409 BlobArchived');
  });
});

describe('a destination', () => {
  test('of another type is refused', async () => {
    const from = await freshBlob();
    const to = container.getAppendBlobClient(randomUUID());
    await to.create();
    assert.equal(await refusal(to.beginCopyFromURL(from.url)), '409 InvalidBlobType');
  });

  test('in the archive is refused; any other keeps its tier unless another is asked for', async () => {
    const from = await freshBlob();
    const to = await freshBlob('old');
    await to.setAccessTier('Cool');
    await copy(from, to);
    assert.equal((await to.getProperties()).accessTier, 'Cool');
    await copy(from, to, { tier: 'Cold' });
    assert.equal((await to.getProperties()).accessTier, 'Cold');
    await to.setAccessTier('Archive');
    assert.equal(await refusal(to.beginCopyFromURL(from.url, { tier: 'Hot' })), '409 BlobArchived');
    const append = container.getAppendBlobClient(randomUUID());
    await append.create();
    const refused = container.getAppendBlobClient(randomUUID()).beginCopyFromURL(append.url, { tier: 'Cool' });
    assert.equal(await refusal(refused), '400 AccessTierNotSupportedForBlobType');
  });

  test('that must not exist is not overwritten, and one in no container is not found', async () => {
    const from = await freshBlob();
    const to = await freshBlob('old');
    const conditions = { ifNoneMatch: '*' };
    assert.equal(await refusal(to.beginCopyFromURL(from.url, { conditions })), '409 BlobAlreadyExists');
    await copy(from, freshName(), { conditions });
    const { outcome } = await send(server.url, {
      method: 'PUT',
      path: '/no-such-container/blob',
      headers: { 'x-ms-copy-source': from.url },
    });
    assert.equal(outcome, '404 ContainerNotFound');
  });

  test('keeps its lease, of whatever length, when it is copied over at once', async () => {
    const from = await freshBlob('new');
    const to = await freshBlob('old');
    const lease = to.getBlobLeaseClient();
    const { leaseId = '' } = await lease.acquireLease(15);
    assert.equal(await refusal(to.beginCopyFromURL(from.url)), '412 LeaseIdMissing');
    await copy(from, to, { conditions: { leaseId } });
    assert.equal(await textOf(to), 'new');
    assert.equal((await to.getProperties()).leaseState, 'leased');
  });

  test('has a copy to abort only while one is pending', async () => {
    const from = await freshBlob();
    const to = freshName();
    await copy(from, to);
    const { copyId = '' } = await to.getProperties();
    assert.equal(await refusal(to.abortCopyFromURL(copyId)), '409 NoPendingCopyOperation');
    assert.equal(await refusal(freshName().abortCopyFromURL(copyId)), '404 BlobNotFound');
    const path = `/${container.containerName}/${to.name}?comp=copy&copyid=`;
    const abort = { 'x-ms-copy-action': 'abort' };
    const asked = (words: string, headers = {}): Promise<RawResponse> =>
      send(server.url, { method: 'PUT', path: path + words, headers });
    assert.equal((await asked('nonsense', abort)).outcome, '400 InvalidQueryParameterValue');
    assert.equal((await asked(copyId)).outcome, '400 MissingRequiredHeader');
    assert.equal((await asked(copyId, { 'x-ms-copy-action': 'stop' })).outcome, '400 InvalidHeaderValue');
  });

  test('that is there is refused to a token that may only create', async () => {
    const from = await freshBlob('new');
    const to = await freshBlob('old');
    const own = container.credential as StorageSharedKeyCredential;
    const sas = (name: string): string =>
      generateBlobSASQueryParameters(
        {
          containerName: container.containerName,
          blobName: name,
          permissions: BlobSASPermissions.parse('c'),
          expiresOn: new Date(server.clock.nowMs() + 3_600_000),
        },
        own,
      ).toString();
    const source = generateBlobSASQueryParameters(
      {
        containerName: container.containerName,
        blobName: from.name,
        permissions: BlobSASPermissions.parse('r'),
        expiresOn: new Date(server.clock.nowMs() + 3_600_000),
      },
      own,
    );
    const put = (name: string): Promise<RawResponse> =>
      send(server.url, {
        method: 'PUT',
        path: `/${container.containerName}/${name}?${sas(name)}`,
        headers: { 'x-ms-copy-source': `${from.url}?${source.toString()}` },
        account: null,
      });
    assert.equal((await put(to.name)).outcome, '403 UnauthorizedBlobOverwrite');
    const fresh = randomUUID();
    assert.equal((await put(fresh)).outcome, '202');
    assert.equal(await textOf(container.getBlockBlobClient(fresh)), 'new');
  });
});
