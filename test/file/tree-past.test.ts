/**
 * Snapshots of a share whose tree goes on changing: listings of large directories, page by page, while names come and go,
 * and what has changed in files that were renamed since.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ShareClient,
  type ShareDirectoryClient,
  type ShareFileClient,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS, freshShare } from '../harness/file-clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { successes, together } from '../harness/parallel.ts';

const server = await startInProcess();

const PAGE_BYTES = 512;
const { name: ACCOUNT, key: KEY } = DEVELOPMENT_ACCOUNT;
const { hostname, port } = new URL(server.fileUrl);

/** The client renames only where the account stands in the host's name: so this server is its proxy to such a host. */
async function hostedShare(): Promise<ShareClient> {
  const { name } = await freshShare(server);
  const url = `http://${ACCOUNT}.file.core.windows.net/${name}`;
  const proxyOptions = { host: `http://${hostname}`, port: Number(port) };
  return new ShareClient(url, new StorageSharedKeyCredential(ACCOUNT, KEY), { ...FILE_CLIENT_OPTIONS, proxyOptions });
}

const numbered = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(4, '0')}`);

async function namesIn(directory: ShareDirectoryClient, maxPageSize: number): Promise<string[]> {
  const names: string[] = [];
  for await (const page of directory.listFilesAndDirectories().byPage({ maxPageSize })) {
    const { directoryItems, fileItems } = page.segment;
    assert.ok(directoryItems.length + fileItems.length <= maxPageSize);
    names.push(...[...directoryItems, ...fileItems].map(({ name }) => name).sort());
  }
  return names;
}

async function createAll(directory: ShareDirectoryClient, names: readonly string[]): Promise<void> {
  for (let at = 0; at < names.length; at += 50) {
    const some = names.slice(at, at + 50);
    successes(await together(some.length, (index) => directory.createFile(some[index] as string, 0)));
  }
}

const snapshotOf = async (share: ShareClient): Promise<string> => (await share.createSnapshot()).snapshot as string;

describe('a large directory in a snapshot', () => {
  test('lists as it was while all of it is removed, renamed and created anew', async () => {
    const share = await hostedShare();
    const { directoryClient: directory } = await share.createDirectory('large');
    const names = numbered(240, 'n');
    await createAll(directory, names);
    const snapshot = await snapshotOf(share);
    const past = share.withSnapshot(snapshot).getDirectoryClient('large');
    const results = await together(4, async (index) => {
      if (index === 3) {
        for (let round = 0; round < 3; round++) assert.deepEqual(await namesIn(past, 50), names);
        return;
      }
      for (const [at, name] of names.entries()) {
        if (at % 3 !== index) continue;
        const file = directory.getFileClient(name);
        if (index === 0) await file.delete();
        else if (index === 1) await file.rename(`elsewhere${at}`);
        else await directory.createFile(`${name}x`, 0);
      }
    });
    successes(results);
    for (const pageSize of [33, 5_000]) assert.deepEqual(await namesIn(past, pageSize), names);
    const left = names.filter((_, at) => at % 3 === 2);
    const live = left.flatMap((name) => [name, `${name}x`]);
    assert.deepEqual(await namesIn(directory, 7), live);
  });

  test('lists as it was though the directory itself was renamed, emptied and deleted', async () => {
    const share = await hostedShare();
    const { directoryClient: directory } = await share.createDirectory('a');
    const names = numbered(30, 'f');
    await createAll(directory, names);
    const snapshot = await snapshotOf(share);
    const { destinationDirectoryClient: renamed } = await directory.rename('b');
    for (const name of names) await renamed.deleteFile(name);
    await renamed.delete();
    const past = share.withSnapshot(snapshot);
    assert.deepEqual(await namesIn(past.getDirectoryClient('a'), 7), names);
    assert.equal(await refusal(namesIn(past.getDirectoryClient('b'), 7)), '404 ResourceNotFound');
    assert.deepEqual(await namesIn(past.rootDirectoryClient, 7), ['a']);
    assert.deepEqual(await namesIn(share.rootDirectoryClient, 7), []);
  });
});

/** `x0-511 512-1023`: cleared, and written. */
const changes = async (file: ShareFileClient, snapshot: string, includeRenames?: boolean): Promise<string> => {
  const options = includeRenames === undefined ? {} : { includeRenames };
  const { ranges = [], clearRanges = [] } = await file.getRangeListDiff(snapshot, options);
  const shown = [
    ...ranges.map(({ start, end }) => ({ start, text: `${start}-${end}` })),
    ...clearRanges.map(({ start, end }) => ({ start, text: `x${start}-${end}` })),
  ];
  return shown
    .sort((a, b) => a.start - b.start)
    .map(({ text }) => text)
    .join(' ');
};

describe('what has changed in a file since a snapshot', () => {
  test('is told of one that was renamed only to those who ask for that', async () => {
    const share = await hostedShare();
    const { directoryClient: directory } = await share.createDirectory('d');
    const { fileClient: file } = await directory.createFile('f', 4 * PAGE_BYTES);
    await file.uploadRange(Buffer.alloc(2 * PAGE_BYTES, 'x'), 0, 2 * PAGE_BYTES);
    const snapshot = await snapshotOf(share);
    const { destinationFileClient: renamed } = await file.rename('moved');
    await renamed.uploadRange(Buffer.alloc(PAGE_BYTES, 'y'), PAGE_BYTES, PAGE_BYTES);
    await renamed.clearRange(0, PAGE_BYTES);
    assert.match(await refusal(changes(renamed, snapshot)), /^409 /);
    assert.equal(await changes(renamed, snapshot, true), 'x0-511 512-1023');
  });

  test('is not told of one that was created anew', async () => {
    const share = await hostedShare();
    const { fileClient: file } = await share.createFile('f', PAGE_BYTES);
    const snapshot = await snapshotOf(share);
    await file.create(PAGE_BYTES);
    assert.match(await refusal(changes(file, snapshot)), /^409 /);
    assert.match(await refusal(changes(file, snapshot, true)), /^409 /);
  });
});
