/** List Directories and Files: what is in a directory, in parts, by prefix, with what is asked for of each entry. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  DirectoryListFilesAndDirectoriesOptions,
  ShareClient,
  ShareDirectoryClient,
} from '@azure/storage-file-share';
import { refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const raw = (request: RawRequest) => send(server.fileUrl, request);

/** The client shows the files of a page before its directories. */
async function namesIn(
  directory: ShareDirectoryClient,
  options: DirectoryListFilesAndDirectoriesOptions = {},
): Promise<string[]> {
  const names: string[] = [];
  for await (const { kind, name } of directory.listFilesAndDirectories(options)) {
    names.push(kind === 'directory' ? `${name}/` : name);
  }
  return names;
}

const FILES = ['Alpha', 'alpha.txt', 'BETA.txt', 'delta'];
const DIRECTORIES = ['beta/', 'Gamma/'];

async function filled(): Promise<ShareClient> {
  const share = await freshShare(server);
  for (const name of ['beta', 'Gamma']) await share.createDirectory(name);
  for (const name of ['alpha.txt', 'BETA.txt', 'delta', 'Alpha']) await share.createFile(name, 10);
  return share;
}

describe('a listing', () => {
  test('has files and directories together, by name without regard to case', async () => {
    const share = await filled();
    const { body } = await raw({ method: 'GET', path: `/${share.name}?restype=directory&comp=list` });
    const names = [...body.toString().matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name);
    assert.deepEqual(names, ['Alpha', 'alpha.txt', 'beta', 'BETA.txt', 'delta', 'Gamma']);
    assert.deepEqual(await namesIn(share.rootDirectoryClient), [...FILES, ...DIRECTORIES]);
    assert.deepEqual(await namesIn(share.getDirectoryClient('BETA')), []);
  });

  test('by prefix matches without regard to case', async () => {
    const share = await filled();
    assert.deepEqual(await namesIn(share.rootDirectoryClient, { prefix: 'BET' }), ['BETA.txt', 'beta/']);
    assert.deepEqual(await namesIn(share.rootDirectoryClient, { prefix: 'alpha.' }), ['alpha.txt']);
    assert.deepEqual(await namesIn(share.rootDirectoryClient, { prefix: 'x' }), []);
  });

  test('comes in parts, each as long as asked for and the last one without a marker', async () => {
    const share = await freshShare(server);
    const names = Array.from({ length: 25 }, (_, index) => `file ${String(index).padStart(2, '0')} ä`);
    for (const name of names) await share.createFile(name, 0);
    const lengths: number[] = [];
    const seen: string[] = [];
    for await (const page of share.rootDirectoryClient.listFilesAndDirectories().byPage({ maxPageSize: 10 })) {
      lengths.push(page.segment.fileItems.length);
      seen.push(...page.segment.fileItems.map(({ name }) => name));
    }
    assert.deepEqual(lengths, [10, 10, 5]);
    assert.deepEqual(seen, names);
  });

  test('goes on where it was, though what it was to go on with is gone', async () => {
    const share = await freshShare(server);
    for (const name of ['a', 'b', 'c', 'd']) await share.createFile(name, 0);
    const pages = share.rootDirectoryClient.listFilesAndDirectories().byPage({ maxPageSize: 2 });
    const first = (await pages.next()).value;
    assert.deepEqual(
      first.segment.fileItems.map(({ name }: { name: string }) => name),
      ['a', 'b'],
    );
    await share.deleteFile('c');
    const second = (await pages.next()).value;
    assert.deepEqual(
      second.segment.fileItems.map(({ name }: { name: string }) => name),
      ['d'],
    );
  });

  test('is as the service writes it: names, ids and lengths, and nothing that was not asked for', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    const { fileClient } = await share.createFile('file', 1024);
    const { body, headers } = await raw({ method: 'GET', path: `/${share.name}/?restype=directory&comp=list` });
    assert.equal(headers['content-type'], 'application/xml');
    assert.equal(
      body.toString(),
      `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="${server.fileEndpoint()}/" ` +
        `ShareName="${share.name}" DirectoryPath=""><DirectoryId>0</DirectoryId><Entries>` +
        `<Directory><Name>dir</Name><FileId>${(await directoryClient.getProperties()).fileId}</FileId><Properties /></Directory>` +
        `<File><Name>file</Name><FileId>${(await fileClient.getProperties()).fileId}</FileId><Properties>` +
        '<Content-Length>1024</Content-Length></Properties></File></Entries><NextMarker /></EnumerationResults>',
    );
  });

  test('has what is asked for of each entry', async () => {
    const share = await freshShare(server);
    const { directoryClient } = await share.createDirectory('dir');
    const { fileClient } = await share.createFile('file', 1024);
    server.clock.advance({ seconds: 3 });
    await fileClient.uploadRange('x', 0, 1);
    const entries = [];
    for await (const entry of share.rootDirectoryClient.listFilesAndDirectories({
      includeTimestamps: true,
      includeEtag: true,
      includeAttributes: true,
      includePermissionKey: true,
      includeExtendedInfo: true,
    })) {
      entries.push(entry);
    }
    const wanted = [await fileClient.getProperties(), await directoryClient.getProperties()];
    assert.equal(entries.length, 2);
    for (const [index, entry] of entries.entries()) {
      const of = wanted[index] as (typeof wanted)[number];
      assert.equal(entry.fileId, of.fileId);
      assert.equal(entry.attributes, of.fileAttributes);
      assert.equal(entry.permissionKey, of.filePermissionKey);
      assert.equal(entry.properties?.etag, of.etag);
      assert.deepEqual(entry.properties?.creationTime, of.fileCreatedOn);
      assert.deepEqual(entry.properties?.lastWriteTime, of.fileLastWriteOn);
      assert.deepEqual(entry.properties?.changeTime, of.fileChangeOn);
      assert.deepEqual(entry.properties?.lastModified, of.lastModified);
    }
  });

  test('gives ids to older clients only with more that they asked for', async () => {
    const share = await freshShare(server);
    await share.createFile('file', 0);
    const path = `/${share.name}?restype=directory&comp=list`;
    const old = { 'x-ms-version': '2020-08-04' };
    assert.doesNotMatch((await raw({ method: 'GET', path, headers: old })).body.toString(), /FileId|DirectoryId/);
    const extended = { ...old, 'x-ms-file-extended-info': 'true' };
    assert.match((await raw({ method: 'GET', path, headers: extended })).body.toString(), /<FileId>\d+<\/FileId>/);
  });

  test('percent-encodes a name that XML cannot carry, and says so', async () => {
    const share = await freshShare(server);
    const name = 'odd\uffff';
    await share.createDirectory(name);
    await share.getDirectoryClient(name).createFile(`in ${name}`, 0);
    assert.deepEqual(await namesIn(share.rootDirectoryClient), [`${name}/`]);
    assert.deepEqual(await namesIn(share.getDirectoryClient(name), { prefix: `in ${name}` }), [`in ${name}`]);
    const path = `/${share.name}/${encodeURIComponent(name)}?restype=directory&comp=list`;
    const text = (await raw({ method: 'GET', path })).body.toString();
    assert.match(text, /Encoded="true" DirectoryPath="odd%EF%BF%BF"/);
    assert.match(text, /<Name Encoded="true">in%20odd%EF%BF%BF<\/Name>/);
  });

  test('of a snapshot shows the directory as it was', async () => {
    const share = await filled();
    const { snapshot } = await share.createSnapshot();
    await share.deleteFile('delta');
    await share.createFile('epsilon', 0);
    const { directoryClient } = await share.createDirectory('beta/below');
    const past = share.withSnapshot(snapshot as string);
    assert.deepEqual(await namesIn(past.rootDirectoryClient), [...FILES, ...DIRECTORIES]);
    assert.deepEqual(await namesIn(past.getDirectoryClient('beta')), []);
    assert.equal(await refusal(past.getDirectoryClient('beta/below').getProperties()), '404 ResourceNotFound');
    assert.equal(await directoryClient.exists(), true);
    const path = `/${share.name}?restype=directory&comp=list&sharesnapshot=${encodeURIComponent(snapshot as string)}`;
    assert.match((await raw({ method: 'GET', path })).body.toString(), new RegExp(`ShareSnapshot="${snapshot}"`));
  });

  test('of what is no directory is refused', async () => {
    const share = await filled();
    const list = (path: string): Promise<string[]> => namesIn(share.getDirectoryClient(path));
    assert.equal(await refusal(list('nowhere')), '404 ResourceNotFound');
    assert.equal(await refusal(list('no/where')), '404 ParentNotFound');
    assert.equal(await refusal(list('delta')), '404 ResourceNotFound');
  });

  for (const [query, want] of [
    ['maxresults=0', '400 OutOfRangeQueryParameterValue'],
    ['maxresults=-1', '400 OutOfRangeQueryParameterValue'],
    ['maxresults=many', '400 InvalidQueryParameterValue'],
    ['marker=mine', '400 InvalidQueryParameterValue'],
    ['include=Timestamps,Colour', '400 InvalidQueryParameterValue'],
    ['maxresults=10000', '200'],
    ['include=Timestamps%2CEtag', '200'],
  ] as const) {
    test(`with ${query} gets ${want}`, async () => {
      const share = await freshShare(server);
      const path = `/${share.name}?restype=directory&comp=list&${query}`;
      assert.equal((await raw({ method: 'GET', path })).outcome, want);
    });
  }
});

describe('handles', () => {
  test('are none where no SMB client has anything open', async () => {
    const share = await filled();
    const file = share.rootDirectoryClient.getFileClient('delta');
    for await (const handle of file.listHandles()) assert.fail(`nobody has it open: ${handle.handleId}`);
    for await (const handle of share.rootDirectoryClient.listHandles({ recursive: true })) {
      assert.fail(`nobody has it open: ${handle.handleId}`);
    }
    assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 0);
    const closed = await share.rootDirectoryClient.forceCloseAllHandles({ recursive: true });
    assert.deepEqual([closed.closedHandlesCount, closed.closeFailureCount], [0, 0]);
    assert.equal((await file.forceCloseHandle('17')).closedHandlesCount, 0);
    const { body } = await raw({ method: 'GET', path: `/${share.name}/delta?comp=listhandles` });
    assert.equal(
      body.toString(),
      '<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Entries /><NextMarker /></EnumerationResults>',
    );
  });

  for (const [id, want] of [
    [null, '400 MissingRequiredHeader'],
    ['all', '400 InvalidHeaderValue'],
    ['-1', '400 InvalidHeaderValue'],
    ['*', '200'],
    ['18446744073709551615', '200'],
  ] as const) {
    test(`named ${id} get ${want}`, async () => {
      const share = await filled();
      const headers: Record<string, string> = id === null ? {} : { 'x-ms-handle-id': id };
      const path = `/${share.name}/delta?comp=forceclosehandles`;
      assert.equal((await raw({ method: 'PUT', path, headers })).outcome, want);
    });
  }

  test('of what is not there are refused', async () => {
    const share = await filled();
    const lost = share.rootDirectoryClient.getFileClient('lost');
    assert.equal(await refusal(lost.listHandles().next()), '404 ResourceNotFound');
  });
});
