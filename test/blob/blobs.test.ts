/** Block blobs through the official client: writing, reading whole and in ranges, properties, metadata, hashes, names. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { BlockBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);
const MIB = 1024 * 1024;

const md5 = (data: string | Uint8Array): string => createHash('md5').update(data).digest('base64');

async function freshBlob(content: string | Buffer = 'content'): Promise<BlockBlobClient> {
  const blob = container.getBlockBlobClient(randomUUID());
  await blob.upload(content, content.length);
  return blob;
}

const pathOf = (name: string): string => `/${container.containerName}/${name}`;

const raw = (request: RawRequest): Promise<RawResponse> => send(server.url, request);

const putRaw = (headers: Record<string, string>, body = 'content'): Promise<RawResponse> =>
  raw({ method: 'PUT', path: pathOf(randomUUID()), headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body });

describe('Put Blob and Get Blob', () => {
  for (const size of [0, 1, 4095, 65_536, 1_000_003, 9 * MIB]) {
    test(`${size} bytes come back as they were put`, async () => {
      const content = randomBytes(size);
      const blob = await freshBlob(content);
      const response = await blob.download();
      const chunks: Buffer[] = [];
      for await (const chunk of response.readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
      assert.ok(Buffer.concat(chunks).equals(content));
      assert.equal(response.contentLength, size);
      assert.equal(Buffer.from(response.contentMD5 as Uint8Array).toString('base64'), md5(content));
    });
  }

  test('every header of a blob comes back', async () => {
    const blob = container.getBlockBlobClient(randomUUID());
    const blobHTTPHeaders = {
      blobContentType: 'text/markdown; charset=utf-8',
      blobContentEncoding: 'identity',
      blobContentLanguage: 'de, en',
      blobCacheControl: 'max-age=60',
      blobContentDisposition: 'attachment; filename="a b.md"',
    };
    await blob.upload('# title', 7, { blobHTTPHeaders, metadata: { one: '1', two_2: 'zwei zwei' } });
    for (const read of [await blob.getProperties(), await blob.download()]) {
      assert.equal(read.contentType, blobHTTPHeaders.blobContentType);
      assert.equal(read.contentEncoding, blobHTTPHeaders.blobContentEncoding);
      assert.equal(read.contentLanguage, blobHTTPHeaders.blobContentLanguage);
      assert.equal(read.cacheControl, blobHTTPHeaders.blobCacheControl);
      assert.equal(read.contentDisposition, blobHTTPHeaders.blobContentDisposition);
      assert.deepEqual(read.metadata, { one: '1', two_2: 'zwei zwei' });
      assert.equal(read.blobType, 'BlockBlob');
      assert.equal(read.acceptRanges, 'bytes');
      assert.equal(read.leaseState, 'available');
      assert.equal(read.leaseStatus, 'unlocked');
      assert.ok(read.lastModified instanceof Date);
      assert.ok(read.createdOn instanceof Date);
      assert.equal(read.isServerEncrypted, true);
    }
  });

  test('a blob without a type is application/octet-stream, and plain headers are taken where the special ones miss', async () => {
    const blob = await freshBlob();
    assert.equal((await blob.getProperties()).contentType, 'application/octet-stream');
    const path = pathOf(randomUUID());
    const headers = {
      'x-ms-blob-type': 'BlockBlob',
      'content-type': 'text/plain',
      'content-language': 'fr',
      'cache-control': 'no-store',
      'x-ms-blob-cache-control': 'max-age=1',
    };
    assert.equal((await raw({ method: 'PUT', path, headers, body: 'x' })).status, 201);
    const read = await raw({ method: 'GET', path });
    assert.equal(read.headers['content-type'], 'text/plain');
    assert.equal(read.headers['content-language'], 'fr');
    assert.equal(read.headers['cache-control'], 'max-age=1');
  });

  test('an overwrite replaces content, headers and metadata', async () => {
    const blob = container.getBlockBlobClient(randomUUID());
    const headers = { blobContentType: 'text/plain', blobCacheControl: 'no-cache' };
    await blob.upload('first', 5, { blobHTTPHeaders: headers, metadata: { a: 'b' } });
    const first = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const answer = await blob.upload('second', 6);
    const second = await blob.getProperties();
    assert.equal(answer.etag, second.etag);
    assert.notEqual(first.etag, second.etag);
    assert.equal((second.lastModified as Date).getTime() - (first.lastModified as Date).getTime(), 5000);
    assert.deepEqual(second.metadata, {});
    assert.equal(second.contentType, 'application/octet-stream');
    assert.equal(second.cacheControl, undefined);
    assert.equal((await blob.downloadToBuffer()).toString(), 'second');
  });

  test('the answer to Put Blob tells the MD5, the CRC64, the ETag, and that the content is encrypted', async () => {
    const { status, headers } = await putRaw({}, 'content');
    assert.equal(status, 201);
    assert.equal(headers['content-md5'], md5('content'));
    assert.ok(headers['x-ms-content-crc64'] !== undefined);
    assert.match(headers.etag ?? '', /^"0x[0-9A-Fa-f]+"$/);
    assert.ok(headers['last-modified'] !== undefined);
    assert.equal(headers['x-ms-request-server-encrypted'], 'true');
    assert.equal(headers['x-ms-version'], '2024-11-04');
    assert.match(headers['x-ms-request-id'] as string, /^[0-9a-f-]{36}$/i);
    assert.ok(headers.date !== undefined);
  });

  for (const [what, headers, body, want] of [
    ['no blob type', {}, 'x', '400 MissingRequiredHeader'],
    ['an unknown blob type', { 'x-ms-blob-type': 'StoneBlob' }, 'x', '400 InvalidHeaderValue'],
    ['a page length on a block blob', { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-length': '512' }, 'x', '400'],
  ] as const) {
    test(`Put Blob with ${what} is refused`, async () => {
      const { outcome } = await raw({ method: 'PUT', path: pathOf(randomUUID()), headers, body });
      assert.ok(outcome.startsWith(want), outcome);
    });
  }

  test('a body without a length is refused', async () => {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'transfer-encoding': 'chunked' };
    const { outcome } = await raw({ method: 'PUT', path: pathOf(randomUUID()), headers, body: 'chunked' });
    assert.equal(outcome, '411 MissingContentLengthHeader');
  });

  test('a deleted blob is gone', async () => {
    const blob = await freshBlob();
    await blob.delete();
    assert.equal(await refusal(blob.download()), '404 BlobNotFound');
    assert.equal(await refusal(blob.getProperties()), '404 BlobNotFound');
    assert.equal(await refusal(blob.delete()), '404 BlobNotFound');
    assert.equal(await refusal(blob.setMetadata({})), '404 BlobNotFound');
    assert.equal(await refusal(blob.setHTTPHeaders({})), '404 BlobNotFound');
    assert.equal(await refusal(blob.getBlobLeaseClient().acquireLease(15)), '404 BlobNotFound');
    assert.equal(await blob.exists(), false);
  });

  test('x-ms-delete-snapshots takes include and only, and nothing else', async () => {
    const blob = await freshBlob();
    const path = pathOf(blob.name);
    const refused = await raw({ method: 'DELETE', path, headers: { 'x-ms-delete-snapshots': 'perhaps' } });
    assert.equal(refused.outcome, '400 InvalidHeaderValue');
    const { headers, status } = await raw({ method: 'DELETE', path, headers: { 'x-ms-delete-snapshots': 'include' } });
    assert.equal(status, 202);
    assert.equal(headers['x-ms-delete-type-permanent'], 'true');
  });
});

describe('ranges', () => {
  const content = randomBytes(10_000);
  const rangeOf = (from: number, to: number): Buffer => content.subarray(from, to + 1);

  for (const [range, from, to] of [
    ['bytes=0-0', 0, 0],
    ['bytes=0-99', 0, 99],
    ['bytes=9999-9999', 9999, 9999],
    ['bytes=9000-', 9000, 9999],
    ['bytes=9000-20000', 9000, 9999],
    ['bytes=4095-4097', 4095, 4097],
  ] as const) {
    test(`${range} gives 206 and those bytes, by Range and by x-ms-range`, async () => {
      const blob = await freshBlob(content);
      for (const header of ['range', 'x-ms-range']) {
        const response = await raw({ method: 'GET', path: pathOf(blob.name), headers: { [header]: range } });
        assert.equal(response.status, 206);
        assert.equal(response.headers['content-range'], `bytes ${from}-${to}/10000`);
        assert.equal(response.headers['content-length'], String(to - from + 1));
        assert.ok(response.body.equals(rangeOf(from, to)));
        assert.equal(response.headers['x-ms-blob-content-md5'], md5(content), 'the hash of the whole');
      }
    });
  }

  test('x-ms-range wins over Range', async () => {
    const blob = await freshBlob(content);
    const headers = { range: 'bytes=0-9', 'x-ms-range': 'bytes=10-19' };
    const response = await raw({ method: 'GET', path: pathOf(blob.name), headers });
    assert.ok(response.body.equals(rangeOf(10, 19)));
  });

  test('a range behind the end, and any range of an empty blob, gets 416', async () => {
    const blob = await freshBlob(content);
    const behind = await raw({ method: 'GET', path: pathOf(blob.name), headers: { range: 'bytes=10000-' } });
    assert.equal(behind.outcome, '416 InvalidRange');
    assert.equal(behind.headers['content-range'], 'bytes */10000');
    const empty = await freshBlob('');
    const { outcome } = await raw({ method: 'GET', path: pathOf(empty.name), headers: { range: 'bytes=0-0' } });
    assert.equal(outcome, '416 InvalidRange');
  });

  test('the MD5 and the CRC64 of a range come when asked for', async () => {
    const blob = await freshBlob(content);
    const withMd5 = await blob.download(100, 200, { rangeGetContentMD5: true });
    assert.equal(Buffer.from(withMd5.contentMD5 as Uint8Array).toString('base64'), md5(rangeOf(100, 299)));
    const withCrc = await blob.download(100, 200, { rangeGetContentCrc64: true });
    assert.equal((withCrc.contentCrc64 as Uint8Array).length, 8);
    const part = container.getBlockBlobClient(randomUUID());
    const put = await raw({
      method: 'PUT',
      path: pathOf(part.name),
      headers: { 'x-ms-blob-type': 'BlockBlob' },
      body: rangeOf(100, 299),
    });
    assert.equal(Buffer.from(withCrc.contentCrc64 as Uint8Array).toString('base64'), put.headers['x-ms-content-crc64']);
  });

  test('a range hash needs a range of at most 4 MiB, and one kind', async () => {
    const blob = await freshBlob(Buffer.alloc(5 * MIB));
    const get = (headers: Record<string, string>): Promise<RawResponse> =>
      raw({ method: 'GET', path: pathOf(blob.name), headers });
    const whole = await get({ 'x-ms-range-get-content-md5': 'true' });
    assert.equal(whole.outcome, '400 InvalidHeaderValue');
    const large = await get({ 'x-ms-range-get-content-md5': 'true', range: `bytes=0-${4 * MIB}` });
    assert.match(large.outcome, /^400 (OutOfRangeInput|InvalidHeaderValue)$/);
    const both = { 'x-ms-range-get-content-md5': 'true', 'x-ms-range-get-content-crc64': 'true', range: 'bytes=0-9' };
    assert.equal((await get(both)).status, 400);
    assert.equal((await get({ 'x-ms-range-get-content-md5': 'true', range: `bytes=0-${4 * MIB - 1}` })).status, 206);
  });

  test('a large blob reads in ranges as it was put', async () => {
    const large = randomBytes(5 * MIB + 17);
    const blob = await freshBlob(large);
    const read = await blob.downloadToBuffer(0, undefined, { blockSize: MIB, concurrency: 4 });
    assert.ok(read.equals(large));
  });
});

describe('properties and metadata', () => {
  test('Set Blob Properties clears what it does not name, and keeps all when it names none', async () => {
    const blob = await freshBlob();
    await blob.setHTTPHeaders({
      blobContentType: 'text/plain',
      blobCacheControl: 'no-cache',
      blobContentLanguage: 'en',
    });
    await blob.setHTTPHeaders({ blobContentType: 'text/html' });
    const changed = await blob.getProperties();
    assert.equal(changed.contentType, 'text/html');
    assert.equal(changed.cacheControl, undefined);
    assert.equal(changed.contentLanguage, undefined);
    assert.equal(changed.contentMD5, undefined);
    const { status } = await raw({ method: 'PUT', path: `${pathOf(blob.name)}?comp=properties` });
    assert.equal(status, 200);
    assert.equal((await blob.getProperties()).contentType, 'text/html');
  });

  test('Set Blob Properties keeps metadata and content, and Set Blob Metadata keeps properties', async () => {
    const blob = await freshBlob();
    await blob.setMetadata({ a: 'b' });
    await blob.setHTTPHeaders({ blobContentType: 'text/html' });
    await blob.setMetadata({ c: 'd' });
    const { metadata, contentType, contentLength } = await blob.getProperties();
    assert.deepEqual([metadata, contentType, contentLength], [{ c: 'd' }, 'text/html', 7]);
  });

  test('the names of metadata keep their case and are matched without it', async () => {
    const blob = await freshBlob();
    await blob.setMetadata({ CamelCase: 'Value With Case' });
    const path = `${pathOf(blob.name)}?comp=metadata`;
    const { headers } = await raw({ method: 'GET', path });
    assert.equal(headers['x-ms-meta-camelcase'], 'Value With Case');
    const item = await container.listBlobsFlat({ prefix: blob.name, includeMetadata: true }).next();
    assert.deepEqual(item.value.metadata, { CamelCase: 'Value With Case' });
  });

  for (const [what, headers, want] of [
    ['a name that is no identifier', { 'x-ms-meta-1a': 'x' }, '400 InvalidMetadata'],
    ['a name with a dash', { 'x-ms-meta-a-b': 'x' }, '400 InvalidMetadata'],
    ['an empty name', { 'x-ms-meta-': 'x' }, '400 EmptyMetadataKey'],
    ['more than 8 KiB', { 'x-ms-meta-a': 'x'.repeat(8192) }, '400 MetadataTooLarge'],
  ] as const) {
    test(`metadata with ${what} is refused`, async () => {
      const blob = await freshBlob();
      const { outcome } = await raw({ method: 'PUT', path: `${pathOf(blob.name)}?comp=metadata`, headers });
      assert.equal(outcome, want);
      assert.equal((await putRaw(headers)).outcome, want);
    });
  }

  test('Get Blob Metadata gives metadata, ETag and Last-Modified, and no body', async () => {
    const blob = await freshBlob();
    const { etag } = await blob.setMetadata({ a: 'b' });
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, body } = await raw({ method, path: `${pathOf(blob.name)}?comp=metadata` });
      assert.equal(status, 200);
      assert.equal(headers['x-ms-meta-a'], 'b');
      assert.equal(headers.etag, etag);
      assert.equal(body.length, 0);
    }
  });
});

describe('hashes of what is sent', () => {
  test('a right Content-MD5 is accepted and kept', async () => {
    const path = pathOf(randomUUID());
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-md5': md5('content') };
    assert.equal((await raw({ method: 'PUT', path, headers, body: 'content' })).status, 201);
    assert.equal((await raw({ method: 'HEAD', path })).headers['content-md5'], md5('content'));
  });

  test('a wrong Content-MD5 is refused and nothing is written', async () => {
    const path = pathOf(randomUUID());
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-md5': md5('another') };
    const refused = await raw({ method: 'PUT', path, headers, body: 'content' });
    assert.equal(refused.outcome, '400 Md5Mismatch');
    assert.match(refused.body.toString(), new RegExp(`<UserSpecifiedMd5>${md5('another').replaceAll('+', '\\+')}<`));
    assert.equal((await raw({ method: 'HEAD', path })).status, 404);
  });

  for (const value of ['not base64!', 'YWJj', 'x']) {
    test(`a malformed Content-MD5 (${value}) is refused`, async () => {
      assert.equal((await putRaw({ 'content-md5': value })).outcome, '400 InvalidMd5');
    });
  }

  test('x-ms-blob-content-md5 of a Put Blob is kept and checked', async () => {
    assert.equal((await putRaw({ 'x-ms-blob-content-md5': md5('content') })).status, 201);
    assert.equal((await putRaw({ 'x-ms-blob-content-md5': md5('another') })).outcome, '400 Md5Mismatch');
  });

  test('the CRC64 that Put Blob tells is accepted back, and another is refused', async () => {
    const { headers } = await putRaw({}, 'some content');
    const crc64 = headers['x-ms-content-crc64'] as string;
    assert.equal((await putRaw({ 'x-ms-content-crc64': crc64 }, 'some content')).status, 201);
    assert.equal((await putRaw({ 'x-ms-content-crc64': crc64 }, 'other content')).outcome, '400 Crc64Mismatch');
  });

  test('MD5 and CRC64 together are refused', async () => {
    const { headers } = await putRaw({}, 'content');
    const both = { 'content-md5': md5('content'), 'x-ms-content-crc64': headers['x-ms-content-crc64'] as string };
    assert.equal((await putRaw(both)).outcome, '400 BothCrc64AndMd5HeaderPresent');
  });
});

describe('names of blobs', () => {
  const NAMES = [
    'with space',
    'plus+sign',
    'percent%25and%',
    'hash#tag',
    'question?mark',
    'ampersand&equals=',
    'quotes\'and"more',
    'back\\slash',
    'colon:semicolon;comma,',
    'Ünïcödé',
    '日本語',
    'emoji 🪨💎',
    'combining e\u0301 and \u00e9',
    'a/b/c',
    'a//b',
    '/leading',
    'CASE',
    'case',
    'x'.repeat(1024),
    '€'.repeat(1024),
    '<xml>&amp;</xml>',
  ];
  for (const name of NAMES) {
    test(`${name.length > 40 ? `${name.length} times ${name[0]}` : name} is kept to the letter`, async () => {
      const names = await freshContainer(service);
      const blob = names.getBlockBlobClient(name);
      await blob.upload(name.slice(0, 10), Buffer.byteLength(name.slice(0, 10)));
      assert.equal((await blob.downloadToBuffer()).toString(), name.slice(0, 10));
      const listed = [];
      for await (const item of names.listBlobsFlat()) listed.push(item.name);
      assert.deepEqual(listed, [name]);
      const byPrefix = await names.listBlobsFlat({ prefix: name }).next();
      assert.equal(byPrefix.value?.name, name);
      await blob.delete();
      assert.equal(await blob.exists(), false);
    });
  }

  test('of 1,025 characters are refused', async () => {
    const refused = container.getBlockBlobClient('x'.repeat(1025)).upload('x', 1);
    assert.match(await refusal(refused), /^400 (InvalidResourceName|InvalidUri|OutOfRangeInput)$/);
  });

  test('that differ in case or in composition are different blobs', async () => {
    const names = ['name', 'Name', '\u00e9', 'e\u0301'];
    for (const name of names) await container.getBlockBlobClient(`same/${name}`).upload(name, Buffer.byteLength(name));
    for (const name of names) {
      const read = await container.getBlockBlobClient(`same/${name}`).downloadToBuffer();
      assert.equal(read.toString(), name);
    }
  });

  test('without a container live in $root', async () => {
    await service.getContainerClient('$root').create();
    await service.getContainerClient('$root').uploadBlockBlob('at-the-root', 'here', 4);
    const { status, body } = await raw({ method: 'GET', path: '/at-the-root' });
    assert.equal(status, 200);
    assert.equal(body.toString(), 'here');
  });
});

test('a blob put through SDK streams, larger than one request, is whole', async () => {
  const content = randomBytes(20 * MIB + 5);
  const blob = container.getBlockBlobClient(randomUUID());
  await blob.uploadData(content, { blockSize: 4 * MIB, maxSingleShotSize: MIB, concurrency: 4 });
  assert.ok((await blob.downloadToBuffer()).equals(content));
  assert.equal((await blob.getBlockList('committed')).committedBlocks?.length, 6);
  assert.equal(await outcome(blob.getProperties()), 'ok');
});
