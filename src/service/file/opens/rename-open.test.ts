import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import { namesIn, pictureOf } from '../../../../test/harness/file-tree.ts';
import type { SmbClient } from '../../../../test/harness/smb-client.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { READ_ONLY } from '../../../rules/file-attributes.ts';
import { INFINITE_SECONDS } from '../../../rules/lease.ts';
import { DELETES, NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { DENIED } from '../../../rules/smb-rename.ts';
import { leaseFile } from '../lease-file.ts';
import { NO_CHANGES } from '../properties.ts';
import { usedBytes } from '../usage.ts';
import type { OpenRequest } from './open-node.ts';
import { type Renamed, type RenameWish, renameOpen } from './rename-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';
import { WaitCancelled, type Waiter } from './waits.ts';

const LEASE_ID = 'aaaaaaaa-0000-0000-0000-000000000000';

type LeaseAction = Parameters<typeof leaseFile>[1]['action'];

const ACQUIRE: LeaseAction = {
  action: 'acquire',
  proposedId: LEASE_ID,
  freshId: LEASE_ID,
  durationSeconds: INFINITE_SECONDS,
};

let nodes: TwoNodes;
let share: TestShare;
let here: SmbClient;
let there: SmbClient;

beforeEach(async () => {
  nodes = await TwoNodes.start();
  ({ share, here, there } = nodes);
  for (const path of ['d', 'd/e', 'x']) await share.createDirectory(path);
  for (const path of ['f', 'g', 'd/1', 'd/e/2']) await share.createFile(path, Buffer.from(path));
});

afterEach(() => nodes.end());

type Request = Omit<Partial<OpenRequest>, 'client'> & { snapshot?: string };

async function openThrough(path: string, { client = here, ...request }: Request & { client?: SmbClient } = {}) {
  const { id, place } = await client.open(path, request);
  return { openId: id, place, name: share.nameOf(path, request.snapshot ?? null) } satisfies ThroughOpen;
}

async function lease(path: string, action: LeaseAction): Promise<void> {
  await leaseFile(share.store.storage, { ...share.requestOf(path), action });
}

type Wish = Partial<Omit<RenameWish, 'path'>> & { waiter?: Waiter; isThere?: boolean };

function rename(open: ThroughOpen, to: string, { waiter = {}, isThere = false, ...wish }: Wish = {}): Promise<Renamed> {
  const { storage } = (isThere ? nodes.elsewhere : nodes.rest).store;
  const path = to.split('/');
  return renameOpen(storage, open, { path, replaces: false, ignoresReadOnly: false, ...wish }, waiter);
}

describe('a rename through an open', () => {
  test('takes the file with all it has, gives it a new ETag, and leaves it open', async () => {
    const before = await share.createFile('f', Buffer.from('f'), { metadata: [['colour', 'blue']] });
    const open = await openThrough('f', { access: DELETES, share: NO_ACCESS });
    share.store.clock.advance({ seconds: 5 });
    const { node, replaced } = await rename(open, 'D/New');
    assert.equal(replaced, null);
    const { etag, lastModifiedMs, name, ...kept } = node;
    const { etag: etagBefore, lastModifiedMs: _, name: __, ...keptBefore } = before;
    assert.deepEqual(kept, keptBefore);
    assert.deepEqual([name, lastModifiedMs], ['New', share.store.clock.nowMs()]);
    assert.ok(etag > etagBefore);
    assert.equal(await refusal(share.read('f')), 'ResourceNotFound');
    assert.equal((await rename(open, 'f')).node.id, before.id);
    await here.opens.close(open.openId);
    assert.deepEqual(await share.read('f'), Buffer.from('f'));
  });

  test('may change letters alone, and need not change anything', async () => {
    const open = await openThrough('f');
    for (const name of ['F', 'F', 'f']) assert.equal((await rename(open, name)).node.name, name);
    assert.deepEqual(await namesIn(share, ''), ['d', 'f', 'g', 'x']);
  });

  test('of a directory takes what is in it along', async () => {
    await rename(await openThrough('d'), 'x/D');
    assert.deepEqual(await pictureOf(share), ['f f', 'g g', 'x/', 'x/D/', 'x/D/1 d/1', 'x/D/e/', 'x/D/e/2 d/e/2']);
  });

  test('replaces a file only if it is to, and its bytes count no longer', async () => {
    const open = await openThrough('d/1');
    assert.equal(await refusal(rename(open, 'g')), 'ResourceAlreadyExists');
    const { replaced } = await rename(open, 'G', { replaces: true });
    assert.equal(replaced?.name, 'g');
    assert.deepEqual(await share.read('g'), Buffer.from('d/1'));
    const at = { account: share.name.account, shareId: await nodes.shareId() };
    assert.equal(await usedBytes(nodes.cluster.engine.snapshot(), at), 'f'.length + 'd/1'.length + 'd/e/2'.length);
  });

  for (const [source, destination, wish, want] of [
    ['f', 'nothing/f', {}, 'ParentNotFound'],
    ['f', 'g/f', {}, 'ParentNotFound'],
    ['f', 'a:b', {}, 'InvalidResourceName'],
    ['f', 'd//f', {}, 'InvalidResourceName'],
    ['f', 'd/..', {}, 'InvalidResourceName'],
    ['f', 'n'.repeat(256), {}, 'InvalidFileOrDirectoryPathName'],
    ['', 'n', {}, DENIED],
    ['d', 'd/e/d', {}, 'InvalidInput'],
    ['d', 'D/e', { replaces: true }, 'InvalidInput'],
    ['f', 'x', {}, 'ResourceAlreadyExists'],
    ['f', 'x', { replaces: true }, DENIED],
    ['x', 'd', { replaces: true }, DENIED],
    ['x', 'f', { replaces: true }, DENIED],
  ] as const) {
    test(`of ${source || 'the root'} to ${destination.slice(0, 10)} is refused with ${want}`, async () => {
      const before = await pictureOf(share);
      assert.equal(await refusal(rename(await openThrough(source), destination, wish)), want);
      assert.deepEqual(await pictureOf(share), before);
    });
  }

  test('replaces a read-only file only if it is to', async () => {
    await share.createFile('r', 1, { properties: { ...NO_CHANGES, attributes: READ_ONLY } });
    const open = await openThrough('f');
    assert.equal(await refusal(rename(open, 'r', { replaces: true })), DENIED);
    await rename(open, 'r', { replaces: true, ignoresReadOnly: true });
    assert.deepEqual(await share.read('r'), Buffer.from('f'));
  });

  test('replaces no file that REST has leased, until the lease is broken', async () => {
    await lease('g', ACQUIRE);
    const open = await openThrough('f');
    assert.equal(await refusal(rename(open, 'g', { replaces: true })), 'SharingViolation');
    await lease('g', { action: 'break', periodSeconds: 0 });
    await rename(open, 'g', { replaces: true });
  });

  test('moves a directory above a leased file', async () => {
    await lease('d/1', ACQUIRE);
    await rename(await openThrough('d'), 'x/d');
    assert.equal(await refusal(share.write('x/d/1', 0, Buffer.from('x'))), 'LeaseIdMissing');
  });

  test('is refused in a snapshot, and once it is closed', async () => {
    const snapshot = await share.snapshot();
    assert.equal(await refusal(rename(await openThrough('f', { snapshot }), 'n')), 'ReadOnlyAttribute');
    const open = await openThrough('f');
    await here.opens.close(open.openId);
    await assert.rejects(rename(open, 'n'), OpenClosed);
  });
});

describe('a rename beside others', () => {
  test('does not mind who shares what it does, on whatever node', async () => {
    const other = await openThrough('f', { client: there, access: READS });
    await rename(await openThrough('f', { access: DELETES }), 'n');
    await there.opens.close(other.openId);
    assert.deepEqual(await share.read('n'), Buffer.from('f'));
  });

  test('asks others for the handles that they cache', async () => {
    await openThrough('f', { client: there, caching: 'RH', leaseKey: 'k' });
    const open = await openThrough('f', { access: DELETES });
    let hasWaited = false;
    const renaming = rename(open, 'n', { waiter: { onWait: () => (hasWaited = true) } });
    there.answer = (openId) => void there.opens.acknowledge(openId, 'R');
    assert.equal(await there.told(), 'RH to R');
    await renaming;
    assert.ok(hasWaited);
    assert.deepEqual(await share.read('n'), Buffer.from('f'));
  });

  test('does not ask its own client', async () => {
    const lease = { caching: 'RWH', leaseKey: 'k' } as const;
    await openThrough('f', lease);
    await rename(await openThrough('f', lease), 'n');
    assert.deepEqual(here.unheard, []);
  });

  test('can be given up while it waits, and then nothing has happened', async () => {
    await openThrough('f', { client: there, caching: 'RH', leaseKey: 'k' });
    const giveUp = new AbortController();
    const renaming = rename(await openThrough('f'), 'n', { waiter: { signal: giveUp.signal } });
    await there.told();
    giveUp.abort();
    await assert.rejects(renaming, WaitCancelled);
    assert.deepEqual(await namesIn(share, ''), ['d', 'f', 'g', 'x']);
  });

  test('replaces nothing that somebody has open, even to look at it', async () => {
    const other = await openThrough('g', { client: there, access: NO_ACCESS });
    const open = await openThrough('f');
    assert.equal(await refusal(rename(open, 'g', { replaces: true })), DENIED);
    await there.opens.close(other.openId);
    await rename(open, 'g', { replaces: true });
  });

  test('replaces what a client has closed and keeps a handle of', async () => {
    const other = await openThrough('g', { client: there, caching: 'RH', leaseKey: 'k' });
    const renaming = rename(await openThrough('f'), 'g', { replaces: true });
    assert.equal(await there.told(), 'RH to R');
    await there.opens.close(other.openId);
    await renaming;
    assert.deepEqual(await share.read('g'), Buffer.from('f'));
  });

  test('does not replace what a client keeps a handle of and has in use', async () => {
    await openThrough('g', { client: there, caching: 'RH', leaseKey: 'k' });
    there.answer = (openId) => void there.opens.acknowledge(openId, 'R');
    assert.equal(await refusal(rename(await openThrough('f'), 'g', { replaces: true })), DENIED);
  });

  for (const [what, request, want] of [
    ['to be deleted', {}, 'SharingViolation'],
    ['without sharing it', { access: READS, share: NO_ACCESS }, 'SharingViolation'],
    ['to be written', { access: READS | WRITES }, null],
    ['to look at it', { access: NO_ACCESS, share: NO_ACCESS }, null],
  ] as const) {
    test(`gives a name in a directory that is open ${what}: ${want ?? 'it may'}`, async () => {
      await openThrough('d', { client: there, ...request });
      assert.equal(await refusal(rename(await openThrough('d/1'), 'd/n')), want);
    });
  }

  test('moves nothing into a directory that is marked for deletion', async () => {
    const { openId } = await openThrough('x', { client: there, access: READS });
    await there.opens.markForDeletion(openId, true);
    const open = await openThrough('f');
    assert.equal(await refusal(rename(open, 'x/f')), 'SMBDeletePending');
    await there.opens.markForDeletion(openId, false);
    await rename(open, 'x/f');
  });

  test('is refused for what is marked for deletion, and onto it', async () => {
    const open = await openThrough('f');
    await here.opens.markForDeletion(open.openId, true);
    assert.equal(await refusal(rename(open, 'n')), DENIED);
    const other = await openThrough('g');
    assert.equal(await refusal(rename(other, 'f')), 'ResourceAlreadyExists');
    assert.equal(await refusal(rename(other, 'f', { replaces: true })), DENIED);
    await here.opens.close(open.openId);
    await rename(other, 'f');
    assert.deepEqual(await share.read('f'), Buffer.from('g'));
  });

  test('of a directory waits for handles below it, and is refused by who uses one', async () => {
    const open = await openThrough('d');
    const below = await openThrough('d/e/2', { client: there, access: NO_ACCESS });
    assert.equal(await refusal(rename(open, 'n')), DENIED);
    await there.opens.close(below.openId);
    const cached = await openThrough('d/e/2', { client: there, caching: 'RWH', leaseKey: 'k' });
    const renaming = rename(open, 'n');
    assert.equal(await there.told(), 'RWH to RW');
    await there.opens.close(cached.openId);
    await renaming;
    assert.deepEqual(await share.read('n/e/2'), Buffer.from('d/e/2'));
  });

  test('carries a mark for deletion to the new name where it comes after', async () => {
    const open = await openThrough('f');
    await rename(open, 'd/n');
    await here.opens.markForDeletion(open.openId, true);
    await here.opens.close(open.openId);
    assert.deepEqual(await namesIn(share, 'd'), ['1', 'e']);
  });
});

describe('of those who rename at the same time', () => {
  test('one gets the name', async () => {
    const [f, g] = [await openThrough('f'), await openThrough('g', { client: there })];
    const outcomes = await Promise.all([refusal(rename(f, 'n')), refusal(rename(g, 'n', { isThere: true }))]);
    assert.deepEqual(outcomes.toSorted(), ['ResourceAlreadyExists', null]);
    assert.equal((await namesIn(share, '')).filter((name) => name === 'n').length, 1);
  });

  test('two directories that go into each other do not both', async () => {
    const [d, x] = [
      await openThrough('d', { access: NO_ACCESS }),
      await openThrough('x', { client: there, access: NO_ACCESS }),
    ];
    const outcomes = await Promise.all([refusal(rename(d, 'x/d')), refusal(rename(x, 'd/x', { isThere: true }))]);
    // Where the first has gone, the second does not find it.
    assert.deepEqual(outcomes.toSorted(), ['ParentNotFound', null]);
    assert.ok((await pictureOf(share)).some((line) => line.endsWith('2 d/e/2')));
  });

  test('a rename of a directory and an open below it do not both take effect at the old name', async () => {
    const open = await openThrough('d');
    const [renamed, opened] = await Promise.all([refusal(rename(open, 'n')), refusal(there.open('d/e/2'))]);
    const story = [renamed, opened];
    assert.ok(
      [
        [null, 'ParentNotFound'],
        [DENIED, null],
      ].some((want) => want[0] === story[0] && want[1] === story[1]),
      String(story),
    );
  });

  test('a rename and a mark for deletion end with the file gone, whichever is first', async () => {
    const [one, other] = [await openThrough('f'), await openThrough('f', { client: there })];
    const [renamed] = await Promise.all([refusal(rename(one, 'n')), there.opens.markForDeletion(other.openId, true)]);
    assert.ok(renamed === null || renamed === DENIED, String(renamed));
    await here.opens.close(one.openId);
    await there.opens.close(other.openId);
    assert.deepEqual(await namesIn(share, ''), ['d', 'g', 'x']);
  });

  test('two in a directory that both have open to delete it are in each other’s way', async () => {
    const parent = await openThrough('d', { client: there });
    const open = await openThrough('d/1');
    assert.equal(await refusal(rename(open, 'd/n')), 'SharingViolation');
    await there.opens.close(parent.openId);
    await rename(open, 'd/n');
  });
});
