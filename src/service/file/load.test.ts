import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { NEW_SHARE, refusal, TestShare } from '../../../test/harness/file-store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { createShare } from './create-share.ts';
import { deleteShare } from './delete-share.ts';
import { type Found, findNode } from './load.ts';

function find(share: TestShare, path: string, snapshot: Moment | null = null): Promise<Found> {
  const { engine, known } = share.store.storage;
  const look = engine.snapshot();
  return findNode(snapshotReader(look), share.nameOf(path, snapshot), known).finally(() => look.close());
}

/** The name as it is stored; null: nothing has it. */
const nameAt = async (share: TestShare, path: string, snapshot: Moment | null = null): Promise<string | null> =>
  (await find(share, path, snapshot)).node?.name ?? null;

async function withTree(): Promise<TestShare> {
  const share = await TestShare.create();
  await share.createDirectory('Dir');
  await share.createDirectory('Dir/Inner');
  await share.createFile('Dir/Inner/File.txt', 1);
  await share.createFile('Plain', 1);
  return share;
}

for (const [path, want] of [
  ['', ''],
  ['Dir', 'Dir'],
  ['dir', 'Dir'],
  ['DIR/inner/FILE.TXT', 'File.txt'],
  ['Dir/Inner/nothing', null],
  ['nothing', null],
] as const) {
  test(`'${path}' leads to ${JSON.stringify(want)}`, async () => {
    assert.equal(await nameAt(await withTree(), path), want);
  });
}

for (const path of ['nothing/x', 'Plain/x', 'Dir/Plain/x', 'Dir/Inner/File.txt/x']) {
  test(`the way to '${path}' is refused`, async () => {
    const share = await withTree();
    assert.equal(await refusal(find(share, path)), 'ParentNotFound');
    assert.equal(await refusal(find(share, path, await share.snapshot())), 'ParentNotFound');
  });
}

test('what is found tells the way to it', async () => {
  const share = await withTree();
  const [dir, inner] = [(await find(share, 'Dir')).node, (await find(share, 'Dir/Inner')).node];
  const { parent, above, place, name } = await find(share, 'dir/inner/file.TXT');
  assert.equal(parent?.id, inner?.id);
  assert.deepEqual(above, ['0'.repeat(16), dir?.id, inner?.id]);
  assert.deepEqual(place, { parentId: inner?.id, name: 'FILE.TXT' });
  assert.equal(name, 'file.TXT');
  const root = await find(share, '');
  assert.deepEqual([root.parent, root.above, root.node?.kind], [null, [], 'directory']);
});

test('a share that is not there, and a snapshot that is not there or is no moment, are refused', async () => {
  const share = await withTree();
  const other = new TestShare(share.store, 'other');
  assert.equal(await refusal(find(other, '')), 'ShareNotFound');
  assert.equal(await refusal(find(share, '', '2024-01-01T00:00:00.0000000Z')), 'ShareNotFound');
  assert.equal(await refusal(find(share, '', 'yesterday')), 'ShareNotFound');
});

test('names in other planes, and such that only their case tells apart, are found', async () => {
  const share = await TestShare.create();
  const long = '字'.repeat(255);
  for (const name of ['😀', 'straße', 'strasse', 'ŉ', long]) await share.createFile(name, 0);
  for (const name of ['😀', 'STRAßE', 'STRASSE', 'ŉ', long]) assert.notEqual(await nameAt(share, name), null, name);
  assert.equal(await nameAt(share, '😁'), null);
});

describe('what is known from earlier', () => {
  test('makes a path one round trip, however deep', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    const names = Array.from({ length: 20 }, (_, index) => `d${index}`);
    for (const [index] of names.entries()) await share.createDirectory(names.slice(0, index + 1).join('/'));
    const path = names.join('/');
    await find(share, path);
    let gets = 0;
    const look = engine.snapshot();
    const reader = snapshotReader({
      ...look,
      get: (keys) => {
        gets++;
        return look.get(keys);
      },
    });
    await findNode(reader, share.nameOf(path), share.store.storage.known).finally(() => look.close());
    assert.equal(gets, 1);
    assert.equal((await engine.costOf(() => find(share, path))).keysAsked, 22);
  });

  test('is a guess: after renames a path leads to what stands there now', async () => {
    const share = await TestShare.create();
    for (const path of ['a', 'a/b', 'x', 'x/b']) await share.createDirectory(path);
    await share.createFile('a/b/file', 1);
    await share.createFile('x/b/file', 2);
    await share.createFile('x/b/only-x', 2);
    const lengthOf = async (path: string): Promise<number | null> => {
      const { node } = await find(share, path);
      return node?.kind === 'file' ? node.lengthBytes : null;
    };
    assert.deepEqual([await lengthOf('a/b/file'), await lengthOf('x/b/file')], [1, 2]);
    await share.rename('directory', 'a', 'away');
    assert.equal(await refusal(find(share, 'a/b/file')), 'ParentNotFound');
    await share.rename('directory', 'x', 'a');
    assert.deepEqual([await lengthOf('a/b/file'), await lengthOf('away/b/file')], [2, 1]);
    await share.rename('directory', 'a/b', 'away/c');
    assert.equal(await refusal(find(share, 'a/b/file')), 'ParentNotFound');
    await share.createDirectory('a/b');
    assert.equal(await lengthOf('a/b/file'), null);
    assert.equal(await lengthOf('away/c/only-x'), 2);
    await share.delete('directory', 'a/b');
    await share.createFile('a/b', 3);
    assert.equal(await refusal(find(share, 'a/b/file')), 'ParentNotFound');
    assert.equal(await lengthOf('a/b'), 3);
  });

  test('is a guess: of a share of the same name it finds nothing of the one before', async () => {
    const share = await withTree();
    const { storage } = share.store;
    await find(share, 'Dir/Inner/File.txt');
    await deleteShare(storage, { name: share.name, leaseId: null, snapshot: null, deleteSnapshots: null });
    assert.equal(await refusal(find(share, 'Dir')), 'ShareNotFound');
    await createShare(storage, share.name, NEW_SHARE);
    assert.equal(await nameAt(share, 'Dir'), null);
    await share.createDirectory('Dir');
    assert.equal(await nameAt(share, 'Dir/Inner'), null);
  });

  test('of another node does not keep a writer from the right place', async () => {
    const share = await withTree();
    const other = new TestShare(share.store, 'share');
    await find(share, 'Dir/Inner/File.txt');
    await other.rename('directory', 'Dir', 'Moved');
    await other.createDirectory('dir');
    await other.createDirectory('dir/inner');
    await share.createFile('Dir/Inner/New', 7);
    assert.equal(await nameAt(share, 'moved/inner/new'), null);
    assert.equal(await nameAt(share, 'dir/inner/new'), 'New');
  });
});

test('a snapshot shows what had a name then: before it, while it stood, and after it was gone', async () => {
  const share = await TestShare.create();
  const before = await share.snapshot();
  await share.createFile('file', 1);
  const then = await share.snapshot();
  await share.delete('file', 'file');
  const between = await share.snapshot();
  await share.createDirectory('FILE');
  const later = await share.snapshot();
  const kinds: (string | null)[] = [];
  for (const moment of [before, then, between, later, null]) {
    kinds.push((await find(share, 'file', moment)).node?.kind ?? null);
  }
  assert.deepEqual(kinds, [null, 'file', null, 'directory', 'directory']);
});
