/**
 * Files through the official client: created, read, changed and deleted, with all that a file has beside its bytes; names that are
 * the same and names that are not; uploads and downloads of many ranges; and files as a snapshot of their share keeps them.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { FileSystemAttributes, type ShareFileClient } from '@azure/storage-file-share';
import { refusal } from '../harness/clients.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

const MIB = 1024 ** 2;
const ISO7 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/;
const CREATED_AT = '2001-02-03T04:05:06.7654321Z';
const WRITTEN_AT = '2002-02-03T04:05:06.0000001Z';
const CHANGED_AT = '2003-02-03T04:05:06.0000000Z';

const seed = new Random().seed;
console.log(`LARIMAR_SEED=${seed}`);
const randomBytes = (lengthBytes: number): Buffer => new Random(seed + lengthBytes).bytes(lengthBytes);
const md5Of = (bytes: Uint8Array): Buffer => createHash('md5').update(bytes).digest();

async function freshFile(lengthBytes = 0, name = 'file'): Promise<ShareFileClient> {
  const share = await freshShare(server);
  const file = share.rootDirectoryClient.getFileClient(name);
  await file.create(lengthBytes);
  return file;
}

async function fileWith(bytes: Uint8Array, name?: string): Promise<ShareFileClient> {
  const file = await freshFile(bytes.length, name);
  await file.uploadRange(bytes, 0, bytes.length);
  return file;
}

const bytesOf = async (file: ShareFileClient, offset = 0, count?: number): Promise<Buffer> =>
  buffer((await file.download(offset, count)).readableStreamBody as NodeJS.ReadableStream);

const pathOf = (file: ShareFileClient): string => `/${file.shareName}/${encodeURI(file.path)}`;

describe('a new file', () => {
  test('has what is usual: marked for the archive, created, written and changed now, of the root', async () => {
    const share = await freshShare(server);
    const file = share.rootDirectoryClient.getFileClient('file');
    const created = await file.create(1025);
    const properties = await file.getProperties();
    for (const answer of [created, properties]) {
      assert.equal(answer.fileAttributes, 'Archive');
      assert.equal(answer.fileCreatedOn?.getTime(), server.clock.nowMs());
      assert.equal(answer.fileLastWriteOn?.getTime(), server.clock.nowMs());
      assert.equal(answer.fileChangeOn?.getTime(), server.clock.nowMs());
      assert.match(answer.filePermissionKey ?? '', /^\d+\*\d+$/);
      assert.match(answer.fileId ?? '', /^[1-9]\d*$/);
      assert.equal(answer.fileParentId, '0');
      assert.match(answer.etag ?? '', /^"0x[0-9A-F]+"$/);
    }
    assert.equal(created.isServerEncrypted, true);
    assert.equal(properties.etag, created.etag);
    assert.equal(properties.fileId, created.fileId);
    assert.equal(properties.contentLength, 1025);
    assert.equal(properties.contentType, 'application/octet-stream');
    assert.equal(properties.fileType, 'File');
    assert.deepEqual([properties.leaseState, properties.leaseStatus], ['available', 'unlocked']);
    assert.equal(properties.leaseDuration, undefined);
    assert.deepEqual(properties.metadata, {});
    assert.ok((await bytesOf(file)).equals(Buffer.alloc(1025)), 'what was never written reads as zeros');
  });

  test('has everything that it was created with', async () => {
    const share = await freshShare(server);
    const directory = (await share.createDirectory('dir')).directoryClient;
    const parent = await directory.getProperties();
    const file = directory.getFileClient('all');
    const attributes = new FileSystemAttributes();
    for (const name of ['readonly', 'hidden', 'system', 'archive', 'temporary'] as const) attributes[name] = true;
    for (const name of ['offline', 'notContentIndexed', 'noScrubData'] as const) attributes[name] = true;
    await file.create(10, {
      fileHttpHeaders: {
        fileCacheControl: 'no-store',
        fileContentDisposition: 'attachment',
        fileContentEncoding: 'gzip',
        fileContentLanguage: 'de',
        fileContentMD5: Uint8Array.of(1, 2, 3, 4),
        fileContentType: 'text/plain',
      },
      metadata: { one: 'a', Two: 'B' },
      fileAttributes: attributes,
      creationTime: new Date('2001-02-03T04:05:06.765Z'),
      lastWriteTime: new Date('2002-02-03T04:05:06.001Z'),
      changeTime: new Date('2003-02-03T04:05:06.002Z'),
      filePermissionKey: parent.filePermissionKey as string,
    });
    const properties = await file.getProperties();
    assert.equal(
      properties.fileAttributes,
      'ReadOnly | Hidden | System | Archive | Temporary | Offline | NotContentIndexed | NoScrubData',
    );
    assert.equal(properties.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.765Z');
    assert.equal(properties.fileLastWriteOn?.toISOString(), '2002-02-03T04:05:06.001Z');
    assert.equal(properties.fileChangeOn?.toISOString(), '2003-02-03T04:05:06.002Z');
    assert.equal(properties.filePermissionKey, parent.filePermissionKey);
    assert.equal(properties.fileParentId, parent.fileId);
    assert.deepEqual(properties.metadata, { one: 'a', two: 'B' });
    assert.equal(properties.cacheControl, 'no-store');
    assert.equal(properties.contentDisposition, 'attachment');
    assert.equal(properties.contentEncoding, 'gzip');
    assert.equal(properties.contentLanguage, 'de');
    assert.equal(properties.contentType, 'text/plain');
    assert.deepEqual([...(properties.contentMD5 ?? [])], [1, 2, 3, 4]);
  });

  test('keeps times to the tick of 100 ns, and says them with seven digits', async () => {
    const file = await freshFile();
    const times = {
      'x-ms-file-creation-time': CREATED_AT,
      'x-ms-file-last-write-time': WRITTEN_AT,
      'x-ms-file-change-time': CHANGED_AT,
    };
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '1', ...times };
    const created = await raw({ method: 'PUT', path: pathOf(file), headers });
    assert.equal(created.outcome, '201');
    const head = await raw({ method: 'HEAD', path: pathOf(file) });
    for (const [name, text] of Object.entries(times)) {
      assert.equal(created.headers[name], text);
      assert.equal(head.headers[name], text);
    }
    const now = await raw({
      method: 'PUT',
      path: `${pathOf(file)}?comp=properties`,
      headers: { 'x-ms-file-creation-time': 'Now' },
    });
    assert.match(now.headers['x-ms-file-creation-time'] as string, ISO7);
    assert.equal(now.headers['x-ms-file-last-write-time'], WRITTEN_AT);
    assert.notEqual(now.headers['x-ms-file-change-time'], CHANGED_AT);
  });

  test('takes the place of another: bytes, metadata and headers go, its id stays', async () => {
    const file = await fileWith(Buffer.from('some bytes'));
    await file.setMetadata({ old: 'yes' });
    await file.setHttpHeaders({ fileContentType: 'text/plain' });
    const before = await file.getProperties();
    await file.create(4, { metadata: { fresh: 'yes' } });
    const properties = await file.getProperties();
    assert.deepEqual(properties.metadata, { fresh: 'yes' });
    assert.equal(properties.contentType, 'application/octet-stream');
    assert.equal(properties.fileId, before.fileId);
    assert.notEqual(properties.etag, before.etag);
    assert.deepEqual([...(await bytesOf(file))], [0, 0, 0, 0]);
  });

  test('begins with the bytes that are sent along', async () => {
    const share = await freshShare(server);
    const file = share.rootDirectoryClient.getFileClient('file');
    const content = randomBytes(70_001);
    const create = (lengthBytes: number, body: Buffer | string, headers: Record<string, string> = {}) =>
      raw({
        method: 'PUT',
        path: pathOf(file),
        headers: {
          'x-ms-type': 'file',
          'x-ms-content-length': String(lengthBytes),
          'x-ms-version': '2026-06-06',
          ...headers,
        },
        body,
      });
    await create(80_000, content, { 'content-md5': md5Of(content).toString('base64') });
    assert.ok((await bytesOf(file)).equals(Buffer.concat([content, Buffer.alloc(80_000 - content.length)])));
    await create(3, 'abc');
    assert.equal((await bytesOf(file)).toString(), 'abc');
    const answer = await create(3, 'xyz');
    assert.equal(answer.headers['content-md5'], md5Of(Buffer.from('xyz')).toString('base64'));
  });

  test('takes the Content-Type of the request where it says no other', async () => {
    const file = await freshFile();
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '0', 'content-type': 'text/css' };
    await raw({ method: 'PUT', path: pathOf(file), headers });
    assert.equal((await file.getProperties()).contentType, 'text/css');
  });

  test('is read with what the service says of every file', async () => {
    const file = await fileWith(Buffer.from('hello'));
    await file.setMetadata({ key: 'value' });
    const { headers } = await raw({ method: 'GET', path: pathOf(file) });
    assert.deepEqual(
      Object.fromEntries(
        ['accept-ranges', 'content-length', 'content-type', 'x-ms-type', 'x-ms-server-encrypted', 'x-ms-meta-key']
          .concat('x-ms-lease-state', 'x-ms-lease-status', 'x-ms-file-attributes', 'x-ms-file-parent-id')
          .map((name) => [name, headers[name]]),
      ),
      {
        'accept-ranges': 'bytes',
        'content-length': '5',
        'content-type': 'application/octet-stream',
        'x-ms-type': 'File',
        'x-ms-server-encrypted': 'true',
        'x-ms-meta-key': 'value',
        'x-ms-lease-state': 'available',
        'x-ms-lease-status': 'unlocked',
        'x-ms-file-attributes': 'Archive',
        'x-ms-file-parent-id': '0',
      },
    );
    assert.equal(headers['content-md5'], undefined);
    assert.equal(headers['x-ms-copy-id'], undefined);
  });
});

describe('properties', () => {
  test('of HTTP are set together: what is not named is unset, the length stays', async () => {
    const file = await fileWith(Buffer.from('12345'));
    await file.setHttpHeaders({
      fileContentType: 'text/plain',
      fileContentLanguage: 'en',
      fileCacheControl: 'no-store',
    });
    await file.setHttpHeaders({ fileContentEncoding: 'br' });
    const properties = await file.getProperties();
    assert.equal(properties.contentEncoding, 'br');
    assert.deepEqual([properties.contentLanguage, properties.cacheControl], [undefined, undefined]);
    assert.equal(properties.contentLength, 5);
  });

  test('of HTTP stay where only the length is set', async () => {
    const file = await fileWith(Buffer.from('12345'));
    await file.setHttpHeaders({ fileContentType: 'text/plain' });
    const before = await file.getProperties();
    server.clock.advance({ seconds: 1 });
    await file.resize(8);
    const after = await file.getProperties();
    assert.equal(after.contentType, 'text/plain');
    assert.equal(after.contentLength, 8);
    assert.notEqual(after.etag, before.etag);
    assert.ok((after.fileLastWriteOn as Date) > (before.fileLastWriteOn as Date), 'resizing is writing');
    assert.deepEqual(after.fileCreatedOn, before.fileCreatedOn);
  });

  test('of SMB are set one by one, and stay where they are not named', async () => {
    const file = await freshFile();
    const before = await file.getProperties();
    server.clock.advance({ seconds: 5 });
    const hidden = new FileSystemAttributes();
    hidden.hidden = true;
    const set = await file.setProperties({ fileAttributes: hidden });
    assert.equal(set.fileAttributes, 'Hidden');
    const after = await file.getProperties();
    assert.deepEqual(after.fileCreatedOn, before.fileCreatedOn);
    assert.deepEqual(after.fileLastWriteOn, before.fileLastWriteOn);
    assert.ok((after.fileChangeOn as Date) > (before.fileChangeOn as Date));
    assert.equal(after.filePermissionKey, before.filePermissionKey);
    const none = new FileSystemAttributes();
    none.none = true;
    assert.equal((await file.setProperties({ fileAttributes: none })).fileAttributes, 'None');
  });

  test('of a file that is cut off and grown again leave zeros where bytes were', async () => {
    const file = await fileWith(Buffer.alloc(2000, 7));
    await file.resize(700);
    await file.resize(2000);
    assert.ok((await bytesOf(file)).equals(Buffer.concat([Buffer.alloc(700, 7), Buffer.alloc(1300)])));
  });
});

describe('metadata', () => {
  test('is set as a whole, keeps the case of its names, and gets a new ETag', async () => {
    const file = await freshFile();
    const first = await file.setMetadata({ one: '1', two: '2' });
    const second = await file.setMetadata({ Three: '3' });
    assert.notEqual(first.etag, second.etag);
    const answer = await raw({ method: 'GET', path: `${pathOf(file)}?comp=metadata` });
    assert.equal(answer.outcome, '200');
    assert.equal(answer.headers['x-ms-meta-three'], '3');
    assert.equal(answer.headers['x-ms-meta-one'], undefined);
    assert.equal(answer.headers.etag, second.etag);
    assert.equal(answer.body.length, 0);
    await file.setMetadata();
    assert.deepEqual((await file.getProperties()).metadata, {});
  });
});

describe('a deletion', () => {
  test('frees the name', async () => {
    const file = await fileWith(Buffer.from('x'));
    assert.equal(await file.exists(), true);
    await file.delete();
    assert.equal(await file.exists(), false);
    assert.equal(await refusal(file.delete()), '404 ResourceNotFound');
    assert.equal((await file.deleteIfExists()).succeeded, false);
    await file.create(0);
    assert.equal(await file.exists(), true);
  });

  test('of what is in a directory that does not exist is told apart', async () => {
    const share = await freshShare(server);
    const file = share.getDirectoryClient('nowhere').getFileClient('file');
    assert.equal(await refusal(file.getProperties()), '404 ParentNotFound');
    assert.equal(await refusal(file.create(0)), '404 ParentNotFound');
    assert.equal((await file.deleteIfExists()).succeeded, false);
    const lost = shareClient(server, 'no-such-share').rootDirectoryClient.getFileClient('file');
    assert.equal(await refusal(lost.getProperties()), '404 ShareNotFound');
  });
});

describe('a read', () => {
  const bytes = randomBytes(10_000);

  test('of a range gives 206, its bytes and where they are from', async () => {
    const file = await fileWith(bytes);
    for (const [offset, count] of [
      [0, 1],
      [511, 2],
      [512, 512],
      [9_999, 1],
      [9_000, undefined],
      [9_000, 5_000],
    ] as const) {
      assert.ok((await bytesOf(file, offset, count)).equals(bytes.subarray(offset, offset + (count ?? 10_000))));
    }
    const answer = await raw({ method: 'GET', path: pathOf(file), headers: { range: 'bytes=10-' } });
    assert.equal(answer.status, 206);
    assert.equal(answer.headers['content-range'], 'bytes 10-9999/10000');
    assert.equal(answer.headers['content-length'], '9990');
  });

  test('takes x-ms-range before Range', async () => {
    const file = await fileWith(bytes);
    const headers = { range: 'bytes=0-0', 'x-ms-range': 'bytes=5-9' };
    const answer = await raw({ method: 'GET', path: pathOf(file), headers });
    assert.equal(answer.headers['content-range'], 'bytes 5-9/10000');
    assert.ok(answer.body.equals(bytes.subarray(5, 10)));
  });

  test('of a whole file has the stored MD5 as Content-MD5, one of a range has it elsewhere', async () => {
    const file = await fileWith(bytes);
    const stored = md5Of(bytes);
    await file.setHttpHeaders({ fileContentMD5: stored });
    const whole = await raw({ method: 'GET', path: pathOf(file) });
    assert.equal(whole.headers['content-md5'], stored.toString('base64'));
    const part = await raw({ method: 'GET', path: pathOf(file), headers: { range: 'bytes=0-9' } });
    assert.equal(part.headers['content-md5'], undefined);
    assert.equal(part.headers['x-ms-content-md5'], stored.toString('base64'));
    const hashed = await file.download(3, 100, { rangeGetContentMD5: true });
    assert.deepEqual(Buffer.from(hashed.contentMD5 as Uint8Array), md5Of(bytes.subarray(3, 103)));
    assert.deepEqual(Buffer.from(hashed.fileContentMD5 as Uint8Array), stored);
  });
});

describe('many ranges', () => {
  const TEN_MIB = randomBytes(10 * MIB + 12_345);

  test('go up from a buffer and come down into one', async () => {
    const file = await freshFile();
    await file.uploadData(TEN_MIB, { rangeSize: 4 * MIB, concurrency: 3 });
    assert.equal((await file.getProperties()).contentLength, TEN_MIB.length);
    assert.ok((await file.downloadToBuffer(0, undefined, { rangeSize: 3 * MIB, concurrency: 3 })).equals(TEN_MIB));
    assert.ok((await bytesOf(file)).equals(TEN_MIB));
  });

  test('go up from a stream, in pieces of an odd size', async () => {
    const file = await freshFile();
    await file.uploadStream(Readable.from([TEN_MIB]), TEN_MIB.length, 777_777, 4);
    assert.ok((await file.downloadToBuffer()).equals(TEN_MIB));
  });

  test('go up from a file of the disk and come down to one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-files-'));
    after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'up'), TEN_MIB);
    const file = await freshFile();
    await file.uploadFile(join(folder, 'up'), { rangeSize: MIB });
    await file.downloadToFile(join(folder, 'down'));
    assert.ok((await readFile(join(folder, 'down'))).equals(TEN_MIB));
  });

  test('of a gibibyte are as good as none where nothing is written', async () => {
    const GIB = 1024 ** 3;
    const file = await freshFile(GIB);
    const middle = 700 * MIB + 13;
    await file.uploadRange('written', middle, 7);
    const around = await bytesOf(file, middle - 100, 207);
    assert.ok(around.equals(Buffer.concat([Buffer.alloc(100), Buffer.from('written'), Buffer.alloc(100)])));
    assert.ok((await bytesOf(file, GIB - MIB, MIB)).equals(Buffer.alloc(MIB)));
    const { rangeList } = await file.getRangeList();
    const start = Math.floor(middle / 512) * 512;
    assert.deepEqual(rangeList, [{ start, end: start + 511 }]);
  });
});

describe('a name', () => {
  test('is the same in any case, and is kept as it was first written', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('Folder');
    await directoryClient.getFileClient('Ünïcode Æ.txt').create(3);
    const other = share.getDirectoryClient('FOLDER').getFileClient('üNÏCODE æ.TXT');
    assert.equal((await other.getProperties()).contentLength, 3);
    await other.create(4);
    const names: string[] = [];
    for await (const { name } of directoryClient.listFilesAndDirectories()) names.push(name);
    assert.deepEqual(names, ['Ünïcode Æ.txt']);
    assert.equal((await directoryClient.getFileClient('Ünïcode Æ.txt').getProperties()).contentLength, 4);
  });

  test('with anything that a URL must escape finds its file', async () => {
    const share = await freshShare(server);
    const names = [
      'a b+c',
      '100%',
      'x#y',
      'q=1&r=2',
      '[brackets]',
      'emoji 😀',
      'ελλάδα',
      "it's; (fine), @home!",
      '~$x',
    ];
    for (const [index, name] of names.entries()) await share.rootDirectoryClient.getFileClient(name).create(index);
    for (const [index, name] of names.entries()) {
      const properties = await share.rootDirectoryClient.getFileClient(name).getProperties();
      assert.equal(properties.contentLength, index, name);
    }
    const listed: string[] = [];
    for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) listed.push(name);
    assert.deepEqual(listed.toSorted(), names.toSorted());
  });

  test('loses the dots at its end, unless they are asked for', async () => {
    const share = await freshShare(server);
    await share.rootDirectoryClient.getFileClient('dots...').create(1);
    assert.equal((await share.rootDirectoryClient.getFileClient('dots').getProperties()).contentLength, 1);
    const path = `/${share.name}/dots...`;
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '2', 'x-ms-allow-trailing-dot': 'true' };
    assert.equal((await raw({ method: 'PUT', path, headers })).outcome, '201');
    const listed: string[] = [];
    for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) listed.push(name);
    assert.deepEqual(listed, ['dots', 'dots...']);
    const kept = await raw({ method: 'HEAD', path, headers: { 'x-ms-allow-trailing-dot': 'true' } });
    assert.equal(kept.headers['content-length'], '2');
  });
});

describe('a snapshot of the share', () => {
  test('keeps a file as it was, whatever becomes of it', async () => {
    const share = await freshShare(server);
    const file = share.rootDirectoryClient.getFileClient('file');
    await file.create(1000, { metadata: { when: 'before' } });
    await file.uploadRange('before', 10, 6);
    const etag = (await file.getProperties()).etag;
    const { snapshot } = await share.createSnapshot();
    await file.uploadRange('AFTER', 12, 5);
    await file.setMetadata({ when: 'after' });
    const past = share.withSnapshot(snapshot as string).rootDirectoryClient.getFileClient('file');
    const assertKept = async (): Promise<void> => {
      const properties = await past.getProperties();
      assert.deepEqual(properties.metadata, { when: 'before' });
      assert.equal(properties.etag, etag);
      assert.equal((await bytesOf(past, 8, 10)).toString(), '\0\0before\0\0');
    };
    await assertKept();
    assert.equal((await bytesOf(file, 8, 10)).toString(), '\0\0beAFTER\0');
    await file.delete();
    await assertKept();
    assert.equal(await refusal(past.setMetadata({ no: 'way' })), '400 InvalidQueryParameterValue');
    assert.equal(await refusal(past.delete()), '400 InvalidQueryParameterValue');
  });
});
