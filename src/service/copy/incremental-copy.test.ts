/** Incremental copies that are interrupted: by an abort, a failure, a restart, another node, or the end of the container. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ACCOUNT, blobRequest, Gate, gather, TestStore, type TestStoreParts } from '../../../test/harness/store.ts';
import { retainBlobs, TypedBlob } from '../../../test/harness/typed-blobs.ts';
import { until } from '../../../test/harness/until.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { type Engine, EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { CopyState } from '../../rules/copy.ts';
import type { Moment } from '../../rules/moment.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';
import { getBlob, getBlobProperties } from '../blob/get-blob.ts';
import type { BlobAt } from '../blob/load.ts';
import { undeleteBlob } from '../blob/undelete-blob.ts';
import { checkStore } from '../check.ts';
import { SETTLING_BEATS } from '../nodes/census.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { claimKey, idOf, type ParsedBlobKey, parseBlobKey, tableRange } from '../records/keys.ts';
import { DEFAULT_SETTINGS } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { abortCopyBlob } from './abort-copy-blob.ts';
import { incrementalCopyBlob } from './incremental-copy.ts';

const CHUNK_BYTES = 256 * 1024;
const PAGE_BYTES = 512;
/** More than three steps' worth. */
const CHUNK_COUNT = 200;
const STEP_COUNT = 4;
const CHUNK_ROW = 'M'.charCodeAt(0);

/** What is to happen before each commit that changes a map by many rows: a step of a copy. */
class Steps {
  count = 0;
  before: (number: number) => void | Promise<void> = () => {};

  watch(inner: Engine): Engine {
    return {
      snapshot: () => inner.snapshot(),
      tip: () => inner.tip(),
      commit: async (batch) => {
        const rowCount = batch.puts.filter(({ key }) => key[0] === CHUNK_ROW).length;
        if (rowCount > 1) await this.before(++this.count);
        return inner.commit(batch);
      },
      claim: (range, limit) => inner.claim(range, limit),
      close: () => inner.close(),
    };
  }
}

const HIDDEN = 'OperationNotAllowedOnIncrementalCopyBlob';

const snapshotAt = (moment: Moment): BlobAt => ({ kind: 'snapshot', moment });

const begin = async (store: TestStore, moment: Moment): Promise<CopyState> => {
  const name = { account: ACCOUNT, container: 'c', blob: 'disk' };
  const { copy } = await incrementalCopyBlob(store.storage, {
    ...blobRequest('c', 'copy'),
    source: { kind: 'inside', name, at: snapshotAt(moment), mayReadTags: true },
    shownSource: 'shown',
    mayOverwrite: true,
  });
  return copy;
};

const recordOf = async (store: TestStore, at: BlobAt | null = null): Promise<BlobRecord> =>
  (await getBlobProperties(store.storage, { ...blobRequest('c', 'copy'), at })).blob;

const ended = (store: TestStore): Promise<CopyState> =>
  until({ what: 'the copy has ended', limitSeconds: 30 }, async () => {
    const { copy } = await recordOf(store);
    return copy !== undefined && copy.status !== 'pending' && copy;
  });

async function copied(store: TestStore, moment: Moment): Promise<Moment> {
  await begin(store, moment);
  const { status, destinationSnapshot = '' } = await ended(store);
  assert.equal(status, 'success');
  return destinationSnapshot;
}

/** The first letter of every chunk, each as often as it follows itself: `a200`. */
async function lettersOf(store: TestStore, blob: string, at: BlobAt | null): Promise<string> {
  const { bytes } = await getBlob(store.storage, { ...blobRequest('c', blob), at, range: null });
  const whole = await gather(bytes);
  const letters = Array.from({ length: whole.length / CHUNK_BYTES }, (_, chunk) =>
    String.fromCharCode(whole[chunk * CHUNK_BYTES] || 45),
  );
  return letters.join('').replace(/(.)\1*/g, (run, letter) => `${letter}${run.length}`);
}

const refusalOf = async (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof StorageError) return error.code;
      throw error;
    },
  );

const disk = (store: TestStore): TypedBlob => new TypedBlob(store, 'c', 'disk');
const copyOf = (store: TestStore): TypedBlob => new TypedBlob(store, 'c', 'copy');

async function writeAll(store: TestStore, letter: string): Promise<Moment> {
  const blob = disk(store);
  for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) {
    await blob.putPages(chunk * CHUNK_BYTES, Buffer.alloc(PAGE_BYTES, letter));
  }
  return blob.snapshot();
}

const jobIdsOf = async (store: TestStore): Promise<string[]> => {
  const snapshot = store.engine.snapshot();
  const entries = await snapshot.range(tableRange('J'), { limit: 100 }).finally(() => snapshot.close());
  return entries.map(({ key }) => idOf(key));
};

const findingsIn = async ({ engine, content }: TestStore): Promise<readonly string[]> =>
  (await checkStore({ engine, content, afterCrash: false })).findings;

async function assertClean(store: TestStore): Promise<void> {
  for (let beats = 0; beats <= SETTLING_BEATS; beats++) await store.beat();
  await store.sweep();
  assert.deepEqual(await findingsIn(store), []);
  assert.deepEqual(await store.garbage(), []);
  assert.deepEqual(await jobIdsOf(store), []);
}

let steps: Steps;
let store: TestStore;
let keepsVersions: boolean;
/** Snapshots of the source: all chunks have this letter. */
let a: Moment;
let b: Moment;
let c: Moment;

async function open(parts: Partial<TestStoreParts> = {}): Promise<void> {
  steps = new Steps();
  keepsVersions = false;
  store = await TestStore.open({
    engine: steps.watch(openMemoryEngine()),
    settings: () => ({ ...DEFAULT_SETTINGS, keepsVersions }),
    ...parts,
  });
  await store.createContainer('c');
  await disk(store).createPages(CHUNK_COUNT * CHUNK_BYTES);
  a = await writeAll(store, 'a');
  b = await writeAll(store, 'b');
  await disk(store).clearPages((CHUNK_COUNT / 2) * CHUNK_BYTES, (CHUNK_COUNT / 2) * CHUNK_BYTES);
  c = await disk(store).snapshot();
  steps.count = 0;
}

beforeEach(() => open());
afterEach(() => store.close());

/** Begins the copy, and lets `act` happen before its second step is committed. */
async function interrupted(moment: Moment, act: () => void | Promise<void>): Promise<CopyState> {
  steps.count = 0;
  const reached = new Gate();
  steps.before = async (number) => {
    if (number !== 2) return;
    steps.before = () => {};
    await act();
    reached.open();
  };
  const copy = await begin(store, moment);
  await reached.passed;
  return copy;
}

const abort = (copyId: string): Promise<void> => abortCopyBlob(store.storage, { ...blobRequest('c', 'copy'), copyId });

const jobsGone = (): Promise<true> =>
  until({ what: 'the job is gone', limitSeconds: 30 }, async () => (await jobIdsOf(store)).length === 0);

/** A copy that is given up when some of its rows are changed, and some are not. */
async function abortedHalfWay(moment: Moment): Promise<void> {
  const { id } = await interrupted(moment, async () => abort((await recordOf(store)).copy?.id ?? ''));
  await jobsGone();
  const { copy } = await recordOf(store);
  assert.deepEqual([copy?.id, copy?.status, copy?.destinationSnapshot], [id, 'aborted', undefined]);
}

describe('an incremental copy', () => {
  test('changes a row once, and shares everything with its source', async () => {
    const first = await copied(store, a);
    assert.equal(steps.count, STEP_COUNT);
    const second = await copied(store, b);
    const third = await copied(store, c);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(first)), 'a200');
    assert.equal(await lettersOf(store, 'copy', snapshotAt(second)), 'b200');
    assert.equal(await lettersOf(store, 'copy', snapshotAt(third)), 'b100-100');
    await assertClean(store);
    await disk(store).delete({ deleteSnapshots: 'include' });
    await assertClean(store);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(first)), 'a200');
    await copyOf(store).delete({ deleteSnapshots: 'include' });
    await assertClean(store);
    const left = (await store.records()).filter((key) => !key.startsWith('C'));
    assert.deepEqual(left, [], 'nothing is left of either');
  });
});

describe('an abort', () => {
  test('leaves the blob and its snapshots as they were, for the next copy, also of an earlier snapshot', async () => {
    const first = await copied(store, a);
    const { lengthBytes } = await recordOf(store);
    await abortedHalfWay(c);
    const record = await recordOf(store);
    assert.equal(record.lengthBytes, lengthBytes);
    assert.equal(record.following?.snapshot, a);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(first)), 'a200');
    await assertClean(store);
    const second = await copied(store, b);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(second)), 'b200');
    assert.equal(await lettersOf(store, 'copy', snapshotAt(first)), 'a200');
    await assertClean(store);
  });

  test('of the first copy leaves a blob without snapshots that goes on with the same source', async () => {
    await abortedHalfWay(b);
    assert.deepEqual(await pastOf(store), []);
    const second = await copied(store, c);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(second)), 'b100-100');
    await assertClean(store);
  });

  test('leaves nothing to read in the blob or in the version that it becomes', async () => {
    await copied(store, a);
    await abortedHalfWay(c);
    assert.equal(await refusalOf(lettersOf(store, 'copy', null)), HIDDEN);
    keepsVersions = true;
    await copyOf(store).delete({ deleteSnapshots: 'include' });
    const version = (await pastOf(store)).find(({ kind }) => kind === 'version') as ParsedBlobKey;
    assert.equal(await refusalOf(lettersOf(store, 'copy', { kind: 'version', moment: version.moment })), HIDDEN);
    await assertClean(store);
  });

  test('leaves nothing to read in what is undeleted beside another blob', async () => {
    await retainBlobs(store, 7);
    await copied(store, a);
    await abortedHalfWay(c);
    await copyOf(store).delete({ deleteSnapshots: 'include' });
    await store.put('c', 'copy', Buffer.from('another'));
    await undeleteBlob(store.storage, { account: ACCOUNT, container: 'c', blob: 'copy' });
    const snapshots = (await pastOf(store)).filter(({ kind }) => kind === 'snapshot');
    const letters = await Promise.all(
      snapshots.map(({ moment }) =>
        lettersOf(store, 'copy', snapshotAt(moment)).catch((error: unknown) => (error as StorageError).code),
      ),
    );
    assert.deepEqual(letters, ['a200', HIDDEN]);
    await assertClean(store);
  });
});

/** Snapshots, versions and deleted states of the copy, oldest first in each kind. */
const pastOf = async (from: TestStore): Promise<ParsedBlobKey[]> =>
  (await from.entries())
    .filter(({ key }) => key[0] === 'B'.charCodeAt(0))
    .map(({ key }) => parseBlobKey(key))
    .filter(({ name, moment }) => name === 'copy' && moment !== '');

const breakOff = (): never => {
  throw new EngineUnavailable('the disk is full');
};

const waits = (): Promise<true> =>
  until({ what: 'it waits to be tried again', limitSeconds: 30 }, async () => {
    const { copy } = await recordOf(store);
    return copy?.description !== undefined;
  });

const retry = async (): Promise<CopyState> => {
  store.clock.advance({ seconds: 60 });
  await store.beat();
  return ended(store);
};

describe('a copy that fails half way', () => {
  test('is tried again, and finds what is done', async () => {
    await begin(store, a);
    await ended(store);
    steps.count = 0;
    steps.before = (number) => {
      if (number === 3) breakOff();
    };
    await begin(store, b);
    await waits();
    assert.equal((await recordOf(store)).copy?.status, 'pending');
    assert.equal(await refusalOf(begin(store, c)), 'PendingCopyOperation');
    assert.deepEqual(await findingsIn(store), []);
    const { status, destinationSnapshot = '' } = await retry();
    assert.equal(status, 'success');
    assert.equal(steps.count, STEP_COUNT + 1, 'the one that broke off is done again, and no other');
    assert.equal(await lettersOf(store, 'copy', snapshotAt(destinationSnapshot)), 'b200');
    await assertClean(store);
    assert.ok(store.errors.every((error) => error instanceof EngineUnavailable));
  });

  test('fails for good where its source has gone by then, and the next one is right', async () => {
    const first = await copied(store, a);
    steps.count = 0;
    steps.before = (number) => {
      if (number === 3) breakOff();
    };
    await begin(store, b);
    await waits();
    await disk(store).delete({ at: snapshotAt(b) });
    const { status, description = '' } = await retry();
    assert.equal(status, 'failed');
    assert.match(description, /^404 BlobNotFound /);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(first)), 'a200');
    await assertClean(store);
    const third = await copied(store, c);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(third)), 'b100-100');
    await assertClean(store);
  });
});

describe('a copy under way', () => {
  test('outlives a restart, and does no row again', async () => {
    let closing: Promise<void> = Promise.resolve();
    await interrupted(b, () => {
      closing = store.close();
    });
    await closing;
    assert.deepEqual(await findingsIn(store), []);
    const doneCount = steps.count;
    assert.ok(doneCount < STEP_COUNT);
    await store.reopen();
    const { status, destinationSnapshot = '' } = await ended(store);
    assert.equal(status, 'success');
    assert.equal(steps.count, STEP_COUNT);
    assert.equal(await lettersOf(store, 'copy', snapshotAt(destinationSnapshot)), 'b200');
    await assertClean(store);
  });

  test('has its source, though the snapshot is deleted and swept', async () => {
    await interrupted(b, async () => {
      await disk(store).delete({ at: snapshotAt(b) });
      await writeAll(store, 'z');
      await store.sweep();
    });
    const { status, destinationSnapshot = '' } = await ended(store);
    assert.equal(status, 'success');
    assert.equal(await lettersOf(store, 'copy', snapshotAt(destinationSnapshot)), 'b200');
    await assertClean(store);
  });

  test('ends with its container', async () => {
    await interrupted(b, async () => {
      await store.deleteContainer('c');
      await store.sweep();
    });
    await jobsGone();
    await assertClean(store);
    assert.deepEqual(await store.records(), []);
  });

  test('that another node takes over is written to by that one alone', async () => {
    await store.close();
    const [engine, content, signals] = [openMemoryEngine(), openMemoryContent(), openLocalSignals()];
    const parts = { content, signals, isShared: true };
    const own = new Steps();
    await open({ ...parts, engine: own.watch(engine), slot: () => 0 });
    const second = await TestStore.open({ ...parts, engine, clock: store.clock, slot: () => 1 });
    const [reached, late] = [new Gate(), new Gate()];
    own.count = 0;
    own.before = async (number) => {
      if (number !== 2) return;
      reached.open();
      await late.passed;
    };
    await begin(store, b);
    await reached.passed;
    const deletes = (await jobIdsOf(store)).map((id) => claimKey(`copy-${id}`));
    await engine.commit({ checks: [], puts: [], deletes });
    await second.beat();
    const { status, destinationSnapshot = '' } = await ended(second);
    assert.equal(status, 'success');
    const third = await copied(second, c);
    const done = await recordOf(second);
    late.open();
    await store.close();
    assert.deepEqual(await recordOf(second), done);
    assert.equal(await lettersOf(second, 'copy', snapshotAt(destinationSnapshot)), 'b200');
    assert.equal(await lettersOf(second, 'copy', snapshotAt(third)), 'b100-100');
    await assertClean(second);
    assert.deepEqual([...store.errors, ...second.errors], []);
    await second.close();
    await open();
  });
});
