/** A file that REST has leased, as SMB clients meet it: they read, and neither write nor delete, until the lease is gone. */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { ACCESSES, LEASED, openStage, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

const closed = async (): Promise<void> => {};

describe('an SMB open of a file that REST has leased', { skip }, () => {
  for (const access of ACCESSES) {
    const isAllowed = access === '' || access === 'R';
    const what = `with access ${access || 'to attributes alone'}`;
    test(`${what} ${isAllowed ? 'is there' : 'is refused'}; once the lease is released, or broken, it is there`, async () => {
      const { file, path } = await stage.scene();
      const smb = await stage.smb();
      const lease = file.getShareLeaseClient();
      await lease.acquireLease();
      assert.equal(await smbOutcome(smb.with(path, { access }, closed)), isAllowed ? 'ok' : 'SHARING_VIOLATION');
      await lease.releaseLease();
      assert.equal(await smbOutcome(smb.with(path, { access }, closed)), 'ok');
      await lease.acquireLease();
      assert.equal(await smbOutcome(smb.with(path, { access }, closed)), isAllowed ? 'ok' : 'SHARING_VIOLATION');
      await lease.breakLease();
      assert.equal(await smbOutcome(smb.with(path, { access }, closed)), 'ok');
    });
  }

  for (const disposition of ['overwrite', 'overwriteIf', 'supersede'] as const) {
    test(`to ${disposition} is refused, whatever its access`, async () => {
      const { file, path } = await stage.scene();
      const smb = await stage.smb();
      const lease = file.getShareLeaseClient();
      await lease.acquireLease();
      for (const access of ['R', 'RWD']) {
        const opening = smb.with(path, { access, disposition }, closed);
        assert.equal(await smbOutcome(opening), 'SHARING_VIOLATION');
      }
      assert.equal(await textOf(file), TEXT);
      await lease.breakLease();
      await smb.with(path, { access: 'R', disposition }, closed);
      assert.equal(await textOf(file), '');
    });
  }

  test('to read may share nothing, and to change attributes alone is there', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.getShareLeaseClient().acquireLease();
    await smb.with(path, { access: 'R', share: '' }, async (open) => assert.equal(await open.read(), TEXT));
    await smb.with(path, { access: 'A', share: '' }, closed);
  });

  test('to delete with its close is refused', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.getShareLeaseClient().acquireLease();
    const opening = smb.with(path, { access: 'RD', deletesOnClose: true }, closed);
    assert.equal(await smbOutcome(opening), 'SHARING_VIOLATION');
    assert.equal(await textOf(file), TEXT);
  });

  test('caches what it reads and its handle, and writes nothing behind the back of the lease', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await file.getShareLeaseClient().acquireLease();
    await smb.with(path, { access: 'R', lease: 'RWH' }, async (open) => assert.equal(open.lease, 'RH'));
    await smb.with(path, { access: 'R', oplock: 'batch' }, async (open) => assert.equal(open.oplock, 'II'));
  });

  test('that read before the lease came reads on', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    await smb.with(path, { access: 'R' }, async (open) => {
      await file.getShareLeaseClient().acquireLease();
      assert.equal(await open.read(), TEXT);
      assert.equal(await smbOutcome(open.write('x')), 'ACCESS_DENIED');
      assert.equal(await smbOutcome(open.markForDeletion(true)), 'ACCESS_DENIED');
    });
  });
});

describe('the holder of a REST lease', { skip }, () => {
  test('writes beside a reader that shares writing, and is refused beside one that does not', async () => {
    const { file, path } = await stage.scene();
    const smb = await stage.smb();
    const lease = file.getShareLeaseClient();
    const { leaseId = '' } = await lease.acquireLease();
    const write = () => file.uploadRange('other', 0, 5, { leaseAccessConditions: { leaseId } });
    await smb.with(path, { access: 'R', share: 'R' }, async () => {
      assert.equal(await refusal(write()), VIOLATION);
    });
    await smb.with(path, { access: 'R', share: 'RW' }, async (open) => {
      assert.equal(await refusal(file.uploadRange('other', 0, 5)), LEASED);
      await write();
      assert.equal(await open.read(0, 5), 'other');
    });
  });
});
