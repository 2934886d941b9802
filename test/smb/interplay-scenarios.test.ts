/**
 * Short stories of one file between REST and SMB, as people meet them, each from its beginning to its end. The SMB clients speak
 * 2.1, in which everything is signed; those of the other files speak 3.0, and encrypt.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MISSING, namesIn, putFile, textOf } from '../file/racing.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { READ_ONLY } from '../harness/impacket-client.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { ACCESSES, DELAY, LOCKED, openStage, PENDING, READ_ONLY_FILE, resultOf, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage({ dialect: '2.1' });

const MEBIBYTE = 1024 * 1024;

describe('a file between REST and SMB', { skip: missingTool('impacket') }, () => {
  test('is open to be read and shared with writers alone: REST does not read it until it is closed', async () => {
    const { file, path } = await stage.scene();
    const open = await (await stage.smb()).open(path, { access: 'R', share: 'W' });
    assert.equal(await refusal(textOf(file)), VIOLATION);
    await open.close();
    assert.equal(await textOf(file), TEXT);
  });

  test('is open to be written and shared with readers alone, and its writes are cached: REST does not write it, and reads what the client then writes', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { access: 'W', share: 'R', lease: 'RW' });
    assert.equal(await refusal(file.uploadRange('x', 0, 1)), VIOLATION);
    const reading = textOf(file);
    assert.equal((await open.nextBreak()).what, 'RW to R');
    await open.write('cached');
    await open.answer('R');
    assert.equal(await reading, `cached${TEXT.slice(6)}`);
    await open.close();
  });

  test('has a mebibyte that only a client knows: REST waits for it, and a second time for nothing', async () => {
    const { file, path } = await stage.scene('');
    const smb = await stage.smb();
    const open = await smb.open(path, { lease: 'RWH' });
    const reading = file.downloadToBuffer();
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    await open.write(Buffer.alloc(MEBIBYTE, 'dirty'));
    await open.answer('RH');
    assert.ok((await reading).equals(Buffer.alloc(MEBIBYTE, 'dirty')));
    assert.equal((await file.downloadToBuffer()).length, MEBIBYTE);
    await smb.echo();
    assert.deepEqual(open.unheard, []);
    await open.close();
  });

  test('is cached by a reader: Put Range does not wait, and the reader is told', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { lease: 'RH' });
    await file.uploadRange('other', 0, 5);
    assert.equal((await open.nextBreak()).what, 'RH to none');
    await open.answer('');
    assert.equal(await open.read(0, 5), 'other');
    await open.close();
  });

  test('is kept open by a client whose program has closed it: REST deletes it once the client has, too', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { lease: 'RH' });
    const deleting = file.delete();
    assert.equal((await open.nextBreak()).what, 'RH to R');
    await open.close();
    await deleting;
    assert.equal(await refusal(file.getProperties()), MISSING);
  });

  test('is kept open by a client whose program uses it: REST does not delete it, and the client caches its reads on', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { lease: 'RH' });
    const deleting = refusal(file.delete());
    assert.equal((await open.nextBreak()).what, 'RH to R');
    await open.answer('R');
    assert.equal(await deleting, VIOLATION);
    await file.uploadRange('other', 0, 5);
    assert.equal((await open.nextBreak()).what, 'R to none, unanswered');
    await open.close();
  });

  test('is cached by a client that does not answer: the request ends after its timeout', async () => {
    const { path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path, { lease: 'RWH' });
    const reading = send(stage.server.fileUrl, { method: 'GET', path: `/${stage.share.name}/${path}?timeout=2` });
    assert.equal((await open.nextBreak()).what, 'RWH to RH');
    stage.server.clock.advance({ seconds: 2 });
    assert.equal((await reading).outcome, DELAY);
    await open.close();
  });

  test('is marked for deletion: REST neither reaches nor lists it, until the mark is taken back', async () => {
    const { file, path } = await stage.scene();
    const open = await (await stage.smb()).open(path);
    await open.markForDeletion(true);
    assert.equal(await refusal(file.getProperties()), PENDING);
    assert.ok(!(await namesIn(stage.share)).includes(path));
    await open.markForDeletion(false);
    await file.getProperties();
    assert.ok((await namesIn(stage.share)).includes(path));
    await open.close();
  });

  test('has its attributes looked at: REST writes it, and does not delete it', async () => {
    const { file, path } = await stage.scene();
    const open = await (await stage.smb()).open(path, { access: '', share: '' });
    await file.uploadRange('other', 0, 5);
    assert.equal(await refusal(file.delete()), VIOLATION);
    await open.close();
    await file.delete();
  });

  test('has its first bytes locked: REST writes nowhere in it, and reads what is not locked', async () => {
    const { file, path } = await stage.scene();
    await file.resize(2 * MEBIBYTE);
    const open = await (await stage.smb()).open(path);
    await open.lock(0, 10);
    assert.equal(await refusal(file.uploadRange('x', MEBIBYTE, 1)), LOCKED);
    assert.equal((await file.downloadToBuffer(100, 100)).length, 100);
    assert.equal(await refusal(file.downloadToBuffer(5, 100)), LOCKED);
    await open.close();
    await file.uploadRange('x', MEBIBYTE, 1);
  });

  test('is to be leased beside an open of every kind: only where the open reads at most, and shares all', async () => {
    const got: Record<string, string> = {};
    const want: Record<string, string> = {};
    const smb = await stage.smb();
    for (const access of ['', 'R', 'W', 'RW']) {
      for (const share of ACCESSES) {
        const { file, path } = await stage.scene();
        const cell = `${access} shares ${share}`;
        await smb.with(path, { access, share }, async () => {
          got[cell] = await outcome(file.getShareLeaseClient().acquireLease());
        });
        want[cell] = access === '' || (access === 'R' && share === 'RWD') ? 'ok' : VIOLATION;
      }
    }
    assert.deepEqual(got, want);
  });

  test('is leased: SMB reads it, and writes and deletes it once the lease is broken', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const lease = file.getShareLeaseClient();
    await lease.acquireLease();
    await smb.with(path, { access: 'R' }, async (open) => assert.equal(await open.read(), TEXT));
    for (const access of ['W', 'D']) assert.equal(await smbOutcome(smb.open(path, { access })), 'SHARING_VIOLATION');
    await lease.breakLease();
    await smb.with(path, { access: 'WD' }, (open) => open.write('other'));
    assert.equal(await textOf(file), `other${TEXT.slice(5)}`);
  });

  test('is written by REST while a client watches: the client hears of nothing, until SMB changes something', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    const file = await putFile(stage.share, `${name}/file`, TEXT);
    const smb = await stage.smb();
    const directory = await smb.open(name, { kind: 'directory', access: 'R' });
    const watching = directory.notify();
    await watching.pending;
    await file.uploadRange('other', 0, 5);
    await watching.cancel();
    assert.equal(await smbOutcome(watching.answer), 'CANCELLED');
    await directory.close();
  });

  test('is closed by force: the client’s next read is told', async () => {
    const { file, path } = await stage.scene();
    const open = await (await stage.smb()).open(path, { share: '' });
    await file.forceCloseAllHandles();
    assert.equal(await smbOutcome(open.read()), 'FILE_CLOSED');
    assert.equal(await textOf(file), TEXT);
  });

  test('is written over SMB: its ETag is the same until the close, and another after it', async () => {
    const { file, path } = await stage.scene();
    const { etag } = await file.getProperties();
    const open = await (await stage.smb()).open(path);
    await open.write('other');
    assert.equal((await file.getProperties()).etag, etag);
    await open.close();
    assert.notEqual((await file.getProperties()).etag, etag);
  });

  test('is made read-only over SMB: REST does not write it', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, { access: 'A' }, (open) => open.setBasic({ attributes: READ_ONLY }));
    assert.equal(await refusal(file.uploadRange('x', 0, 1)), READ_ONLY_FILE);
  });

  test('is open in a directory that is to be renamed: neither REST nor SMB renames it', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    await putFile(stage.share, `${name}/file`, TEXT);
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const open = await smb.open(`${name}/file`, { access: 'R' });
    const to = stage.freshPath();
    assert.equal(await resultOf(stage.rename(name, to, { kind: 'directory' })), VIOLATION);
    await other.with(name, { kind: 'directory', access: 'RD' }, async (directory) => {
      assert.equal(await smbOutcome(directory.rename(to)), 'ACCESS_DENIED');
    });
    await open.close();
    await other.with(name, { kind: 'directory', access: 'RD' }, (directory) => directory.rename(to));
    assert.deepEqual(await namesIn(stage.share, to), ['file']);
  });

  test('is shared with writers and deleters: REST creates it anew, and does not read it', async () => {
    const { file, path } = await stage.scene();
    const open = await (await stage.smb()).open(path, { share: 'WD' });
    await file.create(3);
    assert.equal(await refusal(textOf(file)), VIOLATION);
    await open.close();
    assert.equal(await textOf(file), '\0\0\0');
  });

  test('is open twice, and each shares something else: REST does what both share', async () => {
    const { file, path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const open = await smb.open(path, { access: 'R', share: 'RW' });
    const second = await other.open(path, { access: 'R', share: 'RD' });
    assert.equal(await textOf(file), TEXT);
    assert.equal(await refusal(file.uploadRange('x', 0, 1)), VIOLATION);
    await second.close();
    await file.uploadRange('x', 0, 1);
    await open.close();
  });

  test('is a directory that a client has open: REST does not delete it', async () => {
    const name = stage.freshPath();
    const directory = stage.share.getDirectoryClient(name);
    await directory.create();
    const open = await (await stage.smb()).open(name, { kind: 'directory', access: 'R' });
    assert.equal(await refusal(directory.delete()), VIOLATION);
    await open.close();
    await directory.delete();
  });
});
