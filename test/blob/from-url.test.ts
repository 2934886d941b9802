/** What is written from a URL before the answer: Copy Blob From URL, Put Blob, Put Block and Append Block From URL. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { AppendBlobClient, BlockBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { OutsideSource } from '../harness/outside-source.ts';

const MIB = 1024 * 1024;
const server = await startInProcess();
const container = await freshContainer(blobService(server));
/** Long enough to be read in pieces. */
const BYTES = randomBytes(300_000);
const outside = await OutsideSource.start(BYTES);

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());
const blockId = (text: string): string => Buffer.from(text).toString('base64');
const md5 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('md5').update(bytes).digest());

async function freshBlob(bytes: Buffer | string = BYTES, options = {}): Promise<BlockBlobClient> {
  const blob = freshName();
  await blob.upload(bytes, Buffer.byteLength(bytes), options);
  return blob;
}

const putFrom = (to: BlockBlobClient, headers: Record<string, string>): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path: `/${container.containerName}/${to.name}`, headers });

/** The same bytes, here and outside. */
const SOURCES: readonly [where: string, url: () => Promise<string>][] = [
  ['here', async () => (await freshBlob()).url],
  ['outside', async () => outside.url],
];

for (const [where, sourceUrl] of SOURCES) {
  describe(`from a source ${where}`, () => {
    test('Copy Blob From URL makes a complete copy before it answers', async () => {
      const to = freshName();
      const { copyStatus, copyId, etag } = await to.syncCopyFromURL(await sourceUrl());
      assert.equal(copyStatus, 'success');
      assert.deepEqual(await to.downloadToBuffer(), BYTES);
      const properties = await to.getProperties();
      assert.equal(properties.copyId, copyId);
      assert.equal(properties.etag, etag);
      assert.equal(properties.copyProgress, `${BYTES.length}/${BYTES.length}`);
      assert.deepEqual(Buffer.from(properties.contentMD5 ?? []), Buffer.from(md5(BYTES)));
    });

    test('Put Blob From URL makes a blob that is no copy', async () => {
      const to = freshName();
      const { etag } = await to.syncUploadFromURL(await sourceUrl(), { tier: 'Cool', metadata: { a: '1' } });
      assert.deepEqual(await to.downloadToBuffer(), BYTES);
      const properties = await to.getProperties();
      assert.equal(properties.etag, etag);
      assert.equal(properties.copyId, undefined);
      assert.equal(properties.accessTier, 'Cool');
      assert.deepEqual(properties.metadata, { a: '1' });
      assert.deepEqual((await to.getBlockList('all')).committedBlocks ?? [], []);
    });

    test('Put Block From URL stages the whole or a range', async () => {
      const to = freshName();
      const url = await sourceUrl();
      await to.stageBlockFromURL(blockId('a'), url, 1000, 50_000);
      await to.stageBlockFromURL(blockId('b'), url, 10, 5);
      await to.stageBlockFromURL(blockId('c'), url);
      await to.commitBlockList([blockId('a'), blockId('b'), blockId('c')]);
      const want = Buffer.concat([BYTES.subarray(1000, 51_000), BYTES.subarray(10, 15), BYTES]);
      assert.deepEqual(await to.downloadToBuffer(), want);
    });

    test('Append Block From URL appends a range, where it is expected to', async () => {
      const to: AppendBlobClient = container.getAppendBlobClient(randomUUID());
      await to.create();
      const url = await sourceUrl();
      const { blobAppendOffset } = await to.appendBlockFromURL(url, 100, 200_000);
      assert.equal(blobAppendOffset, '0');
      const elsewhere = to.appendBlockFromURL(url, 0, 10, { conditions: { appendPosition: 7 } });
      assert.equal(await refusal(elsewhere), '412 AppendPositionConditionNotMet');
      await to.appendBlockFromURL(url, 0, 10, { conditions: { appendPosition: 200_000 } });
      const want = Buffer.concat([BYTES.subarray(100, 200_100), BYTES.subarray(0, 10)]);
      assert.deepEqual(await to.downloadToBuffer(), want);
    });

    test('a hash of the source is held against its bytes', async () => {
      const url = await sourceUrl();
      const [right, wrong] = [md5(BYTES), md5(Buffer.from('other'))];
      const [copy, put, blocks] = [freshName(), freshName(), freshName()];
      await copy.syncCopyFromURL(url, { sourceContentMD5: right });
      await put.syncUploadFromURL(url, { sourceContentMD5: right });
      assert.deepEqual(await copy.downloadToBuffer(), BYTES);
      assert.deepEqual(await put.downloadToBuffer(), BYTES);
      await blocks.stageBlockFromURL(blockId('a'), url, 0, 10, { sourceContentMD5: md5(BYTES.subarray(0, 10)) });
      for (const refused of [
        () => freshName().syncCopyFromURL(url, { sourceContentMD5: wrong }),
        () => freshName().syncUploadFromURL(url, { sourceContentMD5: wrong }),
        () => blocks.stageBlockFromURL(blockId('b'), url, 0, 10, { sourceContentMD5: right }),
      ]) {
        assert.equal(await refusal(refused()), '400 Md5Mismatch');
      }
      assert.deepEqual(
        (await blocks.getBlockList('uncommitted')).uncommittedBlocks?.map(({ name }) => name),
        [blockId('a')],
      );
    });

    test('conditions on the source are judged: 412, and 304 where it is not modified', async () => {
      const url = await sourceUrl();
      const etag = where === 'here' ? await head(url) : (outside.etag as string);
      for (const [sourceConditions, want] of [
        [{ ifMatch: '"0x1"' }, '412 SourceConditionNotMet'],
        [{ ifNoneMatch: etag }, '304 CannotVerifyCopySource'],
        [{ ifMatch: etag }, 'ok'],
        [{ ifNoneMatch: '"0x1"' }, 'ok'],
      ] as const) {
        const asked = freshName().syncUploadFromURL(url, { sourceConditions });
        const got = want === 'ok' ? (await asked, 'ok') : await refusal(asked);
        assert.equal(got, want, JSON.stringify(sourceConditions));
      }
    });

    test('a range beyond the source is refused', async () => {
      const url = await sourceUrl();
      const beyond = freshName().stageBlockFromURL(blockId('a'), url, BYTES.length, 10);
      assert.equal(await refusal(beyond), '416 CannotVerifyCopySource');
    });

    test('the destination’s conditions and lease are judged', async () => {
      const url = await sourceUrl();
      const to = await freshBlob('old');
      const conditions = { ifNoneMatch: '*' };
      assert.equal(await refusal(to.syncCopyFromURL(url, { conditions })), '409 BlobAlreadyExists');
      assert.equal(await refusal(to.syncUploadFromURL(url, { conditions })), '409 BlobAlreadyExists');
      const { leaseId = '' } = await to.getBlobLeaseClient().acquireLease(15);
      assert.equal(await refusal(to.syncCopyFromURL(url)), '412 LeaseIdMissing');
      assert.equal(await refusal(to.stageBlockFromURL(blockId('a'), url)), '412 LeaseIdMissing');
      await to.syncCopyFromURL(url, { conditions: { leaseId } });
      assert.deepEqual(await to.downloadToBuffer(), BYTES);
    });

    test('a request with a body of its own is refused', async () => {
      const to = freshName();
      const { outcome } = await send(server.url, {
        method: 'PUT',
        path: `/${container.containerName}/${to.name}`,
        headers: { 'x-ms-copy-source': await sourceUrl(), 'x-ms-blob-type': 'BlockBlob' },
        body: 'body',
      });
      assert.equal(outcome, '400 InvalidHeaderValue');
    });
  });
}

const head = async (url: string): Promise<string> => {
  const name = new URL(url).pathname.split('/').at(-1) as string;
  return (await container.getBlobClient(name).getProperties()).etag as string;
};

describe('Put Blob From URL', () => {
  const properties = { blobContentType: 'text/x', blobCacheControl: 'no-store' };

  test('takes the content headers and metadata of its source, unless it is told others or not to', async () => {
    const from = await freshBlob('text', { blobHTTPHeaders: properties, metadata: { theirs: '1' } });
    const taken = freshName();
    await taken.syncUploadFromURL(from.url);
    assert.equal((await taken.getProperties()).contentType, 'text/x');
    assert.equal((await taken.getProperties()).cacheControl, 'no-store');
    assert.deepEqual((await taken.getProperties()).metadata, { theirs: '1' });
    const told = freshName();
    await told.syncUploadFromURL(from.url, { blobHTTPHeaders: { blobContentType: 'text/y' }, metadata: { own: '2' } });
    assert.equal((await told.getProperties()).contentType, 'text/y');
    assert.equal((await told.getProperties()).cacheControl, 'no-store');
    assert.deepEqual((await told.getProperties()).metadata, { own: '2' });
    const without = freshName();
    await without.syncUploadFromURL(from.url, { copySourceBlobProperties: false });
    assert.equal((await without.getProperties()).contentType, 'application/octet-stream');
    assert.equal((await without.getProperties()).cacheControl, undefined);
  });

  test('hides the blocks of its source, and shares none with a later list', async () => {
    const from = freshName();
    await from.stageBlock(blockId('a'), BYTES, BYTES.length);
    await from.stageBlock(blockId('b'), 'end', 3);
    await from.commitBlockList([blockId('a'), blockId('b')]);
    const to = freshName();
    await to.syncUploadFromURL(from.url);
    const want = Buffer.concat([BYTES, Buffer.from('end')]);
    assert.deepEqual(await to.downloadToBuffer(), want);
    assert.equal(await refusal(to.commitBlockList([blockId('a')])), '400 InvalidBlockList');
    await from.delete();
    assert.deepEqual(await to.downloadToBuffer(), want);
  });

  test('reads a page or append blob as bytes', async () => {
    const pages = container.getPageBlobClient(randomUUID());
    await pages.create(1024);
    await pages.uploadPages(Buffer.alloc(512, 'p'), 512, 512);
    const append = container.getAppendBlobClient(randomUUID());
    await append.create();
    await append.appendBlock('a', 1);
    await append.appendBlock('b', 1);
    const [fromPages, fromAppend] = [freshName(), freshName()];
    await fromPages.syncUploadFromURL(pages.url);
    await fromAppend.syncUploadFromURL(append.url);
    assert.deepEqual(await fromPages.downloadToBuffer(), await pages.downloadToBuffer());
    assert.equal((await fromAppend.downloadToBuffer()).toString(), 'ab');
    assert.equal((await fromAppend.getProperties()).blobType, 'BlockBlob');
    assert.equal(await refusal(freshName().syncCopyFromURL(append.url)), '409 InvalidSourceBlobType');
  });

  test('rewrites a blob in place, and may put one in the place of another type', async () => {
    const blob = await freshBlob(BYTES, { metadata: { a: '1' } });
    await blob.syncUploadFromURL(blob.url, { metadata: { b: '2' } });
    assert.deepEqual(await blob.downloadToBuffer(), BYTES);
    assert.deepEqual((await blob.getProperties()).metadata, { b: '2' });
    const append = container.getAppendBlobClient(randomUUID());
    await append.create();
    await container.getBlockBlobClient(append.name).syncUploadFromURL(blob.url);
    assert.equal((await append.getProperties()).blobType, 'BlockBlob');
  });

  test('makes block blobs only', async () => {
    const from = await freshBlob();
    const { outcome } = await putFrom(freshName(), { 'x-ms-copy-source': from.url, 'x-ms-blob-type': 'AppendBlob' });
    assert.equal(outcome, '400 InvalidHeaderValue');
  });
});

describe('tags', () => {
  test('of the source are copied where that is asked for, and no others with them', async () => {
    const from = await freshBlob('text', { tags: { a: 'b', c: 'd' } });
    const [copy, put, plain] = [freshName(), freshName(), freshName()];
    await copy.syncCopyFromURL(from.url, { copySourceTags: 'COPY' });
    await put.syncUploadFromURL(from.url, { copySourceTags: 'COPY' });
    await plain.syncCopyFromURL(from.url, { tags: { e: 'f' } });
    assert.deepEqual((await copy.getTags()).tags, { a: 'b', c: 'd' });
    assert.deepEqual((await put.getTags()).tags, { a: 'b', c: 'd' });
    assert.deepEqual((await plain.getTags()).tags, { e: 'f' });
    const both = freshName().syncCopyFromURL(from.url, { copySourceTags: 'COPY', tags: { e: 'f' } });
    assert.match(await refusal(both), /^4\d\d BothUserTagsAndSourceTagsCopyPresentException$/);
  });
});

describe('a source outside', () => {
  test('that is too large is refused before it is read', async () => {
    const huge = await OutsideSource.start(Buffer.alloc(0));
    huge.behave = () => ({ announcedBytes: 257 * MIB });
    assert.equal(await refusal(freshName().syncCopyFromURL(huge.url)), '409 CannotVerifyCopySource');
    huge.behave = () => ({ announcedBytes: 5001 * MIB });
    assert.equal(await refusal(freshName().syncUploadFromURL(huge.url)), '409 CannotVerifyCopySource');
    huge.behave = () => ({ announcedBytes: 4001 * MIB });
    assert.equal(await refusal(freshName().stageBlockFromURL(blockId('a'), huge.url)), '409 CannotVerifyCopySource');
  });

  for (const [status, code] of [
    [404, 'BlobNotFound'],
    [403, 'AuthenticationFailed'],
    [503, 'ServerBusy'],
  ] as const) {
    test(`that answers ${status} has its answer passed on`, async () => {
      const broken = await OutsideSource.start(BYTES);
      broken.behave = () => ({ status, errorCode: code });
      const response = await putFrom(freshName(), { 'x-ms-copy-source': broken.url, 'x-ms-requires-sync': 'true' });
      assert.equal(response.outcome, `${status} CannotVerifyCopySource`);
      assert.equal(response.headers['x-ms-copy-source-status-code'], String(status));
      assert.equal(response.headers['x-ms-copy-source-error-code'], code);
    });
  }

  test('that breaks off leaves nothing behind', async () => {
    const broken = await OutsideSource.start(BYTES);
    broken.behave = () => ({ afterBytes: 100_000, breaksOff: true });
    const to = await freshBlob('old');
    assert.equal(await refusal(to.syncCopyFromURL(broken.url)), '500 CannotVerifyCopySource');
    assert.equal(await refusal(to.stageBlockFromURL(blockId('a'), broken.url)), '500 CannotVerifyCopySource');
    assert.equal((await to.downloadToBuffer()).toString(), 'old');
    assert.deepEqual((await to.getBlockList('uncommitted')).uncommittedBlocks ?? [], []);
  });

  test('that cannot be reached is said to be so', async () => {
    const gone = await OutsideSource.start(BYTES);
    const { url } = gone;
    await gone.stop();
    assert.equal(await refusal(freshName().syncCopyFromURL(url)), '409 CannotVerifyCopySource');
  });
});
