import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { CountedEngine } from '../../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { Random } from '../../../../test/harness/random.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { openMemoryEngine } from '../../../engine/memory/memory-engine.ts';
import { NO_ACCESS } from '../../../rules/share-mode.ts';
import { deleteShare } from '../delete-share.ts';
import { PAGE_BYTES } from '../file-bytes.ts';
import type { OpenRequest } from './open-node.ts';
import { readOpen } from './read-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';
import type { Waiter } from './waits.ts';
import { writeOpen } from './write-open.ts';

const MIB = 1024 ** 2;

async function opened(
  share: TestShare,
  path: string,
  {
    smb = new SmbClient(share.store.storage, share.name),
    ...request
  }: Partial<OpenRequest> & { smb?: SmbClient; snapshot?: string | null } = {},
): Promise<ThroughOpen> {
  const { id, place } = await smb.open(path, request);
  return { openId: id, place, name: share.nameOf(path, request.snapshot ?? null) };
}

/** Null: the file ends before. */
async function read(
  { store: { storage } }: TestShare,
  open: ThroughOpen,
  offsetBytes: number,
  lengthBytes: number,
  waiter: Waiter = {},
): Promise<Buffer | null> {
  const found = await readOpen(storage, open, { offsetBytes, lengthBytes }, waiter);
  if (found === null) return null;
  const bytes = Buffer.concat(found.bytes);
  assert.equal(bytes.length, found.lengthBytes);
  return bytes;
}

const textOf = async (reading: Promise<Buffer | null>): Promise<string | null> => (await reading)?.toString() ?? null;

const pageOf = (index: number): Buffer => Buffer.alloc(PAGE_BYTES, 1 + (index % 250));

describe('what is read', () => {
  test('is what was asked for, as far as the file goes', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.from('hello world'));
    const open = await opened(share, 'f');
    for (const [offset, length, expected] of [
      [0, 11, 'hello world'],
      [6, 5, 'world'],
      [6, 100, 'world'],
      [10, 1, 'd'],
      [11, 1, null],
      [2 ** 60, 1, null],
      [11, 0, ''],
      [2 ** 60, 0, ''],
      [3, 0, ''],
    ] as const) {
      assert.equal(await textOf(read(share, open, offset, length)), expected, `${length} at ${offset}`);
    }
  });

  test('is the same, whatever the file is made of', async () => {
    const share = await TestShare.create();
    const random = new Random();
    const expected = Buffer.alloc(3 * MIB);
    await share.createFile('f', expected.length);
    const open = await opened(share, 'f');
    assert.ok((await read(share, open, 0, expected.length))?.equals(expected), 'nothing was written yet');
    for (const [offset, length] of [
      [0, 100],
      [700, 5_000],
      [200_000, 150_000],
      [MIB + 1, MIB],
      [3 * MIB - 3, 3],
    ] as const) {
      const bytes = random.bytes(length);
      bytes.copy(expected, offset);
      await share.write('f', offset, bytes);
    }
    for (let round = 0; round < 50; round++) {
      const offset = random.below(expected.length);
      const length = 1 + random.below(random.pick([10, 5_000, 2 * MIB]));
      const bytes = await read(share, open, offset, length);
      const wanted = expected.subarray(offset, offset + length);
      assert.ok(bytes?.equals(wanted), `LARIMAR_SEED=${random.seed}: ${length} at ${offset}`);
    }
  });

  test('may be in more pieces than are looked up at once', async () => {
    const share = await TestShare.create();
    const { storage } = share.store;
    await share.createFile('f', 0);
    const open = await opened(share, 'f');
    const pageCount = 1_100;
    const writing = Array.from({ length: pageCount }, (_, index) =>
      writeOpen(storage, open, { offsetBytes: index * PAGE_BYTES, bytes: pageOf(index), keepsWriteTime: false }, {}),
    );
    await Promise.all(writing);
    const expected = Buffer.concat(Array.from({ length: pageCount }, (_, index) => pageOf(index)));
    const content = await read(share, open, 3, expected.length);
    assert.ok(content?.equals(expected.subarray(3)));
  });

  test('is read again for one look at who uses the file, and one at what it is made of', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    await share.createDirectory('d');
    await share.createDirectory('d/e');
    await share.createFile('d/e/f', Buffer.alloc(64 * 1024, 'x'));
    const open = await opened(share, 'd/e/f');
    await read(share, open, 0, 4_096);
    const { rangesAsked, keysAsked, commits } = await engine.costOf(() => read(share, open, 8_192, 4_096));
    assert.deepEqual({ rangesAsked, keysAsked, commits }, { rangesAsked: 2, keysAsked: 4, commits: 0 });
  });
});

describe('a file is read', () => {
  test('wherever it was moved, and not what has its name by now', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d');
    await share.createDirectory('e');
    await share.createFile('d/f', Buffer.from('mine'));
    const open = await opened(share, 'd/f');
    assert.equal(await textOf(read(share, open, 0, 10)), 'mine');
    await share.rename('file', 'd/f', 'd/g');
    await share.createFile('d/f', Buffer.from('another'));
    assert.equal(await textOf(read(share, open, 0, 10)), 'mine');
    await share.rename('file', 'd/g', 'e/g');
    await share.createFile('d/g', Buffer.from('a third'));
    assert.equal(await textOf(read(share, open, 0, 10)), 'mine');
    await share.rename('file', 'e/g', 'h');
    assert.equal(await textOf(read(share, open, 0, 10)), 'mine');
  });

  test('in a snapshot as it was, though it is gone', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.from('then'));
    const snapshot = await share.snapshot();
    await share.write('f', 0, Buffer.from('now!'));
    const open = await opened(share, 'f', { snapshot });
    assert.equal(await textOf(read(share, open, 0, 10)), 'then');
    await share.delete('file', 'f');
    assert.equal(await textOf(read(share, open, 1, 2)), 'he');
  });

  test('not once it is closed, nor when it has gone with its share', async () => {
    const share = await TestShare.create();
    const { storage } = share.store;
    await share.createFile('f', Buffer.from('hello'));
    const [closed, lost] = [await opened(share, 'f'), await opened(share, 'f')];
    await read(share, lost, 0, 1);
    await storage.opens.close(closed.openId);
    await assert.rejects(read(share, closed, 0, 1), OpenClosed);
    await deleteShare(storage, { name: share.name, leaseId: null, snapshot: null, deleteSnapshots: null });
    await assert.rejects(read(share, lost, 0, 1), { code: 'ShareNotFound' });
  });

  test('and a directory is not', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d');
    assert.equal(await refusal(read(share, await opened(share, 'd'), 0, 1)), 'ResourceTypeMismatch');
    assert.equal(await refusal(read(share, await opened(share, ''), 0, 1)), 'ResourceTypeMismatch');
  });
});

describe('beside others', () => {
  let nodes: TwoNodes;

  beforeEach(async () => {
    nodes = await TwoNodes.start();
    await nodes.share.createFile('f', Buffer.from('hello'));
  });

  afterEach(() => nodes.end());

  test('what one has locked for itself no other reads, and only that', async () => {
    const [one, other] = [
      await opened(nodes.share, 'f', { smb: nodes.there }),
      await opened(nodes.share, 'f', { smb: nodes.here }),
    ];
    const lock = { offsetBytes: 1n, lengthBytes: 2n, isExclusive: true };
    await nodes.there.opens.lock(one.openId, [lock], { waitMs: 0 });
    assert.equal(await refusal(read(nodes.share, other, 0, 2)), 'FileLockConflict');
    assert.equal(await textOf(read(nodes.share, other, 3, 2)), 'lo');
    assert.equal(await textOf(read(nodes.share, other, 2, 0)), '');
    assert.equal(await textOf(read(nodes.share, one, 0, 5)), 'hello');
    // Beyond the end, too.
    assert.equal(await refusal(read(nodes.share, other, 1, 100)), 'FileLockConflict');
  });

  test('a read waits until whoever may have bytes to write has written them', async () => {
    const holder = await opened(nodes.share, 'f', { smb: nodes.there, caching: 'RWH', leaseKey: 'k' });
    const other = await opened(nodes.share, 'f', { smb: nodes.here, access: NO_ACCESS });
    let waitCount = 0;
    const reading = textOf(read(nodes.share, other, 0, 5, { onWait: () => waitCount++ }));
    assert.equal(await nodes.there.told(), 'RWH to RH');
    const { storage } = nodes.elsewhere.store;
    await writeOpen(storage, holder, { offsetBytes: 0, bytes: Buffer.from('HELLO'), keepsWriteTime: false }, {});
    await turns(5);
    await nodes.there.opens.acknowledge(holder.openId, 'RH');
    assert.equal(await reading, 'HELLO');
    assert.equal(waitCount, 1);
    await read(nodes.share, other, 0, 5);
    assert.deepEqual(nodes.there.unheard, []);
  });
});
