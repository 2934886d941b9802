/**
 * Copies against everything that can happen to their source, their destination and each other at the same time. A copy has
 * the whole of one state of its source, or is refused. What many blobs share stays as long as one of them does: at the end
 * the store is checked. Prints its seed; LARIMAR_SEED brings the same load back, though not the same order.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { BlockBlobClient } from '@azure/storage-blob';
import { runCheck } from '../crash/larimar-check.ts';
import { blobService, freshContainer, outcome, outcomes, refusalOf } from '../harness/clients.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { Gate } from '../harness/store.ts';
import { until } from '../harness/until.ts';

const server = await startServerProcess();
after(() => server.stop());
const service = blobService(server);
const container = await freshContainer(service);

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());

/** Bytes of one state: they all say which. */
const state = (number: number, lengthBytes: number): Buffer => Buffer.alloc(lengthBytes, number % 256);

function assertOneState(bytes: Buffer): void {
  assert.ok(bytes.equals(state(bytes[0] ?? 0, bytes.length)), 'the bytes of two states are mixed');
}

const copy = async (from: { url: string }, to: BlockBlobClient, options = {}): Promise<void> => {
  const poller = await to.beginCopyFromURL(from.url, { ...options, intervalInMs: 20 });
  assert.equal((await poller.pollUntilDone()).copyStatus, 'success');
};

const statusOf = (to: BlockBlobClient): Promise<string> =>
  until({ what: 'the copy has ended', limitSeconds: 60 }, async () => {
    const { copyStatus = 'none' } = await to.getProperties();
    return copyStatus !== 'pending' && copyStatus;
  });

const pageOf = (number: number): Buffer => Buffer.alloc(512, String.fromCharCode(65 + number));

const blockId = (number: number): string => Buffer.from(`block-${number}`).toString('base64');

describe('while the source', () => {
  for (const lengthBytes of [3_000, 200_000]) {
    test(`of ${lengthBytes} bytes is deleted, a copy has all of it or is refused`, async () => {
      for (let round = 0; round < 8; round++) {
        const from = freshName();
        await from.upload(state(round, lengthBytes), lengthBytes);
        const destinations = Array.from({ length: 8 }, freshName);
        const acts = destinations.map((to) => () => copy(from, to));
        acts.splice(round, 0, async () => void (await from.delete()));
        const results = await together(acts.length, (index) => (acts[index] as () => Promise<void>)());
        const [deleted] = results.splice(round, 1);
        assert.equal(deleted?.status, 'fulfilled');
        for (const [index, got] of outcomes(results).entries()) {
          const to = destinations[index] as BlockBlobClient;
          if (got === 'ok') assert.ok((await to.downloadToBuffer()).equals(state(round, lengthBytes)));
          else assert.equal(got, '404 CannotVerifyCopySource');
          assert.equal(await to.exists(), got === 'ok');
        }
      }
    });

    test(`is overwritten with ${lengthBytes} bytes, a copy has one state of it`, async () => {
      const from = freshName();
      await from.upload(state(0, lengthBytes), lengthBytes);
      for (let round = 1; round <= 6; round++) {
        const destinations = Array.from({ length: 8 }, freshName);
        await Promise.all([
          from.upload(state(round, lengthBytes), lengthBytes),
          ...destinations.map((to, index) =>
            index % 2 === 0 ? copy(from, to) : to.syncUploadFromURL(from.url).then(() => {}),
          ),
        ]);
        for (const to of destinations) {
          const bytes = await to.downloadToBuffer();
          assert.equal(bytes.length, lengthBytes);
          assertOneState(bytes);
          assert.ok([round - 1, round].includes(bytes[0] as number));
        }
      }
    });
  }

  test('is appended to, a copy ends with one of its blocks', async () => {
    const from = container.getAppendBlobClient(randomUUID());
    await from.create();
    const blocks = Array.from({ length: 24 }, (_, index) => `[block ${index}]`);
    const appending = (async () => {
      for (const block of blocks) await from.appendBlock(block, block.length);
    })();
    const copies = Array.from({ length: 12 }, () => container.getAppendBlobClient(randomUUID()));
    for (const to of copies) await (await to.beginCopyFromURL(from.url)).pollUntilDone();
    await appending;
    const whole = blocks.join('');
    const ends = new Set(blocks.map((_, index) => blocks.slice(0, index).join('').length).concat(whole.length));
    for (const to of copies) {
      const text = (await to.downloadToBuffer()).toString();
      assert.ok(whole.startsWith(text) && ends.has(text.length), text);
    }
  });

  test('is written to page by page, a copy shows it as it was at one moment', async () => {
    const from = container.getPageBlobClient(randomUUID());
    await from.create(4 * 1024 * 1024);
    const offsets = [0, 3 * 1024 * 1024];
    for (const offset of offsets) await from.uploadPages(pageOf(0), offset, 512);
    const copies = Array.from({ length: 10 }, () => container.getPageBlobClient(randomUUID()));
    const writing = (async () => {
      for (let number = 1; number <= 20; number++) {
        for (const offset of offsets) await from.uploadPages(pageOf(number), offset, 512);
      }
    })();
    for (const to of copies) {
      const poller = await to.beginCopyFromURL(from.url, { intervalInMs: 20 });
      assert.equal((await poller.pollUntilDone()).copyStatus, 'success');
    }
    await writing;
    for (const to of copies) {
      const [first, second] = await Promise.all(offsets.map((offset) => to.downloadToBuffer(offset, 512)));
      const [ahead, behind] = [first?.[0] as number, second?.[0] as number];
      assert.ok(ahead === behind || ahead === behind + 1, `the first page has ${ahead}, the second ${behind}`);
    }
  });
});

describe('of many copies to one name', () => {
  test('exactly one makes it where it must not exist, and the last wins where it may', async () => {
    const sources = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const from = freshName();
        await from.upload(state(index, 20_000), 20_000);
        return from;
      }),
    );
    const to = freshName();
    const first = await together(sources.length, (index) =>
      copy(sources[index] as BlockBlobClient, to, { conditions: { ifNoneMatch: '*' } }),
    );
    assert.deepEqual(tally(outcomes(first)), { ok: 1, '409 BlobAlreadyExists': 15 });
    const second = await together(sources.length, (index) => copy(sources[index] as BlockBlobClient, to));
    assert.deepEqual(tally(outcomes(second)), { ok: 16 });
    assertOneState(await to.downloadToBuffer());
  });

  test('from outside one is pending, and the others are told so', async () => {
    const source = await OutsideSource.start(state(7, 100_000));
    const gate = new Gate();
    source.behave = ({ ifMatch }) => (ifMatch === null ? {} : { afterBytes: 10, gate: gate.passed });
    const to = freshName();
    const begun = await together(8, () => to.beginCopyFromURL(source.url));
    assert.deepEqual(tally(outcomes(begun)), { ok: 1, '409 PendingCopyOperation': 7 });
    gate.open();
    assert.equal(await statusOf(to), 'success');
    assert.ok((await to.downloadToBuffer()).equals(state(7, 100_000)));
  });
});

test('an abort and the end of its copy exclude each other', async (t) => {
  const seen: string[] = [];
  for (let round = 0; round < 20; round++) {
    const source = await OutsideSource.start(state(round, 60_000));
    const gate = new Gate();
    source.behave = ({ ifMatch }) => (ifMatch === null ? {} : { afterBytes: 10, gate: gate.passed });
    const to = freshName();
    const poller = await to.beginCopyFromURL(source.url);
    const { copyId = '' }: { copyId?: string; result?: unknown } = poller.getOperationState();
    await source.asked(2);
    gate.open();
    // Some before the bytes are there, some after.
    if (round % 2 === 1) await until({ what: 'it is read', limitSeconds: 60 }, () => source.openCount === 0);
    const aborted = await outcome(to.abortCopyFromURL(copyId));
    const status = await statusOf(to);
    seen.push(`${aborted}, ${status}`);
    const bytes = await to.downloadToBuffer();
    if (aborted === 'ok') assert.deepEqual([status, bytes.length], ['aborted', 0]);
    else {
      assert.deepEqual([aborted, status], ['409 NoPendingCopyOperation', 'success']);
      assert.ok(bytes.equals(state(round, 60_000)));
    }
    assert.equal((await to.getProperties()).copyStatus, status, 'it stays so');
  }
  t.diagnostic(JSON.stringify(tally(seen)));
});

describe('blobs that share their content', () => {
  const random = new Random();
  const NAMES = Array.from({ length: 6 }, (_, index) => `shared-${index}`);
  const CLIENT_COUNT = 6;
  const STEP_COUNT = 60;
  const EXPECTED = new Set([
    '404 BlobNotFound',
    '404 CannotVerifyCopySource',
    '409 SnapshotsPresent',
    '400 InvalidBlockList',
  ]);

  const blobOf = (): BlockBlobClient => container.getBlockBlobClient(random.pick(NAMES));

  async function snapshotOf(blob: BlockBlobClient): Promise<BlockBlobClient> {
    const snapshots: string[] = [];
    for await (const { name, snapshot } of container.listBlobsFlat({ includeSnapshots: true, prefix: blob.name })) {
      if (name === blob.name && snapshot) snapshots.push(snapshot);
    }
    return snapshots.length === 0 ? blob : blob.withSnapshot(random.pick(snapshots));
  }

  const steps: readonly ((number: number) => Promise<unknown>)[] = [
    async (number) => {
      const lengthBytes = random.pick([100, 9_000, 70_000]);
      await blobOf().upload(state(number, lengthBytes), lengthBytes);
    },
    async (number) => {
      const blob = blobOf();
      const lengthBytes = random.pick([100, 20_000]);
      const ids = [blockId(random.below(3)), blockId(3)];
      for (const id of ids) await blob.stageBlock(id, state(number, lengthBytes), lengthBytes);
      await blob.commitBlockList(ids);
    },
    // A list of blocks that are there already, if the blob has any.
    async () => {
      const blob = blobOf();
      const { committedBlocks = [] } = await blob.getBlockList('committed');
      await blob.commitBlockList(committedBlocks.slice(random.below(2)).map(({ name }) => name));
    },
    async () => copy(blobOf(), blobOf()),
    async () => copy(blobOf(), blobOf()),
    async () => copy(await snapshotOf(blobOf()), blobOf()),
    async () => blobOf().syncUploadFromURL(blobOf().url),
    async () => blobOf().createSnapshot(),
    async () => blobOf().delete(random.chance(0.5) ? { deleteSnapshots: 'include' } : {}),
    async () => {
      const { readableStreamBody, contentLength } = await (await snapshotOf(blobOf())).download();
      let lengthBytes = 0;
      for await (const piece of readableStreamBody as AsyncIterable<Buffer>) lengthBytes += piece.length;
      assert.equal(lengthBytes, contentLength);
    },
  ];

  async function client(index: number): Promise<void> {
    for (let step = 0; step < STEP_COUNT; step++) {
      try {
        await random.pick(steps)(index * STEP_COUNT + step);
      } catch (error) {
        const { status, code } = refusalOf(error);
        assert.ok(EXPECTED.has(`${status} ${code}`), `${status} ${code}, LARIMAR_SEED=${random.seed}`);
      }
    }
  }

  test('are read, copied, promoted and deleted by many, and nothing of what lives is lost', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    await Promise.all(Array.from({ length: CLIENT_COUNT }, (_, index) => client(index)));
    let count = 0;
    for await (const { name, snapshot } of container.listBlobsFlat({ includeSnapshots: true, prefix: 'shared-' })) {
      const blob = container.getBlobClient(name);
      const bytes = await (snapshot ? blob.withSnapshot(snapshot) : blob).downloadToBuffer();
      assert.equal(bytes.length, (await (snapshot ? blob.withSnapshot(snapshot) : blob).getProperties()).contentLength);
      count++;
    }
    t.diagnostic(`${count} blobs and snapshots are left`);
  });

  test('leave a store that checks out, also when all of them are gone', async () => {
    await server.terminate();
    const before = await runCheck(server.place);
    assert.equal(before.exitCode, 0, `LARIMAR_SEED=${random.seed}\n${before.output}`);
    await server.start();
    for (const name of NAMES) await container.getBlobClient(name).deleteIfExists({ deleteSnapshots: 'include' });
    await server.terminate();
    const afterwards = await runCheck(server.place);
    assert.equal(afterwards.exitCode, 0, `LARIMAR_SEED=${random.seed}\n${afterwards.output}`);
    await server.start();
  });
});
