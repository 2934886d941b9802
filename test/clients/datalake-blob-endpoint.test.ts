/**
 * The Data Lake client, as far as it talks to the blob endpoint. It has two endpoints and makes the one from the other
 * by the host's name, with a table that programs may add to: here its dfs endpoint leads nowhere, so that whatever works
 * went to the blob endpoint. Creating, appending, renaming and listing paths belong to the other one.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import {
  type DataLakeFileClient,
  type DataLakeFileSystemClient,
  DataLakeServiceClient,
  newPipeline,
  StorageSharedKeyCredential,
  ToBlobEndpointHostMappings,
} from '@azure/storage-file-datalake';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { blobService, outcome, refusal } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';

const DFS_HOST = '127.0.0.2';
const OTHER_LEASE = '11111111-2222-4333-8444-555555555555';
const STALE_ETAG = '"0x8D0000000000001"';

const server = await startInProcess();
ToBlobEndpointHostMappings.push([DFS_HOST, '127.0.0.1']);
const credential = new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key);
const dfsUrl = server.endpoint().replace('127.0.0.1', DFS_HOST);
const lake = new DataLakeServiceClient(dfsUrl, newPipeline(credential, { retryOptions: { maxTries: 1 } }));
const blobs = blobService(server);

async function freshFileSystem(): Promise<DataLakeFileSystemClient> {
  const fileSystem = lake.getFileSystemClient(`lake-${randomUUID()}`);
  await fileSystem.create();
  return fileSystem;
}

/** A path can only be created at the other endpoint, so the blob client does it. */
async function freshFile(content: string | Buffer = 'first'): Promise<DataLakeFileClient> {
  const fileSystem = await freshFileSystem();
  const file = fileSystem.getFileClient('folder/file');
  const blob = blobs.getContainerClient(fileSystem.name).getBlockBlobClient('folder/file');
  await blob.upload(content, Buffer.byteLength(content));
  return file;
}

test('the two endpoints are told apart: what belongs to the other one does not arrive here', async () => {
  const file = await freshFile();
  assert.equal(await file.exists(), true);
  await assert.rejects(file.create(), { code: 'ECONNREFUSED' });
});

describe('file systems', () => {
  test('are created, listed with their metadata, and deleted', async () => {
    const prefix = `lake-${randomUUID()}-`;
    for (const name of ['a', 'b', 'c']) {
      await lake.getFileSystemClient(prefix + name).create({ metadata: { name }, access: 'file' });
    }
    assert.equal((await lake.getFileSystemClient(`${prefix}a`).createIfNotExists()).succeeded, false);
    const listed: (string | undefined)[] = [];
    for await (const { name, metadata, properties } of lake.listFileSystems({ prefix, includeMetadata: true })) {
      listed.push(name.slice(prefix.length), metadata?.['name'], properties.publicAccess);
    }
    assert.deepEqual(listed, ['a', 'a', 'file', 'b', 'b', 'file', 'c', 'c', 'file']);
    const fileSystem = lake.getFileSystemClient(`${prefix}a`);
    assert.equal(await outcome(fileSystem.create()), '409 ContainerAlreadyExists');
    await fileSystem.delete();
    assert.equal(await fileSystem.exists(), false);
    assert.equal((await fileSystem.deleteIfExists()).succeeded, false);
    assert.equal(await refusal(fileSystem.getProperties()), '404 ContainerNotFound');
  });

  test('are listed page by page', async () => {
    const prefix = `lake-${randomUUID()}-`;
    for (let index = 0; index < 5; index++) await lake.getFileSystemClient(`${prefix}${index}`).create();
    const sizes: number[] = [];
    for await (const page of lake.listFileSystems({ prefix }).byPage({ maxPageSize: 2 })) {
      sizes.push(page.fileSystemItems?.length ?? 0);
    }
    assert.deepEqual(sizes, [2, 2, 1]);
  });

  test('of ten that create one, one does', async () => {
    const name = `lake-${randomUUID()}`;
    const results = await together(10, () => lake.getFileSystemClient(name).createIfNotExists());
    assert.deepEqual(tally(results.map((result) => String(result.status === 'fulfilled' && result.value.succeeded))), {
      true: 1,
      false: 9,
    });
  });

  test('have metadata and policies, and an ETag that each change of them changes', async () => {
    const fileSystem = await freshFileSystem();
    const created = await fileSystem.getProperties();
    assert.equal(created.publicAccess, undefined);
    const { etag } = await fileSystem.setMetadata({ owner: 'ada' });
    assert.notEqual(etag, created.etag);
    assert.deepEqual((await fileSystem.getProperties()).metadata, { owner: 'ada' });
    const accessPolicy = { permissions: 'rl', startsOn: new Date(0), expiresOn: new Date('2040-01-01T00:00:00Z') };
    await fileSystem.setAccessPolicy('file', [{ id: 'policy', accessPolicy }]);
    const { publicAccess, signedIdentifiers } = await fileSystem.getAccessPolicy();
    assert.equal(publicAccess, 'file');
    assert.deepEqual(signedIdentifiers, [{ id: 'policy', accessPolicy }]);
    assert.notEqual((await fileSystem.getProperties()).etag, etag);
  });

  test('are leased: the delete needs the id, nothing else does', async () => {
    const fileSystem = await freshFileSystem();
    const lease = fileSystem.getDataLakeLeaseClient();
    await lease.acquireLease(15);
    assert.equal(await refusal(fileSystem.getDataLakeLeaseClient().acquireLease(15)), '409 LeaseAlreadyPresent');
    assert.equal(await refusal(fileSystem.delete()), '412 LeaseIdMissing');
    await fileSystem.setMetadata({ a: 'b' });
    await lease.renewLease();
    await lease.changeLease(OTHER_LEASE);
    assert.equal(await refusal(fileSystem.delete()), '412 LeaseIdMissing');
    await fileSystem.delete({ conditions: { leaseId: OTHER_LEASE } });
  });
});

describe('files', () => {
  test('are read whole, in part, to a buffer and to a file', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-lake-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const content = randomBytes(300_000);
    const file = await freshFile(content);
    assert.equal(await file.exists(), true);
    const { readableStreamBody, contentLength, etag } = await file.read(100, 5);
    assert.equal(contentLength, 5);
    const part = await text((readableStreamBody as NodeJS.ReadableStream).setEncoding('latin1'));
    assert.equal(part, content.subarray(100, 105).toString('latin1'));
    assert.equal(etag, (await file.getProperties()).etag);
    assert.ok((await file.readToBuffer()).equals(content));
    await file.readToFile(join(folder, 'copy'));
    assert.ok((await readFile(join(folder, 'copy'))).equals(content));
  });

  test('one that is not there is told so', async () => {
    const file = (await freshFileSystem()).getFileClient('absent');
    assert.equal(await file.exists(), false);
    assert.equal(await refusal(file.read()), '404 BlobNotFound');
    assert.equal(await refusal(file.getProperties()), '404 BlobNotFound');
  });

  test('have metadata and headers, changed only under the current ETag', async () => {
    const file = await freshFile();
    const { etag: ifMatch = '' } = await file.getProperties();
    await file.setMetadata({ colour: 'blue' }, { conditions: { ifMatch } });
    const late = file.setMetadata({ colour: 'green' }, { conditions: { ifMatch } });
    assert.equal(await refusal(late), '412 ConditionNotMet');
    const headers = { contentType: 'text/x-lake', cacheControl: 'no-store', contentLanguage: 'en' };
    const stale = { conditions: { ifMatch: STALE_ETAG } };
    assert.equal(await refusal(file.setHttpHeaders(headers, stale)), '412 ConditionNotMet');
    await file.setHttpHeaders(headers);
    const { metadata, contentType, cacheControl, contentLanguage, etag } = await file.getProperties();
    assert.deepEqual(metadata, { colour: 'blue' });
    assert.deepEqual({ contentType, cacheControl, contentLanguage }, headers);
    assert.equal(
      await outcome(file.read(0, undefined, { conditions: { ifNoneMatch: etag as string } })),
      '304 ConditionNotMet',
    );
  });

  test('of ten that change one under one ETag, one does', async () => {
    const file = await freshFile();
    const { etag: ifMatch = '' } = await file.getProperties();
    const results = await together(10, (index) =>
      outcome(file.setMetadata({ writer: String(index) }, { conditions: { ifMatch } })),
    );
    const answers = results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)));
    assert.deepEqual(tally(answers), { ok: 1, '412 ConditionNotMet': 9 });
    assert.equal((await file.getProperties()).metadata?.['writer'], String(answers.indexOf('ok')));
  });

  test('are leased: changes need the id, reads are shared, and the lease ends by itself', async () => {
    const file = await freshFile();
    const lease = file.getDataLakeLeaseClient();
    await lease.acquireLease(15);
    assert.equal(await refusal(file.getDataLakeLeaseClient().acquireLease(15)), '409 LeaseAlreadyPresent');
    assert.equal(await refusal(file.setMetadata({ a: 'b' })), '412 LeaseIdMissing');
    await file.setMetadata({ a: 'b' }, { conditions: { leaseId: lease.leaseId } });
    assert.equal((await file.readToBuffer()).toString(), 'first');
    const wrong = { conditions: { leaseId: OTHER_LEASE } };
    assert.equal(await refusal(file.read(0, undefined, wrong)), '412 LeaseIdMismatchWithBlobOperation');
    server.clock.advance({ seconds: 16 });
    assert.equal((await file.getProperties()).leaseState, 'expired');
    await file.getDataLakeLeaseClient().acquireLease(-1);
    assert.equal(await refusal(lease.renewLease()), '409 LeaseIdMismatchWithLeaseOperation');
    assert.equal((await file.getDataLakeLeaseClient().breakLease(0)).leaseTime, 0);
    await file.setMetadata({ c: 'd' });
  });
});

test('a file is queried: rows and columns of a CSV file', async () => {
  const file = await freshFile('ada,36,London\nben,41,Paris\ncho,29,Lima\n');
  const { readableStreamBody } = await file.query('SELECT _1, _3 FROM BlobStorage WHERE _2 > 30');
  assert.equal(await text(readableStreamBody as NodeJS.ReadableStream), 'ada,London\nben,Paris\n');
});

test('a file that expires is gone at that time, and one whose expiry was taken back is not', async () => {
  const [passing, staying] = [await freshFile(), await freshFile()];
  const expiresOn = new Date(Math.ceil(server.clock.nowMs() / 1000) * 1000 + 60_000);
  for (const file of [passing, staying]) {
    await file.setExpiry('Absolute', { expiresOn });
    assert.deepEqual((await file.getProperties()).expiresOn, expiresOn);
  }
  await staying.setExpiry('NeverExpire');
  server.clock.advance({ seconds: 62 });
  assert.equal(await passing.exists(), false);
  assert.equal((await staying.readToBuffer()).toString(), 'first');
});

test('the properties of the service are those of the blob service', async () => {
  const before = await lake.getProperties();
  await lake.setProperties({ ...before, defaultServiceVersion: '2021-12-02' });
  assert.equal((await blobs.getProperties()).defaultServiceVersion, '2021-12-02');
});
