/**
 * Deletions that an SMB client has asked for and that are not carried out yet, as REST and other SMB clients see them; and
 * deletions by REST, which are never pending.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MISSING, NOT_EMPTY, namesIn, putFile, textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { ALL_OF_FILE } from './rest-operations.ts';
import { openStage, PENDING, resultOf, TEXT } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

describe('while a file is marked for deletion', { skip }, () => {
  for (const [name, act] of ALL_OF_FILE) {
    test(`${name} is refused, and not for the lack of the file`, async () => {
      const scene = await stage.scene();
      const smb = await stage.smb();
      const open = await smb.open(scene.path);
      await open.markForDeletion(true);
      assert.equal(await resultOf(act(scene)), PENDING);
      await open.markForDeletion(false);
      await open.close();
    });
  }

  test('it is left out of listings, and back in them once the mark is taken back', async () => {
    const { path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path);
    await open.markForDeletion(true);
    assert.ok(!(await namesIn(stage.share)).includes(path));
    await open.markForDeletion(false);
    assert.ok((await namesIn(stage.share)).includes(path));
    await open.close();
    assert.ok((await namesIn(stage.share)).includes(path));
  });

  test('it cannot be opened over SMB, and those who have it open use it on', async () => {
    const { path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const [open, second] = [await smb.open(path), await other.open(path)];
    await open.markForDeletion(true);
    assert.equal(await smbOutcome(other.open(path)), 'DELETE_PENDING');
    assert.equal(await smbOutcome(other.open(path, { disposition: 'create' })), 'DELETE_PENDING');
    assert.equal((await second.standard()).isPending, true);
    assert.equal(await second.read(), TEXT);
    await second.write('other');
    await open.markForDeletion(false);
    assert.equal((await second.standard()).isPending, false);
    for (const each of [open, second]) await each.close();
  });

  test('its handles are listed and closed by force, and with the last one it goes', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path);
    await open.markForDeletion(true);
    const handles = [];
    for await (const handle of file.listHandles()) handles.push(handle.path);
    assert.deepEqual(handles, [path]);
    assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 1);
    assert.equal(await refusal(file.getProperties()), MISSING);
    assert.equal(await smbOutcome(open.read()), 'FILE_CLOSED');
  });

  test('nothing is made in a directory that is marked', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    const smb = await stage.smb();
    const open = await smb.open(name, { kind: 'directory' });
    await open.markForDeletion(true);
    assert.equal(await smbOutcome(smb.open(`${name}/file`, { disposition: 'create' })), 'DELETE_PENDING');
    assert.equal(await refusal(stage.at(`${name}/file`).create(1)), PENDING);
    await open.close();
    assert.equal(await refusal(stage.share.getDirectoryClient(name).getProperties()), MISSING);
  });

  test('the directory that it is in is not empty', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    await putFile(stage.share, `${name}/file`, TEXT);
    const smb = await stage.smb();
    const open = await smb.open(`${name}/file`);
    await open.markForDeletion(true);
    assert.equal(await refusal(stage.share.getDirectoryClient(name).delete()), NOT_EMPTY);
    await open.close();
    await stage.share.getDirectoryClient(name).delete();
  });
});

describe('a deletion that an SMB client asked for', { skip }, () => {
  test('is taken back before the last close, and nothing has happened', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const open = await smb.open(path);
    await open.markForDeletion(true);
    assert.equal(await refusal(file.getProperties()), PENDING);
    await open.markForDeletion(false);
    await open.close();
    assert.equal(await textOf(file), TEXT);
  });

  test('is carried out with the last handle, whoever marked it', async () => {
    const { file, path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const [open, second] = [await smb.open(path), await other.open(path)];
    await open.markForDeletion(true);
    await open.close();
    assert.equal(await refusal(textOf(file)), PENDING);
    await second.close();
    assert.equal(await refusal(textOf(file)), MISSING);
    assert.equal(await smbOutcome(smb.open(path)), 'OBJECT_NAME_NOT_FOUND');
    await file.create(1);
  });

  test('with the close of an open that was made for it begins with that close', async () => {
    const { file, path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const open = await smb.open(path, { deletesOnClose: true });
    const second = await other.open(path);
    assert.equal(await textOf(file), TEXT);
    await open.close();
    assert.equal(await refusal(file.getProperties()), PENDING);
    await second.close();
    assert.equal(await refusal(file.getProperties()), MISSING);
  });

  test('of a directory with something in it is refused', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    await putFile(stage.share, `${name}/file`, TEXT);
    const smb = await stage.smb();
    await smb.with(name, { kind: 'directory' }, async (open) => {
      assert.equal(await smbOutcome(open.markForDeletion(true)), 'DIRECTORY_NOT_EMPTY');
    });
    assert.deepEqual(await namesIn(stage.share, name), ['file']);
  });

  test('by one who may not delete is refused', async () => {
    const { path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, { access: 'RW' }, async (open) => {
      assert.equal(await smbOutcome(open.markForDeletion(true)), 'ACCESS_DENIED');
    });
  });
});

describe('a deletion by REST', { skip }, () => {
  test('of a file is done when it is answered: both sides make something new of the name at once', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.delete();
    assert.equal(await smbOutcome(smb.open(path)), 'OBJECT_NAME_NOT_FOUND');
    await smb.with(path, { disposition: 'create' }, (open) => open.write('of SMB'));
    assert.equal(await textOf(file), 'of SMB');
    await file.delete();
    await smb.with(path, { disposition: 'create', kind: 'directory', access: 'R' }, async () => {});
    await stage.share.getDirectoryClient(path).delete();
    await file.create(1);
  });
});
