/**
 * What REST does to files that SMB clients have open, what SMB clients do as REST sees it, and attributes, which count on both
 * sides.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FileSystemAttributes, type HandleItem, type ShareFileClient } from '@azure/storage-file-share';
import { fileAt, MISSING, namesIn, putFile, textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { READ_ONLY } from '../harness/impacket-client.ts';
import { SmbRefusal, smbOutcome } from '../harness/smb-refusal.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { RENAME_ONTO, WRITERS } from './rest-operations.ts';
import { openStage, READ_ONLY_FILE, resultOf, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

const GIB = 1024 ** 3;
/** From 1601 to 1970. */
const EPOCH_MS = 11_644_473_600_000;

async function handlesOf(file: ShareFileClient): Promise<HandleItem[]> {
  const handles: HandleItem[] = [];
  for await (const handle of file.listHandles()) handles.push(handle);
  return handles;
}

describe('a file that is read-only', { skip }, () => {
  const setBy: readonly (readonly [by: string, set: (file: ShareFileClient, path: string) => Promise<unknown>])[] = [
    [
      'SMB',
      async (_file, path) => {
        const smb = await stage.smb();
        await smb.with(path, { access: 'A' }, (open) => open.setBasic({ attributes: READ_ONLY }));
      },
    ],
    [
      'REST',
      (file) => {
        const fileAttributes = new FileSystemAttributes();
        fileAttributes.readonly = true;
        return file.setProperties({ fileAttributes });
      },
    ],
  ];
  for (const [by, set] of setBy) {
    for (const [name, act] of [...WRITERS, RENAME_ONTO]) {
      test(`by ${by}: ${name} is refused`, async () => {
        const scene = await stage.scene();
        await set(scene.file, scene.path);
        assert.equal(await resultOf(act(scene)), READ_ONLY_FILE);
        assert.equal(await textOf(scene.file), TEXT);
      });
    }

    test(`by ${by}: SMB opens it to read, and not to write or to delete with its close`, async () => {
      const { file, path } = await stage.scene();
      await set(file, path);
      const smb = await stage.smb();
      await smb.with(path, { access: 'R' }, async (open) => assert.equal(await open.read(), TEXT));
      for (const access of ['W', 'RW', 'RWD']) {
        assert.equal(await smbOutcome(smb.open(path, { access })), 'ACCESS_DENIED', access);
      }
      const deleting = smb.open(path, { access: 'RD', deletesOnClose: true });
      assert.equal(await smbOutcome(deleting), 'CANNOT_DELETE');
      await smb.with(path, { access: 'RD' }, async (open) => {
        assert.equal(await smbOutcome(open.markForDeletion(true)), 'CANNOT_DELETE');
      });
    });
  }

  test('is written again once the attribute is taken away, by either', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const [[, setBySmb]] = setBy as [(typeof setBy)[number]];
    await setBySmb(file, path);
    const fileAttributes = new FileSystemAttributes();
    fileAttributes.archive = true;
    await file.setProperties({ fileAttributes });
    await file.uploadRange('other', 0, 5);
    await setBySmb(file, path);
    await smb.with(path, { access: 'A' }, (open) => open.setBasic({ attributes: 0x80 }));
    await file.uploadRange('third', 0, 5);
  });

  test('is copied over and renamed over by whoever says so', async () => {
    const [, [, setByRest]] = setBy as [(typeof setBy)[number], (typeof setBy)[number]];
    const copied = await stage.scene();
    await setByRest(copied.file, copied.path);
    await copied.file.startCopyFromURL((await stage.source()).url, { copyFileSmbInfo: { ignoreReadOnly: true } });
    const renamed = await stage.scene();
    await setByRest(renamed.file, renamed.path);
    const headers = { 'x-ms-file-rename-ignore-readonly': 'true' };
    await stage.rename((await stage.source()).name, renamed.path, { headers });
  });

  test('and a directory that is: children are made in it', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    const smb = await stage.smb();
    await smb.with(name, { access: 'A', kind: 'directory' }, (open) => open.setBasic({ attributes: READ_ONLY }));
    await smb.with(`${name}/one`, { disposition: 'create' }, (open) => open.write('x'));
    await putFile(stage.share, `${name}/other`, 'x');
    assert.deepEqual((await namesIn(stage.share, name)).toSorted(), ['one', 'other']);
  });
});

describe('what REST does to a file that an SMB client has open', { skip }, () => {
  test('Put Range and a new size show with the next read', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      await file.uploadRange('other', 0, 5);
      assert.equal(await open.read(), `other${TEXT.slice(5)}`);
      await file.resize(3);
      assert.equal(await open.read(), 'oth');
      assert.equal(await smbOutcome(open.read(3, 1)), 'END_OF_FILE');
      assert.equal((await open.standard()).lengthBytes, 3);
      await file.resize(5);
      assert.equal(await open.read(), 'oth\0\0');
    });
  });

  test('Create over it leaves the handle to the new content', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, { share: 'WD' }, async (open) => {
      await file.create(4);
      assert.equal(await open.read(), '\0\0\0\0');
      await open.write('new');
    });
    assert.equal(await textOf(file), 'new\0');
  });

  test('Set File Metadata shows in nothing but the time of change', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      const before = await open.basic();
      stage.server.clock.advance({ seconds: 1 });
      await file.setMetadata({ a: 'b' });
      const { ChangeTime, ...rest } = await open.basic();
      const { ChangeTime: changedBefore, ...restBefore } = before;
      assert.deepEqual(rest, restBefore);
      assert.ok(BigInt(ChangeTime) > BigInt(changedBefore));
      assert.equal(await open.read(), TEXT);
    });
  });

  test('Rename leaves the handle to the file under its new name', async () => {
    const { path } = await stage.scene();
    const smb = await stage.smb();
    const to = stage.freshPath();
    await smb.with(path, {}, async (open) => {
      const { fileId } = await open.all();
      await stage.rename(path, to);
      const after = await open.all();
      assert.equal(after.fileId, fileId);
      assert.ok(after.name.endsWith(to), after.name);
      await open.write('other');
    });
    assert.equal(await textOf(stage.at(to)), `other${TEXT.slice(5)}`);
  });

  test('Force Close Handles ends the open with its locks and caches', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { share: 'R', lease: 'RH' });
    await open.lock(0, 4);
    const [handle] = await handlesOf(file);
    const { closedHandlesCount } = await file.forceCloseHandle(handle?.handleId as string);
    assert.equal(closedHandlesCount, 1);
    assert.deepEqual(await handlesOf(file), []);
    const acts = [open.read(), open.write('x'), open.lock(8, 1), open.flush(), open.standard()];
    const outcomes = await Promise.all(acts.map(smbOutcome));
    assert.deepEqual([...new Set(outcomes)], ['FILE_CLOSED']);
    await file.uploadRange('other', 0, 5);
    await file.delete();
    assert.deepEqual(open.unheard, []);
  });

  test('Delete Share ends everything in it', async () => {
    const share = await freshShare(stage.server);
    const file = await putFile(share, 'file', TEXT);
    await file.getShareLeaseClient().acquireLease();
    const smb = await stage.freshSmb(share.name);
    const open = await smb.open('file', { access: 'R', share: '' });
    await share.delete();
    const outcomes = [await smbOutcome(open.read()), await smbOutcome(smb.open('file'))];
    assert.deepEqual(outcomes, ['NETWORK_NAME_DELETED', 'NETWORK_NAME_DELETED']);
    assert.equal(await smbOutcome(smb.useShare(share.name)), 'BAD_NETWORK_NAME');
  });

  test('Snapshot Share asks no client for anything, and takes what the server has', async () => {
    const share = await freshShare(stage.server);
    await putFile(share, 'file', TEXT);
    const smb = await stage.freshSmb(share.name);
    const open = await smb.open('file', { lease: 'RWH', share: '' });
    const { snapshot = '' } = await share.createSnapshot();
    const before = fileAt(share.withSnapshot(snapshot), 'file');
    assert.equal(await textOf(before), TEXT);
    await open.write('other');
    assert.equal(await textOf(before), TEXT);
    await smb.echo();
    assert.deepEqual(open.unheard, []);
    await open.close();
  });

  test('a quota counts for what SMB writes', async () => {
    const share = await freshShare(stage.server);
    await putFile(share, 'file', TEXT);
    const smb = await stage.freshSmb(share.name);
    await smb.with('file', {}, async (open) => {
      await open.setEndOfFile(2 * GIB);
      await open.setEndOfFile(1);
      await share.setQuota(1);
      assert.equal(await smbOutcome(open.setEndOfFile(2 * GIB)), 'DISK_FULL');
      assert.equal(await smbOutcome(open.write('x', 2 * GIB)), 'DISK_FULL');
      assert.equal((await open.standard()).lengthBytes, 1);
    });
  });

  test('is not told to whoever watches the directory; what SMB does is', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const directory = await smb.open(name, { kind: 'directory', access: 'R' });
    const watching = directory.notify();
    await watching.pending;
    const file = await putFile(stage.share, `${name}/by-rest`, TEXT);
    await file.uploadRange('other', 0, 5);
    await stage.rename(`${name}/by-rest`, `${name}/renamed-by-rest`);
    await stage.at(`${name}/renamed-by-rest`).delete();
    await other.with(`${name}/by-smb`, { disposition: 'create' }, async () => {});
    const [first] = await watching.answer;
    assert.equal(first?.name, 'by-smb');
    assert.equal(first?.action, 1);
    await directory.close();
  });
});

describe('what an SMB client does, as REST sees it', { skip }, () => {
  test('a file that it makes is there at once: empty, with the archive attribute', async () => {
    const path = stage.freshPath();
    const smb = await stage.smb();
    await smb.with(path, { disposition: 'create', kind: 'file' }, async () => {
      const found = await stage.at(path).getProperties();
      assert.equal(found.contentLength, 0);
      assert.equal(found.fileAttributes, 'Archive');
      assert.ok(found.etag && found.filePermissionKey && found.lastModified);
      assert.ok((await namesIn(stage.share)).includes(path));
    });
  });

  test('a directory likewise', async () => {
    const name = stage.freshPath();
    const smb = await stage.smb();
    await smb.with(name, { disposition: 'create', kind: 'directory', access: 'R' }, async () => {
      assert.equal((await stage.share.getDirectoryClient(name).getProperties()).fileAttributes, 'Directory');
    });
  });

  test('bytes show as soon as they are written; ETag and Last-Modified move when the handle is closed', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const before = await file.getProperties();
    stage.server.clock.advance({ seconds: 2 });
    await smb.with(path, {}, async (open) => {
      await open.write('other');
      await open.setEndOfFile(5);
      assert.equal(await textOf(file), 'other');
      const meanwhile = await file.getProperties();
      assert.equal(meanwhile.etag, before.etag);
      assert.deepEqual(meanwhile.lastModified, before.lastModified);
      assert.ok((meanwhile.fileLastWriteOn as Date) > (before.fileLastWriteOn as Date));
      assert.ok((meanwhile.fileChangeOn as Date) > (before.fileChangeOn as Date));
      stage.server.clock.advance({ seconds: 2 });
    });
    const after = await file.getProperties();
    assert.notEqual(after.etag, before.etag);
    assert.ok((after.lastModified as Date) > (before.lastModified as Date));
  });

  test('a handle through which nothing was written is closed without a trace', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const before = await file.getProperties();
    stage.server.clock.advance({ seconds: 2 });
    await smb.with(path, {}, async (open) => assert.equal(await open.read(), TEXT));
    const after = await file.getProperties();
    assert.equal(after.etag, before.etag);
    assert.deepEqual([after.lastModified, after.fileChangeOn], [before.lastModified, before.fileChangeOn]);
  });

  test('attributes, times and a new name show at once', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const to = stage.freshPath();
    const time = (Date.parse('2001-02-03T04:05:06Z') + EPOCH_MS) * 10_000;
    await smb.with(path, { access: 'RWDA' }, async (open) => {
      await open.setBasic({ attributes: 0x2, times: [time, 0, time, 0] });
      const found = await file.getProperties();
      assert.equal(found.fileAttributes, 'Hidden');
      assert.equal(found.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.000Z');
      assert.equal(found.fileLastWriteOn?.toISOString(), '2001-02-03T04:05:06.000Z');
      await open.rename(to);
      assert.equal(await refusal(textOf(file)), MISSING);
      assert.equal(await textOf(stage.at(to)), TEXT);
    });
    assert.ok((await namesIn(stage.share)).includes(to), 'hidden files are listed');
  });

  test('metadata, MD5 and headers stay when bytes are written or replaced', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.setMetadata({ kept: 'yes' });
    await file.setHttpHeaders({ fileContentType: 'text/plain', fileContentMD5: Buffer.alloc(16, 7) });
    await smb.with(path, {}, (open) => open.write('other'));
    const written = await file.getProperties();
    assert.deepEqual(written.metadata, { kept: 'yes' });
    assert.equal(written.contentType, 'text/plain');
    assert.deepEqual(Buffer.from(written.contentMD5 as Uint8Array), Buffer.alloc(16, 7));
    await smb.with(path, { disposition: 'overwrite' }, async () => {});
    const replaced = await file.getProperties();
    assert.deepEqual([replaced.metadata, replaced.contentLength], [{ kept: 'yes' }, 0]);
  });

  test('handles are listed with what they do, files and directories', async () => {
    const name = stage.freshPath();
    const directory = stage.share.getDirectoryClient(name);
    await directory.create();
    await putFile(stage.share, `${name}/file`, TEXT);
    const smb = await stage.smb();
    const opens = [
      await smb.open(`${name}/file`, { access: 'RD' }),
      await smb.open(`${name}/file`, { access: 'W' }),
      await smb.open(`${name}/file`, { access: '' }),
      await smb.open(name, { kind: 'directory', access: 'R' }),
    ];
    const handles: HandleItem[] = [];
    for await (const handle of directory.listHandles({ recursive: true })) handles.push(handle);
    assert.deepEqual(
      handles.map(({ path, accessRightList = [] }) => `${path} ${accessRightList.join('+')}`).toSorted(),
      [`${name} Read`, `${name}/file `, `${name}/file Read+Delete`, `${name}/file Write`],
    );
    assert.equal(new Set(handles.map(({ handleId }) => handleId)).size, 4);
    assert.equal(new Set(handles.map(({ sessionId }) => sessionId)).size, 1);
    for (const { clientIp, fileId } of handles) {
      assert.match(clientIp, /^127\.0\.0\.1:\d+$/);
      assert.ok(fileId);
    }
    const { fileId } = await (opens[0] as (typeof opens)[number]).all();
    assert.equal(handles.filter((handle) => handle.fileId === fileId).length, 3);
    for (const open of opens) await open.close();
    assert.deepEqual(await handlesOf(stage.at(`${name}/file`)), []);
  });
});

describe('a connection that is lost', { skip }, () => {
  test('takes its opens with it', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.freshSmb();
    const other = await stage.smb();
    await smb.open(path, { share: '' });
    assert.equal(await refusal(textOf(file)), VIOLATION);
    await smb.disconnect();
    const what = 'the open is gone';
    await until(
      { what, limitSeconds: 20 },
      async () => (await smbOutcome(other.with(path, {}, async () => {}))) === 'ok',
    );
    assert.equal(await textOf(file), TEXT);
  });

  test('leaves a durable open behind: it is listed, and once it is closed by force its client finds nothing', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.freshSmb();
    const open = await smb.open(path, { share: 'R', oplock: 'batch', isDurable: true });
    assert.equal(open.opened.isDurable, true);
    await smb.disconnect();
    const [handle] = await handlesOf(file);
    assert.equal(handle?.path, path);
    assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 1);
    const again = await stage.freshSmb();
    const reconnecting = again.open(path, { share: 'R', oplock: 'batch', reconnects: open.opened.file });
    assert.equal(await smbOutcome(reconnecting), 'OBJECT_NAME_NOT_FOUND');
    await file.delete();
  });

  test('comes back to its durable open', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.freshSmb();
    const open = await smb.open(path, { share: 'R', oplock: 'batch', isDurable: true });
    await open.write('other');
    await smb.disconnect();
    const again = await stage.freshSmb();
    const options = { share: 'R', oplock: 'batch', reconnects: open.opened.file } as const;
    // The server may not have seen yet that the other connection is gone.
    const back = await until({ what: 'the open is there again', limitSeconds: 20 }, () =>
      again.open(path, options).catch((error: unknown) => {
        if (error instanceof SmbRefusal) return null;
        throw error;
      }),
    );
    assert.equal(await back.read(0, 5), 'other');
    const [handle] = await handlesOf(file);
    assert.ok(handle?.lastReconnectTime instanceof Date);
    await back.close();
    assert.equal(await textOf(file), `other${TEXT.slice(5)}`);
  });
});
