/** Put Page From URL: pages written from a range of a source, here or outside, under all that Put Page is judged by. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  type PageBlobClient,
  type PageBlobUploadPagesFromURLOptions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { crc64Of } from '../../src/base/crc64.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome, outcomes, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { tally, together } from '../harness/parallel.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const PAGE = 512;

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const container = await freshContainer(blobService(server));
/** More than one request may ask for. */
const BYTES = randomBytes(4 * MIB + 300 * KIB);
const outside = await OutsideSource.start(BYTES);

async function freshPages(lengthBytes: number, bytes?: Buffer): Promise<PageBlobClient> {
  const blob = container.getPageBlobClient(randomUUID());
  await blob.create(lengthBytes);
  for (let at = 0; at < (bytes?.length ?? 0); at += 4 * MIB) {
    const part = (bytes as Buffer).subarray(at, at + 4 * MIB);
    await blob.uploadPages(part, at, part.length);
  }
  return blob;
}

const md5 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('md5').update(bytes).digest());

const putRaw = (to: PageBlobClient, headers: Record<string, string>, body = ''): Promise<RawResponse> =>
  send(server.url, {
    method: 'PUT',
    path: `/${container.containerName}/${to.name}?comp=page`,
    headers: { 'x-ms-page-write': 'update', ...headers },
    body,
  });

const inside = await freshPages(BYTES.length, BYTES);
const snapshotOfInside = inside.withSnapshot((await inside.createSnapshot()).snapshot ?? '');
await inside.clearPages(0, PAGE);

/** The same bytes, here and outside. */
for (const [where, source] of [
  ['here', snapshotOfInside],
  ['outside', outside],
] as const) {
  describe(`from a source ${where}, Put Page From URL`, () => {
    for (const [what, count] of [
      ['a page', PAGE],
      ['more than is kept in a record', 64 * KIB],
      ['as much as one request may write', 4 * MIB],
    ] as const) {
      test(`writes ${what}, and nothing else`, async () => {
        const to = await freshPages(5 * MIB);
        await to.uploadPages(Buffer.alloc(2 * PAGE, 'x'), 0, 2 * PAGE);
        const { etag: before } = await to.getProperties();
        const answer = await to.uploadPagesFromURL(source.url, 3 * PAGE + 7, PAGE, count);
        const want = Buffer.alloc(5 * MIB);
        want.fill('x', 0, 2 * PAGE);
        BYTES.copy(want, PAGE, 3 * PAGE + 7, 3 * PAGE + 7 + count);
        assert.ok((await to.downloadToBuffer()).equals(want));
        assert.notEqual(answer.etag, before);
        assert.equal(answer.etag, (await to.getProperties()).etag);
        assert.equal(answer.blobSequenceNumber, 0);
        const written = BYTES.subarray(3 * PAGE + 7, 3 * PAGE + 7 + count);
        assert.deepEqual(Buffer.from(answer.xMsContentCrc64 ?? []), crc64Of(written));
        assert.equal(answer.contentMD5, undefined);
      });
    }

    test('holds hashes of the source against its bytes', async () => {
      const to = await freshPages(64 * KIB);
      const bytes = BYTES.subarray(0, 32 * KIB);
      const put = (options: PageBlobUploadPagesFromURLOptions): Promise<{ contentMD5?: Uint8Array }> =>
        to.uploadPagesFromURL(source.url, 0, 0, bytes.length, options);
      const right = await put({ sourceContentMD5: md5(bytes) });
      assert.deepEqual(Buffer.from(right.contentMD5 ?? []), Buffer.from(md5(bytes)));
      await put({ sourceContentCrc64: new Uint8Array(crc64Of(bytes)) });
      const { etag } = await to.getProperties();
      assert.equal(await refusal(put({ sourceContentMD5: md5(Buffer.from('x')) })), '400 Md5Mismatch');
      const wrong = new Uint8Array(crc64Of(Buffer.from('x')));
      assert.equal(await refusal(put({ sourceContentCrc64: wrong })), '400 Crc64Mismatch');
      assert.equal((await to.getProperties()).etag, etag);
    });

    test('judges the conditions on the source: 412, and 304 where it is not modified', async () => {
      const to = await freshPages(PAGE);
      const etag = 'etag' in source ? (source.etag as string) : ((await source.getProperties()).etag as string);
      for (const [sourceConditions, want] of [
        [{ ifMatch: etag }, 'ok'],
        [{ ifNoneMatch: '"0x1"' }, 'ok'],
        [{ ifMatch: '"0x1"' }, '412 SourceConditionNotMet'],
        [{ ifNoneMatch: etag }, '304 CannotVerifyCopySource'],
      ] as const) {
        const asked = to.uploadPagesFromURL(source.url, 0, 0, PAGE, { sourceConditions });
        assert.equal(await outcome(asked), want, JSON.stringify(sourceConditions));
      }
    });

    test('refuses what is beyond the end of the source, in part or in whole', async () => {
      const to = await freshPages(4 * KIB);
      const beyond = to.uploadPagesFromURL(source.url, BYTES.length, 0, PAGE);
      assert.equal(await refusal(beyond), '416 CannotVerifyCopySource');
      const across = to.uploadPagesFromURL(source.url, BYTES.length - PAGE, 0, 2 * PAGE);
      assert.equal(await refusal(across), '416 CannotVerifyCopySource');
      assert.deepEqual(await to.downloadToBuffer(), Buffer.alloc(4 * KIB));
    });

    test('is judged by the blob as Put Page is', async () => {
      const to = await freshPages(4 * KIB);
      await to.updateSequenceNumber('update', 5);
      const { etag = '' } = await to.getProperties();
      const put = (options: PageBlobUploadPagesFromURLOptions, at = 0): Promise<unknown> =>
        to.uploadPagesFromURL(source.url, 0, at, PAGE, options);
      for (const [conditions, want] of [
        [{ ifMatch: '"0x1"' }, '412 ConditionNotMet'],
        [{ ifNoneMatch: etag }, '412 ConditionNotMet'],
        [{ tagConditions: "a = 'b'" }, '412 ConditionNotMet'],
        [{ ifSequenceNumberLessThan: 5 }, '412 SequenceNumberConditionNotMet'],
        [{ ifSequenceNumberEqualTo: 4 }, '412 SequenceNumberConditionNotMet'],
        [{ leaseId: randomUUID() }, '412 LeaseNotPresentWithBlobOperation'],
        [{ ifMatch: etag, ifSequenceNumberLessThanOrEqualTo: 5 }, 'ok'],
      ] as const) {
        assert.equal(await outcome(put({ conditions })), want, JSON.stringify(conditions));
      }
      assert.equal(await refusal(put({}, 4 * KIB)), '416 InvalidPageRange');
      assert.equal(await refusal(put({}, 100)), '416 InvalidPageRange');
      const { leaseId = '' } = await to.getBlobLeaseClient().acquireLease(15);
      assert.equal(await refusal(put({})), '412 LeaseIdMissing');
      await put({ conditions: { leaseId } });
      const missing = container.getPageBlobClient('missing').uploadPagesFromURL(source.url, 0, 0, PAGE);
      assert.equal(await refusal(missing), '404 BlobNotFound');
      const block = container.getBlockBlobClient(randomUUID());
      await block.upload('x', 1);
      const other = container.getPageBlobClient(block.name).uploadPagesFromURL(source.url, 0, 0, PAGE);
      assert.equal(await refusal(other), '409 InvalidBlobType');
    });

    test('wants both ranges, of one length that may be written at once, and no body', async () => {
      const to = await freshPages(8 * MIB);
      const headers = { 'x-ms-copy-source': source.url };
      const [one, two] = ['bytes=0-511', 'bytes=0-1023'];
      const long = `bytes=0-${4 * MIB + 511}`;
      for (const [what, ranges, want] of [
        ['no range of the source', { 'x-ms-range': one }, '400 MissingRequiredHeader'],
        ['no range of the blob', { 'x-ms-source-range': one }, '400 MissingRequiredHeader'],
        ['two lengths', { 'x-ms-range': one, 'x-ms-source-range': two }, '400 InvalidHeaderValue'],
        ['no end of the source', { 'x-ms-range': one, 'x-ms-source-range': 'bytes=0-' }, '400 InvalidHeaderValue'],
        ['no end of the blob', { 'x-ms-range': 'bytes=0-', 'x-ms-source-range': one }, '400 InvalidHeaderValue'],
        ['nonsense', { 'x-ms-range': one, 'x-ms-source-range': 'x' }, '400 InvalidHeaderValue'],
        ['more than 4 MiB', { 'x-ms-range': long, 'x-ms-source-range': long }, '413 RequestBodyTooLarge'],
        ['a plain Range', { Range: one, 'x-ms-source-range': one }, '201'],
      ] as const) {
        assert.equal((await putRaw(to, { ...headers, ...ranges })).outcome, want, what);
      }
      const ranges = { ...headers, 'x-ms-range': one, 'x-ms-source-range': one };
      assert.equal((await putRaw(to, ranges, 'body')).outcome, '400 InvalidHeaderValue');
      assert.equal((await putRaw(to, { ...ranges, 'x-ms-page-write': 'clear' })).outcome, '400 InvalidHeaderValue');
      const both = {
        'x-ms-source-content-md5': Buffer.from(md5(BYTES)).toString('base64'),
        'x-ms-source-content-crc64': crc64Of(BYTES).toString('base64'),
      };
      assert.equal((await putRaw(to, { ...ranges, ...both })).outcome, '400 BothCrc64AndMd5HeaderPresent');
    });
  });
}

describe('a source of Put Page From URL', () => {
  test('may be a block or append blob, at any offset', async () => {
    const block = container.getBlockBlobClient(randomUUID());
    await block.upload(BYTES, BYTES.length);
    const append = container.getAppendBlobClient(randomUUID());
    await append.create();
    await append.appendBlock(BYTES.subarray(0, 100 * KIB), 100 * KIB);
    for (const { url } of [block, append]) {
      const to = await freshPages(128 * KIB);
      await to.uploadPagesFromURL(url, 11, PAGE, 64 * KIB);
      assert.ok((await to.downloadToBuffer(PAGE, 64 * KIB)).equals(BYTES.subarray(11, 11 + 64 * KIB)));
    }
  });

  test('may be the blob itself, also where the ranges overlap', async () => {
    const blob = await freshPages(64 * KIB, BYTES.subarray(0, 64 * KIB));
    await blob.uploadPagesFromURL(blob.url, 0, 2 * KIB, 32 * KIB);
    const want = Buffer.from(BYTES.subarray(0, 64 * KIB));
    BYTES.copy(want, 2 * KIB, 0, 32 * KIB);
    assert.ok((await blob.downloadToBuffer()).equals(want));
  });

  test('in another account is read with a signature alone', async () => {
    const theirs = await freshContainer(blobService(server, SECOND_ACCOUNT));
    const from = theirs.getPageBlobClient(randomUUID());
    await from.create(PAGE);
    await from.uploadPages(Buffer.alloc(PAGE, 'z'), 0, PAGE);
    const to = await freshPages(PAGE);
    assert.match(await refusal(to.uploadPagesFromURL(from.url, 0, 0, PAGE)), /^40[134] CannotVerifyCopySource$/);
    const sas = generateBlobSASQueryParameters(
      {
        containerName: theirs.containerName,
        blobName: from.name,
        permissions: BlobSASPermissions.parse('r'),
        expiresOn: new Date(server.clock.nowMs() + 3_600_000),
      },
      new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key),
    );
    await to.uploadPagesFromURL(`${from.url}?${sas.toString()}`, 0, 0, PAGE);
    assert.deepEqual(await to.downloadToBuffer(), Buffer.alloc(PAGE, 'z'));
  });

  test('that is not there, or breaks off, changes nothing', async () => {
    const to = await freshPages(PAGE);
    const { etag } = await to.getProperties();
    const missing = container.getPageBlobClient('missing').url;
    assert.equal(await refusal(to.uploadPagesFromURL(missing, 0, 0, PAGE)), '404 CannotVerifyCopySource');
    const broken = await OutsideSource.start(BYTES);
    broken.behave = () => ({ afterBytes: 100, breaksOff: true });
    assert.equal(await refusal(to.uploadPagesFromURL(broken.url, 0, 0, PAGE)), '500 CannotVerifyCopySource');
    assert.equal((await to.getProperties()).etag, etag);
  });

  test('is read into a blob that only a customer’s key opens', async () => {
    const key = randomBytes(32);
    const encryption = {
      'x-ms-encryption-key': key.toString('base64'),
      'x-ms-encryption-key-sha256': createHash('sha256').update(key).digest('base64'),
      'x-ms-encryption-algorithm': 'AES256',
    };
    const to = container.getPageBlobClient(randomUUID());
    const path = `/${container.containerName}/${to.name}`;
    const created = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024', ...encryption };
    assert.equal((await send(server.url, { method: 'PUT', path, headers: created })).outcome, '201');
    const copied = {
      'x-ms-copy-source': outside.url,
      'x-ms-range': 'bytes=512-1023',
      'x-ms-source-range': 'bytes=0-511',
    };
    assert.equal((await putRaw(to, copied)).outcome, '409 BlobUsesCustomerSpecifiedEncryption');
    const answer = await putRaw(to, { ...copied, ...encryption });
    assert.equal(answer.outcome, '201');
    assert.equal(answer.headers['x-ms-encryption-key-sha256'], encryption['x-ms-encryption-key-sha256']);
    const read = await send(server.url, { method: 'GET', path, headers: encryption });
    assert.ok(read.body.equals(Buffer.concat([Buffer.alloc(PAGE), BYTES.subarray(0, PAGE)])));
  });
});

test('copies of pages against writes to their source have one state of it each', async () => {
  const lengthBytes = 320 * KIB;
  const from = await freshPages(lengthBytes, Buffer.alloc(lengthBytes, 'A'));
  const destinations = await Promise.all(Array.from({ length: 12 }, () => freshPages(lengthBytes)));
  const results = await together(24, (index) => {
    const to = destinations[index >> 1] as PageBlobClient;
    return index % 2 === 0
      ? to.uploadPagesFromURL(from.url, 0, 0, lengthBytes)
      : from.uploadPages(Buffer.alloc(lengthBytes, String.fromCharCode(65 + index)), 0, lengthBytes);
  });
  assert.deepEqual(tally(outcomes(results)), { ok: 24 });
  for (const to of destinations) {
    const bytes = await to.downloadToBuffer();
    assert.ok(bytes.equals(Buffer.alloc(lengthBytes, bytes[0])), 'the bytes of two states are mixed');
    assert.notEqual(bytes[0], 0);
  }
});
