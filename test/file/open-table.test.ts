/**
 * REST beside SMB clients (C26, C27, C28): the official client on one node, while on another node files are open as SMB clients
 * open them. Every cell of the matrices, pending deletions, byte-range locks, caches, leases, and handles closed by force.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  FileSASPermissions,
  FileSystemAttributes,
  type ShareClient,
  type ShareFileClient,
} from '@azure/storage-file-share';
import { type Access, ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from '../../src/rules/share-mode.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { startFileNodes } from '../harness/file-nodes.ts';
import { send } from '../harness/http.ts';
import { SmbClient } from '../harness/smb-client.ts';
import { fileAt, MISSING, namesIn, putFile, textOf } from './racing.ts';

const server = await startFileNodes();

const VIOLATION = '409 SharingViolation';
const PENDING = '409 SMBDeletePending';
const LOCKED = '409 FileLockConflict';
const READ_ONLY = '409 ReadOnlyAttribute';
const DELAY = '408 ClientCacheFlushDelay';

interface Scene {
  readonly share: ShareClient;
  readonly file: ShareFileClient;
  readonly smb: SmbClient;
}

async function scene(): Promise<Scene> {
  const share = await freshShare(server);
  const file = await putFile(share, 'file', 'some text');
  return { share, file, smb: new SmbClient(server.smb, { account: DEVELOPMENT_ACCOUNT.name, share: share.name }) };
}

/** The columns of the matrix, each with what would be left as it was found. */
const COLUMNS: readonly (readonly [name: string, act: (scene: Scene) => Promise<unknown>])[] = [
  ['Create', ({ file }) => file.create(9)],
  ['Get', ({ file }) => textOf(file)],
  ['Set Properties', ({ file }) => file.setHttpHeaders({ fileContentType: 'a/b' })],
  ['Set Metadata', ({ file }) => file.setMetadata({ a: 'b' })],
  ['Put Range', ({ file }) => file.uploadRange('other', 0, 5)],
  ['List Ranges', ({ file }) => file.getRangeList()],
  ['Delete', ({ file }) => file.delete()],
  ['Lease', ({ file }) => file.getShareLeaseClient().acquireLease()],
  ['Copy to', async ({ share, file }) => file.startCopyFromURL((await putFile(share, 'source', 'text')).url)],
  ['Copy from', ({ share, file }) => fileAt(share, 'copy').startCopyFromURL(file.url)],
  ['Put Range from', ({ share, file }) => putRangeFrom(share, file)],
  ['Rename', ({ share }) => rename(share, 'file', 'renamed')],
];

/** The client leaves the account out of the destination where it is a part of the path. */
async function rename(share: ShareClient, from: string, to: string, kind = 'file'): Promise<void> {
  const restype = kind === 'directory' ? '&restype=directory' : '';
  const { outcome: result } = await send(server.fileUrl, {
    method: 'PUT',
    path: `/${share.name}/${to}?comp=rename${restype}`,
    headers: { 'x-ms-file-rename-source': `${share.url}/${from}`, 'x-ms-file-rename-replace-if-exists': 'true' },
  });
  if (result !== '200') throw new Refused(result);
}

class Refused extends Error {}

/** Also of requests that the client does not send. */
async function resultOf(request: Promise<unknown>): Promise<string> {
  return outcome(request).catch((error: unknown) => {
    if (error instanceof Refused) return error.message;
    throw error;
  });
}

async function putRangeFrom(share: ShareClient, file: ShareFileClient): Promise<unknown> {
  const target = await putFile(share, 'target', 'text');
  return target.uploadRangeFromURL(signed(file), 0, 0, 4);
}

const signed = (file: ShareFileClient): string =>
  file.generateSasUrl({
    permissions: FileSASPermissions.parse('r'),
    expiresOn: new Date(server.clock.nowMs() + 3_600_000),
  });

const columnsOf = async (open: { access: Access; share: Access }): Promise<string> => {
  const cells: string[] = [];
  for (const [name, act] of COLUMNS) {
    const set = await scene();
    await set.smb.open('file', open);
    const result = await resultOf(act(set));
    assert.ok(result === 'ok' || result === VIOLATION, `${name}: ${result}`);
    cells.push(result === 'ok' ? '.' : 'X');
  }
  return cells.join(' ');
};

describe('C26 what an SMB open does not share REST is refused', () => {
  for (const [shared, share, row] of [
    ['nothing', NO_ACCESS, 'X X X X X X X X X X X X'],
    ['R', READS, 'X . X X X . X X X . . X'],
    ['W', WRITES, 'X X . . . X X X X X X X'],
    ['D', DELETES, 'X X X X X X X X X X X .'],
    ['R+W', READS | WRITES, 'X . . . . . X X X . . X'],
    ['R+D', READS | DELETES, 'X . X X X . X X X . . .'],
    ['W+D', WRITES | DELETES, '. X . . . X X X . X X .'],
    ['R+W+D', ALL_ACCESS, '. . . . . . X X . . . .'],
  ] as const) {
    test(`C26 shares ${shared}: ${row}`, async () => {
      assert.equal(await columnsOf({ access: ALL_ACCESS, share }), row);
    });
  }

  test('C26 an open that only looks at attributes keeps REST from deleting, and from nothing else', async () => {
    assert.equal(await columnsOf({ access: NO_ACCESS, share: NO_ACCESS }), '. . . . . . X . . . . .');
  });

  test('C26 whatever is shared: properties are read, directories and handles listed, a lease is released', async () => {
    const { share, file, smb } = await scene();
    const lease = file.getShareLeaseClient();
    await lease.acquireLease();
    await smb.open('file', { access: READS, share: NO_ACCESS });
    await file.getProperties();
    assert.deepEqual(await namesIn(share), ['file']);
    for await (const handle of file.listHandles()) assert.equal(handle.path, 'file');
    await lease.releaseLease();
  });

  test('C26 of several opens what all of them share is allowed', async () => {
    const { file, smb } = await scene();
    await smb.open('file', { access: READS, share: READS | WRITES });
    await smb.open('file', { access: READS, share: READS | DELETES });
    await textOf(file);
    assert.equal(await refusal(file.uploadRange('x', 0, 1)), VIOLATION);
  });

  test('C26 the file is free once it is closed', async () => {
    const { file, smb } = await scene();
    const { id } = await smb.open('file', { access: READS | WRITES, share: NO_ACCESS });
    assert.equal(await refusal(textOf(file)), VIOLATION);
    await smb.opens.close(id);
    assert.equal(await textOf(file), 'some text');
    await file.delete();
  });

  test('C26 a directory that is open is not deleted, and not renamed if something is open below it', async () => {
    const { share, smb } = await scene();
    const directory = share.getDirectoryClient('dir');
    await directory.create();
    const { id } = await smb.open('dir', { access: NO_ACCESS });
    assert.equal(await refusal(directory.delete()), VIOLATION);
    await smb.opens.close(id);
    await putFile(share, 'dir/file', 'x');
    const below = await smb.open('dir/file', { access: NO_ACCESS });
    assert.equal(await resultOf(rename(share, 'dir', 'other', 'directory')), VIOLATION);
    await smb.opens.close(below.id);
    await rename(share, 'dir', 'other', 'directory');
  });

  test('C26 a snapshot is read though the file is locked', async () => {
    const { share, file, smb } = await scene();
    const { snapshot = '' } = await share.createSnapshot();
    await smb.open('file', { share: NO_ACCESS });
    assert.equal(await textOf(fileAt(share.withSnapshot(snapshot), 'file')), 'some text');
    assert.equal(await refusal(textOf(file)), VIOLATION);
  });
});

describe('a lease of a file beside an open that shares everything', () => {
  for (const [name, access, want] of [
    ['nothing', NO_ACCESS, 'ok'],
    ['R', READS, 'ok'],
    ['W', WRITES, VIOLATION],
    ['D', DELETES, VIOLATION],
    ['RW', READS | WRITES, VIOLATION],
    ['RD', READS | DELETES, VIOLATION],
    ['WD', WRITES | DELETES, VIOLATION],
    ['RWD', ALL_ACCESS, VIOLATION],
  ] as const) {
    test(`that does ${name}: ${want}`, async () => {
      const { file, smb } = await scene();
      await smb.open('file', { access });
      assert.equal(await outcome(file.getShareLeaseClient().acquireLease()), want);
    });

    test(`and the other way round, an open that does ${name} beside a lease: ${want}`, async () => {
      const { file, smb } = await scene();
      const lease = file.getShareLeaseClient();
      await lease.acquireLease();
      const opening = smb.open('file', { access }).then(() => 'ok');
      assert.equal(await opening.catch(({ code }) => `409 ${code}`), want);
      await lease.breakLease();
      await smb.open('file', { access });
    });
  }
});

describe('a deletion that is pending', () => {
  const everything: readonly (readonly [string, (scene: Scene) => Promise<unknown>])[] = [
    ...COLUMNS,
    ['Get Properties', ({ file }) => file.getProperties()],
    ['Create Directory', ({ share }) => share.createDirectory('file')],
    [
      'Rename onto it',
      async ({ share }) => {
        await putFile(share, 'source', 'x');
        await rename(share, 'source', 'file');
      },
    ],
  ];
  for (const [name, act] of everything) {
    test(`C27 ${name} is refused, and not for the lack of the file`, async () => {
      const set = await scene();
      const { id } = await set.smb.open('file');
      await set.smb.opens.markForDeletion(id, true);
      assert.equal(await resultOf(act(set)), PENDING);
    });
  }

  test('C27 is taken back, or carried out with the last handle', async () => {
    const { file, smb } = await scene();
    const [a, b] = [await smb.open('file'), await smb.open('file')];
    await smb.opens.markForDeletion(a.id, true);
    assert.equal(await refusal(textOf(file)), PENDING);
    await smb.opens.markForDeletion(a.id, false);
    assert.equal(await textOf(file), 'some text');
    await smb.opens.markForDeletion(b.id, true);
    await smb.opens.close(b.id);
    assert.equal(await refusal(textOf(file)), PENDING);
    await smb.opens.close(a.id);
    assert.equal(await refusal(textOf(file)), MISSING);
    await file.create(1);
  });

  test('C27 comes with the closing of an open that was made to delete', async () => {
    const { file, smb } = await scene();
    const [a, b] = [await smb.open('file', { deletesOnClose: true }), await smb.open('file')];
    await textOf(file);
    await smb.opens.close(a.id);
    assert.equal(await refusal(file.getProperties()), PENDING);
    await smb.opens.close(b.id);
    assert.equal(await refusal(file.getProperties()), MISSING);
  });

  test('C28 is left out of listings, and is back when it is taken back', async () => {
    const { share, smb } = await scene();
    await share.createDirectory('dir');
    await putFile(share, 'last', 'x');
    const [file, dir] = [await smb.open('file'), await smb.open('dir')];
    for (const { id } of [file, dir]) await smb.opens.markForDeletion(id, true);
    assert.deepEqual(await namesIn(share), ['last']);
    await smb.opens.markForDeletion(file.id, false);
    assert.deepEqual((await namesIn(share)).toSorted(), ['file', 'last']);
    await smb.opens.close(dir.id);
    assert.equal(await refusal(share.getDirectoryClient('dir').getProperties()), MISSING);
  });
});

const lockOf = (isExclusive: boolean) => [{ offsetBytes: 0n, lengthBytes: 4n, isExclusive }];

describe('byte-range locks', () => {
  test('of any kind refuse writes anywhere in the file, and exclusive ones reads of what is locked', async () => {
    const { file, smb } = await scene();
    const { id } = await smb.open('file');
    await smb.opens.lock(id, lockOf(false), { waitMs: 0 });
    assert.equal(await refusal(file.uploadRange('x', 8, 1)), LOCKED);
    assert.equal(await refusal(file.clearRange(8, 1)), LOCKED);
    assert.equal(await refusal(file.resize(20)), LOCKED);
    assert.equal(await refusal(file.create(1)), LOCKED);
    assert.equal(await textOf(file), 'some text');
    await smb.opens.unlock(id, lockOf(false));
    await smb.opens.lock(id, lockOf(true), { waitMs: 0 });
    assert.equal(await refusal(textOf(file)), LOCKED);
    assert.equal((await file.downloadToBuffer(5, 4)).toString(), 'text');
    await file.getProperties();
    await file.setMetadata({ a: 'b' });
    await file.getRangeList();
    await smb.opens.close(id);
    await file.uploadRange('x', 8, 1);
  });

  test('come after what is not shared', async () => {
    const { file, smb } = await scene();
    const { id } = await smb.open('file', { share: READS });
    await smb.opens.lock(id, lockOf(true), { waitMs: 0 });
    assert.equal(await refusal(file.uploadRange('x', 8, 1)), VIOLATION);
    assert.equal(await refusal(textOf(file)), LOCKED);
  });
});

test('a file that is read-only is neither written nor overwritten, and SMB opens it to read only', async () => {
  const { file, smb } = await scene();
  const fileAttributes = new FileSystemAttributes();
  fileAttributes.readonly = true;
  await file.setProperties({ fileAttributes });
  await smb.open('file', { access: READS });
  for (const access of [WRITES, READS | WRITES, ALL_ACCESS]) {
    await assert.rejects(smb.open('file', { access }), { code: 'ReadOnlyAttribute' });
  }
  assert.equal(await refusal(file.uploadRange('x', 0, 1)), READ_ONLY);
  assert.equal(await refusal(file.setMetadata({ a: 'b' })), READ_ONLY);
  assert.equal(await refusal(file.create(1)), READ_ONLY);
  assert.equal(await textOf(file), 'some text');
});

describe('what clients cache', () => {
  test('is written before REST reads, and the second read waits for nothing', async () => {
    const { file, smb } = await scene();
    await smb.open('file', { caching: 'RWH', leaseKey: 'k' });
    smb.answer = (openId, { to }) => void smb.opens.acknowledge(openId, to);
    assert.equal(await textOf(file), 'some text');
    assert.equal(await smb.told(), 'RWH to RH');
    await file.getProperties();
    await file.uploadRange('other', 0, 5);
    assert.equal(await smb.told(), 'RH to none');
    await file.uploadRange('third', 0, 5);
    assert.deepEqual(smb.unheard, []);
  });

  test('of a handle that was closed long ago does not keep REST from deleting', async () => {
    const { file, smb } = await scene();
    await smb.open('file', { caching: 'RH', leaseKey: 'k', share: READS });
    smb.answer = (openId) => void smb.opens.close(openId);
    await file.delete();
    assert.equal(await smb.told(), 'RH to R');
  });

  test('of a handle that is used keeps REST from deleting', async () => {
    const { file, smb } = await scene();
    await smb.open('file', { caching: 'RH', leaseKey: 'k' });
    smb.answer = (openId, { to }) => void smb.opens.acknowledge(openId, to);
    assert.equal(await refusal(file.delete()), VIOLATION);
    assert.equal(await textOf(file), 'some text');
  });

  test('and is not given up makes a request end after its timeout, and succeed once it is', async () => {
    const { share, smb } = await scene();
    const { id } = await smb.open('file', { caching: 'RWH', leaseKey: 'k' });
    const path = `/${share.name}/file?timeout=1`;
    const reading = send(server.fileUrl, { method: 'GET', path });
    assert.equal(await smb.told(), 'RWH to RH');
    server.clock.advance({ seconds: 1 });
    assert.equal((await reading).outcome, DELAY);
    await smb.opens.acknowledge(id, 'RH');
    assert.equal((await send(server.fileUrl, { method: 'GET', path })).status, 200);
    assert.deepEqual(smb.unheard, []);
  });

  test('by a client that never answers is taken from it after a while', async () => {
    const { file, smb } = await scene();
    await smb.open('file', { caching: 'RW' });
    const reading = refusal(textOf(file));
    assert.equal(await smb.told(), 'RW to R');
    server.clock.advance({ seconds: 35 });
    assert.equal(await reading, DELAY);
    await server.beat();
    assert.equal(await textOf(file), 'some text');
  });
});

describe('handles', () => {
  test('are listed with all that is known of them', async () => {
    const { share, smb } = await scene();
    await share.createDirectory('dir');
    await putFile(share, 'dir/file', 'x');
    const { handleId, node } = await smb.open('dir/file', { access: READS | DELETES });
    await smb.open('dir', { access: READS });
    const handles = [];
    for await (const handle of share.getDirectoryClient('dir').listHandles({ recursive: true })) handles.push(handle);
    assert.deepEqual(handles.map(({ path }) => path).toSorted(), ['dir', 'dir/file']);
    const handle = handles.find(({ path }) => path === 'dir/file');
    assert.equal(handle?.handleId, handleId);
    assert.equal(handle?.fileId, String(BigInt(`0x${node.id}`)));
    assert.equal(handle?.clientIp, '10.0.0.5:50312');
    assert.equal(handle?.sessionId, '9260087404025397253');
    assert.deepEqual(handle?.accessRightList, ['Read', 'Delete']);
  });

  test('are closed by force: one, or all below a directory, and the client hears of it', async () => {
    const { share, file, smb } = await scene();
    await share.createDirectory('dir');
    await putFile(share, 'dir/file', 'x');
    const { handleId } = await smb.open('file', { share: NO_ACCESS });
    await smb.open('dir/file', { share: NO_ACCESS });
    const closed = await file.forceCloseHandle(handleId);
    assert.equal(closed.closedHandlesCount, 1);
    assert.equal(await smb.told(), 'closed');
    await file.delete();
    const all = await share.rootDirectoryClient.forceCloseAllHandles({ recursive: true });
    assert.deepEqual([all.closedHandlesCount, all.closeFailureCount], [1, 0]);
    await fileAt(share, 'dir/file').delete();
    assert.equal((await share.rootDirectoryClient.forceCloseAllHandles({ recursive: true })).closedHandlesCount, 0);
  });

  test('of a file with a pending deletion are listed and closed, and with the last the file goes', async () => {
    const { file, smb } = await scene();
    const { id } = await smb.open('file');
    await smb.opens.markForDeletion(id, true);
    let count = 0;
    for await (const handle of file.listHandles()) count += handle.path === 'file' ? 1 : 0;
    assert.equal(count, 1);
    await file.forceCloseAllHandles();
    assert.equal(await refusal(file.getProperties()), MISSING);
  });
});
