/** REST beside SMB, as REST clients see it: handles are listed and closed, and what is in use is refused with its code. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ShareClient, StorageSharedKeyCredential } from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT } from '../../../test/harness/accounts.ts';
import { outcome, refusal } from '../../../test/harness/clients.ts';
import { FILE_CLIENT_OPTIONS } from '../../../test/harness/file-clients.ts';
import { NEW_SHARE, TestShare } from '../../../test/harness/file-store.ts';
import { send } from '../../../test/harness/http.ts';
import { SmbClient } from '../../../test/harness/smb-client.ts';
import { TestStore } from '../../../test/harness/store.ts';
import type { Account } from '../../auth/identity.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from '../../rules/share-mode.ts';
import { createShare } from '../../service/file/create-share.ts';
import { fileIdOf } from '../../service/records/node-record.ts';
import { openLog } from '../log.ts';
import { type HttpServer, openHttpServer } from '../server.ts';
import { fileDoor } from './file-door.ts';

const { name: ACCOUNT, key: KEY } = DEVELOPMENT_ACCOUNT;
const accounts: ReadonlyMap<string, Account> = new Map([
  [ACCOUNT, { name: ACCOUNT, keys: [Buffer.from(KEY, 'base64')], loopbackOnly: false }],
]);

const log = openLog({ mode: 'silent', sink: process.stdout });

let store: TestStore;
let server: HttpServer;
let rest: ShareClient;
let smb: SmbClient;

beforeEach(async () => {
  store = await TestStore.open();
  const door = fileDoor(store.storage, { accounts, bearer: null, isOurs: () => false, origin: () => server.origin });
  server = await openHttpServer({ door, accounts, clock: store.clock, host: '127.0.0.1', port: 0, log });
  const share = new TestShare(store, 'share');
  const name = { account: ACCOUNT, share: 'share' };
  await createShare(store.storage, name, NEW_SHARE);
  smb = new SmbClient(store.storage, name);
  const credential = new StorageSharedKeyCredential(ACCOUNT, KEY);
  rest = new ShareClient(`${server.origin}/${ACCOUNT}/${share.name.share}`, credential, FILE_CLIENT_OPTIONS);
  await rest.createDirectory('dir');
  await rest.getDirectoryClient('dir').createFile('File', 100);
});

afterEach(async () => {
  await server.close();
  await store.close();
  assert.deepEqual(store.errors, []);
});

const file = () => rest.getDirectoryClient('dir').getFileClient('file');

describe('a handle', () => {
  test('is listed with who has what open, since when and what for', async () => {
    const { handleId, node } = await smb.open('dir/file', { access: READS | WRITES });
    const { fileId: parentId } = await rest.getDirectoryClient('dir').getProperties();
    const handles = [];
    for await (const handle of file().listHandles()) handles.push(handle);
    assert.deepEqual(handles, [
      {
        handleId,
        path: 'dir/File',
        fileId: fileIdOf(node.id),
        parentId,
        sessionId: '9260087404025397253',
        clientIp: '10.0.0.5:50312',
        clientName: 'desktop',
        openTime: new Date(Math.floor(store.clock.nowMs() / 1000) * 1000),
        lastReconnectTime: undefined,
        accessRightList: ['Read', 'Write'],
      },
    ]);
    const { body } = await send(server.origin, {
      method: 'GET',
      path: '/share/dir/file?comp=listhandles',
      headers: { 'x-ms-version': '2021-12-02' },
    });
    assert.doesNotMatch(body.toString(), /AccessRight/, 'older clients do not know of it');
  });

  test('of a directory’s file is listed with the directory only where one looks below', async () => {
    await smb.open('dir/file', { access: READS });
    const directory = rest.getDirectoryClient('dir');
    const pathsOf = async (recursive: boolean): Promise<unknown[]> => {
      const paths = [];
      for await (const { path } of directory.listHandles({ recursive })) paths.push(path);
      return paths;
    };
    assert.deepEqual(await pathsOf(false), []);
    assert.deepEqual(await pathsOf(true), ['dir/File']);
  });

  test('is listed in parts', async () => {
    for (let count = 0; count < 5; count++) await smb.open('dir/file', { access: READS });
    const lengths: number[] = [];
    const directory = rest.getDirectoryClient('dir');
    for await (const { handleList } of directory.listHandles({ recursive: true }).byPage({ maxPageSize: 2 })) {
      lengths.push(handleList?.length ?? 0);
    }
    assert.deepEqual(lengths, [2, 2, 1]);
  });

  test('is closed by its id, and all of them without', async () => {
    const { handleId } = await smb.open('dir/file', { access: READS });
    for (let count = 0; count < 3; count++) await smb.open('dir/file', { access: READS });
    assert.equal((await file().forceCloseHandle(handleId)).closedHandlesCount, 1);
    assert.equal(await smb.told(), 'closed');
    assert.equal((await file().forceCloseHandle(handleId)).closedHandlesCount, 0);
    const closed = await rest.rootDirectoryClient.forceCloseAllHandles({ recursive: true });
    assert.deepEqual([closed.closedHandlesCount, closed.closeFailureCount], [3, 0]);
    for await (const handle of file().listHandles()) assert.fail(`it is closed: ${handle.handleId}`);
  });
});

describe('what an SMB client has open', () => {
  for (const [why, share, want] of [
    ['shares nothing', NO_ACCESS, { read: '409 SharingViolation', write: '409 SharingViolation' }],
    ['shares reading', READS, { read: 'ok', write: '409 SharingViolation' }],
    ['shares writing', WRITES | DELETES, { read: '409 SharingViolation', write: 'ok' }],
    ['shares everything', ALL_ACCESS, { read: 'ok', write: 'ok' }],
  ] as const) {
    test(`is read and written only as far as it ${why}`, async () => {
      await smb.open('dir/file', { access: NO_ACCESS | READS, share });
      assert.equal(await outcome(file().download()), want.read);
      assert.equal(await outcome(file().uploadRange('x', 0, 1)), want.write);
    });
  }

  test('is not deleted; once it is closed, it is', async () => {
    const { id } = await smb.open('dir/file', { access: READS });
    assert.equal(await refusal(file().delete()), '409 SharingViolation');
    assert.match(await refusal(rest.getDirectoryClient('dir').delete()), /^409 /);
    await smb.opens.close(id);
    assert.equal(await outcome(file().delete()), 'ok');
  });

  test('and has marked for deletion is there for nobody, until it takes the mark away', async () => {
    const { id } = await smb.open('dir/file', { access: DELETES });
    await smb.opens.markForDeletion(id, true);
    for (const call of [
      () => file().getProperties(),
      () => file().download(),
      () => file().uploadRange('x', 0, 1),
      () => file().create(1),
      () => file().setMetadata({}),
      () => file().delete(),
    ]) {
      assert.equal(await refusal(call()), '409 SMBDeletePending');
    }
    for await (const { name } of rest.getDirectoryClient('dir').listFilesAndDirectories()) assert.fail(name);
    for await (const { handleId } of file().listHandles()) assert.match(handleId, /^\d+$/);
    await smb.opens.markForDeletion(id, false);
    assert.equal(await outcome(file().getProperties()), 'ok');
  });
});
