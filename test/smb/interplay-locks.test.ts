/** Byte-range locks of SMB clients, as REST meets them: what they keep off, what they do not, and what comes before them. */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { BYTE_WRITERS, DELETE, GET, LOCK_BLIND } from './rest-operations.ts';
import { LOCKED, openStage, resultOf, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

/** Far behind the end of the file, and what REST writes. */
const FAR_BYTES = 1024 * 1024;

describe('REST beside byte-range locks', { skip }, () => {
  for (const isExclusive of [true, false]) {
    const kind = isExclusive ? 'an exclusive' : 'a shared';
    for (const [where, offset] of [
      ['on what it writes', 0],
      ['elsewhere in the file', 7],
      ['behind its end', FAR_BYTES],
    ] as const) {
      for (const [name, act] of BYTE_WRITERS) {
        test(`${name} is refused while there is ${kind} lock ${where}, and goes on without it`, async () => {
          const scene = await stage.scene();
          const smb = await stage.smb();
          await smb.with(scene.path, {}, async (open) => {
            await open.lock(offset, 2, { isExclusive });
            assert.equal(await resultOf(act(scene)), LOCKED);
            await open.unlock(offset, 2);
            assert.equal(await resultOf(act(scene)), 'ok');
          });
        });
      }
    }

    for (const [name, act] of LOCK_BLIND) {
      test(`${name} does not see ${kind} lock`, async () => {
        const scene = await stage.scene();
        const smb = await stage.smb();
        await smb.with(scene.path, {}, async (open) => {
          await open.lock(0, 100, { isExclusive });
          assert.equal(await resultOf(act(scene)), 'ok');
        });
      });
    }
  }

  test('Get File is refused what is locked for one client alone, and reads around it', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      await open.lock(0, 4);
      assert.equal(await refusal(textOf(file)), LOCKED);
      assert.equal(await refusal(file.downloadToBuffer(3, 2)), LOCKED);
      assert.equal((await file.downloadToBuffer(5, 4)).toString(), 'text');
    });
    assert.equal(await textOf(file), TEXT);
  });

  test('Get File reads what is locked for several', async () => {
    const scene = await stage.scene();
    const smb = await stage.smb();
    await smb.with(scene.path, {}, async (open) => {
      await open.lock(0, 4, { isExclusive: false });
      assert.equal(await resultOf(GET[1](scene)), 'ok');
    });
  });

  test('what is not shared comes before what is locked', async () => {
    const scene = await stage.scene();
    const smb = await stage.smb();
    await smb.with(scene.path, { share: 'R' }, async (open) => {
      await open.lock(0, 4);
      assert.equal(await refusal(scene.file.uploadRange('x', 8, 1)), VIOLATION);
      assert.equal(await refusal(textOf(scene.file)), LOCKED);
      assert.equal(await resultOf(DELETE[1](scene)), VIOLATION);
    });
    await smb.with(scene.path, { share: 'RW' }, async (open) => {
      await open.lock(0, 4);
      assert.equal(await resultOf(stage.rename(scene.path, stage.freshPath())), VIOLATION);
    });
  });

  test('locks go with the handle that they were taken through', async () => {
    const { file, path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const [open, second] = [await smb.open(path), await other.open(path)];
    await open.lock(0, 4);
    await second.lock(4, 4);
    assert.equal(await refusal(file.uploadRange('x', 8, 1)), LOCKED);
    await open.close();
    assert.equal(await refusal(file.uploadRange('x', 8, 1)), LOCKED);
    await second.close();
    await file.uploadRange('x', 8, 1);
  });

  test('locks go with a connection that is lost', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.freshSmb();
    const waiting = await (await stage.smb()).open(path);
    const open = await smb.open(path);
    await open.lock(0, 4);
    assert.equal(await refusal(file.uploadRange('x', 8, 1)), LOCKED);
    const locking = waiting.beginLock(0, 4);
    await locking.pending;
    await smb.disconnect();
    await locking.answer;
    await waiting.close();
    await file.uploadRange('x', 8, 1);
  });
});

describe('SMB locks beside REST', { skip }, () => {
  test('are had whatever REST has just done', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, {}, async (open) => {
      await file.uploadRange('other', 0, 5);
      await textOf(file);
      await open.lock(0, 5);
      assert.equal(await open.read(0, 5), 'other');
    });
  });

  test('are had on what REST has leased, by one who reads', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.getShareLeaseClient().acquireLease();
    await smb.with(path, { access: 'R' }, async (open) => {
      await open.lock(0, 4, { isExclusive: false });
      await open.unlock(0, 4);
      await open.lock(0, 4);
    });
  });

  test('of two clients exclude each other; who waits gets it with the unlock, who cancels does not', async () => {
    const { path } = await stage.scene();
    const [smb, other] = [await stage.smb(), await stage.smb('second')];
    const [open, second] = [await smb.open(path), await other.open(path)];
    await open.lock(0, 4);
    assert.equal(await smbOutcome(second.lock(3, 4)), 'LOCK_NOT_GRANTED');
    assert.equal(await smbOutcome(second.read(0, 4)), 'FILE_LOCK_CONFLICT');
    assert.equal(await smbOutcome(second.write('x', 3)), 'FILE_LOCK_CONFLICT');
    const cancelled = second.beginLock(0, 4);
    await cancelled.pending;
    await cancelled.cancel();
    assert.equal(await smbOutcome(cancelled.answer), 'CANCELLED');
    const waiting = second.beginLock(0, 4);
    await waiting.pending;
    await open.unlock(0, 4);
    await waiting.answer;
    assert.equal(await smbOutcome(open.lock(0, 1)), 'LOCK_NOT_GRANTED');
    assert.equal(await smbOutcome(open.unlock(0, 1)), 'RANGE_NOT_LOCKED');
    for (const each of [open, second]) await each.close();
  });
});
