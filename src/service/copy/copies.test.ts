import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { MemoryOutside } from '../../../test/harness/memory-outside.ts';
import { ACCOUNT, blobRequest, Gate, gather, TestStore } from '../../../test/harness/store.ts';
import { until } from '../../../test/harness/until.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';
import { getBlob, getBlobProperties } from '../blob/get-blob.ts';
import { putEmptyBlob } from '../blob/put-blob.ts';
import { putPage } from '../blob/put-page.ts';
import { checkStore } from '../check.ts';
import { SETTLING_BEATS } from '../nodes/census.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { claimKey, idOf, tableRange } from '../records/keys.ts';
import { abortCopyBlob } from './abort-copy-blob.ts';
import { type BlobCopied, copyBlob } from './copy-blob.ts';
import type { CopySource } from './copy-source.ts';

const MIB = 1024 * 1024;
const NEW_BLOB = { headers: {}, metadata: [], tags: null, tier: null, immutability: null, encryptionScope: null };
const DEMANDS = { conditions: NO_CONDITIONS, ifTags: null, range: null, md5: null, crc64: null };
const OUTSIDE: CopySource = { kind: 'outside', url: 'http://outside/thing', authorization: null };

const inside = (blob: string): CopySource => ({
  kind: 'inside',
  name: { account: ACCOUNT, container: 'c', blob },
  at: null,
  mayReadTags: true,
});

const copyTo = (store: TestStore, blob: string, source: CopySource = OUTSIDE): Promise<BlobCopied> =>
  copyBlob(store.storage, {
    ...blobRequest('c', blob),
    ...NEW_BLOB,
    mayOverwrite: true,
    source,
    demands: DEMANDS,
    shownSource: 'shown',
    seals: null,
  });

const recordOf = async (store: TestStore, blob: string): Promise<BlobRecord> =>
  (await getBlobProperties(store.storage, blobRequest('c', blob))).blob;

const statusOf = async (store: TestStore, blob: string): Promise<string | undefined> =>
  (await recordOf(store, blob)).copy?.status;

const untilStatus = (store: TestStore, blob: string, want: string): Promise<true> =>
  until(
    { what: `the copy to ${blob} is ${want}`, limitSeconds: 30 },
    async () => (await statusOf(store, blob)) === want,
  );

/** Everything that is swept, and that nothing is amiss or left of copies that are over. */
async function assertClean(store: TestStore): Promise<void> {
  // A node that leads since another has left waits before it sweeps.
  for (let beats = 0; beats <= SETTLING_BEATS; beats++) await store.beat();
  await store.sweep();
  const { findings, awaitingSweep } = await checkStore({
    engine: store.engine,
    content: store.content,
    afterCrash: false,
  });
  assert.deepEqual([findings, awaitingSweep], [[], 0]);
  const left = (await store.records()).filter((key) => /^[JK] /.test(key));
  assert.deepEqual(left, []);
}

/** Two nodes on one store, and what both copy from. */
async function pair(outside: MemoryOutside): Promise<[TestStore, TestStore]> {
  const parts = {
    engine: openMemoryEngine(),
    content: openMemoryContent(),
    signals: openLocalSignals(),
    isShared: true,
    outside,
  };
  const first = await TestStore.open({ ...parts, slot: () => 0 });
  const second = await TestStore.open({ ...parts, clock: first.clock, slot: () => 1 });
  await first.createContainer('c');
  return [first, second];
}

const jobIdsOf = async (store: TestStore): Promise<string[]> => {
  const snapshot = store.engine.snapshot();
  const entries = await snapshot.range(tableRange('J'), { limit: 100 }).finally(() => snapshot.close());
  return entries.map(({ key }) => idOf(key));
};

/** As the engine does with the claims of a node that it gives up for dead. */
async function loseClaims(store: TestStore): Promise<void> {
  const deletes = (await jobIdsOf(store)).map((id) => claimKey(`copy-${id}`));
  await store.engine.commit({ checks: [], puts: [], deletes });
}

describe('a copy that another node took over', () => {
  test('is not written to by the node that had it, however late that comes', async () => {
    const outside = new MemoryOutside(randomBytes(300_000));
    const [first, second] = await pair(outside);
    const gate = new Gate();
    let isHeld = true;
    outside.beforePiece = (offsetBytes) => (isHeld && offsetBytes > 0 ? gate.passed : undefined);
    await copyTo(first, 'b');
    await until({ what: 'the first node fetches', limitSeconds: 30 }, () => outside.opened.length === 1);
    await loseClaims(first);
    isHeld = false;
    await second.beat();
    await untilStatus(second, 'b', 'success');
    const done = await recordOf(second, 'b');
    gate.open();
    await first.close();
    assert.deepEqual(await recordOf(second, 'b'), done);
    assert.deepEqual(await second.read('c', 'b'), outside.bytes);
    await assertClean(second);
    await second.close();
    assert.deepEqual([...first.errors, ...second.errors], []);
  });

  test('does not get its parts twice, though both nodes fetch at the same time', async () => {
    const outside = new MemoryOutside(Buffer.concat([Buffer.alloc(33 * MIB, 'x'), randomBytes(10)]));
    const [first, second] = await pair(outside);
    const [late, last] = [new Gate(), new Gate()];
    // The first node stands still before its first part is complete, the second behind that.
    outside.beforePiece = (offsetBytes) => {
      if (outside.opened.length === 1 && offsetBytes === 31 * MIB) return late.passed;
      return offsetBytes >= 33 * MIB ? last.passed : undefined;
    };
    await copyTo(first, 'b');
    await until({ what: 'the first node fetches', limitSeconds: 30 }, () => outside.opened.length === 1);
    await loseClaims(first);
    await second.beat();
    await until({ what: 'the second node has a part', limitSeconds: 30 }, async () =>
      (await first.records()).some((key) => key.startsWith('K')),
    );
    late.open();
    await until({ what: 'the first node has given up', limitSeconds: 30 }, () => outside.openCount === 1);
    assert.equal(await statusOf(second, 'b'), 'pending');
    last.open();
    await untilStatus(second, 'b', 'success');
    assert.ok((await second.read('c', 'b')).equals(outside.bytes));
    await first.close();
    await assertClean(second);
    await second.close();
  });

  test('goes on behind the parts that are there, without fetching them again', async () => {
    const outside = new MemoryOutside(Buffer.concat([Buffer.alloc(33 * MIB, 'x'), randomBytes(10)]));
    const [first, second] = await pair(outside);
    outside.beforePiece = (offsetBytes) => (offsetBytes >= 33 * MIB ? new Promise(() => {}) : undefined);
    await copyTo(first, 'b');
    await until({ what: 'a part is there', limitSeconds: 30 }, async () =>
      (await first.records()).some((key) => key.startsWith('K')),
    );
    assert.equal((await recordOf(first, 'b')).lengthBytes, 0);
    outside.beforePiece = () => {};
    await first.close();
    await second.beat();
    await untilStatus(second, 'b', 'success');
    assert.deepEqual(outside.opened, [0, 32 * MIB]);
    assert.ok((await second.read('c', 'b')).equals(outside.bytes));
    await assertClean(second);
    await second.close();
  });
});

describe('a copy that is not wanted any more', () => {
  for (const type of ['BlockBlob', 'AppendBlob', 'PageBlob'] as const) {
    test(`to a ${type} leaves nothing when it is aborted on another node, not even the parts it had`, async () => {
      const outside = new MemoryOutside(Buffer.alloc(34 * MIB, 'x'));
      outside.blobType = type;
      const [first, second] = await pair(outside);
      const gate = new Gate();
      outside.beforePiece = (offsetBytes) => {
        if (offsetBytes < 33 * MIB) return;
        gate.open();
        return new Promise(() => {});
      };
      const { copy } = await copyTo(first, 'b');
      await gate.passed;
      await abortCopyBlob(second.storage, { ...blobRequest('c', 'b'), copyId: copy.id });
      await until({ what: 'the job is gone', limitSeconds: 30 }, async () => (await jobIdsOf(second)).length === 0);
      const { lengthBytes } = await recordOf(second, 'b');
      assert.equal(lengthBytes, 0);
      await first.close();
      await assertClean(second);
      await second.close();
    });
  }

  test('ends when its container is deleted', async () => {
    const outside = new MemoryOutside(randomBytes(300_000));
    const store = await TestStore.open({ outside });
    await store.createContainer('c');
    outside.beforePiece = (offsetBytes) => (offsetBytes > 0 ? new Promise(() => {}) : undefined);
    await copyTo(store, 'b');
    await store.deleteContainer('c');
    await store.sweep();
    await until({ what: 'the job is gone', limitSeconds: 30 }, async () => (await jobIdsOf(store)).length === 0);
    await assertClean(store);
    await store.close();
  });
});

test('more copies than a node makes at a time wait for each other, and all are made', async () => {
  const outside = new MemoryOutside(randomBytes(100));
  const store = await TestStore.open({ outside });
  await store.createContainer('c');
  const gate = new Gate();
  outside.beforePiece = () => gate.passed;
  const names = Array.from({ length: 30 }, (_, index) => `b${index}`);
  for (const name of names) await copyTo(store, name);
  await store.beat();
  assert.equal(outside.opened.length, 8);
  gate.open();
  for (const name of names) await untilStatus(store, name, 'success');
  assert.equal(outside.opened.length, names.length);
  await assertClean(store);
  await store.close();
});

const writePage = async (store: TestStore, blob: string, offsetBytes: number, letter: string): Promise<void> => {
  const bytes = Buffer.alloc(512, letter);
  await putPage(store.storage, {
    ...blobRequest('c', blob),
    range: { offsetBytes, lengthBytes: 512 },
    sequence: { le: null, lt: null, eq: null },
    body: {
      stream: async function* () {
        yield bytes;
      },
      whole: async () => bytes,
      lengthBytes: 512,
      md5: null,
      crc64: null,
    },
  });
};

describe('a page blob of many chunks', () => {
  const CHUNK = 256 * 1024;
  const CHUNK_COUNT = 400;

  /** With a hook that is called once, before the commit of the copy's second step. */
  async function openWithSource(): Promise<{ store: TestStore; between: (act: () => Promise<void>) => void }> {
    const hooks = new Hooks();
    const store = await TestStore.open({ engine: hookEngine(openMemoryEngine(), hooks) });
    await store.createContainer('c');
    const lengthBytes = CHUNK_COUNT * CHUNK;
    const created = { ...NEW_BLOB, type: 'PageBlob', lengthBytes, sequenceNumber: '3', mayOverwrite: true } as const;
    await putEmptyBlob(store.storage, { ...blobRequest('c', 'source'), ...created });
    for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) await writePage(store, 'source', chunk * CHUNK, 'a');
    return {
      store,
      between(act) {
        let commitCount = 0;
        hooks.before = async ({ what }) => {
          // The copy is begun, then claimed, then the steps follow.
          if (what !== 'commit' || ++commitCount < 4) return;
          hooks.clear();
          await act();
        };
      },
    };
  }

  const letterAt = async (store: TestStore, blob: string, chunk: number): Promise<string> => {
    const range = { firstOffsetBytes: chunk * CHUNK, lastOffsetBytes: chunk * CHUNK };
    const { bytes } = await getBlob(store.storage, { ...blobRequest('c', blob), range });
    return (await gather(bytes)).toString();
  };

  test('is copied as it was when the copy began, whatever is written to it meanwhile', async () => {
    const { store, between } = await openWithSource();
    between(() => writePage(store, 'source', (CHUNK_COUNT - 1) * CHUNK, 'b'));
    await copyTo(store, 'copy', inside('source'));
    await untilStatus(store, 'copy', 'success');
    assert.equal(await letterAt(store, 'source', CHUNK_COUNT - 1), 'b');
    for (const chunk of [0, 1, 77, CHUNK_COUNT - 1]) assert.equal(await letterAt(store, 'copy', chunk), 'a');
    assert.equal((await recordOf(store, 'copy')).sequenceNumber, '3');
    await store.delete('c', 'source');
    await writePage(store, 'copy', CHUNK, 'c');
    assert.equal(await letterAt(store, 'copy', 1), 'c');
    assert.equal(await letterAt(store, 'copy', 2), 'a');
    await assertClean(store);
    await store.delete('c', 'copy');
    await assertClean(store);
    await store.close();
  });

  for (const [what, change, want] of [
    ['goes on', async () => {}, 'success'],
    ['fails if the source has changed', (store: TestStore) => writePage(store, 'source', 0, 'b'), 'failed'],
    ['fails if the source is gone', (store: TestStore) => store.delete('c', 'source'), 'failed'],
  ] as const) {
    test(`of which a copy was cut off ${what}`, async () => {
      const { store, between } = await openWithSource();
      let closed: Promise<void> = Promise.resolve();
      between(async () => {
        closed = store.close();
      });
      const { copy } = await copyTo(store, 'copy', inside('source'));
      await closed;
      assert.equal(copy.status, 'pending');
      await change(store);
      const { copy: left, lengthBytes } = await recordOf(store, 'copy');
      assert.equal(left?.status, 'pending');
      assert.equal(await letterAt(store, 'copy', 0), '\0', 'nothing is to be seen of it yet');
      await store.reopen();
      await untilStatus(store, 'copy', want);
      const ended = await recordOf(store, 'copy');
      assert.equal(ended.lengthBytes, want === 'success' ? lengthBytes : 0);
      if (want === 'success') assert.equal(await letterAt(store, 'copy', CHUNK_COUNT - 1), 'a');
      else assert.match(ended.copy?.description ?? '', /^(412 ConditionNotMet|404 BlobNotFound) /);
      await assertClean(store);
      await store.close();
    });
  }
});
