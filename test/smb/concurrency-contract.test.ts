/**
 * The concurrency contract of files, sentence by sentence (C25 to C29), with both clients: the official one over REST and
 * impacket over SMB.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLIENTS, fileAt, MISSING, namesIn, putFile, raceOn, textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { successes, together } from '../harness/parallel.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { GET_PROPERTIES, MATRIX_COLUMNS } from './rest-operations.ts';
import { openStage, PENDING, resultOf, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();
const race = raceOn(stage.server);

describe('files over REST and SMB', { skip: missingTool('impacket') }, () => {
  test('C25 what one side has acknowledged the other reads, both ways', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      for (let round = 0; round < 10; round++) {
        await file.uploadRange(`rest ${round}`, 0, 6);
        assert.equal(await open.read(0, 6), `rest ${round}`);
        await open.write(`smb  ${round}`);
        assert.equal((await file.downloadToBuffer(0, 6)).toString(), `smb  ${round}`);
      }
    });
  });

  test('C25 names are the same on both sides, whatever their case', async () => {
    const name = stage.freshPath();
    const smb = await stage.smb();
    await smb.with(name, { disposition: 'create', kind: 'directory', access: 'R' }, async () => {});
    await putFile(stage.share, `${name}/Datei.txt`, TEXT);
    await smb.with(`${name}/datei.TXT`, {}, async (open) => assert.equal(await open.read(), TEXT));
    await smb.with(name, { kind: 'directory', access: 'R' }, async (directory) => {
      assert.deepEqual(
        (await directory.list()).map((entry) => [entry.name, entry.lengthBytes]),
        [['Datei.txt', TEXT.length]],
      );
    });
    assert.deepEqual(await namesIn(stage.share, name), ['Datei.txt']);
  });

  test('C25 REST updates check nothing, also beside SMB writers: every byte of all of them is there', async () => {
    const { path } = await stage.scene('.'.repeat(2 * CLIENTS));
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      const writing = together(CLIENTS, (index) => open.write('S', CLIENTS + index));
      successes(await race(stage.share, (share, index) => fileAt(share, path).uploadRange('R', index, 1)));
      successes(await writing);
    });
    assert.equal(await textOf(stage.at(path)), 'R'.repeat(CLIENTS) + 'S'.repeat(CLIENTS));
  });

  for (const access of ['W', 'RW']) {
    test(`C26 an SMB open to do ${access} that shares nothing locks the file until it is closed`, async () => {
      for (const [name, act] of MATRIX_COLUMNS) {
        const scene = await stage.scene();
        const smb = await stage.smb();
        await smb.with(scene.path, { access, share: '' }, async (open) => {
          assert.equal(await resultOf(act(scene)), VIOLATION, name);
          await open.write('other');
        });
        assert.equal(await resultOf(act(scene)), 'ok', name);
      }
    });
  }

  test('C26 of many opens that share nothing one is there, and REST is refused meanwhile', async () => {
    const { file, path } = await stage.scene();
    const clients = [await stage.smb(), await stage.smb('second'), await stage.smb('third')];
    for (let round = 0; round < 5; round++) {
      const results = await together(9, (index) =>
        (clients[index % clients.length] as (typeof clients)[number]).open(path, { share: '' }),
      );
      const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      assert.equal(opened.length, 1);
      for (const result of results) {
        if (result.status === 'rejected') {
          assert.equal(await smbOutcome(Promise.reject(result.reason as Error)), 'SHARING_VIOLATION');
        }
      }
      assert.equal(await refusal(textOf(file)), VIOLATION);
      await opened[0]?.close();
      assert.equal(await textOf(file), TEXT);
    }
  });

  test('C27 a file marked for deletion stays until every other handle is closed, and may be taken back; then it is gone', async () => {
    const scene = await stage.scene();
    const { file, path } = scene;
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const [open, second] = [await smb.open(path), await other.open(path)];
    await open.markForDeletion(true);
    for (const [name, act] of [...MATRIX_COLUMNS, GET_PROPERTIES]) {
      assert.equal(await resultOf(act(scene)), PENDING, name);
    }
    await second.markForDeletion(false);
    assert.equal(await textOf(file), TEXT);
    await open.markForDeletion(true);
    await open.close();
    assert.equal(await refusal(file.getProperties()), PENDING);
    assert.equal(await second.read(), TEXT);
    await second.close();
    assert.equal(await refusal(file.getProperties()), MISSING);
  });

  test('C28 a file with a pending deletion is left out of List Directories and Files', async () => {
    const name = stage.freshPath();
    await stage.share.createDirectory(name);
    for (const each of ['a', 'b', 'c']) await putFile(stage.share, `${name}/${each}`, TEXT);
    const smb = await stage.smb();
    const open = await smb.open(`${name}/b`);
    await open.markForDeletion(true);
    assert.deepEqual(await namesIn(stage.share, name), ['a', 'c']);
    await open.markForDeletion(false);
    assert.deepEqual(await namesIn(stage.share, name), ['a', 'b', 'c']);
    await open.markForDeletion(true);
    await open.close();
    assert.deepEqual(await namesIn(stage.share, name), ['a', 'c']);
  });

  test('C29 Delete File and Delete Directory leave nothing pending: an SMB open finds the file, or nothing', async () => {
    const smb = await stage.smb();
    const path = stage.freshPath();
    for (let round = 0; round < 10; round++) {
      const file = await putFile(stage.share, path, TEXT);
      const [deleted, opened] = await Promise.all([
        resultOf(file.delete()),
        smb.open(path, { access: 'R' }).then(
          (open) => open.close().then(() => 'opened'),
          (error: unknown) => smbOutcome(Promise.reject(error as Error)),
        ),
      ]);
      if (deleted === 'ok') assert.ok(opened === 'opened' || opened === 'OBJECT_NAME_NOT_FOUND', opened);
      else assert.deepEqual([deleted, opened], [VIOLATION, 'opened']);
      if (deleted !== 'ok') await file.delete();
      assert.equal(await smbOutcome(smb.open(path)), 'OBJECT_NAME_NOT_FOUND');
      await stage.share.createDirectory(path);
      await stage.share.deleteDirectory(path);
      assert.equal(await smbOutcome(smb.open(path)), 'OBJECT_NAME_NOT_FOUND');
    }
  });
});
