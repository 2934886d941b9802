/** Page blobs: writing and clearing pages, their ranges and what changed, resizing, sequence numbers. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { PageBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const TIB = 1024 * 1024 * MIB;
const PAGE = 512;

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);

async function freshPages(lengthBytes: number): Promise<PageBlobClient> {
  const blob = container.getPageBlobClient(randomUUID());
  await blob.create(lengthBytes);
  return blob;
}

const write = (blob: PageBlobClient, offset: number, bytes: Buffer, options = {}): Promise<unknown> =>
  blob.uploadPages(bytes, offset, bytes.length, options);

const filled = (text: string, lengthBytes = PAGE): Buffer => Buffer.alloc(lengthBytes, text);

const rangesOf = async (blob: PageBlobClient, offset?: number, count?: number): Promise<(readonly number[])[]> =>
  ((await blob.getPageRanges(offset, count)).pageRange ?? []).map(({ offset: start, count: size }) => [
    start,
    size ?? -1,
  ]);

/** The official client gives a range's last offset less its first as its count. */
const asListed = (offset: number, lengthBytes: number): readonly number[] => [offset, lengthBytes - 1];

const raw = (
  blob: PageBlobClient,
  words: string,
  headers: Record<string, string>,
  body: string | Uint8Array = '',
): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path: `/${container.containerName}/${blob.name}?${words}`, headers, body });

describe('a page blob', () => {
  test('begins with zeros, its length and its sequence number', async () => {
    const blob = container.getPageBlobClient(randomUUID());
    await blob.create(4 * KIB, { blobSequenceNumber: 7, metadata: { a: '1' } });
    const properties = await blob.getProperties();
    assert.equal(properties.blobType, 'PageBlob');
    assert.equal(properties.contentLength, 4 * KIB);
    assert.equal(properties.blobSequenceNumber, 7);
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.deepEqual(await blob.downloadToBuffer(), Buffer.alloc(4 * KIB));
    assert.deepEqual(await rangesOf(blob), []);
  });

  for (const [lengthBytes, want] of [
    [0, 'ok'],
    [8 * TIB, 'ok'],
    [8 * TIB + PAGE, '400 InvalidHeaderValue'],
    [100, '400 InvalidHeaderValue'],
  ] as const) {
    test(`of ${lengthBytes} bytes gets ${want}`, async () => {
      assert.equal(await outcome(container.getPageBlobClient(randomUUID()).create(lengthBytes)), want);
    });
  }

  test('wants its length, and no body', async () => {
    const path = `/${container.containerName}/${randomUUID()}`;
    const headers = { 'x-ms-blob-type': 'PageBlob' };
    assert.equal((await send(server.url, { method: 'PUT', path, headers })).outcome, '400 MissingRequiredHeader');
    const sized = { ...headers, 'x-ms-blob-content-length': '512' };
    assert.equal(
      (await send(server.url, { method: 'PUT', path, headers: sized, body: 'x' })).outcome,
      '400 InvalidHeaderValue',
    );
    const block = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-length': '512' };
    assert.equal((await send(server.url, { method: 'PUT', path, headers: block })).outcome, '400 InvalidHeaderValue');
  });
});

describe('Put Page', () => {
  test('changes the pages and nothing else, with a new ETag', async () => {
    const blob = await freshPages(4 * KIB);
    const before = await blob.getProperties();
    const answer = await blob.uploadPages(filled('a', KIB), KIB, KIB);
    assert.notEqual(answer.etag, before.etag);
    assert.equal(answer.blobSequenceNumber, 0);
    assert.equal((await blob.getProperties()).etag, answer.etag);
    const want = Buffer.alloc(4 * KIB);
    want.fill('a', KIB, 2 * KIB);
    assert.deepEqual(await blob.downloadToBuffer(), want);
    assert.deepEqual(await rangesOf(blob), [asListed(KIB, KIB)]);
  });

  test('over others leaves what they do not cover', async () => {
    const blob = await freshPages(2 * MIB);
    await write(blob, 0, filled('a', MIB));
    await write(blob, 256 * KIB - PAGE, filled('b', 2 * PAGE));
    await write(blob, MIB - PAGE, filled('c', 64 * KIB));
    const want = Buffer.alloc(2 * MIB);
    want.fill('a', 0, MIB);
    want.fill('b', 256 * KIB - PAGE, 256 * KIB + PAGE);
    want.fill('c', MIB - PAGE, MIB - PAGE + 64 * KIB);
    assert.ok(want.equals(await blob.downloadToBuffer()));
    assert.deepEqual(await rangesOf(blob), [asListed(0, MIB - PAGE + 64 * KIB)]);
  });

  test('of 4 MiB is one write, and more is refused', async () => {
    const blob = await freshPages(16 * MIB);
    const bytes = randomBytes(4 * MIB);
    await write(blob, 3 * PAGE, bytes);
    assert.ok(bytes.equals(await blob.downloadToBuffer(3 * PAGE, 4 * MIB)));
    assert.equal(await refusal(write(blob, 0, Buffer.alloc(4 * MIB + PAGE))), '413 RequestBodyTooLarge');
  });

  for (const [what, range, body, want] of [
    ['a range that begins inside a page', 'bytes=1-512', PAGE, '416 InvalidPageRange'],
    ['a range that ends inside a page', 'bytes=0-510', 511, '416 InvalidPageRange'],
    ['a range beyond the end', 'bytes=4096-4607', PAGE, '416 InvalidPageRange'],
    ['a body that is shorter than its range', 'bytes=0-1023', PAGE, '400 InvalidHeaderValue'],
    ['a range without an end', 'bytes=0-', PAGE, '400 InvalidHeaderValue'],
  ] as const) {
    test(`with ${what} gets ${want} and changes nothing`, async () => {
      const blob = await freshPages(4 * KIB);
      const { etag } = await blob.getProperties();
      const headers = { 'x-ms-page-write': 'update', 'x-ms-range': range };
      assert.equal((await raw(blob, 'comp=page', headers, Buffer.alloc(body, 'x'))).outcome, want);
      assert.equal((await blob.getProperties()).etag, etag);
      assert.deepEqual(await rangesOf(blob), []);
    });
  }

  test('says what it is missing', async () => {
    const blob = await freshPages(4 * KIB);
    const range = { 'x-ms-range': 'bytes=0-511' };
    assert.equal((await raw(blob, 'comp=page', range, filled('a'))).outcome, '400 MissingRequiredHeader');
    assert.equal(
      (await raw(blob, 'comp=page', { 'x-ms-page-write': 'update' }, filled('a'))).outcome,
      '400 MissingRequiredHeader',
    );
    const odd = { ...range, 'x-ms-page-write': 'append' };
    assert.equal((await raw(blob, 'comp=page', odd, filled('a'))).outcome, '400 InvalidHeaderValue');
  });

  test('checks the MD5 of the pages', async () => {
    const blob = await freshPages(4 * KIB);
    const md5 = createHash('md5').update(filled('a')).digest();
    assert.equal(await outcome(write(blob, 0, filled('a'), { transactionalContentMD5: md5 })), 'ok');
    assert.equal(await refusal(write(blob, 0, filled('b'), { transactionalContentMD5: md5 })), '400 Md5Mismatch');
    assert.deepEqual(await blob.downloadToBuffer(0, PAGE), filled('a'));
  });

  test('is refused for blobs of other types, and for none', async () => {
    const block = container.getBlockBlobClient(randomUUID());
    await block.upload('x', 1);
    const pages = container.getPageBlobClient(block.name);
    assert.equal(await refusal(write(pages, 0, filled('a'))), '409 InvalidBlobType');
    assert.equal(await refusal(pages.getPageRanges()), '409 InvalidBlobType');
    assert.equal(await refusal(write(container.getPageBlobClient(randomUUID()), 0, filled('a'))), '404 BlobNotFound');
    const blob = await freshPages(PAGE);
    const blocks = container.getBlockBlobClient(blob.name);
    assert.equal(await refusal(blocks.stageBlock('YQ==', 'x', 1)), '409 InvalidBlobType');
  });

  test('clears pages, and a whole blob of them at once', async () => {
    const blob = await freshPages(32 * MIB);
    for (let at = 0; at < 32; at++) await write(blob, at * MIB, filled('x', 64 * KIB));
    await blob.clearPages(PAGE, PAGE);
    assert.deepEqual((await rangesOf(blob)).slice(0, 2), [asListed(0, PAGE), asListed(2 * PAGE, 64 * KIB - 2 * PAGE)]);
    await blob.clearPages(0, 32 * MIB);
    assert.deepEqual(await rangesOf(blob), []);
    assert.ok(Buffer.alloc(32 * MIB).equals(await blob.downloadToBuffer()));
    await write(blob, 5 * MIB, filled('y'));
    assert.deepEqual(await rangesOf(blob), [asListed(5 * MIB, PAGE)]);
  });

  test('asks for ETags, leases and sequence numbers', async () => {
    const blob = await freshPages(4 * KIB);
    await blob.updateSequenceNumber('update', 5);
    const { etag = '' } = await blob.getProperties();
    const withConditions = (conditions: object): Promise<string> =>
      outcome(write(blob, 0, filled('a'), { conditions }));
    assert.equal(await withConditions({ ifMatch: '"0x1"' }), '412 ConditionNotMet');
    assert.equal(await withConditions({ ifSequenceNumberLessThan: 5 }), '412 SequenceNumberConditionNotMet');
    assert.equal(await withConditions({ ifSequenceNumberEqualTo: 4 }), '412 SequenceNumberConditionNotMet');
    assert.equal(await withConditions({ ifSequenceNumberLessThanOrEqualTo: 4 }), '412 SequenceNumberConditionNotMet');
    assert.deepEqual(await rangesOf(blob), []);
    assert.equal(await withConditions({ ifMatch: etag, ifSequenceNumberEqualTo: 5 }), 'ok');
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    assert.equal(await withConditions({}), '412 LeaseIdMissing');
    assert.equal(await withConditions({ leaseId: lease.leaseId }), 'ok');
    const below = { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511', 'x-ms-if-sequence-number-eq': '-1' };
    assert.equal((await raw(blob, 'comp=page', below)).outcome, '400 InvalidInput');
  });
});

describe('Get Page Ranges', () => {
  test('keeps to a range, and comes in parts', async () => {
    const blob = await freshPages(MIB);
    for (let at = 0; at < 20; at++) await write(blob, at * 4 * KIB, filled('x'));
    assert.equal((await rangesOf(blob)).length, 20);
    assert.deepEqual(await rangesOf(blob, 4 * KIB + 256, 4 * KIB), [
      asListed(4 * KIB + 256, 256),
      asListed(8 * KIB, 256),
    ]);
    const parts: number[] = [];
    const listed: number[] = [];
    for await (const part of blob.listPageRanges(0, MIB).byPage({ maxPageSize: 7 })) {
      parts.push(part.pageRange?.length ?? 0);
      listed.push(...(part.pageRange ?? []).map(({ start }) => start));
    }
    assert.deepEqual(parts, [7, 7, 6]);
    assert.deepEqual(
      listed,
      Array.from({ length: 20 }, (_, at) => at * 4 * KIB),
    );
  });

  test('of a range behind the end is refused, and so are odd parameters', async () => {
    const blob = await freshPages(KIB);
    const get = (words: string, headers = {}): Promise<RawResponse> =>
      send(server.url, {
        method: 'GET',
        path: `/${container.containerName}/${blob.name}?comp=pagelist${words}`,
        headers,
      });
    assert.equal((await get('', { 'x-ms-range': 'bytes=1024-2047' })).outcome, '416 InvalidRange');
    assert.equal((await get('&maxresults=0')).outcome, '400 OutOfRangeQueryParameterValue');
    assert.equal((await get('&marker=x')).outcome, '400 InvalidQueryParameterValue');
    assert.equal((await get('&prevsnapshot=yesterday')).outcome, '400 InvalidQueryParameterValue');
    assert.equal((await get('', { 'If-Match': '"0x1"' })).outcome, '412 ConditionNotMet');
  });

  test('tells what changed since a snapshot: written, written anew, cleared', async () => {
    const blob = await freshPages(8 * MIB);
    await write(blob, 0, filled('a', 4 * KIB));
    await write(blob, MIB, filled('a', 4 * KIB));
    const { snapshot = '' } = await blob.createSnapshot();
    await write(blob, KIB, filled('b', KIB));
    await blob.clearPages(MIB, PAGE);
    await write(blob, 6 * MIB, filled('c'));
    const { pageRange = [], clearRange = [] } = await blob.getPageRangesDiff(0, 8 * MIB, snapshot);
    assert.deepEqual(
      pageRange.map(({ offset, count }) => [offset, count]),
      [asListed(KIB, KIB), asListed(6 * MIB, PAGE)],
    );
    assert.deepEqual(
      clearRange.map(({ offset, count }) => [offset, count]),
      [asListed(MIB, PAGE)],
    );
    const { snapshot: later = '' } = await blob.createSnapshot();
    const none = await blob.getPageRangesDiff(0, 8 * MIB, later);
    assert.deepEqual([none.pageRange ?? [], none.clearRange ?? []], [[], []]);
    const between = await blob.withSnapshot(later).getPageRangesDiff(0, 8 * MIB, snapshot);
    assert.equal(between.pageRange?.length, 2);
    assert.equal(
      await refusal(blob.withSnapshot(snapshot).getPageRangesDiff(0, 8 * MIB, later)),
      '400 PreviousSnapshotCannotBeNewer',
    );
    assert.equal(
      await refusal(blob.getPageRangesDiff(0, 8 * MIB, '2020-01-01T00:00:00.0000000Z')),
      '409 PreviousSnapshotNotFound',
    );
  });

  test('tells that the blob was overwritten since', async () => {
    const blob = await freshPages(KIB);
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.create(KIB);
    assert.equal(await refusal(blob.getPageRangesDiff(0, KIB, snapshot)), '409 BlobOverwritten');
  });
});

describe('a snapshot of a page blob', () => {
  test('stays as it was, whatever is written, cleared or cut off', async () => {
    const blob = await freshPages(4 * MIB);
    const bytes = randomBytes(4 * MIB);
    await write(blob, 0, bytes);
    const { snapshot = '' } = await blob.createSnapshot();
    await write(blob, MIB, filled('b', 64 * KIB));
    await blob.clearPages(2 * MIB, MIB);
    await blob.resize(MIB + KIB);
    await blob.resize(4 * MIB);
    assert.ok(bytes.equals(await blob.withSnapshot(snapshot).downloadToBuffer()));
    const want = Buffer.alloc(4 * MIB);
    bytes.copy(want, 0, 0, MIB);
    want.fill('b', MIB, MIB + KIB);
    assert.ok(want.equals(await blob.downloadToBuffer()));
    await blob.delete({ deleteSnapshots: 'include' });
  });

  test('is one of many that all read as they were, in any order of writing', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const blob = await freshPages(MIB);
    const state = Buffer.alloc(MIB);
    const taken: { snapshot: string; bytes: Buffer }[] = [];
    for (let round = 0; round < 12; round++) {
      for (let writes = 0; writes < 4; writes++) {
        const at = random.below(MIB / PAGE - 64) * PAGE;
        const bytes = filled(String(round), (1 + random.below(64)) * PAGE);
        bytes.copy(state, at);
        await write(blob, at, bytes);
      }
      const { snapshot = '' } = await blob.createSnapshot();
      taken.push({ snapshot, bytes: Buffer.from(state) });
    }
    for (const { snapshot, bytes } of taken) {
      assert.ok(bytes.equals(await blob.withSnapshot(snapshot).downloadToBuffer()));
    }
    const [, gone] = taken.splice(1, 1).concat(taken.splice(5, 1));
    await blob.withSnapshot(gone?.snapshot ?? '').delete();
    for (const { snapshot, bytes } of taken) {
      assert.ok(bytes.equals(await blob.withSnapshot(snapshot).downloadToBuffer()));
    }
  });
});

describe('Set Blob Properties of a page blob', () => {
  test('makes it longer and shorter; what is cut off is gone', async () => {
    const blob = await freshPages(2 * KIB);
    await write(blob, 0, filled('a', 2 * KIB));
    await blob.resize(8 * TIB);
    assert.equal((await blob.getProperties()).contentLength, 8 * TIB);
    await write(blob, 8 * TIB - PAGE, filled('z'));
    assert.deepEqual(await rangesOf(blob), [asListed(0, 2 * KIB), asListed(8 * TIB - PAGE, PAGE)]);
    await blob.resize(KIB);
    assert.deepEqual(await blob.downloadToBuffer(), filled('a', KIB));
    await blob.resize(8 * TIB);
    assert.deepEqual(await rangesOf(blob), [asListed(0, KIB)]);
    assert.deepEqual(await blob.downloadToBuffer(8 * TIB - PAGE, PAGE), Buffer.alloc(PAGE));
    assert.equal(await refusal(blob.resize(100)), '400 InvalidHeaderValue');
  });

  test('counts sequence numbers', async () => {
    const blob = await freshPages(KIB);
    const numberAfter = async (action: 'max' | 'update' | 'increment', number?: number): Promise<number | undefined> =>
      (await blob.updateSequenceNumber(action, number)).blobSequenceNumber;
    assert.equal(await numberAfter('update', 10), 10);
    assert.equal(await numberAfter('max', 5), 10);
    assert.equal(await numberAfter('max', 11), 11);
    assert.equal(await numberAfter('increment'), 12);
    assert.equal(await numberAfter('update', 1), 1);
    const set = (headers: Record<string, string>): Promise<RawResponse> => raw(blob, 'comp=properties', headers);
    assert.match(
      (await set({ 'x-ms-sequence-number-action': 'increment', 'x-ms-blob-sequence-number': '1' })).outcome,
      /^400 /,
    );
    assert.match((await set({ 'x-ms-sequence-number-action': 'double' })).outcome, /^400 InvalidHeaderValue$/);
    await set({ 'x-ms-sequence-number-action': 'update', 'x-ms-blob-sequence-number': '9223372036854775807' });
    assert.equal(
      (await set({ 'x-ms-sequence-number-action': 'increment' })).outcome,
      '409 SequenceNumberIncrementTooLarge',
    );
  });

  test('leaves content headers alone when none is sent', async () => {
    const blob = container.getPageBlobClient(randomUUID());
    await blob.create(KIB, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
    await blob.resize(2 * KIB);
    assert.equal((await blob.getProperties()).contentType, 'text/plain');
  });

  test('of pages is refused for other blobs', async () => {
    const block = container.getBlockBlobClient(randomUUID());
    await block.upload('x', 1);
    assert.equal(await refusal(container.getPageBlobClient(block.name).resize(KIB)), '409 InvalidBlobType');
  });
});

test('reading 40 MiB of scattered pages gives one version, whole, while they are written over', async () => {
  const blob = await freshPages(40 * MIB);
  const before = Buffer.alloc(40 * MIB);
  for (let at = 0; at < 40 * MIB; at += 4 * MIB) {
    const bytes = randomBytes(4 * MIB);
    bytes.copy(before, at);
    await write(blob, at, bytes);
  }
  for (let at = 0; at < 40; at++) {
    before.fill('s', at * MIB + 64 * KIB, at * MIB + 65 * KIB);
    await write(blob, at * MIB + 64 * KIB, filled('s', KIB));
  }
  const { etag, readableStreamBody } = await blob.download();
  const reading = (async () => {
    const pieces: Buffer[] = [];
    for await (const piece of readableStreamBody as AsyncIterable<Buffer>) {
      pieces.push(piece);
      if (pieces.length % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return Buffer.concat(pieces);
  })();
  for (let at = 39; at >= 0; at--) await write(blob, at * MIB, filled('n', 128 * KIB));
  assert.ok(before.equals(await reading));
  assert.notEqual((await blob.getProperties()).etag, etag);
});
