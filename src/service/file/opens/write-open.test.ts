import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, type TestContext, test } from 'node:test';
import { CountedEngine } from '../../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { successes, together, turns } from '../../../../test/harness/parallel.ts';
import { Random } from '../../../../test/harness/random.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import type { Engine } from '../../../engine/engine.ts';
import { openLmdbEngine } from '../../../engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from '../../../engine/memory/memory-engine.ts';
import { fileTimeAt } from '../../../rules/file-time.ts';
import { NO_ACCESS } from '../../../rules/share-mode.ts';
import { checkStore } from '../../check.ts';
import { encodeJson } from '../../records/codec.ts';
import { nodeKey } from '../../records/file-keys.ts';
import type { FileRecord } from '../../records/node-record.ts';
import { snapshotReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { getShareStats } from '../get-share-stats.ts';
import { type FoundNode, findNode } from '../load.ts';
import type { OpenRequest } from './open-node.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';
import { WaitCancelled, type Waiter } from './waits.ts';
import { type OpenWrite, writeOpen } from './write-open.ts';

const KIB = 1024;

const ENGINES: readonly (readonly [where: string, open: (t: TestContext) => Promise<Engine>])[] = [
  ['in memory', async () => openMemoryEngine()],
  [
    'on disk',
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'larimar-write-open-'));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const engine = await openLmdbEngine({ path: join(folder, 'records') });
      t.after(() => engine.close());
      return engine;
    },
  ],
];

/** An open, and what writes through it. */
class Writer {
  readonly storage: Storage;
  readonly open: ThroughOpen;

  constructor(storage: Storage, open: ThroughOpen) {
    this.storage = storage;
    this.open = open;
  }

  write(
    offsetBytes: number | 'end',
    bytes: Uint8Array,
    { waiter = {}, ...rest }: Partial<OpenWrite> & { waiter?: Waiter } = {},
  ): Promise<void> {
    return writeOpen(this.storage, this.open, { offsetBytes, bytes, keepsWriteTime: false, ...rest }, waiter);
  }
}

async function opened(
  share: TestShare,
  path: string,
  {
    storage = share.store.storage,
    smb = new SmbClient(storage, share.name),
    ...request
  }: Partial<OpenRequest> & { storage?: Storage; smb?: SmbClient; snapshot?: string | null } = {},
): Promise<Writer> {
  const { id, place } = await smb.open(path, request);
  return new Writer(storage, { openId: id, place, name: share.nameOf(path, request.snapshot ?? null) });
}

async function found(share: TestShare, path: string): Promise<FoundNode> {
  const { engine, known } = share.store.storage;
  const look = engine.snapshot();
  return findNode(snapshotReader(look), share.nameOf(path), known).finally(() => look.close()) as Promise<FoundNode>;
}

const fileAt = async (share: TestShare, path: string): Promise<FileRecord> =>
  (await found(share, path)).node as FileRecord;

async function checkClean({ store: { engine, content } }: TestShare): Promise<void> {
  assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
}

const usedBytes = async (share: TestShare): Promise<number> =>
  (await getShareStats(share.store.storage, { name: share.name, leaseId: null })).usedBytes;

const strayCount = async ({ store }: TestShare): Promise<number> => {
  async function* live() {
    for (const { key, value } of await store.entries()) {
      if (key[0] !== 'X'.charCodeAt(0)) continue;
      const { placement, lengthBytes } = JSON.parse(Buffer.from(value.subarray(1)).toString());
      yield { id: Buffer.from(key.subarray(1)).toString('hex'), placement, lengthBytes };
    }
  }
  return (await store.content.strays(live())).extentCount;
};

describe('bytes that were written', () => {
  test('are there for everybody at once, whatever their length and place', async () => {
    const share = await TestShare.create();
    await share.createFile('f', 0);
    const writer = await opened(share, 'f');
    const random = new Random(1);
    let expected: Buffer = Buffer.alloc(0);
    for (const [offset, length] of [
      [0, 5],
      [5, 600],
      [605, 9 * KIB],
      [100_003, 3],
      [511, 2],
      [512, 64 * KIB],
      [300, 200_000],
    ] as const) {
      const bytes = random.bytes(length);
      await writer.write(offset, bytes);
      const after = Buffer.alloc(Math.max(expected.length, offset + length));
      expected.copy(after);
      bytes.copy(after, offset);
      expected = after;
      assert.ok((await share.read('f')).equals(expected), `${length} at ${offset}`);
      assert.equal(await usedBytes(share), expected.length);
    }
    await checkClean(share);
  });

  test('leave ETag and Last-Modified, and set the times of the last write and change, unless they are to stay', async () => {
    const share = await TestShare.create();
    const before = await share.createFile('f', Buffer.from('hello'));
    const writer = await opened(share, 'f');
    share.store.clock.advance({ seconds: 5 });
    await writer.write(0, Buffer.from('x'), { keepsWriteTime: true, keepsChangeTime: true });
    assert.deepEqual({ ...(await fileAt(share, 'f')), content: before.content }, before);
    await writer.write(0, Buffer.from('y'), { keepsWriteTime: true });
    const now = fileTimeAt(share.store.clock.nowMs());
    assert.deepEqual({ ...(await fileAt(share, 'f')), content: before.content }, { ...before, changedAt: now });
    await writer.write(0, Buffer.from('z'));
    const { etag, lastModifiedMs, writtenAt, changedAt } = await fileAt(share, 'f');
    assert.deepEqual([etag, lastModifiedMs], [before.etag, before.lastModifiedMs]);
    assert.deepEqual([writtenAt, changedAt], [now, now]);
  });

  test('are not seen by a snapshot that was taken before, and nothing is written in one', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.from('before'));
    const writer = await opened(share, 'f');
    const snapshot = await share.snapshot();
    await writer.write(0, Buffer.from('behind'));
    assert.equal((await share.read('f', snapshot)).toString(), 'before');
    const inSnapshot = await opened(share, 'f', { snapshot });
    assert.equal(await refusal(inSnapshot.write(0, Buffer.from('x'))), 'ReadOnlyAttribute');
  });

  test('go to the file, wherever it was moved', async () => {
    const share = await TestShare.create();
    await share.createDirectory('d');
    await share.createFile('d/f', Buffer.from('hello'));
    const writer = await opened(share, 'd/f');
    await writer.write(0, Buffer.from('H'));
    await share.rename('file', 'd/f', 'g');
    await share.createFile('d/f', Buffer.from('another'));
    await writer.write(1, Buffer.from('E'));
    assert.equal((await share.read('g')).toString(), 'HEllo');
    assert.equal((await share.read('d/f')).toString(), 'another');
  });

  test('none at all change nothing', async () => {
    const share = await TestShare.create();
    const before = await share.createFile('f', Buffer.from('hello'));
    share.store.clock.advance({ seconds: 5 });
    await (await opened(share, 'f')).write(100, Buffer.alloc(0));
    assert.deepEqual(await fileAt(share, 'f'), before);
  });
});

describe('a write is refused, and leaves no bytes behind', () => {
  for (const length of [10, 20 * KIB]) {
    const bytes = Buffer.alloc(length, 'x');

    test(`of ${length} bytes: through what was closed`, async () => {
      const share = await TestShare.create();
      await share.createFile('f', Buffer.from('hello'));
      const [writer, other] = [await opened(share, 'f'), await opened(share, 'f')];
      const { place, openId } = writer.open;
      assert.ok(place !== null);
      // By force: its client does not know.
      assert.deepEqual(await share.store.storage.opens.askToClose(place, [openId], 10_000), [openId]);
      await assert.rejects(writer.write(0, bytes), OpenClosed);
      const results = await Promise.allSettled([other.write(0, bytes), writer.write(0, bytes), other.write(1, bytes)]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.equal(await strayCount(share), 0);
    });

    test(`of ${length} bytes: to what is being copied to`, async () => {
      const share = await TestShare.create();
      await share.createFile('f', Buffer.from('hello'));
      const writer = await opened(share, 'f');
      const { tree, place, node } = await found(share, 'f');
      const copy = { id: 'c', source: 's', status: 'pending', progress: '0/1' };
      await share.store.engine.commit({
        checks: [],
        puts: [{ key: nodeKey(tree, place), value: encodeJson({ ...node, copy }) }],
        deletes: [],
      });
      assert.equal(await refusal(writer.write(0, bytes)), 'PendingCopyOperation');
      assert.equal(await strayCount(share), 0);
    });

    test(`of ${length} bytes: over others’ locks, and nobody else is`, async () => {
      const share = await TestShare.create();
      await share.createFile('f', 100_000);
      const [writer, other] = [await opened(share, 'f'), await opened(share, 'f')];
      const { opens } = share.store.storage;
      const lock = { offsetBytes: 50_000n, lengthBytes: 1n, isExclusive: true };
      await opens.lock(other.open.openId, [lock], { waitMs: 0 });
      const outcomes = await Promise.all(
        [
          writer.write(50_000 - length, bytes),
          writer.write(49_995, bytes),
          writer.write(50_001, bytes),
          other.write(49_995, bytes),
        ].map(refusal),
      );
      assert.deepEqual(outcomes, [null, 'FileLockConflict', null, null]);
      assert.equal(await strayCount(share), 0);
    });

    test(`of ${length} bytes: beyond the longest file`, async () => {
      const share = await TestShare.create({}, { quotaGiB: 102_400 });
      await share.createFile('f', 0);
      const writer = await opened(share, 'f');
      assert.equal(await refusal(writer.write(FILE_BYTES_MAX - length + 1, bytes)), 'ShareSizeLimitReached');
      await writer.write(FILE_BYTES_MAX - length, bytes);
      assert.equal((await fileAt(share, 'f')).lengthBytes, FILE_BYTES_MAX);
      assert.equal(await refusal(writer.write('end', bytes)), 'ShareSizeLimitReached');
      assert.equal(await strayCount(share), 0);
    });

    test(`of ${length} bytes: beyond the quota, and only those that grow the file too much`, async () => {
      const share = await TestShare.create({}, { quotaGiB: 1 });
      const left = 30 * KIB;
      await share.createFile('f', 1024 ** 3 - left);
      const writer = await opened(share, 'f');
      const end = 1024 ** 3 - left;
      const outcomes = await Promise.all(
        [
          writer.write(end, bytes),
          writer.write(1024 ** 3 - length + 1, bytes),
          writer.write(0, bytes),
          writer.write(1024 ** 3 - length, bytes),
          writer.write('end', bytes),
        ].map(refusal),
      );
      assert.deepEqual(outcomes, [null, 'ShareSizeLimitReached', null, null, 'ShareSizeLimitReached']);
      assert.equal(await usedBytes(share), 1024 ** 3);
      assert.equal(await strayCount(share), 0);
      await checkClean(share);
    });
  }
});

describe('appending', () => {
  test('begins where the file ends by then, also many at once', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.from('0'));
    const writers = [await opened(share, 'f'), await opened(share, 'f')];
    const lengths = [1, 100, 511, 512, 9 * KIB, 9 * KIB, 20_001, 700, 40_000, 3];
    const pieceOf = (index: number): Buffer => Buffer.alloc(lengths[index] as number, 'a'.charCodeAt(0) + index);
    successes(await together(lengths.length, (index) => (writers[index % 2] as Writer).write('end', pieceOf(index))));
    const bytes = await share.read('f');
    assert.equal(bytes.length, 1 + lengths.reduce((sum, length) => sum + length));
    const runs = bytes.toString().match(/(.)\1*/gs) ?? [];
    assert.deepEqual(runs.toSorted(), ['0', ...lengths.map((_, index) => pieceOf(index).toString())].toSorted());
    assert.equal(await strayCount(share), 0);
    await checkClean(share);
  });

  test('alone leaves what is there as it is', async () => {
    const share = await TestShare.create();
    await share.createFile('f', Buffer.from('hello'));
    const writer = await opened(share, 'f');
    assert.equal(await refusal(writer.write(4, Buffer.from('x'), { appendsOnly: true })), 'ReadOnlyAttribute');
    await writer.write(5, Buffer.from('!'), { appendsOnly: true });
    assert.equal((await share.read('f')).toString(), 'hello!');
  });
});

const blockOf = (index: number): Buffer => Buffer.alloc(64 * KIB, index + 1);

describe('writes that come at once', () => {
  test('share commits', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    await share.createFile('f', 0);
    const writer = await opened(share, 'f');
    const { commits } = await engine.costOf(async () =>
      successes(await together(32, (index) => writer.write(index * 64 * KIB, blockOf(index)))),
    );
    assert.ok(commits <= 8, `${commits} commits`);
    const expected = Buffer.concat(Array.from({ length: 32 }, (_, index) => blockOf(index)));
    assert.ok((await share.read('f')).equals(expected));
    await checkClean(share);
  });

  test('through two opens share them as well', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    await share.createFile('f', 0);
    const writers = [await opened(share, 'f'), await opened(share, 'f')];
    const { commits } = await engine.costOf(async () =>
      successes(await together(32, (index) => (writers[index % 2] as Writer).write(index, Buffer.of(index)))),
    );
    assert.ok(commits <= 8, `${commits} commits`);
    assert.deepEqual(
      [...(await share.read('f'))],
      Array.from({ length: 32 }, (_, index) => index),
    );
  });

  for (const [where, open] of ENGINES) {
    test(`and lie over each other end in the order in which they came, small ones in large ones too, ${where}`, async (t) => {
      const random = new Random();
      const lengthBytes = 300_000;
      const share = await TestShare.create({ engine: await open(t) });
      for (let round = 0; round < 8; round++) {
        await share.createFile('f', lengthBytes);
        const writers = [await opened(share, 'f'), await opened(share, 'f')];
        const expected = Buffer.alloc(lengthBytes);
        const writes = Array.from({ length: 24 }, (_, index) => {
          const length = random.pick([
            1 + random.below(700),
            1 + random.below(8 * KIB),
            9 * KIB + random.below(100_000),
          ]);
          const offset = random.below(lengthBytes - length);
          const bytes = Buffer.alloc(length, index + 1);
          bytes.copy(expected, offset);
          return (writers[index % 2] as Writer).write(offset, bytes);
        });
        await Promise.all(writes);
        assert.ok((await share.read('f')).equals(expected), `LARIMAR_SEED=${random.seed}, round ${round}`);
        await checkClean(share);
      }
      await share.store.close();
    });
  }
});

describe('on two nodes', () => {
  let nodes: TwoNodes;
  let here: Writer;
  let there: Writer;

  const writerOf = (node: 'here' | 'there', request: Partial<OpenRequest> = {}): Promise<Writer> =>
    opened(nodes.share, 'f', {
      storage: (node === 'here' ? nodes.rest : nodes.elsewhere).store.storage,
      smb: nodes[node],
      ...request,
    });

  beforeEach(async () => {
    nodes = await TwoNodes.start();
    await nodes.share.createFile('f', 0);
  });

  afterEach(() => nodes.end());

  test('writes side by side are all there, and of two over each other one is the last', async () => {
    here = await writerOf('here');
    there = await writerOf('there');
    const random = new Random();
    const expected: Buffer[] = [];
    for (let round = 0; round < 20; round++) {
      const start = round * 30_000;
      const [one, other] = [Buffer.alloc(20_000, 'a'), Buffer.alloc(1 + random.below(20_000), 'b')];
      const at = random.below(10_000);
      const beside = Buffer.from('beside');
      await Promise.all([
        here.write(start, one),
        there.write(start + at, other),
        there.write(start + 30_000 - beside.length, beside),
      ]);
      const orders = [
        [one, other],
        [other, one],
      ].map((order) => {
        const bytes = Buffer.alloc(30_000);
        for (const each of order) each.copy(bytes, each === one ? 0 : at);
        beside.copy(bytes, 30_000 - beside.length);
        return bytes;
      });
      const bytes = (await nodes.share.read('f')).subarray(start, start + 30_000);
      const order = orders.find((each) => each.equals(bytes));
      assert.ok(order !== undefined, `LARIMAR_SEED=${random.seed}, round ${round}`);
      expected.push(order);
    }
    assert.ok((await nodes.share.read('f')).equals(Buffer.concat(expected)));
    await checkClean(nodes.share);
  });

  test('a write takes from others what they have read, and does not wait', async () => {
    const reader = await writerOf('here', { caching: 'RH', leaseKey: 'reader' });
    there = await writerOf('there');
    await there.write(0, Buffer.from('new'));
    assert.equal(await nodes.here.told(), 'RH to none');
    assert.equal((await nodes.share.read('f')).toString(), 'new');
    assert.notEqual(reader.open.openId, there.open.openId);
  });

  test('a write does not take its own lease, nor does one through another open with its key', async () => {
    const [one, other] = [
      await writerOf('here', { caching: 'RH', leaseKey: 'k' }),
      await writerOf('here', { caching: 'RH', leaseKey: 'k' }),
    ];
    await one.write(0, Buffer.from('a'));
    await other.write(1, Buffer.from('b'));
    await nodes.beat();
    assert.deepEqual(nodes.here.unheard, []);
  });

  test('a write waits for whoever may have bytes to write, and holds up nobody', async () => {
    const holder = await writerOf('here', { caching: 'RW', leaseKey: 'holder' });
    const stranger = await writerOf('here', { access: NO_ACCESS });
    const waits: string[] = [];
    const waiting = stranger.write(0, Buffer.from('stranger'), { waiter: { onWait: () => waits.push('waits') } });
    const own = holder.write(2, Buffer.from('holder'));
    assert.equal(await nodes.here.told(), 'RW to none');
    await own;
    await holder.write(8, Buffer.from('!'));
    assert.equal((await fileAt(nodes.share, 'f')).lengthBytes, 9);
    assert.deepEqual(waits, ['waits']);
    await nodes.here.opens.acknowledge(holder.open.openId, '');
    await waiting;
    assert.equal((await nodes.share.read('f')).toString(), 'stranger!');
  });

  test('a write that waits can be called off, and writes nothing', async () => {
    const holder = await writerOf('here', { caching: 'RW', leaseKey: 'holder' });
    const stranger = await writerOf('here', { access: NO_ACCESS });
    const controller = new AbortController();
    const waiting = stranger.write(0, Buffer.alloc(20 * KIB), { waiter: { signal: controller.signal } });
    await nodes.here.told();
    await turns(5);
    controller.abort();
    await assert.rejects(waiting, WaitCancelled);
    await nodes.here.opens.acknowledge(holder.open.openId, '');
    assert.equal((await fileAt(nodes.share, 'f')).lengthBytes, 0);
  });
});
