/** Put Range From URL: from files and blobs of this server and from outside, held to checksums. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share';
import { crc64Of } from '../../src/base/crc64.ts';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { OutsideSource } from '../harness/outside-source.ts';

const MIB = 1024 * 1024;
const server = await startInProcess();
const share = await freshShare(server);
const container = await freshContainer(blobService(server));
const BYTES = randomBytes(5 * MIB);
const outside = await OutsideSource.start(BYTES);
const blob = container.getBlockBlobClient('source');
await blob.upload(BYTES, BYTES.length);
const file = await freshFile(BYTES.length);
for (let at = 0; at < BYTES.length; at += MIB) await file.uploadRange(BYTES.subarray(at, at + MIB), at, MIB);

async function freshFile(lengthBytes: number): Promise<ShareFileClient> {
  const fresh = share.rootDirectoryClient.getFileClient(randomUUID());
  await fresh.create(lengthBytes);
  return fresh;
}

/** A request that the client would not send. */
const put = (to: ShareFileClient, headers: Record<string, string>): Promise<RawResponse> =>
  send(server.fileUrl, {
    method: 'PUT',
    path: `/${share.name}/${to.path}?comp=range`,
    headers: { 'x-ms-write': 'update', 'x-ms-copy-source': file.url, ...headers },
  });

const bytes = (first: number, last: number): string => `bytes=${first}-${last}`;

for (const [where, url] of [
  ['a file here', () => file.url],
  ['a blob here', () => blob.url],
  ['outside', () => outside.url],
] as const) {
  describe(`a range from ${where}`, () => {
    for (const [sourceOffset, offset, count] of [
      [0, 0, 1],
      [1_000, 1, 5_000],
      [777, 512, 1024],
      [MIB - 5, 4 * MIB - 10, 10],
      [100, 0, 4 * MIB],
    ] as const) {
      test(`of ${count} bytes from ${sourceOffset} goes to ${offset}, and nothing else changes`, async () => {
        const to = await freshFile(4 * MIB);
        await to.uploadRange(Buffer.alloc(4 * MIB, 'x'), 0, 4 * MIB);
        const { etag } = await to.getProperties();
        const answer = await to.uploadRangeFromURL(url(), sourceOffset, offset, count);
        const want = Buffer.alloc(4 * MIB, 'x');
        BYTES.copy(want, offset, sourceOffset, sourceOffset + count);
        assert.ok((await to.downloadToBuffer()).equals(want));
        assert.notEqual(answer.etag, etag);
        assert.equal(answer.etag, (await to.getProperties()).etag);
        const crc64 = crc64Of(BYTES.subarray(sourceOffset, sourceOffset + count));
        assert.deepEqual(Buffer.from(answer.xMsContentCrc64 ?? []), crc64);
      });
    }

    test('is held to its checksum, and to conditions on it', async () => {
      const to = await freshFile(1_000);
      const right = new Uint8Array(crc64Of(BYTES.subarray(50, 150)));
      const wrong = new Uint8Array(8);
      const from = (options: object): Promise<unknown> => to.uploadRangeFromURL(url(), 50, 0, 100, options);
      await from({ sourceContentCrc64: right });
      assert.equal(await refusal(from({ sourceContentCrc64: wrong })), '400 Crc64Mismatch');
      await from({ sourceConditions: { sourceIfMatchCrc64: right } });
      assert.equal(await refusal(from({ sourceConditions: { sourceIfMatchCrc64: wrong } })), '412 ConditionNotMet');
      await from({ sourceConditions: { sourceIfNoneMatchCrc64: wrong } });
      assert.equal(await refusal(from({ sourceConditions: { sourceIfNoneMatchCrc64: right } })), '412 ConditionNotMet');
    });

    test('beyond its end is refused', async () => {
      const to = await freshFile(1_000);
      assert.equal(await refusal(to.uploadRangeFromURL(url(), BYTES.length - 5, 0, 10)), '416 CannotVerifyCopySource');
      assert.equal(await refusal(to.uploadRangeFromURL(url(), BYTES.length, 0, 10)), '416 CannotVerifyCopySource');
    });
  });
}

describe('a range from a URL', () => {
  test('of a file can be a range of itself', async () => {
    const own = await freshFile(1_000);
    await own.uploadRange('abcdefgh', 0, 8);
    await own.uploadRangeFromURL(own.url, 0, 4, 8);
    assert.equal(String(await own.downloadToBuffer(0, 12)), 'abcdabcdefgh');
  });

  test('moves the time of the last write, or leaves it', async () => {
    const to = await freshFile(1_000);
    const before = await to.getProperties();
    server.clock.advance({ seconds: 5 });
    await to.uploadRangeFromURL(file.url, 0, 0, 10, { fileLastWrittenMode: 'Preserve' });
    assert.deepEqual((await to.getProperties()).fileLastWriteOn, before.fileLastWriteOn);
    await to.uploadRangeFromURL(file.url, 0, 0, 10);
    assert.equal((await to.getProperties()).fileLastWriteOn?.getTime(), server.clock.nowMs());
  });

  test('takes the lease of a leased file', async () => {
    const to = await freshFile(1_000);
    const { leaseId = '' } = await to.getShareLeaseClient().acquireLease();
    assert.equal(await refusal(to.uploadRangeFromURL(file.url, 0, 0, 10)), '412 LeaseIdMissing');
    await to.uploadRangeFromURL(file.url, 0, 0, 10, { leaseAccessConditions: { leaseId } });
  });

  test('is judged by what opens its source', async () => {
    const to = await freshFile(1_000);
    const expiresOn = new Date(server.clock.nowMs() + 60_000);
    const reading = file.generateSasUrl({ permissions: FileSASPermissions.parse('r'), expiresOn });
    const writing = file.generateSasUrl({ permissions: FileSASPermissions.parse('w'), expiresOn });
    const stranger = `${server.fileEndpoint({ name: 'nobody', key: '' })}/share/f`;
    await to.uploadRangeFromURL(reading, 0, 0, 10);
    const missing = `${share.url}/missing`;
    assert.equal(await refusal(to.uploadRangeFromURL(missing, 0, 0, 10)), '404 CannotVerifyCopySource');
    assert.equal(await refusal(to.uploadRangeFromURL(stranger, 0, 0, 10)), '401 CannotVerifyCopySource');
    assert.equal(await refusal(to.uploadRangeFromURL('nonsense', 0, 0, 10)), '400 InvalidHeaderValue');
    // The owner of the account may read it anyway.
    await to.uploadRangeFromURL(writing, 0, 0, 10);
  });

  test('is refused where what is asked for is not clear', async () => {
    const to = await freshFile(8 * MIB);
    const range = { 'x-ms-range': bytes(0, 9) };
    for (const [headers, want] of [
      [{ ...range, 'x-ms-source-range': bytes(0, 9) }, 201],
      [{ ...range, 'x-ms-source-range': bytes(0, 10) }, 400],
      [{ ...range, 'x-ms-source-range': 'bytes=0-' }, 400],
      [range, 400],
      [{ 'x-ms-source-range': bytes(0, 9) }, 400],
      [{ ...range, 'x-ms-source-range': bytes(0, 9), 'x-ms-write': 'clear' }, 400],
      [{ 'x-ms-range': bytes(0, 4 * MIB), 'x-ms-source-range': bytes(0, 4 * MIB) }, 413],
      [{ 'x-ms-range': bytes(8 * MIB - 9, 8 * MIB), 'x-ms-source-range': bytes(0, 9) }, 416],
    ] as const) {
      assert.equal((await put(to, headers)).status, want, JSON.stringify(headers));
    }
    const gone = share.rootDirectoryClient.getFileClient('missing');
    const asked = outside.seen.length;
    assert.equal(await refusal(gone.uploadRangeFromURL(outside.url, 0, 0, 10)), '404 ResourceNotFound');
    assert.equal(outside.seen.length, asked, 'nothing is fetched for a request that is refused anyway');
  });
});
