/** Append blobs: Put Blob, Append Block with its two conditions, Append Blob Seal, and snapshots taken in between. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type AppendBlobClient, BlobClient, BlobSASPermissions } from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { firstStatus, headOf, type RawResponse, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);
const random = new Random();

const KIB = 1024;
const MIB = 1024 * KIB;
const BEFORE_LARGE_APPENDS = '2021-12-02';

const md5 = (text: string | Buffer): Buffer => createHash('md5').update(text).digest();
const freshName = (): AppendBlobClient => container.getAppendBlobClient(randomUUID());

async function freshBlob(...blocks: string[]): Promise<AppendBlobClient> {
  const blob = freshName();
  await blob.create();
  for (const block of blocks) await append(blob, block);
  return blob;
}

const append = (
  blob: AppendBlobClient,
  text: string | Buffer,
  conditions: Parameters<AppendBlobClient['appendBlock']>[2] = {},
): ReturnType<AppendBlobClient['appendBlock']> => blob.appendBlock(text, Buffer.byteLength(text), conditions);

const textOf = async (blob: { downloadToBuffer(): Promise<Buffer> }): Promise<string> =>
  (await blob.downloadToBuffer()).toString();

/** What the client would not send. */
const raw = (
  blob: AppendBlobClient,
  query: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path: `/${container.containerName}/${blob.name}${query}`, headers, body });

const rawAppend = (blob: AppendBlobClient, headers: Record<string, string>, body = 'x'): Promise<RawResponse> =>
  raw(blob, '?comp=appendblock', headers, body);

/** Everything by which an append could be noticed. */
async function stateOf(blob: AppendBlobClient): Promise<unknown> {
  const { etag, contentLength, blobCommittedBlockCount } = await blob.getProperties();
  return { etag, contentLength, blobCommittedBlockCount };
}

const modifiedBefore = (seconds: number): Date => new Date(server.clock.nowMs() - seconds * 1000);

describe('Put Blob of an append blob', () => {
  test('makes one without blocks, with headers, metadata and tags', async () => {
    const blob = freshName();
    const created = await blob.create({
      blobHTTPHeaders: { blobContentType: 'text/log', blobCacheControl: 'no-store' },
      metadata: { a: 'b' },
      tags: { colour: 'red' },
    });
    const found = await blob.getProperties();
    assert.equal(found.blobType, 'AppendBlob');
    assert.equal(found.contentLength, 0);
    assert.equal(found.blobCommittedBlockCount, 0);
    assert.equal(found.isSealed, undefined);
    assert.equal(found.etag, created.etag);
    assert.equal(found.contentType, 'text/log');
    assert.equal(found.cacheControl, 'no-store');
    assert.deepEqual(found.metadata, { a: 'b' });
    assert.equal(found.tagCount, 1);
    assert.equal(await textOf(blob), '');
    assert.equal(await refusal(blob.download(0, 1)), '416 InvalidRange');
  });

  test('takes neither a body nor a length', async () => {
    const headers = { 'x-ms-blob-type': 'AppendBlob' };
    assert.equal((await raw(freshName(), '', headers, 'x')).outcome, '400 InvalidHeaderValue');
    const withLength = await raw(freshName(), '', { ...headers, 'x-ms-blob-content-length': '512' });
    assert.equal(withLength.outcome, '400 InvalidHeaderValue');
  });

  test('takes no access tier, for only block blobs have one', async () => {
    const headers = { 'x-ms-blob-type': 'AppendBlob', 'x-ms-access-tier': 'Cool' };
    const blob = freshName();
    assert.equal((await raw(blob, '', headers)).outcome, '400 AccessTierNotSupportedForBlobType');
    assert.equal(await blob.exists(), false);
    const cool = container.getBlockBlobClient(blob.name);
    await cool.upload('x', 1, { tier: 'Cool' });
    await blob.create();
    assert.equal((await blob.getProperties()).accessTier, undefined);
  });

  test('puts a new one in the place of what was there, blocks, seal and all', async () => {
    const blob = await freshBlob('one', 'two');
    await blob.seal();
    await blob.create();
    assert.equal(await textOf(blob), '');
    assert.equal((await blob.getProperties()).isSealed, undefined);
    assert.equal((await append(blob, 'new')).blobAppendOffset, '0');
    assert.equal(await textOf(blob), 'new');
    assert.equal((await blob.createIfNotExists()).succeeded, false);
    assert.equal(await refusal(blob.create({ conditions: { ifNoneMatch: '*' } })), '409 BlobAlreadyExists');
    await container.getBlockBlobClient(blob.name).upload('a block blob', 12);
    assert.equal(await refusal(append(blob, 'x')), '409 InvalidBlobType');
  });
});

describe('Append Block', () => {
  test('answers where the block stands and how many there are', async () => {
    const blob = freshName();
    const created = await blob.create();
    const first = await append(blob, 'first');
    assert.equal(first.blobAppendOffset, '0');
    assert.equal(first.blobCommittedBlockCount, 1);
    assert.equal(first.isServerEncrypted, true);
    assert.equal(first.xMsContentCrc64?.length, 8);
    const second = await append(blob, 'second');
    assert.equal(second.blobAppendOffset, '5');
    assert.equal(second.blobCommittedBlockCount, 2);
    assert.equal(new Set([created.etag, first.etag, second.etag]).size, 3);
    assert.equal(await textOf(blob), 'firstsecond');
    const found = await blob.getProperties();
    assert.equal(found.etag, second.etag);
    assert.equal(found.contentLength, 11);
    assert.equal(found.blobCommittedBlockCount, 2);
    assert.equal((await blob.download()).blobCommittedBlockCount, 2);
  });

  test('changes Last-Modified, and nothing else about the blob', async () => {
    const blob = freshName();
    await blob.create({ blobHTTPHeaders: { blobContentType: 'text/log' }, metadata: { a: 'b' }, tags: { c: 'd' } });
    const before = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const { lastModified } = await append(blob, 'x');
    const found = await blob.getProperties();
    assert.equal(found.lastModified?.getTime(), lastModified?.getTime());
    assert.equal(Number(found.lastModified) - Number(before.lastModified), 5_000);
    assert.deepEqual(found.createdOn, before.createdOn);
    assert.equal(found.contentType, 'text/log');
    assert.deepEqual(found.metadata, { a: 'b' });
    assert.deepEqual((await blob.getTags()).tags, { c: 'd' });
  });

  test('of blocks of any size makes one text, of which any range can be read', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const blob = await freshBlob();
    const blocks: Buffer[] = [];
    for (let count = 0; count < 100; count++) {
      const block = random.bytes(1 + random.below(random.chance(0.1) ? 40 * KIB : 60));
      blocks.push(block);
      assert.equal((await append(blob, block)).blobAppendOffset, String(Buffer.concat(blocks.slice(0, -1)).length));
    }
    const whole = Buffer.concat(blocks);
    assert.ok((await blob.downloadToBuffer()).equals(whole));
    for (let round = 0; round < 50; round++) {
      const from = random.below(whole.length);
      const count = 1 + random.below(whole.length - from);
      const read = await blob.downloadToBuffer(from, count);
      assert.ok(read.equals(whole.subarray(from, from + count)), `${count} bytes from ${from} on`);
    }
    const end = await blob.download(whole.length - 1, 100);
    assert.equal(end.contentRange, `bytes ${whole.length - 1}-${whole.length - 1}/${whole.length}`);
    assert.equal(await refusal(blob.download(whole.length, 1)), '416 InvalidRange');
  });

  test('wants a body, and the length of it', async () => {
    const blob = await freshBlob('x');
    const before = await stateOf(blob);
    assert.equal((await rawAppend(blob, {}, '')).outcome, '400 InvalidHeaderValue');
    assert.equal((await rawAppend(blob, { 'transfer-encoding': 'chunked' })).status, 411);
    assert.deepEqual(await stateOf(blob), before);
  });

  test('takes 4 MiB, and since 2022-11-02 up to 100', async () => {
    const blob = await freshBlob();
    const path = `/${container.containerName}/${blob.name}?comp=appendblock`;
    const of = (body: Buffer, version: string): Promise<RawResponse> =>
      send(server.url, { method: 'PUT', path, headers: { 'x-ms-version': version }, body });
    const block = random.bytes(4 * MIB + 1);
    assert.equal((await of(block, BEFORE_LARGE_APPENDS)).outcome, '413 RequestBodyTooLarge');
    assert.equal((await of(block.subarray(1), BEFORE_LARGE_APPENDS)).status, 201);
    assert.equal((await of(block, '2022-11-02')).status, 201);
    const headers = { 'content-length': String(100 * MIB + 1), 'x-ms-version': '2022-11-02' };
    const refused = await sendBytes(server.url, headOf(server.url, { method: 'PUT', path, headers }));
    assert.equal(firstStatus(refused), 413);
    assert.equal((await blob.getProperties()).contentLength, 8 * MIB + 1);
  });

  for (const [what, block] of [
    ['a short block', Buffer.from('short')],
    ['a long block', random.bytes(50 * KIB)],
  ] as const) {
    test(`checks the MD5 and the CRC64 of ${what}, and leaves nothing of one that fails`, async () => {
      const blob = await freshBlob();
      const right = await append(blob, block, { transactionalContentMD5: md5(block) });
      assert.deepEqual(Buffer.from(right.contentMD5 as Uint8Array), md5(block));
      assert.equal(right.xMsContentCrc64, undefined);
      const crc64 = (await append(blob, block)).xMsContentCrc64 as Uint8Array;
      const again = await append(blob, block, { transactionalContentCrc64: crc64 });
      assert.deepEqual(again.xMsContentCrc64, crc64);
      const before = await stateOf(blob);
      assert.equal(await refusal(append(blob, block, { transactionalContentMD5: md5('y') })), '400 Md5Mismatch');
      const wrong = { transactionalContentCrc64: Buffer.alloc(8) };
      assert.equal(await refusal(append(blob, block, wrong)), '400 Crc64Mismatch');
      assert.deepEqual(await stateOf(blob), before);
      assert.ok((await blob.downloadToBuffer()).equals(Buffer.concat([block, block, block])));
    });
  }

  test('takes one hash of the two, and only one that is one', async () => {
    const blob = await freshBlob();
    const hashes = { 'content-md5': md5('x').toString('base64'), 'x-ms-content-crc64': 'AAAAAAAAAAA=' };
    assert.equal((await rawAppend(blob, hashes)).outcome, '400 BothCrc64AndMd5HeaderPresent');
    assert.equal((await rawAppend(blob, { 'content-md5': 'AAAA' })).outcome, '400 InvalidMd5');
    assert.equal((await rawAppend(blob, { 'x-ms-content-crc64': 'AAAA' })).outcome, '400 InvalidHeaderValue');
  });

  for (const [what, block] of [
    ['a short block', 'x'],
    ['a long block', random.bytes(50 * KIB)],
  ] as const) {
    test(`does not make the blob: ${what} needs an append blob that is there`, async () => {
      const missing = freshName();
      assert.equal(await refusal(append(missing, block)), '404 BlobNotFound');
      assert.equal(await refusal(append(missing, block, { conditions: { ifMatch: '*' } })), '412 ConditionNotMet');
      const nowhere = service.getContainerClient('nowhere').getAppendBlobClient('x');
      assert.equal(await refusal(append(nowhere, block)), '404 ContainerNotFound');
      await container.getBlockBlobClient(missing.name).stageBlock('YQ==', 'staged', 6);
      assert.equal(await refusal(append(missing, block)), '404 BlobNotFound');
      await container.getBlockBlobClient(missing.name).upload('x', 1);
      assert.equal(await refusal(append(missing, block)), '409 InvalidBlobType');
    });
  }

  test('is for the blob itself, not for one of its snapshots', async () => {
    const blob = await freshBlob('x');
    const { snapshot = '' } = await blob.createSnapshot();
    assert.equal(await refusal(append(blob.withSnapshot(snapshot), 'y')), '400 InvalidQueryParameterValue');
  });

  test('goes only where x-ms-blob-condition-appendpos says', async () => {
    const blob = await freshBlob('12345');
    for (const appendPosition of [4, 6, 1e15 - 1]) {
      const code = await refusal(append(blob, 'x', { conditions: { appendPosition } }));
      assert.equal(code, '412 AppendPositionConditionNotMet');
    }
    assert.equal(await outcome(append(blob, '67', { conditions: { appendPosition: 5 } })), 'ok');
    // Sent again, as after a lost answer: the position tells that the first one took effect.
    const again = append(blob, '67', { conditions: { appendPosition: 5, maxSize: 7 } });
    assert.equal(await refusal(again), '412 AppendPositionConditionNotMet');
    assert.equal(await textOf(blob), '1234567');
    assert.equal((await rawAppend(await freshBlob(), { 'x-ms-blob-condition-appendpos': '0' })).status, 201);
  });

  test('makes the blob no longer than x-ms-blob-condition-maxsize', async () => {
    const blob = await freshBlob('12345');
    assert.equal(await refusal(append(blob, '6', { conditions: { maxSize: 5 } })), '412 MaxBlobSizeConditionNotMet');
    const byOne = append(blob, '67', { conditions: { maxSize: 6 } });
    assert.equal(await refusal(byOne), '412 MaxBlobSizeConditionNotMet');
    assert.equal(await outcome(append(blob, '6', { conditions: { maxSize: 6 } })), 'ok');
    const long = append(blob, random.bytes(50 * KIB), { conditions: { maxSize: 50 * KIB } });
    assert.equal(await refusal(long), '412 MaxBlobSizeConditionNotMet');
    assert.equal(await textOf(blob), '123456');
    const largest = await rawAppend(blob, { 'x-ms-blob-condition-maxsize': '9223372036854775807' });
    assert.equal(largest.status, 201);
  });

  for (const header of ['x-ms-blob-condition-appendpos', 'x-ms-blob-condition-maxsize']) {
    for (const value of ['-1', 'x', '1.5', '', '9223372036854775808']) {
      test(`refuses ${header}: ${value === '' ? 'nothing' : value}`, async () => {
        const blob = await freshBlob();
        assert.equal((await rawAppend(blob, { [header]: value })).outcome, '400 InvalidHeaderValue');
      });
    }
  }

  test('is judged by the usual conditions', async () => {
    const blob = await freshBlob('x');
    await blob.setTags({ colour: 'red' });
    const { etag = '' } = await blob.getProperties();
    const met = [
      { ifUnmodifiedSince: modifiedBefore(0) },
      { ifModifiedSince: modifiedBefore(60) },
      { ifNoneMatch: '"0x0"' },
      { tagConditions: "colour = 'red'" },
    ];
    const unmet = [
      { ifMatch: '"0x0"' },
      { ifNoneMatch: etag },
      { ifModifiedSince: modifiedBefore(0) },
      { ifUnmodifiedSince: modifiedBefore(60) },
      { tagConditions: "colour = 'blue'" },
    ];
    for (const conditions of unmet) {
      for (const block of ['y', random.bytes(50 * KIB)]) {
        assert.equal(
          await refusal(append(blob, block, { conditions })),
          '412 ConditionNotMet',
          JSON.stringify(conditions),
        );
      }
    }
    assert.equal(await outcome(append(blob, 'y', { conditions: { ifMatch: etag } })), 'ok');
    for (const conditions of met) assert.equal(await outcome(append(blob, 'z', { conditions })), 'ok');
    assert.equal(await textOf(blob), 'xyzzzz');
    const mix = append(blob, 'y', { conditions: { ifMatch: '*', ifNoneMatch: etag } });
    assert.equal(await refusal(mix), '400 MultipleConditionHeadersNotSupported');
  });

  test('needs the lease of a leased blob', async () => {
    const blob = await freshBlob();
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(15);
    for (const block of ['y', random.bytes(50 * KIB)]) {
      assert.equal(await refusal(append(blob, block)), '412 LeaseIdMissing');
      const other = append(blob, block, { conditions: { leaseId: randomUUID() } });
      assert.equal(await refusal(other), '412 LeaseIdMismatchWithBlobOperation');
    }
    const conditions = { leaseId: lease.leaseId };
    assert.equal(await outcome(append(blob, 'x', { conditions })), 'ok');
    server.clock.advance({ seconds: 16 });
    assert.equal(await refusal(append(blob, 'x', { conditions })), '412 LeaseLost');
    assert.equal(await outcome(append(blob, 'y')), 'ok');
    assert.equal(await refusal(lease.renewLease()), '409 LeaseIdMismatchWithLeaseOperation');
    const none = append(await freshBlob(), 'x', { conditions });
    assert.equal(await refusal(none), '412 LeaseNotPresentWithBlobOperation');
  });

  test('is refused for its conditions first, then its lease, then the seal, the position and the size', async () => {
    const blob = await freshBlob('x');
    const everything = { ifMatch: '"0x0"', appendPosition: 7, maxSize: 1 };
    await blob.getBlobLeaseClient(LEASE).acquireLease(-1);
    await blob.seal({ conditions: { leaseId: LEASE } });
    assert.equal(await refusal(append(blob, 'y', { conditions: everything })), '412 ConditionNotMet');
    const { ifMatch: _, ...without } = everything;
    assert.equal(await refusal(append(blob, 'y', { conditions: without })), '412 LeaseIdMissing');
    const leased = { ...without, leaseId: LEASE };
    assert.equal(await refusal(append(blob, 'y', { conditions: leased })), '409 BlobIsSealed');
    const open = await freshBlob('x');
    assert.equal(await refusal(append(open, 'y', { conditions: without })), '412 AppendPositionConditionNotMet');
    const placed = { ...without, appendPosition: 1 };
    assert.equal(await refusal(append(open, 'y', { conditions: placed })), '412 MaxBlobSizeConditionNotMet');
  });

  test('is open to a token with a or w, and not to one that may only create or read', async () => {
    const expiresOn = new Date(server.clock.nowMs() + 60_000);
    for (const [letter, want] of [
      ['a', 'ok'],
      ['w', 'ok'],
      ['c', '403 AuthorizationPermissionMismatch'],
      ['r', '403 AuthorizationPermissionMismatch'],
    ] as const) {
      const blob = await freshBlob();
      const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse(letter), expiresOn });
      const guest = new BlobClient(url, undefined, NO_RETRIES).getAppendBlobClient();
      assert.equal(await outcome(append(guest, 'x')), want, letter);
      const sealing = letter === 'w' ? 'ok' : '403 AuthorizationPermissionMismatch';
      assert.equal(await outcome(guest.seal()), sealing, letter);
    }
  });
});

const LEASE = randomUUID();

describe('a snapshot of an append blob', () => {
  test('keeps its length while appends go on', async () => {
    const blob = await freshBlob('one ');
    const snapshots: { readonly at: AppendBlobClient; readonly text: string; readonly count: number }[] = [];
    let text = 'one ';
    for (const [index, block] of ['two ', 'three ', 'four '].entries()) {
      const { snapshot = '', etag } = await blob.createSnapshot();
      assert.equal(etag, (await blob.getProperties()).etag);
      snapshots.push({ at: blob.withSnapshot(snapshot), text, count: index + 1 });
      const { blobAppendOffset, blobCommittedBlockCount } = await append(blob, block);
      assert.deepEqual([blobAppendOffset, blobCommittedBlockCount], [String(text.length), index + 2]);
      text += block;
    }
    assert.equal(await textOf(blob), 'one two three four ');
    for (const { at, text: expected, count } of snapshots) {
      assert.equal(await textOf(at), expected);
      const found = await at.getProperties();
      assert.deepEqual([found.contentLength, found.blobCommittedBlockCount], [expected.length, count]);
      assert.equal(await refusal(at.download(expected.length, 1)), '416 InvalidRange');
    }
    await blob.delete({ deleteSnapshots: 'only' });
    assert.equal(await textOf(blob), text);
    assert.equal(await refusal((snapshots[0] as (typeof snapshots)[0]).at.download()), '404 BlobNotFound');
  });

  test('outlives a new append blob in the place of the old one', async () => {
    const blob = await freshBlob('old');
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.create();
    await append(blob, 'new');
    assert.equal(await textOf(blob), 'new');
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'old');
  });

  test('of a sealed blob is sealed, and of an open one stays open', async () => {
    const blob = await freshBlob('x');
    const { snapshot: open = '' } = await blob.createSnapshot();
    await blob.seal();
    const { snapshot: sealed = '' } = await blob.createSnapshot();
    assert.equal((await blob.withSnapshot(open).getProperties()).isSealed, undefined);
    assert.equal((await blob.withSnapshot(sealed).getProperties()).isSealed, true);
  });
});

describe('Append Blob Seal', () => {
  test('lets nothing be appended any more', async () => {
    const blob = await freshBlob('x');
    const { etag: before } = await blob.getProperties();
    const sealed = await raw(blob, '?comp=seal');
    assert.deepEqual([sealed.status, sealed.headers['x-ms-blob-sealed']], [200, 'true']);
    const { etag } = sealed.headers;
    assert.notEqual(etag, before);
    for (const block of ['y', random.bytes(50 * KIB)])
      assert.equal(await refusal(append(blob, block)), '409 BlobIsSealed');
    const found = await blob.getProperties();
    assert.equal(found.isSealed, true);
    assert.equal(found.etag, etag);
    assert.equal(await textOf(blob), 'x');
    assert.equal((await blob.download()).isSealed, true);
  });

  test('can be done again', async () => {
    const blob = await freshBlob('x');
    await blob.seal();
    assert.equal(await outcome(blob.seal()), 'ok');
    assert.equal((await blob.getProperties()).isSealed, true);
  });

  test('leaves everything else to be changed', async () => {
    const blob = await freshBlob('x');
    await blob.seal();
    await blob.setMetadata({ a: 'b' });
    await blob.setHTTPHeaders({ blobContentType: 'text/log' });
    await blob.setTags({ colour: 'red' });
    await blob.createSnapshot();
    const found = await blob.getProperties();
    assert.equal(found.isSealed, true);
    assert.deepEqual([found.metadata?.['a'], found.contentType, found.tagCount], ['b', 'text/log', 1]);
    await blob.delete({ deleteSnapshots: 'include' });
    await blob.create();
    assert.equal(await outcome(append(blob, 'x')), 'ok');
  });

  test('goes by the position, the usual conditions and the lease', async () => {
    const blob = await freshBlob('12345');
    const at = (appendPosition: number): Promise<unknown> => blob.seal({ conditions: { appendPosition } });
    assert.equal(await refusal(at(4)), '412 AppendPositionConditionNotMet');
    assert.equal(await refusal(blob.seal({ conditions: { ifMatch: '"0x0"' } })), '412 ConditionNotMet');
    await blob.getBlobLeaseClient(LEASE).acquireLease(-1);
    assert.equal(await refusal(blob.seal()), '412 LeaseIdMissing');
    assert.equal((await blob.getProperties()).isSealed, undefined);
    const { etag = '' } = await blob.getProperties();
    await blob.seal({ conditions: { appendPosition: 5, ifMatch: etag, leaseId: LEASE } });
    assert.equal((await blob.getProperties()).isSealed, true);
  });

  test('is for append blobs that are there', async () => {
    const blob = freshName();
    assert.equal(await refusal(blob.seal()), '404 BlobNotFound');
    await container.getBlockBlobClient(blob.name).upload('x', 1);
    assert.equal(await refusal(blob.seal()), '409 InvalidBlobType');
  });
});

test('an append blob takes neither blocks by id nor pages, and has no block list', async () => {
  const blob = await freshBlob('x');
  const asBlocks = container.getBlockBlobClient(blob.name);
  assert.equal(await refusal(asBlocks.stageBlock('YQ==', 'y', 1)), '409 InvalidBlobType');
  assert.equal(await refusal(asBlocks.commitBlockList([])), '409 InvalidBlobType');
  assert.equal(await refusal(asBlocks.getBlockList('all')), '409 InvalidBlobType');
  const asPages = container.getPageBlobClient(blob.name);
  assert.equal(await refusal(asPages.uploadPages(Buffer.alloc(512), 0, 512)), '409 InvalidBlobType');
  assert.equal(await textOf(blob), 'x');
});
