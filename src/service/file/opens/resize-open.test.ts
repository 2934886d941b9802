import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { fileTimeAt } from '../../../rules/file-time.ts';
import { checkStore } from '../../check.ts';
import type { FileRecord } from '../../records/node-record.ts';
import { snapshotReader } from '../../records/record-reader.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { getShareStats } from '../get-share-stats.ts';
import { findNode } from '../load.ts';
import { resizeOpen, zeroOpen } from './resize-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';
import { writeOpen } from './write-open.ts';

async function opened(share: TestShare, path: string): Promise<ThroughOpen> {
  const { id, place } = await new SmbClient(share.store.storage, share.name).open(path);
  return { openId: id, place, name: share.nameOf(path) };
}

async function fileAt({ store: { storage }, ...share }: TestShare, path: string): Promise<FileRecord> {
  const look = storage.engine.snapshot();
  const name = { ...share.name, path: [path], snapshot: null };
  const { node } = await findNode(snapshotReader(look), name, storage.known).finally(() => look.close());
  return node as FileRecord;
}

const usedBytes = async (share: TestShare): Promise<number> =>
  (await getShareStats(share.store.storage, { name: share.name, leaseId: null })).usedBytes;

const resize = ({ store }: TestShare, open: ThroughOpen, toBytes: number): Promise<void> =>
  resizeOpen(store.storage, open, { toBytes }, {});

const zero = ({ store }: TestShare, open: ThroughOpen, offsetBytes: number, lengthBytes: number): Promise<void> =>
  zeroOpen(store.storage, open, { offsetBytes, lengthBytes }, {});

async function checkClean({ store: { engine, content } }: TestShare): Promise<void> {
  assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
}

describe('a file that is resized through an open', () => {
  test('ends where it is cut, and shows zeros where it grows again', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.alloc(30_000, 'x'));
    const open = await opened(share, 'f');
    for (const [toBytes, left] of [
      [20_001, 20_001],
      [25_000, 20_001],
      [700, 700],
      [40_000, 700],
      [0, 0],
      [10, 0],
    ] as const) {
      await resize(share, open, toBytes);
      const expected = Buffer.concat([Buffer.alloc(left, 'x'), Buffer.alloc(toBytes - left)]);
      assert.ok((await share.read('f')).equals(expected), String(toBytes));
      assert.equal(await usedBytes(share), toBytes);
    }
    await checkClean(share);
  });

  test('keeps its ETag, and has new times unless its length stays', async () => {
    const share = await TestShare.create();
    const before = await share.createFile('f', 100);
    const open = await opened(share, 'f');
    share.store.clock.advance({ seconds: 5 });
    await resize(share, open, 100);
    assert.deepEqual(await fileAt(share, 'f'), before);
    await resize(share, open, 101);
    const now = fileTimeAt(share.store.clock.nowMs());
    assert.deepEqual(await fileAt(share, 'f'), { ...before, lengthBytes: 101, writtenAt: now, changedAt: now });
  });

  test('is not cut where it is locked', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 1_000);
    const [open, other] = [await opened(share, 'f'), await opened(share, 'f')];
    const lock = { offsetBytes: 500n, lengthBytes: 10_000n, isExclusive: false };
    await share.store.storage.opens.lock(other.openId, [lock], { waitMs: 0 });
    assert.equal(await refusal(resize(share, open, 999)), 'FileLockConflict');
    assert.equal(await refusal(resize(share, open, 0)), 'FileLockConflict');
    await resize(share, open, 1_000);
    await resize(share, open, 5_000);
    assert.equal((await fileAt(share, 'f')).lengthBytes, 5_000);
  });

  test('grows no further than it may', async () => {
    const share = await TestShare.create({}, { quotaGiB: 1 });
    await share.createFile('f', 0);
    const open = await opened(share, 'f');
    assert.equal(await refusal(resize(share, open, 1024 ** 3 + 1)), 'ShareSizeLimitReached');
    assert.equal(await refusal(resize(share, open, FILE_BYTES_MAX + 1)), 'ShareSizeLimitReached');
    await resize(share, open, 1024 ** 3);
    assert.equal(await usedBytes(share), 1024 ** 3);
  });

  test('is open still', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 0);
    const open = await opened(share, 'f');
    await share.store.storage.opens.close(open.openId);
    await assert.rejects(resize(share, open, 1), OpenClosed);
    await assert.rejects(zero(share, open, 0, 1), OpenClosed);
  });

  test('is cut and written in the order in which that is asked for', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.alloc(50_000, 'x'));
    const open = await opened(share, 'f');
    const write = (offsetBytes: number, bytes: Uint8Array): Promise<void> =>
      writeOpen(share.store.storage, open, { offsetBytes, bytes, keepsWriteTime: false }, {});
    await Promise.all([
      write(0, Buffer.alloc(20_000, 'a')),
      resize(share, open, 10_000),
      write(10_100, Buffer.from('b')),
      zero(share, open, 5_000, 1_000_000),
      write(6_000, Buffer.from('c')),
    ]);
    const expected = Buffer.alloc(10_101);
    expected.fill('a', 0, 5_000).write('c', 6_000);
    assert.ok((await share.read('f')).equals(expected));
    assert.equal(await usedBytes(share), expected.length);
    await checkClean(share);
  });
});

describe('a range that is cleared through an open', () => {
  test('is zeros, and the file is as long as it was', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.alloc(20_000, 'x'));
    const open = await opened(share, 'f');
    await zero(share, open, 100, 10_000);
    await zero(share, open, 19_999, 10_000);
    await zero(share, open, 20_000, 10_000);
    await zero(share, open, 30_000, 1);
    const expected = Buffer.alloc(20_000, 'x').fill(0, 100, 10_100).fill(0, 19_999);
    assert.ok((await share.read('f')).equals(expected));
  });

  test('is not locked by another', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 1_000);
    const [open, other] = [await opened(share, 'f'), await opened(share, 'f')];
    const lock = { offsetBytes: 500n, lengthBytes: 1n, isExclusive: true };
    await share.store.storage.opens.lock(other.openId, [lock], { waitMs: 0 });
    assert.equal(await refusal(zero(share, open, 0, 501)), 'FileLockConflict');
    await zero(share, open, 0, 500);
    await zero(share, other, 0, 1_000);
  });
});
