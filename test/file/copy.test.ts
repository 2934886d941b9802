/**
 * Copy File through the official client, from what is on this server: files, files of snapshots, files of another account, blobs;
 * what a copy takes from its source and what from the request; and blobs that are copied from files.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobSASPermissions } from '@azure/storage-blob';
import {
  FileSASPermissions,
  type FileStartCopyOptions,
  FileSystemAttributes,
  type ShareClient,
  type ShareFileClient,
} from '@azure/storage-file-share';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, refusal } from '../harness/clients.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const MIB = 1024 * 1024;
const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const share = await freshShare(server);
const container = await freshContainer(blobService(server));
const random = new Random();
console.log(`LARIMAR_SEED=${random.seed}`);
const BYTES = random.bytes(300_001);

const freshName = (of: ShareClient = share): ShareFileClient => of.rootDirectoryClient.getFileClient(randomUUID());

async function freshFile(bytes: Buffer = BYTES, options = {}, of = share): Promise<ShareFileClient> {
  const file = freshName(of);
  await file.create(bytes.length, options);
  for (let at = 0; at < bytes.length; at += 4 * MIB) {
    const part = bytes.subarray(at, at + 4 * MIB);
    await file.uploadRange(part, at, part.length);
  }
  return file;
}

const readSas = (file: ShareFileClient): string =>
  file.generateSasUrl({
    permissions: FileSASPermissions.parse('r'),
    expiresOn: new Date(server.clock.nowMs() + 60_000),
  });

async function copyTo(url: string, options: FileStartCopyOptions = {}, to = freshName()): Promise<ShareFileClient> {
  const { copyStatus, copyId } = await to.startCopyFromURL(url, options);
  assert.equal(copyStatus, 'success');
  assert.equal((await to.getProperties()).copyId, copyId);
  return to;
}

const bytesOf = (file: ShareFileClient): Promise<Buffer> => file.downloadToBuffer();

const raw = (request: RawRequest): Promise<RawResponse> => send(server.fileUrl, request);
const pathOf = (file: ShareFileClient): string => `/${file.shareName}/${file.path}`;

describe('a copy of a file', () => {
  test('has its bytes, its headers and its metadata, and says where it came from', async () => {
    const from = await freshFile(BYTES, {
      metadata: { colour: 'blue' },
      fileHttpHeaders: { fileContentType: 'text/x', fileCacheControl: 'no-store', fileContentLanguage: 'eo' },
    });
    const to = freshName();
    const begun = await to.startCopyFromURL(from.url);
    assert.equal(begun.copyStatus, 'success');
    const properties = await to.getProperties();
    assert.equal(properties.etag, begun.etag);
    assert.deepEqual(properties.metadata, { colour: 'blue' });
    assert.deepEqual(
      [properties.contentType, properties.cacheControl, properties.contentLanguage],
      ['text/x', 'no-store', 'eo'],
    );
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copySource, from.url);
    assert.equal(properties.copyProgress, `${BYTES.length}/${BYTES.length}`);
    assert.equal(properties.copyCompletedOn?.getTime(), Math.floor(server.clock.nowMs() / 1000) * 1000);
    assert.ok((await bytesOf(to)).equals(BYTES));
    const { copyId } = await to.download();
    assert.equal(copyId, begun.copyId);
  });

  test('is forgotten to be one when its properties are set, or another file is created in its place', async () => {
    const from = await freshFile();
    for (const act of [
      (to: ShareFileClient) => to.setHttpHeaders({ fileContentType: 'a/b' }),
      (to: ShareFileClient) => to.create(5),
    ]) {
      const to = await copyTo(from.url);
      await act(to);
      const { copyId, copyStatus } = await to.getProperties();
      assert.deepEqual([copyId, copyStatus], [undefined, undefined]);
    }
  });

  test('takes metadata from the request if that has any', async () => {
    const from = await freshFile(BYTES, { metadata: { a: '1' } });
    const to = await copyTo(from.url, { metadata: { b: '2' } });
    assert.deepEqual((await to.getProperties()).metadata, { b: '2' });
  });

  test('replaces a file that is there, under the id and the lease that it has', async () => {
    const from = await freshFile(Buffer.from('new'));
    const to = await freshFile(BYTES, { metadata: { old: '1' } });
    const { fileId } = await to.getProperties();
    const lease = to.getShareLeaseClient();
    const { leaseId = '' } = await lease.acquireLease();
    assert.equal(await refusal(to.startCopyFromURL(from.url)), '412 LeaseIdMissing');
    const other = { leaseAccessConditions: { leaseId: randomUUID() } };
    assert.equal(await refusal(to.startCopyFromURL(from.url, other)), '412 LeaseIdMismatchWithFileOperation');
    await copyTo(from.url, { leaseAccessConditions: { leaseId } }, to);
    const after = await to.getProperties();
    assert.deepEqual([after.fileId, after.leaseState, after.metadata], [fileId, 'leased', {}]);
    assert.equal(String(await bytesOf(to)), 'new');
  });

  test('of a file that is leased is made like any other', async () => {
    const from = await freshFile();
    await from.getShareLeaseClient().acquireLease();
    assert.ok((await bytesOf(await copyTo(from.url))).equals(BYTES));
  });

  test('of the share as it was brings that back', async () => {
    const other = await freshShare(server);
    const file = await freshFile(BYTES, {}, other);
    const { snapshot = '' } = await other.createSnapshot();
    await file.uploadRange(Buffer.alloc(1000), 0, 1000);
    const source = other.withSnapshot(snapshot).rootDirectoryClient.getFileClient(file.name).url;
    await copyTo(source, {}, file);
    assert.ok((await bytesOf(file)).equals(BYTES));
    assert.equal((await file.getProperties()).copySource, source);
  });

  test('comes from another account if a token opens it, and from there only', async () => {
    const foreign = shareClient(server, `test-${randomUUID()}`, SECOND_ACCOUNT);
    await foreign.create();
    const from = await freshFile(BYTES, {}, foreign);
    assert.equal(await refusal(freshName().startCopyFromURL(from.url)), '401 CannotVerifyCopySource');
    const to = await copyTo(readSas(from));
    assert.ok((await bytesOf(to)).equals(BYTES));
    assert.equal((await to.getProperties()).copySource, from.url, 'the token is nobody’s business');
  });

  test('of 40 MiB in as many ranges as there are MiB shares them', async () => {
    const bytes = Buffer.alloc(40 * MIB);
    const from = freshName();
    await from.create(bytes.length);
    for (let at = 0; at < bytes.length; at += MIB) {
      const part = random.bytes(700);
      part.copy(bytes, at + 100);
      await from.uploadRange(part, at + 100, part.length);
    }
    const to = await copyTo(from.url);
    await from.delete();
    assert.ok((await bytesOf(to)).equals(bytes));
  });

  test('knows trailing dots by the header for its source', async () => {
    const dotted = `${randomUUID()}..`;
    const path = `/${share.name}/${dotted}`;
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '7', 'x-ms-allow-trailing-dot': 'true' };
    assert.equal((await raw({ method: 'PUT', path, headers })).status, 201);
    const source = { 'x-ms-copy-source': `${share.url}/${dotted}` };
    const to = freshName();
    assert.equal((await raw({ method: 'PUT', path: pathOf(to), headers: source })).status, 404);
    const kept = { ...source, 'x-ms-source-allow-trailing-dot': 'true' };
    assert.equal((await raw({ method: 'PUT', path: pathOf(to), headers: kept })).status, 202);
    assert.equal((await to.getProperties()).contentLength, 7);
  });
});

describe('the properties of a copy that SMB knows', () => {
  const SDDL =
    'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513' +
    'D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)';
  const CREATED = new Date('2001-02-03T04:05:06.000Z');
  const WRITTEN = new Date('2002-02-03T04:05:06.000Z');
  const CHANGED = new Date('2003-02-03T04:05:06.000Z');
  // Nothing is written to it: that would move its times.
  const source = freshFile(Buffer.alloc(0), {
    fileAttributes: FileSystemAttributes.parse('Hidden|System'),
    creationTime: CREATED,
    lastWriteTime: WRITTEN,
    changeTime: CHANGED,
    filePermission: SDDL,
  });

  test('are those of a new file, if nothing is said', async () => {
    const to = await copyTo((await source).url);
    const after = await to.getProperties();
    assert.equal(after.fileAttributes, 'Archive');
    assert.deepEqual(
      [after.fileCreatedOn, after.fileLastWriteOn, after.fileChangeOn].map((time) => time?.getTime()),
      [server.clock.nowMs(), server.clock.nowMs(), server.clock.nowMs()],
    );
    assert.notEqual(after.filePermissionKey, (await (await source).getProperties()).filePermissionKey);
  });

  test('are those of the source, if that is said', async () => {
    const from = await source;
    const { filePermissionKey } = await from.getProperties();
    const copyFileSmbInfo = {
      fileAttributes: 'source',
      fileCreationTime: 'source',
      fileLastWriteTime: 'source',
      fileChangeTime: 'source',
      filePermissionCopyMode: 'source',
    } as const;
    for (const to of [freshName(), freshName(await freshShare(server))]) {
      await copyTo(from.url, { copyFileSmbInfo }, to);
      const after = await to.getProperties();
      assert.equal(after.fileAttributes, 'Hidden | System | Archive');
      assert.deepEqual([after.fileCreatedOn, after.fileLastWriteOn, after.fileChangeOn], [CREATED, WRITTEN, CHANGED]);
      assert.equal(after.filePermissionKey, filePermissionKey);
    }
  });

  test('are the request’s own, if it has any', async () => {
    const copyFileSmbInfo = {
      fileAttributes: 'ReadOnly',
      fileCreationTime: '2011-01-01T00:00:00.1234567Z',
      fileLastWriteTime: '2012-01-01T00:00:00.0000000Z',
      setArchiveAttribute: true,
      filePermissionCopyMode: 'override',
    } as const;
    const to = await copyTo((await source).url, { copyFileSmbInfo, filePermission: SDDL });
    const headers = (await raw({ method: 'HEAD', path: pathOf(to) })).headers;
    assert.equal(headers['x-ms-file-attributes'], 'ReadOnly | Archive');
    assert.equal(headers['x-ms-file-creation-time'], '2011-01-01T00:00:00.1234567Z');
    assert.equal(headers['x-ms-file-last-write-time'], '2012-01-01T00:00:00.0000000Z');
    assert.equal(
      headers['x-ms-file-permission-key'],
      (await (await source).getProperties()).filePermissionKey,
      'the same descriptor has the same key',
    );
    assert.equal(await refusal(to.startCopyFromURL((await source).url)), '409 ReadOnlyAttribute');
    await copyTo((await source).url, { copyFileSmbInfo: { ignoreReadOnly: true, fileAttributes: 'None' } }, to);
    assert.equal((await to.getProperties()).fileAttributes, 'None');
  });

  test('that are said badly are refused', async () => {
    const { url } = await source;
    for (const [copyFileSmbInfo, want] of [
      [{ filePermissionCopyMode: 'override' }, '400 MissingRequiredHeader'],
      [{ fileAttributes: 'Directory' }, '400 InvalidHeaderValue'],
      [{ fileCreationTime: 'preserve' }, '400 InvalidHeaderValue'],
      [{ fileChangeTime: 'yesterday' }, '400 InvalidHeaderValue'],
    ] as const) {
      assert.equal(await refusal(freshName().startCopyFromURL(url, { copyFileSmbInfo })), want);
    }
  });
});

describe('a copy of a blob', () => {
  for (const lengthBytes of [0, 10, BYTES.length, 6 * MIB + 1]) {
    test(`of ${lengthBytes} bytes is a file with them, its headers and its metadata`, async () => {
      const bytes = random.bytes(lengthBytes);
      const blob = container.getBlockBlobClient(randomUUID());
      await blob.upload(bytes, bytes.length, {
        metadata: { a: '1' },
        blobHTTPHeaders: { blobContentType: 'text/x', blobContentDisposition: 'inline' },
      });
      const to = await copyTo(blob.url);
      assert.ok((await bytesOf(to)).equals(bytes));
      const { contentType, contentDisposition, contentMD5, metadata } = await to.getProperties();
      assert.deepEqual([contentType, contentDisposition, metadata], ['text/x', 'inline', { a: '1' }]);
      assert.deepEqual(contentMD5, (await blob.getProperties()).contentMD5);
    });
  }

  test('of pages or of appended blocks is a file like any other', async () => {
    const pages = container.getPageBlobClient(randomUUID());
    await pages.create(5 * MIB);
    const page = random.bytes(512);
    await pages.uploadPages(page, 4 * MIB, 512);
    const copied = await bytesOf(await copyTo(pages.url));
    assert.deepEqual([copied.length, copied.indexOf(page)], [5 * MIB, 4 * MIB]);
    const log = container.getAppendBlobClient(randomUUID());
    await log.create();
    for (const line of ['one\n', 'two\n']) await log.appendBlock(line, line.length);
    assert.equal(String(await bytesOf(await copyTo(log.url))), 'one\ntwo\n');
  });

  test('of another account takes a token, or that anybody may read it', async () => {
    const service = blobService(server, SECOND_ACCOUNT);
    const blob = (await freshContainer(service)).getBlockBlobClient('b');
    await blob.upload('abc', 3);
    assert.equal(await refusal(freshName().startCopyFromURL(blob.url)), '401 CannotVerifyCopySource');
    const expiresOn = new Date(server.clock.nowMs() + 60_000);
    const signed = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn });
    assert.equal(String(await bytesOf(await copyTo(signed))), 'abc');
    const open = service.getContainerClient(`open-${randomUUID()}`);
    await open.create({ access: 'blob' });
    await open.getBlockBlobClient('b').upload('def', 3);
    assert.equal(String(await bytesOf(await copyTo(open.getBlobClient('b').url))), 'def');
  });
});

describe('a copy is refused', () => {
  test('where its source is missing, is none, or cannot be one', async () => {
    const file = await freshFile();
    const directory = share.getDirectoryClient(randomUUID());
    await directory.create();
    for (const [source, want] of [
      [`${share.url}/missing`, '404 ResourceNotFound'],
      [`${share.url}/missing/f`, '404 ResourceNotFound'],
      [`${server.fileEndpoint()}/no-such-share/f`, '404 ResourceNotFound'],
      [`${file.url}?sharesnapshot=2001-01-01T00:00:00.0000000Z`, '404 ResourceNotFound'],
      [`${container.url}/missing`, '404 CannotVerifyCopySource'],
      [directory.url, '409 ResourceTypeMismatch'],
      ['nonsense', '400 InvalidHeaderValue'],
      ['ftp://example.com/f', '400 InvalidHeaderValue'],
      [share.url, '400 InvalidHeaderValue'],
      [`${file.url}?comp=metadata`, '400 InvalidHeaderValue'],
    ] as const) {
      assert.equal(await refusal(freshName().startCopyFromURL(source)), want, source);
    }
  });

  test('where its destination cannot be one', async () => {
    const { url } = await freshFile();
    const directory = share.getDirectoryClient(randomUUID());
    await directory.create();
    const inNothing = share.getDirectoryClient('missing').getFileClient('f');
    assert.equal(await refusal(inNothing.startCopyFromURL(url)), '404 ParentNotFound');
    const asFile = share.rootDirectoryClient.getFileClient(directory.name);
    assert.equal(await refusal(asFile.startCopyFromURL(url)), '409 ResourceTypeMismatch');
    const elsewhere = shareClient(server, 'no-such-share').rootDirectoryClient.getFileClient('f');
    assert.equal(await refusal(elsewhere.startCopyFromURL(url)), '404 ShareNotFound');
    const snapshot = share.withSnapshot((await share.createSnapshot()).snapshot as string);
    const past = snapshot.rootDirectoryClient.getFileClient('f');
    assert.equal(await refusal(past.startCopyFromURL(url)), '400 InvalidQueryParameterValue');
  });

  test('to be aborted where none is pending, or under what is no id', async () => {
    const to = await copyTo((await freshFile()).url);
    const { copyId = '' } = await to.getProperties();
    assert.equal(await refusal(to.abortCopyFromURL(copyId)), '409 NoPendingCopyOperation');
    assert.equal(await refusal(to.abortCopyFromURL('what')), '400 InvalidQueryParameterValue');
    assert.equal(await refusal(freshName().abortCopyFromURL(copyId)), '404 ResourceNotFound');
  });
});

describe('a blob', () => {
  test('is copied from a file, at once or in the background', async () => {
    const from = await freshFile(BYTES, { metadata: { a: '1' }, fileHttpHeaders: { fileContentType: 'text/x' } });
    const [copied, synced, put] = [1, 2, 3].map(() => container.getBlockBlobClient(randomUUID()));
    assert.ok(copied && synced && put);
    const poller = await copied.beginCopyFromURL(from.url, { intervalInMs: 20 });
    assert.equal((await poller.pollUntilDone()).copyStatus, 'success');
    assert.equal((await synced.syncCopyFromURL(readSas(from))).copyStatus, 'success');
    await put.syncUploadFromURL(from.url);
    for (const blob of [copied, synced, put]) {
      assert.ok((await blob.downloadToBuffer()).equals(BYTES));
      const { metadata, contentType } = await blob.getProperties();
      assert.deepEqual([metadata, contentType], [{ a: '1' }, 'text/x']);
    }
    const missing = `${share.url}/missing`;
    assert.equal(await refusal(copied.beginCopyFromURL(missing)), '404 CannotVerifyCopySource');
    const { etag = '' } = await from.getProperties();
    const sourceConditions = { ifNoneMatch: etag };
    assert.equal(await refusal(copied.beginCopyFromURL(from.url, { sourceConditions })), '412 SourceConditionNotMet');
  });
});
