/** Directories through the official client: created, read, changed and deleted, the root among them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FileSystemAttributes } from '@azure/storage-file-share';
import { refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

describe('a new directory', () => {
  test('has what is usual', async () => {
    const share = await freshShare(server);
    const directory = share.getDirectoryClient('dir');
    const created = await directory.create();
    const properties = await directory.getProperties();
    for (const answer of [created, properties]) {
      assert.equal(answer.fileAttributes, 'Directory');
      assert.equal(answer.fileCreatedOn?.getTime(), server.clock.nowMs());
      assert.equal(answer.fileLastWriteOn?.getTime(), server.clock.nowMs());
      assert.equal(answer.fileChangeOn?.getTime(), server.clock.nowMs());
      assert.match(answer.filePermissionKey ?? '', /^\d+\*\d+$/);
      assert.match(answer.fileId ?? '', /^[1-9]\d*$/);
      assert.equal(answer.fileParentId, '0');
    }
    assert.equal(properties.etag, created.etag);
    assert.equal(properties.isServerEncrypted, true);
    assert.deepEqual(properties.metadata, {});
  });

  test('has what it was created with, and its parent is the one that it is in', async () => {
    const share = await freshShare(server);
    const { directoryClient: outer } = await share.createDirectory('outer');
    const inner = outer.getDirectoryClient('inner');
    const attributes = new FileSystemAttributes();
    attributes.hidden = true;
    attributes.directory = true;
    await inner.create({
      metadata: { key: 'value' },
      fileAttributes: attributes,
      creationTime: new Date('2001-02-03T04:05:06.007Z'),
      lastWriteTime: new Date('2002-02-03T04:05:06.008Z'),
      changeTime: new Date('2003-02-03T04:05:06.009Z'),
    });
    const properties = await inner.getProperties();
    assert.equal(properties.fileAttributes, 'Hidden | Directory');
    assert.equal(properties.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.007Z');
    assert.equal(properties.fileLastWriteOn?.toISOString(), '2002-02-03T04:05:06.008Z');
    assert.equal(properties.fileChangeOn?.toISOString(), '2003-02-03T04:05:06.009Z');
    assert.deepEqual(properties.metadata, { key: 'value' });
    assert.equal(properties.fileParentId, (await outer.getProperties()).fileId);
  });

  test('is refused where something has its name, and where there is nothing to be in', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    await share.createFile('file', 0);
    assert.equal(await refusal(directoryClient.create()), '409 ResourceAlreadyExists');
    assert.equal(await refusal(share.getDirectoryClient('DIR').create()), '409 ResourceAlreadyExists');
    assert.equal(await refusal(share.getDirectoryClient('file').create()), '409 ResourceAlreadyExists');
    assert.equal(await refusal(share.getDirectoryClient('no/where').create()), '404 ParentNotFound');
    assert.equal(await refusal(share.getDirectoryClient('file/below').create()), '404 ParentNotFound');
    assert.equal((await directoryClient.createIfNotExists()).succeeded, false);
    assert.equal((await share.getDirectoryClient('other').createIfNotExists()).succeeded, true);
  });
});

describe('a directory', () => {
  test('is not changed by what happens in it', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    const { etag, lastModified } = await directoryClient.getProperties();
    server.clock.advance({ seconds: 2 });
    await directoryClient.createFile('file', 1);
    await directoryClient.createSubdirectory('sub');
    await directoryClient.deleteFile('file');
    const after = await directoryClient.getProperties();
    assert.deepEqual([after.etag, after.lastModified], [etag, lastModified]);
  });

  test('gets properties one by one, and metadata as a whole', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    const before = await directoryClient.getProperties();
    server.clock.advance({ seconds: 2 });
    await directoryClient.setProperties({ creationTime: new Date('2001-02-03T04:05:06.007Z') });
    const set = await directoryClient.getProperties();
    assert.equal(set.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.007Z');
    assert.deepEqual(set.fileLastWriteOn, before.fileLastWriteOn);
    assert.equal(set.fileAttributes, 'Directory');
    assert.notEqual(set.etag, before.etag);
    assert.equal(set.fileId, before.fileId);
    await directoryClient.setMetadata({ one: '1' });
    await directoryClient.setMetadata({ two: '2' });
    assert.deepEqual((await directoryClient.getProperties()).metadata, { two: '2' });
    const path = `/${share.name}/dir?restype=directory&comp=metadata`;
    const answer = await raw({ method: 'GET', path });
    assert.deepEqual([answer.outcome, answer.headers['x-ms-meta-two'], answer.body.length], ['200', '2', 0]);
  });

  test('is deleted when it is empty, and not before', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    const { fileClient } = await directoryClient.createFile('file', 0);
    assert.equal(await refusal(directoryClient.delete()), '409 DirectoryNotEmpty');
    await fileClient.delete();
    await directoryClient.delete();
    assert.equal(await directoryClient.exists(), false);
    assert.equal(await refusal(directoryClient.delete()), '404 ResourceNotFound');
    assert.equal((await directoryClient.deleteIfExists()).succeeded, false);
    assert.equal(await refusal(directoryClient.getFileClient('file').getProperties()), '404 ParentNotFound');
  });

  test('is no file, and a file no directory', async () => {
    const share = await freshShare(server);
    await share.createDirectory('dir');
    await share.createFile('file', 0);
    const asFile = share.rootDirectoryClient.getFileClient('dir');
    const asDirectory = share.getDirectoryClient('file');
    assert.equal(await refusal(asFile.getProperties()), '404 ResourceNotFound');
    assert.equal(await refusal(asFile.create(0)), '409 ResourceTypeMismatch');
    assert.equal(await refusal(asFile.delete()), '409 ResourceTypeMismatch');
    assert.equal(await refusal(asDirectory.getProperties()), '404 ResourceNotFound');
    assert.equal(await refusal(asDirectory.delete()), '409 ResourceTypeMismatch');
  });

  test('is addressed with a slash at its end or without', async () => {
    const share = await freshShare(server);
    await share.createDirectory('dir');
    for (const path of ['dir', 'dir/']) {
      const answer = await raw({ method: 'GET', path: `/${share.name}/${path}?restype=directory` });
      assert.deepEqual([answer.outcome, answer.body.length], ['200', 0]);
    }
  });
});

describe('the root', () => {
  test('is a directory with the id 0, which can be read and changed', async () => {
    const share = await freshShare(server);
    const root = share.rootDirectoryClient;
    const properties = await root.getProperties();
    assert.deepEqual([properties.fileId, properties.fileParentId, properties.fileAttributes], ['0', '0', 'Directory']);
    await root.setMetadata({ of: 'root' });
    assert.deepEqual((await root.getProperties()).metadata, { of: 'root' });
  });

  test('cannot be created or deleted', async () => {
    const share = await freshShare(server);
    const create = await raw({ method: 'PUT', path: `/${share.name}/?restype=directory` });
    assert.equal(create.outcome, '409 ResourceAlreadyExists');
    const remove = await raw({ method: 'DELETE', path: `/${share.name}/?restype=directory` });
    assert.equal(remove.status, 400);
  });
});
