import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import {
  namesIn,
  pictureOf,
  removeDirectory,
  removeFile,
  renameDirectory,
  renameFile,
} from '../../../test/harness/file-tree.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { ARCHIVE, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { INFINITE_SECONDS } from '../../rules/lease.ts';
import { checkStore } from '../check.ts';
import type { FileRecord } from '../records/node-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { getFileProperties } from './get-file.ts';
import { leaseFile } from './lease-file.ts';
import { treeOf } from './load.ts';
import { NO_CHANGES } from './properties.ts';
import { usedBytes } from './usage.ts';
import { lookUpShare } from './use-share.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const B = 'bbbbbbbb-0000-0000-0000-000000000000';
const READ_ONLY_FILE = { ...NO_CHANGES, attributes: READ_ONLY };

const text = (words: string): Buffer => Buffer.from(words);

async function lease(share: TestShare, path: string, id: string): Promise<void> {
  const action = { action: 'acquire', proposedId: id, freshId: id, durationSeconds: INFINITE_SECONDS } as const;
  await leaseFile(share.store.storage, { ...share.requestOf(path), action });
}

async function used(share: TestShare): Promise<number> {
  const { storage } = share.store;
  const record = (await lookUpShare(storage, share.name)) as ShareRecord;
  return storage.readers.inSnapshot((snapshot) => usedBytes(snapshotReader(snapshot), treeOf(share.name, record)));
}

const propertiesOf = async (share: TestShare, path: string): Promise<FileRecord> =>
  (await getFileProperties(share.store.storage, share.requestOf(path))).node;

describe('a file that is renamed', () => {
  test('keeps its id, content, metadata, times and lease, and has another name and ETag', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d');
    const before = await share.createFile('a', text('hello'), { metadata: [['colour', 'blue']] });
    await lease(share, 'a', A);
    share.store.clock.advance({ seconds: 5 });
    const after = (await renameFile(share, 'A', 'D/B', { sourceLeaseId: A })) as FileRecord;
    assert.deepEqual(await pictureOf(share), ['d/', 'd/B hello']);
    assert.deepEqual(
      [after.id, after.name, after.metadata, after.createdAt, after.writtenAt, after.attributes, after.contentSince],
      [before.id, 'B', before.metadata, before.createdAt, before.writtenAt, ARCHIVE, before.contentSince],
    );
    assert.equal(after.changedAt, fileTimeAt(share.store.clock.nowMs()));
    assert.equal(after.lastModifiedMs, share.store.clock.nowMs());
    assert.equal(after.lease.state, 'leased');
    assert.ok(after.etag > before.etag);
    assert.deepEqual(await propertiesOf(share, 'd/b'), after);
    assert.equal(await refusal(share.read('a')), 'ResourceNotFound');
  });

  test('gets the properties, metadata and content type that are given', async () => {
    const share = await TestShare.create();
    await share.createFile('a', 0, { metadata: [['colour', 'blue']] });
    const createdAt = fileTimeAt(1_000);
    const after = (await renameFile(share, 'a', 'b', {
      properties: { ...NO_CHANGES, attributes: HIDDEN, createdAt: { at: createdAt }, changedAt: createdAt },
      metadata: [['colour', 'red']],
      contentType: 'text/plain',
    })) as FileRecord;
    assert.deepEqual(
      [after.attributes, after.createdAt, after.changedAt, after.metadata, after.headers],
      [HIDDEN, createdAt, createdAt, [['colour', 'red']], { contentType: 'text/plain' }],
    );
  });

  test('may change its name in case alone, with or without leave to replace', async () => {
    const share = await TestShare.create();
    const { id } = await share.createFile('name', text('x'));
    for (const [destination, replaces] of [
      ['NAME', false],
      ['Name', true],
      ['Name', false],
    ] as const) {
      const after = await renameFile(share, 'nAmE', destination, { replaces });
      assert.deepEqual([after.id, after.name], [id, destination]);
      assert.deepEqual(await pictureOf(share), [`${destination} x`]);
    }
    assert.equal(await used(share), 1);
  });

  test('may be read-only, and stays so', async () => {
    const share = await TestShare.create();
    await share.createFile('a', 0, { properties: READ_ONLY_FILE });
    assert.equal((await renameFile(share, 'a', 'b')).attributes, READ_ONLY);
  });

  test('takes the place of a file, whose bytes no longer count', async () => {
    const share = await TestShare.create();
    const { id } = await share.createFile('a', text('new'));
    await share.createFile('b', text('older'));
    assert.equal(await used(share), 8);
    assert.equal((await renameFile(share, 'a', 'b', { replaces: true })).id, id);
    assert.deepEqual([await pictureOf(share), await used(share)], [['b new'], 3]);
  });

  test('takes the place of a read-only file only where it may', async () => {
    const share = await TestShare.create();
    await share.createFile('a', text('new'));
    await share.createFile('b', text('older'), { properties: READ_ONLY_FILE });
    assert.equal(await refusal(renameFile(share, 'a', 'b', { replaces: true })), 'ReadOnlyAttribute');
    await renameFile(share, 'a', 'b', { replaces: true, ignoresReadOnly: true });
    assert.deepEqual(await pictureOf(share), ['b new']);
  });

  test('needs the leases of both', async () => {
    const share = await TestShare.create();
    for (const path of ['a', 'b']) await share.createFile(path, text(path));
    await lease(share, 'a', A);
    await lease(share, 'b', B);
    const rename = (sourceLeaseId: string | null, destinationLeaseId: string | null) =>
      refusal(renameFile(share, 'a', 'b', { replaces: true, sourceLeaseId, destinationLeaseId }));
    assert.equal(await rename(null, B), 'LeaseIdMissing');
    assert.equal(await rename(B, B), 'LeaseIdMismatchWithFileOperation');
    assert.equal(await rename(A, null), 'LeaseIdMissing');
    assert.equal(await rename(A, A), 'LeaseIdMismatchWithFileOperation');
    assert.equal(await rename(A, B), null);
    assert.deepEqual(await pictureOf(share), ['b a']);
  });

  for (const [source, destination, want] of [
    ['nothing', 'b', 'ResourceNotFound'],
    ['nothing/a', 'b', 'ParentNotFound'],
    ['nothing', 'nothing/b', 'ResourceNotFound'],
    ['file', 'nothing/b', 'ParentNotFound'],
    ['file', 'file/b', 'ParentNotFound'],
    ['file', 'other', 'ResourceAlreadyExists'],
    ['file', 'directory', 'ResourceAlreadyExists'],
    ['directory', 'b', 'ResourceTypeMismatch'],
    ['', 'b', 'InvalidUri'],
    ['file', '', 'InvalidUri'],
  ] as const) {
    test(`is not renamed from ${source || 'the root'} to ${destination || 'the root'}: ${want}`, async () => {
      const share = await TestShare.create();
      await share.createDirectory('directory');
      for (const path of ['file', 'other', 'directory/file']) await share.createFile(path, text(path));
      const before = await pictureOf(share);
      assert.equal(await refusal(renameFile(share, source, destination)), want);
      assert.deepEqual(await pictureOf(share), before);
    });
  }
});

async function createTree(): Promise<TestShare> {
  const share = await TestShare.create();
  for (const path of ['a', 'a/b', 'a/b/c', 'x']) await share.createDirectory(path);
  for (const path of ['a/1', 'a/b/2', 'a/b/c/3']) await share.createFile(path, text(path));
  return share;
}

describe('a directory that is renamed', () => {
  test('takes all that is in it along, whose ETags stay', async () => {
    const share = await createTree();
    const { etag } = await propertiesOf(share, 'a/b/c/3');
    const { id } = await renameDirectory(share, 'a/b', 'x/B');
    assert.deepEqual(await pictureOf(share), [
      'a/',
      'a/1 a/1',
      'x/',
      'x/B/',
      'x/B/2 a/b/2',
      'x/B/c/',
      'x/B/c/3 a/b/c/3',
    ]);
    assert.equal((await propertiesOf(share, 'x/b/c/3')).etag, etag);
    assert.equal(await refusal(share.read('a/b/2')), 'ParentNotFound');
    assert.equal((await renameDirectory(share, 'X/B', 'x/b')).id, id);
  });

  test('may take the place of a file, and never that of a directory', async () => {
    const share = await createTree();
    assert.equal(await refusal(renameDirectory(share, 'x', 'a/1')), 'ResourceAlreadyExists');
    assert.equal(await refusal(renameDirectory(share, 'x', 'a/b', { replaces: true })), 'ResourceAlreadyExists');
    await renameDirectory(share, 'x', 'a/1', { replaces: true });
    assert.deepEqual(await namesIn(share, 'a'), ['1', 'b']);
    assert.deepEqual(await namesIn(share, 'a/1'), []);
  });

  for (const [source, destination, want] of [
    ['a', 'a/n', 'InvalidInput'],
    ['a', 'A/b/C/n', 'InvalidInput'],
    ['a', 'a/b', 'InvalidInput'],
    ['a/b', 'a/b/c/b', 'InvalidInput'],
    ['a', 'a/1/n', 'ParentNotFound'],
    ['a/1', 'n', 'ResourceTypeMismatch'],
    ['', 'a/n', 'InvalidUri'],
  ] as const) {
    test(`is not moved from ${source || 'the root'} to ${destination}: ${want}`, async () => {
      const share = await createTree();
      const before = await pictureOf(share);
      assert.equal(await refusal(renameDirectory(share, source, destination, { replaces: true })), want);
      assert.deepEqual(await pictureOf(share), before);
    });
  }

  test('costs the same whatever is below it', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    for (const path of ['few', 'many', 'many/d']) await share.createDirectory(path);
    await share.snapshot();
    for (let index = 0; index < 200; index++) await share.createFile(`many/d/${index}`, text('x'));
    const few = await engine.costOf(() => renameDirectory(share, 'few', 'FEW1'));
    const many = await engine.costOf(() => renameDirectory(share, 'many', 'MANY1'));
    assert.deepEqual({ ...many, bytesRead: 0, bytesWritten: 0 }, { ...few, bytesRead: 0, bytesWritten: 0 });
  });
});

describe('a snapshot', () => {
  test('still shows old names and contents after renames, replacements and deletions', async () => {
    const share = await TestShare.create();
    for (const path of ['d', 'd/e']) await share.createDirectory(path);
    for (const path of ['a', 'b', 'd/e/c']) await share.createFile(path, text(path.padEnd(600, '.')));
    const first = await pictureOf(share);
    const one = await share.snapshot();
    await renameFile(share, 'a', 'b', { replaces: true });
    await share.write('b', 0, text('B'));
    await renameDirectory(share, 'd', 'D2');
    await share.write('d2/e/c', 0, text('C'));
    await renameFile(share, 'd2/e/c', 'a');
    const second = await pictureOf(share);
    const two = await share.snapshot();
    await removeDirectory(share, 'd2/e');
    await removeDirectory(share, 'd2');
    await renameFile(share, 'b', 'a', { replaces: true });
    await removeFile(share, 'a');
    assert.deepEqual(await pictureOf(share), []);
    assert.deepEqual(await pictureOf(share, two), second);
    assert.deepEqual(await pictureOf(share, one), first);
    assert.equal(await used(share), 0);
    await share.deleteSnapshot(one);
    await share.store.sweep();
    assert.deepEqual(await pictureOf(share, two), second);
    await share.deleteSnapshot(two);
    await share.store.sweep();
    const { engine, content } = share.store;
    assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
    assert.deepEqual(
      (await share.store.records())
        .map(([letter]) => letter)
        .filter((letter) => 'fhjiIXMHNV'.includes(letter as string)),
      ['f'],
    );
  });
});
