/**
 * Renames of files and directories by the official client. It leaves the account out of the destination's path unless the account
 * stands in the host's name, so it is sent through this server as through a proxy, to a host of Azure's.
 */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import {
  FileSystemAttributes,
  ShareClient,
  ShareDirectoryClient,
  ShareFileClient,
  ShareSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS, freshShare } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

const { name: ACCOUNT, key: KEY } = DEVELOPMENT_ACCOUNT;
const A = '11111111-1111-1111-1111-111111111111';
const B = '22222222-2222-2222-2222-222222222222';
const READ_ONLY = new FileSystemAttributes();
READ_ONLY.readonly = true;

const { hostname, port } = new URL(server.fileUrl);
const OPTIONS = { ...FILE_CLIENT_OPTIONS, proxyOptions: { host: `http://${hostname}`, port: Number(port) } };
const HOST = `http://${ACCOUNT}.file.core.windows.net`;

async function hostedShare(): Promise<ShareClient> {
  const { name } = await freshShare(server);
  return new ShareClient(`${HOST}/${name}`, new StorageSharedKeyCredential(ACCOUNT, KEY), OPTIONS);
}

async function fileIn(share: ShareClient, path: string, text = path): Promise<ShareFileClient> {
  const file = share.rootDirectoryClient.getFileClient(path);
  await file.create(text.length);
  await file.uploadRange(text, 0, text.length);
  return file;
}

const textOf = async (file: ShareFileClient): Promise<string> =>
  (await buffer((await file.download()).readableStreamBody as NodeJS.ReadableStream)).toString();

describe('a renamed file', () => {
  test('is elsewhere with all that it had, its id too, and no longer where it was', async () => {
    const share = await hostedShare();
    await share.createDirectory('dir with space');
    const file = await fileIn(share, 'Source ü.txt', 'content');
    await file.setMetadata({ key: 'value' });
    await file.setHttpHeaders({ fileContentType: 'text/plain' });
    const before = await file.getProperties();
    server.clock.advance({ seconds: 2 });
    const { destinationFileClient: renamed, fileRenameResponse: answer } =
      await file.rename('dir with space/Ziel 😀.txt');
    const after = await renamed.getProperties();
    assert.equal(after.fileId, before.fileId);
    assert.equal(after.fileParentId, (await share.getDirectoryClient('dir with space').getProperties()).fileId);
    assert.deepEqual([after.contentType, after.metadata], ['text/plain', { key: 'value' }]);
    assert.deepEqual(after.fileCreatedOn, before.fileCreatedOn);
    assert.deepEqual(after.fileLastWriteOn, before.fileLastWriteOn);
    assert.equal(after.fileChangeOn?.getTime(), server.clock.nowMs());
    assert.notEqual(after.etag, before.etag);
    assert.deepEqual([answer.etag, answer.fileId, answer.fileAttributes], [after.etag, after.fileId, 'Archive']);
    assert.equal(await textOf(renamed), 'content');
    assert.equal(await refusal(file.getProperties()), '404 ResourceNotFound');
  });

  test('gets what the rename says of it', async () => {
    const share = await hostedShare();
    const file = await fileIn(share, 'source');
    await file.setMetadata({ old: '1' });
    const { destinationFileClient: renamed } = await file.rename('target', {
      metadata: { fresh: '2' },
      contentType: 'text/css',
      copyFileSmbInfo: {
        fileAttributes: 'ReadOnly|Hidden',
        fileCreationTime: '2001-02-03T04:05:06.0070000Z',
        fileLastWriteTime: '2002-02-03T04:05:06.0080000Z',
        fileChangeTime: '2003-02-03T04:05:06.0090000Z',
      },
    });
    const after = await renamed.getProperties();
    assert.equal(after.fileAttributes, 'ReadOnly | Hidden');
    assert.deepEqual([after.metadata, after.contentType], [{ fresh: '2' }, 'text/css']);
    assert.equal(after.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.007Z');
    assert.equal(after.fileLastWriteOn?.toISOString(), '2002-02-03T04:05:06.008Z');
    assert.equal(after.fileChangeOn?.toISOString(), '2003-02-03T04:05:06.009Z');
  });

  test('takes the place of another only where it is told to, and of a read-only one only where it is told that, too', async () => {
    const share = await hostedShare();
    const file = await fileIn(share, 'source', 'from the source');
    const other = await fileIn(share, 'target', 'was there before');
    assert.equal(await refusal(file.rename('target')), '409 ResourceAlreadyExists');
    assert.equal(await textOf(other), 'was there before');
    await other.setProperties({ fileAttributes: READ_ONLY });
    assert.equal(await refusal(file.rename('target', { replaceIfExists: true })), '409 ReadOnlyAttribute');
    await file.rename('target', { replaceIfExists: true, ignoreReadOnly: true });
    assert.equal(await textOf(other), 'from the source');
    assert.equal(await file.exists(), false);
  });

  test('may change no more than the case of its name', async () => {
    const share = await hostedShare();
    const file = await fileIn(share, 'Name');
    await file.rename('NAME');
    const names: string[] = [];
    for await (const { name } of share.rootDirectoryClient.listFilesAndDirectories()) names.push(name);
    assert.deepEqual(names, ['NAME']);
    assert.equal(await textOf(file), 'Name');
  });

  test('needs the ids of the leases on it and on what it replaces', async () => {
    const share = await hostedShare();
    const file = await fileIn(share, 'source');
    const other = await fileIn(share, 'target');
    await file.getShareLeaseClient(A).acquireLease(-1);
    await other.getShareLeaseClient(B).acquireLease(-1);
    const source = { sourceLeaseAccessConditions: { leaseId: A } };
    const target = { destinationLeaseAccessConditions: { leaseId: B } };
    const rename = (options: object) => outcome(file.rename('target', { replaceIfExists: true, ...options }));
    assert.equal(await rename(target), '412 LeaseIdMissing');
    assert.equal(await rename(source), '412 LeaseIdMissing');
    assert.match(await rename({ ...source, destinationLeaseAccessConditions: { leaseId: A } }), /^412 LeaseIdMismatch/);
    assert.equal(await rename({ ...source, ...target }), 'ok');
  });

  test('keeps dots at the end of either name where that is asked for', async () => {
    const share = await freshShare(server);
    const create = { 'x-ms-type': 'file', 'x-ms-content-length': '0', 'x-ms-allow-trailing-dot': 'true' };
    await raw({ method: 'PUT', path: `/${share.name}/from..`, headers: create });
    const source = `${server.fileEndpoint()}/${share.name}/from..`;
    const rename = (headers: Record<string, string>) =>
      raw({
        method: 'PUT',
        path: `/${share.name}/to..?comp=rename`,
        headers: { 'x-ms-file-rename-source': source, ...headers },
      });
    assert.equal((await rename({ 'x-ms-allow-trailing-dot': 'true' })).outcome, '404 ResourceNotFound');
    assert.equal((await rename({ 'x-ms-source-allow-trailing-dot': 'true' })).outcome, '200');
    assert.equal(await share.rootDirectoryClient.getFileClient('to').exists(), true);
  });

  test('leaves a snapshot of the share as it was', async () => {
    const share = await hostedShare();
    const file = await fileIn(share, 'source');
    const { snapshot } = await share.createSnapshot();
    await file.rename('target');
    const past = share.withSnapshot(snapshot as string).rootDirectoryClient;
    assert.equal(await textOf(past.getFileClient('source')), 'source');
    assert.equal(await refusal(past.getFileClient('target').getProperties()), '404 ResourceNotFound');
  });
});

describe('a renamed directory', () => {
  test('takes along whatever is in it', async () => {
    const share = await hostedShare();
    await share.createDirectory('from');
    await share.createDirectory('from/sub');
    await share.createDirectory('to');
    const file = await fileIn(share, 'from/sub/file');
    const { fileId } = await file.getProperties();
    const { destinationDirectoryClient: renamed } = await share.getDirectoryClient('from').rename('to/there');
    assert.equal((await renamed.getProperties()).fileAttributes, 'Directory');
    const moved = share.rootDirectoryClient.getFileClient('to/there/sub/file');
    assert.equal((await moved.getProperties()).fileId, fileId);
    assert.equal(await textOf(moved), 'from/sub/file');
    assert.equal(await refusal(file.getProperties()), '404 ParentNotFound');
    assert.equal(await refusal(share.getDirectoryClient('from').getProperties()), '404 ResourceNotFound');
  });

  test('may replace a file, never a directory, and never goes into itself', async () => {
    const share = await hostedShare();
    const { directoryClient: from } = await share.createDirectory('from');
    await share.createDirectory('other');
    await share.createDirectory('from/sub');
    await fileIn(share, 'file');
    assert.match(await refusal(from.rename('other', { replaceIfExists: true })), /^409 /);
    assert.equal(await refusal(from.rename('file')), '409 ResourceAlreadyExists');
    assert.match(await refusal(from.rename('from/sub/below')), /^4\d\d /);
    await from.rename('file', { replaceIfExists: true });
    assert.equal(await share.getDirectoryClient('file/sub').exists(), true);
  });
});

describe('a rename', () => {
  test('needs a source that is there, of its kind, and a place to go to', async () => {
    const share = await hostedShare();
    await share.createDirectory('dir');
    const file = await fileIn(share, 'file');
    const lost = share.rootDirectoryClient.getFileClient('lost');
    assert.equal(await refusal(lost.rename('target')), '404 ResourceNotFound');
    assert.equal(await refusal(file.rename('no/where')), '404 ParentNotFound');
    assert.match(await refusal(share.rootDirectoryClient.getFileClient('dir').rename('target')), /^409 /);
    assert.match(await refusal(share.getDirectoryClient('file').rename('target')), /^409 /);
    assert.match(await refusal(file.rename('dir', { replaceIfExists: true })), /^409 /);
    assert.equal(await textOf(file), 'file');
  });

  for (const [why, source] of [
    ['nothing', null],
    ['a path', '/share/file'],
    ['no URL', 'file'],
    ['another share', 'SHARE-2/file'],
    ['the share', 'SHARE'],
    ['a snapshot', 'SHARE/file?sharesnapshot=2024-01-01T00:00:00.0000000Z'],
    ['another account', 'ELSEWHERE/file'],
  ] as const) {
    test(`from ${why} gets 400`, async () => {
      const share = await freshShare(server);
      await share.createFile('file', 0);
      const url = source
        ?.replace('ELSEWHERE', `${server.fileUrl}/secondaccount/${share.name}`)
        .replace('SHARE', `${server.fileEndpoint()}/${share.name}`);
      const headers: Record<string, string> = url === undefined ? {} : { 'x-ms-file-rename-source': url };
      const answer = await raw({ method: 'PUT', path: `/${share.name}/target?comp=rename`, headers });
      assert.equal(answer.outcome, source === null ? '400 MissingRequiredHeader' : '400 InvalidHeaderValue');
      assert.equal(await share.rootDirectoryClient.getFileClient('file').exists(), true);
    });
  }

  test('by a SAS takes one for the source, too, which must be for deleting', async () => {
    const share = await hostedShare();
    await fileIn(share, 'file');
    const sasOf = (permissions: string): string => {
      const url = share.generateSasUrl({
        permissions: ShareSASPermissions.parse(permissions),
        expiresOn: new Date(Date.now() + 3_600_000),
      });
      return new URL(url).search;
    };
    const rename = async (source: string, destination: string): Promise<string> => {
      const file = new ShareFileClient(`${share.url}/file${source}`, undefined, OPTIONS);
      return outcome(file.rename(`target${destination}`));
    };
    const write = sasOf('w');
    assert.match(await rename('', write), /^403 /);
    assert.match(await rename(sasOf('r'), write), /^403 /);
    assert.match(await rename(sasOf('d'), sasOf('r')), /^403 /);
    assert.equal(await rename(sasOf('d'), write), 'ok');
    const everything = sasOf('rcwdl');
    const directory = new ShareDirectoryClient(`${share.url}/dir${everything}`, undefined, OPTIONS);
    await directory.create();
    assert.equal(await outcome(directory.rename('other')), 'ok');
  });

  test('is not there for versions from before it', async () => {
    const share = await freshShare(server);
    await share.createFile('file', 0);
    const headers = {
      'x-ms-version': '2021-02-12',
      'x-ms-file-rename-source': `${server.fileEndpoint()}/${share.name}/file`,
    };
    const answer = await raw({ method: 'PUT', path: `/${share.name}/target?comp=rename`, headers });
    assert.equal(answer.status, 400);
  });
});
