import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { NEW_SHARE, refusal, TestShare } from '../../../test/harness/file-store.ts';
import { MemoryOutside } from '../../../test/harness/memory-outside.ts';
import { Gate, TestStore } from '../../../test/harness/store.ts';
import { until } from '../../../test/harness/until.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import { ARCHIVE, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { NEWEST_VERSION } from '../../rules/versions.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';
import { checkStore } from '../check.ts';
import type { CopySource } from '../copy/copy-source.ts';
import { SourceUnreachable } from '../copy/outside.ts';
import type { FileRecord } from '../records/node-record.ts';
import { abortCopyFile } from './abort-copy-file.ts';
import type { CopiedProperties } from './copied-properties.ts';
import { type CopyFileRequest, copyFile, type FileCopied } from './copy-file.ts';
import { createShare } from './create-share.ts';
import { deleteShare } from './delete-share.ts';
import { getFileProperties } from './get-file.ts';
import { loadShare, treeOf } from './load.ts';
import { NO_CHANGES } from './properties.ts';
import { usedBytes } from './usage.ts';

const MIB = 1024 * 1024;
const OUTSIDE: CopySource = { kind: 'outside', url: 'http://elsewhere/thing?sig=secret', authorization: null };
const AS_USUAL: CopiedProperties = { ...NO_CHANGES, changedAt: null, setsArchive: false };

const requestTo = (share: TestShare, path: string, more: Partial<CopyFileRequest> = {}): CopyFileRequest => ({
  ...share.requestOf(path),
  source: OUTSIDE,
  shownSource: 'http://elsewhere/thing',
  version: NEWEST_VERSION,
  metadata: [],
  properties: AS_USUAL,
  ignoresReadOnly: false,
  mayOverwrite: true,
  ...more,
});

const fileSource = (share: TestShare, path: string, snapshot: string | null = null): CopySource => ({
  kind: 'file',
  name: share.nameOf(path, snapshot),
});

const copy = (share: TestShare, from: string, to: string, more: Partial<CopyFileRequest> = {}): Promise<FileCopied> =>
  copyFile(share.store.storage, requestTo(share, to, { source: fileSource(share, from), ...more }));

const copyOutside = (share: TestShare, to: string, more: Partial<CopyFileRequest> = {}): Promise<FileCopied> =>
  copyFile(share.store.storage, requestTo(share, to, more));

const recordOf = async (share: TestShare, path: string): Promise<FileRecord> =>
  (await getFileProperties(share.store.storage, share.requestOf(path))).node;

const statusOf = async (share: TestShare, path: string): Promise<string> =>
  (await recordOf(share, path)).copy?.status ?? 'none';

const ended = (share: TestShare, path: string): Promise<string> =>
  until({ what: `the copy to ${path} has ended`, limitSeconds: 30 }, async () => {
    const status = await statusOf(share, path);
    return status !== 'pending' && status;
  });

const jobsOf = async ({ store }: TestShare): Promise<string[]> =>
  (await store.records()).filter((key) => key.startsWith('J'));

const usageOf = ({ store, name }: TestShare): Promise<number> =>
  transact(store.engine, async (tx) => usedBytes(tx, treeOf(name, await loadShare(tx, name))));

/** Everything fits together, the usage too, and nothing is left of any copy. */
async function assertSound(share: TestShare): Promise<void> {
  const { store } = share;
  await until({ what: 'no job is left', limitSeconds: 30 }, async () => (await jobsOf(share)).length === 0);
  await store.sweep();
  const { findings, awaitingSweep } = await checkStore({
    engine: store.engine,
    content: store.content,
    afterCrash: false,
  });
  assert.deepEqual([findings, awaitingSweep], [[], 0]);
  assert.deepEqual(store.errors, []);
}

/** A file of so many chunks that its map is not copied in one go. */
async function putSparse(share: TestShare, path: string, chunkCount = 100): Promise<Buffer> {
  const bytes = Buffer.alloc(chunkCount * 256 * 1024);
  await share.createFile(path, bytes.length);
  for (let chunk = 0; chunk < chunkCount; chunk++) {
    const page = randomBytes(512);
    page.copy(bytes, chunk * 256 * 1024);
    await share.write(path, chunk * 256 * 1024, page);
  }
  return bytes;
}

describe('a copy of a file of this server', () => {
  test('is done at once, with all that the source holds, and no byte is copied', async () => {
    const share = await TestShare.create();
    const bytes = randomBytes(300_001);
    await share.createFile('from', bytes, { metadata: [['a', 'b']] });
    const { copy: state, node } = await copy(share, 'from', 'to');
    assert.deepEqual([state.status, state.bytesCopied, state.bytesTotal], ['success', bytes.length, bytes.length]);
    assert.deepEqual(node.metadata, [['a', 'b']]);
    assert.ok((await share.read('to')).equals(bytes));
    const extents = (await share.store.records()).filter((key) => /^[XI] /.test(key));
    const again = await copy(share, 'from', 'third');
    assert.equal(again.copy.status, 'success');
    assert.deepEqual(
      (await share.store.records()).filter((key) => /^[XI] /.test(key)),
      extents,
    );
    assert.equal(await usageOf(share), 3 * bytes.length);
    await assertSound(share);
  });

  test('is not changed by what is written to its source afterwards, nor the other way round', async () => {
    const share = await TestShare.create();
    const bytes = randomBytes(5_000);
    await share.createFile('from', bytes);
    await copy(share, 'from', 'to');
    await share.write('from', 100, Buffer.alloc(2_000, 'x'));
    assert.ok((await share.read('to')).equals(bytes));
    await share.write('to', 3_000, Buffer.alloc(1_000, 'y'));
    assert.equal((await share.read('from')).indexOf('y'.repeat(1_000)), -1);
    await share.delete('file', 'from');
    await share.store.sweep();
    assert.ok((await share.read('to')).subarray(0, 3_000).equals(bytes.subarray(0, 3_000)));
    await share.delete('file', 'to');
    await assertSound(share);
  });

  test('takes the place of a file that is there: its id and lease stay, its bytes and metadata go', async () => {
    const share = await TestShare.create();
    await share.createFile('from', Buffer.from('new'));
    const before = await share.createFile('TO', randomBytes(10_000), { metadata: [['old', '1']] });
    const { node } = await copy(share, 'from', 'to');
    assert.deepEqual([node.id, node.name, node.lengthBytes, node.metadata], [before.id, 'TO', 3, []]);
    assert.notEqual(node.etag, before.etag);
    assert.equal(String(await share.read('to')), 'new');
    assert.equal(await usageOf(share), 6);
    await assertSound(share);
  });

  test('onto itself keeps its bytes', async () => {
    const share = await TestShare.create();
    const bytes = randomBytes(20_000);
    const before = await share.createFile('f', bytes);
    const moment = await share.snapshot();
    const { node, copy: state } = await copy(share, 'f', 'F', { metadata: [['a', '1']] });
    assert.deepEqual([node.id, state.status, node.metadata], [before.id, 'success', [['a', '1']]]);
    assert.ok((await share.read('f')).equals(bytes));
    await share.write('f', 0, Buffer.alloc(20_000, 'x'));
    assert.ok((await share.read('f', moment)).equals(bytes));
    await assertSound(share);
  });

  test('of a file as a snapshot of its share has it puts that state back', async () => {
    const share = await TestShare.create();
    const bytes = randomBytes(9_000);
    await share.createFile('f', bytes);
    const moment = await share.snapshot();
    await share.write('f', 0, Buffer.alloc(9_000, 'x'));
    await copyFile(share.store.storage, requestTo(share, 'f', { source: fileSource(share, 'f', moment) }));
    assert.ok((await share.read('f')).equals(bytes));
    await share.deleteSnapshot(moment);
    await share.store.sweep();
    assert.ok((await share.read('f')).equals(bytes));
    await assertSound(share);
  });

  test('with more rows than one transaction takes is made by a job, and is the state that it began with', async () => {
    const share = await TestShare.create();
    const bytes = await putSparse(share, 'from');
    const { copy: state } = await copy(share, 'from', 'to');
    assert.equal(state.status, 'success', 'the answer waits for what takes no time');
    assert.ok((await share.read('to')).equals(bytes));
    await share.write('from', 0, Buffer.alloc(512, 'x'));
    assert.ok((await share.read('to')).equals(bytes));
    assert.equal(await usageOf(share), 2 * bytes.length);
    await assertSound(share);
  });

  test('with many rows onto itself keeps them', async () => {
    const share = await TestShare.create();
    const bytes = await putSparse(share, 'f');
    const { copy: state } = await copy(share, 'f', 'f');
    assert.equal(state.status, 'success');
    assert.ok((await share.read('f')).equals(bytes));
    await assertSound(share);
  });

  test('goes to another share with its permission, which that share keeps for itself from then on', async () => {
    const share = await TestShare.create();
    const other = new TestShare(share.store, 'other');
    await createShare(share.store.storage, other.name, NEW_SHARE);
    const source = await share.createFile('f', Buffer.from('abc'));
    const properties: CopiedProperties = { ...AS_USUAL, permission: 'source' };
    const { node } = await copyFile(
      share.store.storage,
      requestTo(other, 'f', { source: fileSource(share, 'f'), properties }),
    );
    assert.equal(node.permission, source.permission);
    assert.equal(String(await other.read('f')), 'abc');
    await deleteShare(share.store.storage, { name: share.name, leaseId: null, snapshot: null, deleteSnapshots: null });
    await share.store.sweep();
    assert.equal(String(await other.read('f')), 'abc');
    await assertSound(other);
  });

  const SPECIAL = {
    ...NO_CHANGES,
    attributes: READ_ONLY | HIDDEN,
    createdAt: { at: fileTimeAt(1_000) },
    writtenAt: { at: fileTimeAt(2_000) },
    changedAt: fileTimeAt(3_000),
  };
  for (const [what, properties, want] of [
    ['what is usual', AS_USUAL, [ARCHIVE, null, null, null]],
    [
      'what the source has',
      { ...AS_USUAL, attributes: 'source', createdAt: 'source', writtenAt: 'source', changedAt: 'source' },
      [READ_ONLY | HIDDEN, 1_000, 2_000, 3_000],
    ],
    ['no attributes', { ...AS_USUAL, attributes: 0 }, [0, null, null, null]],
    [
      'no attributes but the one for archives',
      { ...AS_USUAL, attributes: 0, setsArchive: true },
      [ARCHIVE, null, null, null],
    ],
    [
      'attributes of the source and one for archives',
      { ...AS_USUAL, attributes: 'source', setsArchive: true },
      [READ_ONLY | HIDDEN | ARCHIVE, null, null, null],
    ],
    [
      'times of its own',
      { ...AS_USUAL, createdAt: { at: fileTimeAt(7) }, writtenAt: 'now', changedAt: { at: fileTimeAt(8) } },
      [ARCHIVE, 7, null, 8],
    ],
  ] as const satisfies readonly (readonly [string, CopiedProperties, readonly (number | null)[]])[]) {
    test(`has ${what}, if that is asked for`, async () => {
      const share = await TestShare.create();
      await share.createFile('from', 10, { properties: SPECIAL });
      const { node } = await copy(share, 'from', 'to', { properties });
      const now = fileTimeAt(share.store.clock.nowMs());
      const [attributes, ...times] = want;
      assert.deepEqual(
        [node.attributes, node.createdAt, node.writtenAt, node.changedAt],
        [attributes, ...times.map((ms) => (ms === null ? now : fileTimeAt(ms)))],
      );
    });
  }

  test('is refused where the destination is, and where the source is', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d');
    await share.createFile('f', 10);
    await share.createFile('locked', 10, { properties: { ...NO_CHANGES, attributes: READ_ONLY } });
    const leaseId = randomUUID();
    for (const [from, to, more, want] of [
      ['f', 'd', {}, 'ResourceTypeMismatch'],
      ['f', 'nowhere/to', {}, 'ParentNotFound'],
      ['f', 'locked', {}, 'ReadOnlyAttribute'],
      ['f', 'locked', { ignoresReadOnly: true }, null],
      ['f', 'new', { leaseId }, 'LeaseNotPresentWithFileOperation'],
      ['f', 'locked', { mayOverwrite: false }, 'AuthorizationPermissionMismatch'],
      ['missing', 'new', {}, 'ResourceNotFound'],
      ['missing/too', 'new', {}, 'ResourceNotFound'],
      ['d', 'new', {}, 'ResourceTypeMismatch'],
    ] as const) {
      assert.equal(await refusal(copy(share, from, to, more)), want, `${from} to ${to}`);
    }
    const elsewhere: CopySource = { kind: 'file', name: { ...share.nameOf('f'), share: 'no-such-share' } };
    assert.equal(await refusal(copyOutside(share, 'new', { source: elsewhere })), 'ResourceNotFound');
    await assertSound(share);
  });

  test('is refused where it would exceed the quota, and leaves nothing', async () => {
    const share = await TestShare.create({}, { quotaGiB: 1 });
    await share.createFile('from', 600 * MIB);
    assert.equal(await refusal(copy(share, 'from', 'to')), 'ShareSizeLimitReached');
    assert.equal(await usageOf(share), 600 * MIB);
    await assertSound(share);
  });
});

const blobSource = (blob: string): CopySource => ({
  kind: 'inside',
  name: { account: 'account1', container: 'c', blob },
  at: null,
  mayReadTags: true,
});

describe('a copy of a blob of this server', () => {
  for (const lengthBytes of [0, 1, 512, 8_193, 300_001, 5 * MIB + 3]) {
    test(`with ${lengthBytes} bytes is a file with them`, async () => {
      const share = await TestShare.create();
      const bytes = randomBytes(lengthBytes);
      await share.store.createContainer('c');
      await share.store.put('c', 'b', bytes);
      const { copy: state, node } = await copyOutside(share, 'to', { source: blobSource('b') });
      assert.deepEqual([state.status, node.lengthBytes], ['success', lengthBytes]);
      assert.ok((await share.read('to')).equals(bytes));
      await share.store.delete('c', 'b');
      await share.store.sweep();
      assert.ok((await share.read('to')).equals(bytes));
      assert.equal(await usageOf(share), lengthBytes);
      await assertSound(share);
    });
  }

  test('that is missing is refused, and the file that was to be replaced is as it was', async () => {
    const share = await TestShare.create();
    await share.store.createContainer('c');
    await share.createFile('to', Buffer.from('old'));
    assert.equal(await refusal(copyOutside(share, 'to', { source: blobSource('b') })), 'CannotVerifyCopySource');
    assert.equal(String(await share.read('to')), 'old');
    await assertSound(share);
  });
});

describe('a copy from outside', () => {
  for (const lengthBytes of [0, 1, 511, 9 * MIB + 700]) {
    test(`of ${lengthBytes} bytes is pending, long and zeros, then all there`, async () => {
      const outside = new MemoryOutside(randomBytes(lengthBytes));
      const gate = new Gate();
      outside.beforePiece = () => gate.passed;
      const share = await TestShare.create({ outside });
      const { copy: state, node } = await copyOutside(share, 'to', { metadata: [['a', '1']] });
      if (lengthBytes > 0) {
        assert.equal(state.status, 'pending');
        assert.ok((await share.read('to')).equals(Buffer.alloc(lengthBytes)));
      }
      assert.equal(node.lengthBytes, lengthBytes);
      gate.open();
      assert.equal(await ended(share, 'to'), 'success');
      assert.ok((await share.read('to')).equals(outside.bytes));
      const done = await recordOf(share, 'to');
      assert.notEqual(done.etag, node.etag);
      assert.deepEqual(done.metadata, [['a', '1']]);
      assert.equal(await usageOf(share), lengthBytes);
      await assertSound(share);
    });
  }

  test('keeps everybody from its destination, but not from moving the directory that it is in', async () => {
    const outside = new MemoryOutside(randomBytes(200_000));
    const gate = new Gate();
    outside.beforePiece = (offsetBytes) => (offsetBytes > 0 ? gate.passed : undefined);
    const share = await TestShare.create({ outside });
    await share.createDirectory('d');
    await copyOutside(share, 'd/to');
    assert.equal(await refusal(share.write('d/to', 0, Buffer.from('x'))), 'PendingCopyOperation');
    assert.equal(await refusal(share.createFile('d/to', 5)), 'PendingCopyOperation');
    assert.equal(await refusal(copyOutside(share, 'd/to')), 'PendingCopyOperation');
    assert.equal(await refusal(share.delete('file', 'd/to')), 'PendingCopyOperation');
    assert.equal(await refusal(copy(share, 'd/to', 'other')), 'PendingCopyOperation');
    await share.rename('directory', 'd', 'e');
    gate.open();
    assert.equal(await ended(share, 'e/to'), 'success');
    assert.ok((await share.read('e/to')).equals(outside.bytes));
    await assertSound(share);
  });

  test('is seen by a snapshot as it was then, and by no other state', async () => {
    const outside = new MemoryOutside(randomBytes(200_000));
    const gate = new Gate();
    outside.beforePiece = (offsetBytes) => (offsetBytes > 0 ? gate.passed : undefined);
    const share = await TestShare.create({ outside });
    await share.createFile('to', Buffer.from('old'));
    const before = await share.snapshot();
    await copyOutside(share, 'to');
    const during = await share.snapshot();
    gate.open();
    assert.equal(await ended(share, 'to'), 'success');
    assert.equal(String(await share.read('to', before)), 'old');
    assert.ok((await share.read('to', during)).equals(Buffer.alloc(200_000)));
    assert.ok((await share.read('to')).equals(outside.bytes));
    await assertSound(share);
    for (const moment of [before, during]) await share.deleteSnapshot(moment);
    await assertSound(share);
  });

  test('that is aborted leaves an empty file with its metadata, which can be written again', async () => {
    const outside = new MemoryOutside(randomBytes(9 * MIB));
    const reached = new Gate();
    outside.beforePiece = (offsetBytes) => {
      if (offsetBytes < 5 * MIB) return;
      reached.open();
      return new Promise(() => {});
    };
    const share = await TestShare.create({ outside });
    const { copy: state } = await copyOutside(share, 'to', { metadata: [['a', '1']] });
    await reached.passed;
    const abort = (copyId: string, leaseId: string | null = null): Promise<void> =>
      abortCopyFile(share.store.storage, { ...share.requestOf('to', { leaseId }), copyId });
    assert.equal(await refusal(abort(randomUUID())), 'CopyIdMismatch');
    assert.equal(await refusal(abort(state.id, randomUUID())), 'LeaseNotPresentWithFileOperation');
    await abort(state.id.toUpperCase());
    const { copy: after, lengthBytes, metadata } = await recordOf(share, 'to');
    assert.deepEqual([after?.status, lengthBytes, metadata], ['aborted', 0, [['a', '1']]]);
    assert.equal(await refusal(abort(state.id)), 'NoPendingCopyOperation');
    assert.equal(await usageOf(share), 0);
    await assertSound(share);
    await share.resize('to', 10);
    await share.write('to', 0, Buffer.from('x'));
  });

  test('that fails leaves an empty file, and its bytes do not count any more', async () => {
    const outside = new MemoryOutside(randomBytes(5 * MIB));
    const gate = new Gate();
    outside.beforePiece = async (offsetBytes) => {
      if (offsetBytes === 0) return;
      await gate.passed;
      throw new SourceUnreachable('answer', 'nonsense');
    };
    const share = await TestShare.create({ outside });
    await copyOutside(share, 'to');
    assert.equal(await usageOf(share), 5 * MIB);
    gate.open();
    assert.equal(await ended(share, 'to'), 'failed');
    const { lengthBytes, copy: state } = await recordOf(share, 'to');
    assert.deepEqual([lengthBytes, state?.description], [0, '502 BadGateway "The source could not be read."']);
    assert.equal(await usageOf(share), 0);
    await assertSound(share);
  });

  test('ends when its share is deleted, and leaves nothing', async () => {
    const outside = new MemoryOutside(randomBytes(9 * MIB));
    const gate = new Gate();
    outside.beforePiece = (offsetBytes) => (offsetBytes > 5 * MIB ? gate.passed : undefined);
    const share = await TestShare.create({ outside });
    await copyOutside(share, 'to');
    const { store, name } = share;
    await deleteShare(store.storage, { name, leaseId: null, snapshot: null, deleteSnapshots: null });
    gate.open();
    await assertSound(share);
  });

  test('goes on when its node is back, behind what was there', async () => {
    const outside = new MemoryOutside(randomBytes(9 * MIB + 5));
    const reached = new Gate();
    outside.beforePiece = (offsetBytes) => {
      if (offsetBytes < 5 * MIB) return;
      reached.open();
      return new Promise(() => {});
    };
    const share = await TestShare.create({ outside });
    await copyOutside(share, 'to');
    await reached.passed;
    outside.beforePiece = () => {};
    await share.store.reopen();
    assert.equal(await ended(share, 'to'), 'success');
    assert.ok((await share.read('to')).equals(outside.bytes));
    assert.ok((outside.opened.at(-1) as number) >= 4 * MIB);
    await assertSound(share);
  });

  test('is taken over by another node', async () => {
    const outside = new MemoryOutside(randomBytes(300_000));
    const parts = { engine: openMemoryEngine(), content: openMemoryContent(), signals: openLocalSignals(), outside };
    const first = await TestShare.create({ ...parts, isShared: true, slot: () => 0 });
    const store = await TestStore.open({ ...parts, clock: first.store.clock, isShared: true, slot: () => 1 });
    const second = new TestShare(store, 'share');
    outside.beforePiece = (offsetBytes) => (offsetBytes > 0 ? new Promise(() => {}) : undefined);
    await copyOutside(first, 'to');
    await until({ what: 'the first node fetches', limitSeconds: 30 }, () => outside.opened.length === 1);
    outside.beforePiece = () => {};
    await first.store.close();
    await store.beat();
    assert.equal(await ended(second, 'to'), 'success');
    assert.ok((await second.read('to')).equals(outside.bytes));
    await store.close();
  });
});
