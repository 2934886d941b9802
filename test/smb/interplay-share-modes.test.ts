/**
 * What an SMB open shares and what it does, against every REST operation and against other SMB opens: the matrices of share
 * modes, cell by cell.
 */
// tier: system
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { namesIn, putFile, textOf } from '../file/racing.ts';
import { refusal } from '../harness/clients.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { missingTool } from '../packages.ts';
import { MATRIX_COLUMNS } from './rest-operations.ts';
import { ACCESSES, openStage, resultOf, TEXT, VIOLATION } from './stage.ts';

const stage = await openStage();

const skip = missingTool('impacket');

const subset = (letters: string, of: string): boolean => Array.from(letters).every((letter) => of.includes(letter));

const SHARE_MODES = [
  ['', 'X X X X X X X X X X X X'],
  ['R', 'X . X X X . X X X . . X'],
  ['W', 'X X . . . X X X X X X X'],
  ['D', 'X X X X X X X X X X X .'],
  ['RW', 'X . . . . . X X X . . X'],
  ['RD', 'X . X X X . X X X . . .'],
  ['WD', '. X . . . X X X . X X .'],
  ['RWD', '. . . . . . X X . . . .'],
] as const;

for (const [share, row] of SHARE_MODES) {
  describe(`beside an SMB open that shares ${share || 'nothing'}`, { skip }, () => {
    for (const [index, cell] of row.split(' ').entries()) {
      const [name, act] = MATRIX_COLUMNS[index] as (typeof MATRIX_COLUMNS)[number];
      test(`${name} ${cell === 'X' ? 'is refused' : 'goes on'}`, async () => {
        const scene = await stage.scene();
        const smb = await stage.smb();
        await smb.with(scene.path, { share }, async () => {
          assert.equal(await resultOf(act(scene)), cell === 'X' ? VIOLATION : 'ok');
        });
      });
    }

    test('properties and handles are shown, the directory is listed, a lease is changed, released and broken', async () => {
      const { file, path } = await stage.scene();
      const smb = await stage.smb();
      const lease = file.getShareLeaseClient();
      await lease.acquireLease();
      await smb.with(path, { access: 'R', share }, async () => {
        const { metadata } = await file.getProperties();
        assert.deepEqual(metadata, {});
        assert.ok((await namesIn(stage.share)).includes(path));
        const handles = [];
        for await (const handle of file.listHandles()) handles.push(handle.path);
        assert.deepEqual(handles, [path]);
        await lease.changeLease('9a3a2b9c-0000-4000-8000-000000000001');
        await lease.breakLease();
        await lease.releaseLease();
      });
      assert.equal(await textOf(file), TEXT);
    });

    test('handles are closed by force', async () => {
      const { file, path } = await stage.scene();
      const smb = await stage.smb();
      const open = await smb.open(path, { share });
      const { closedHandlesCount } = await file.forceCloseAllHandles();
      assert.equal(closedHandlesCount, 1);
      assert.equal(await smbOutcome(open.read()), 'FILE_CLOSED');
      await file.delete();
    });
  });
}

describe('an SMB open that only looks at attributes', { skip }, () => {
  for (const [name, act] of MATRIX_COLUMNS) {
    const isRefused = name === 'Delete File';
    test(`${isRefused ? 'keeps REST from' : 'is no matter to'} ${name}`, async () => {
      const scene = await stage.scene();
      const smb = await stage.smb();
      await smb.with(scene.path, { access: '', share: '' }, async () => {
        assert.equal(await resultOf(act(scene)), isRefused ? VIOLATION : 'ok');
      });
    });
  }
});

describe('of several SMB opens', { skip }, () => {
  for (const [one, other, reads, writes] of [
    ['RW', 'RD', true, false],
    ['RW', 'RWD', true, true],
    ['WD', 'RD', false, false],
    ['R', 'RWD', true, false],
  ] as const) {
    test(`that share ${one} and ${other}, what both share is allowed`, async () => {
      const { file, path } = await stage.scene();
      const [first, second] = [await stage.smb(), await stage.smb('second')];
      // An open whose share mode denies reading stands only beside opens that do not read.
      const access = one.includes('R') ? 'R' : 'D';
      const opens = [await first.open(path, { access, share: one }), await second.open(path, { access, share: other })];
      assert.equal(await resultOf(textOf(file)), reads ? 'ok' : VIOLATION);
      assert.equal(await resultOf(file.uploadRange('x', 0, 1)), writes ? 'ok' : VIOLATION);
      for (const open of opens) await open.close();
      assert.equal((await textOf(file)).length, TEXT.length);
    });
  }

  test('one that looks at attributes alone takes nothing away', async () => {
    const { file, path } = await stage.scene();
    const [first, second] = [await stage.smb(), await stage.smb('second')];
    const opens = [await first.open(path, { share: 'RW' }), await second.open(path, { access: '', share: '' })];
    assert.equal(await textOf(file), TEXT);
    await file.uploadRange('x', 0, 1);
    for (const open of opens) await open.close();
  });
});

describe('Lease File beside an SMB open that shares everything', { skip }, () => {
  for (const access of ACCESSES) {
    const isGranted = access === '' || access === 'R';
    test(`and has access ${access || 'to attributes alone'} is ${isGranted ? 'granted' : 'refused'}`, async () => {
      const { file, path } = await stage.scene();
      const smb = await stage.smb();
      await smb.with(path, { access }, async () => {
        assert.equal(await resultOf(file.getShareLeaseClient().acquireLease()), isGranted ? 'ok' : VIOLATION);
      });
    });
  }
});

describe('two SMB opens', { skip }, () => {
  for (const [first, second, isAllowed] of [
    [{ access: 'R', share: 'W' }, { access: 'W', share: 'R' }, true],
    [{ access: 'W', share: 'R' }, { access: 'W', share: 'W' }, false],
    [{ access: 'W', share: 'W' }, { access: 'W', share: 'R' }, false],
  ] as const) {
    const name = `${first.access} that shares ${first.share}, then ${second.access} that shares ${second.share}`;
    test(`${name}: ${isAllowed ? 'both are there' : 'the second is refused'}`, async () => {
      const { path } = await stage.scene();
      const [one, other] = [await stage.smb(), await stage.smb('second')];
      await one.with(path, first, async () => {
        const opening = other.with(path, second, async () => {});
        assert.equal(await smbOutcome(opening), isAllowed ? 'ok' : 'SHARING_VIOLATION');
      });
    });
  }

  for (const access of ACCESSES) {
    test(`the first does ${access || 'nothing'}: beside every share mode of either, the second is refused exactly where one does what the other does not share`, async () => {
      const { path } = await stage.scene();
      const [one, other] = [await stage.smb(), await stage.smb('second')];
      const got: Record<string, string> = {};
      const want: Record<string, string> = {};
      for (const share of ['', 'R', 'RW', 'RWD']) {
        await one.with(path, { access, share }, async () => {
          for (const its of [
            { access: 'R', share: 'RWD' },
            { access: 'W', share: 'RW' },
            { access: 'D', share: 'D' },
            { access: 'RWD', share: 'RWD' },
            { access: '', share: '' },
          ]) {
            const cell = `shares ${share}; ${its.access} shares ${its.share}`;
            const bothDo = access !== '' && its.access !== '';
            const isAllowed = !bothDo || (subset(its.access, share) && subset(access, its.share));
            want[cell] = isAllowed ? 'ok' : 'SHARING_VIOLATION';
            got[cell] = await smbOutcome(other.with(path, its, async () => {}));
          }
        });
      }
      assert.deepEqual(got, want);
    });
  }
});

describe('directories', { skip }, () => {
  test('one that an SMB client has open is not deleted by REST, though it be empty', async () => {
    const name = stage.freshPath();
    const directory = stage.share.getDirectoryClient(name);
    await directory.create();
    const smb = await stage.smb();
    await smb.with(name, { kind: 'directory', access: 'R' }, async () => {
      assert.equal(await refusal(directory.delete()), VIOLATION);
    });
    await directory.delete();
  });

  test('one below which an SMB client has something open is not renamed', async () => {
    const name = stage.freshPath();
    await stage.share.getDirectoryClient(name).create();
    await putFile(stage.share, `${name}/file`, TEXT);
    const smb = await stage.smb();
    const to = stage.freshPath();
    await smb.with(`${name}/file`, { access: 'R' }, async () => {
      assert.equal(await resultOf(stage.rename(name, to, { kind: 'directory' })), VIOLATION);
    });
    await stage.rename(name, to, { kind: 'directory' });
    assert.deepEqual(await namesIn(stage.share, to), ['file']);
  });
});
