import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Hooks, hookContent, hookEngine } from '../../test/harness/hooked-store.ts';
import { ACCOUNT, blobRequest, blockIdOf, NEW_BLOB, TestStore, type TestStoreParts } from '../../test/harness/store.ts';
import { retainBlobs, TypedBlob } from '../../test/harness/typed-blobs.ts';
import { until } from '../../test/harness/until.ts';
import { openMemoryContent } from '../content/memory/memory-content.ts';
import { type Engine, EngineUnavailable, type Entry } from '../engine/engine.ts';
import { MemoryEngine, openMemoryEngine } from '../engine/memory/memory-engine.ts';
import type { BlockListEntry } from '../rules/block-list.ts';
import { NO_CONDITIONS } from '../rules/conditions.ts';
import type { Properties } from '../rules/edm.ts';
import type { Moment } from '../rules/moment.ts';
import { setBlobExpiry } from './blob/set-blob-expiry.ts';
import { setBlobMetadata } from './blob/set-blob-metadata.ts';
import { type CheckReport, checkStore } from './check.ts';
import { copyBlob } from './copy/copy-blob.ts';
import type { CopyJob } from './copy/copy-job.ts';
import { incrementalCopyBlob } from './copy/incremental-copy.ts';
import type { ReferencesRecord } from './extents/references.ts';
import type { AppendedContent, BlobRecord, PagesContent, StagingRecord } from './records/blob-record.ts';
import { decodeJson, encodeJson } from './records/codec.ts';
import type { ContainerRecord } from './records/container-record.ts';
import { type ExtentRef, encodeInline, type PlacedRecord } from './records/extent-record.ts';
import type { GarbageRecord } from './records/garbage-record.ts';
import {
  appendedBlockKey,
  appendedBlockStartOf,
  type BlobKeyKind,
  blobKeys,
  copyJobKey,
  extentKey,
  garbageKey,
  idOf,
  layoutKey,
  parseBlobKey,
  pastKey,
  referencesKey,
  stagedBlockKey,
} from './records/keys.ts';
import { decodeLayout, encodeLayout } from './records/layout.ts';
import { decodeChunk, encodeChunk } from './records/page-chunk.ts';
import { chunkKey, epochKey } from './records/page-keys.ts';
import { DEFAULT_SETTINGS } from './storage.ts';
import { changeEntities } from './table/change-entities.ts';
import { createTable } from './table/create-table.ts';
import { deleteTable } from './table/delete-table.ts';

const KIB = 1024;
const CHUNK_BYTES = 256 * KIB;
const large = Buffer.alloc(20 * KIB, 'large');
const small = Buffer.alloc(10, 'small');
const UNUSED_ID = '0123456789abcdef01234567';

/** One of everything: a small, a large, an empty and a block blob, staged blocks, and nothing to sweep. */
async function healthyStore(): Promise<TestStore> {
  const store = await TestStore.open();
  await store.createContainer('box');
  await store.put('box', 'small', small);
  await store.put('box', 'large', large);
  await store.put('box', 'empty', Buffer.alloc(0));
  await store.putBlock('box', 'blocks', blockIdOf(1), small);
  await store.putBlock('box', 'blocks', blockIdOf(2), large);
  await store.putBlockList('box', 'blocks', [
    { kind: 'latest', id: blockIdOf(2) },
    { kind: 'latest', id: blockIdOf(1) },
    { kind: 'latest', id: blockIdOf(2) },
  ]);
  await store.putBlock('box', 'staged', blockIdOf(1), large);
  await store.putBlock('box', 'staged', blockIdOf(2), small);
  await store.sweep();
  await store.close();
  return store;
}

const committed = (number: number): BlockListEntry => ({ kind: 'committed', id: blockIdOf(number) });
const latest = (number: number): BlockListEntry => ({ kind: 'latest', id: blockIdOf(number) });

/** What one name has beside the blob: content that several hold, in each way in which it can be held. */
async function fillShared(store: TestStore): Promise<void> {
  await store.createContainer('box');
  await store.put('box', 'whole', large);
  await new TypedBlob(store, 'box', 'whole').snapshot();
  for (const number of [1, 2, 3]) await store.putBlock('box', 'blocks', blockIdOf(number), large);
  await store.putBlockList('box', 'blocks', [latest(1), latest(2), latest(3)]);
  await new TypedBlob(store, 'box', 'blocks').snapshot();
  await store.putBlockList('box', 'blocks', [committed(1), committed(2)]);
  const log = new TypedBlob(store, 'box', 'log');
  await log.createAppend();
  for (const bytes of [small, large, small]) await log.append(bytes);
  await log.snapshot();
  for (const bytes of [large, small]) await log.append(bytes);
  const disk = new TypedBlob(store, 'box', 'disk');
  await disk.createPages(4 * CHUNK_BYTES);
  await disk.putPages(0, Buffer.alloc(4 * KIB, 'a'));
  await disk.putPages(CHUNK_BYTES - 512, Buffer.alloc(20 * KIB, 'b'));
  await disk.snapshot();
  await disk.putPages(512, Buffer.alloc(512, 'c'));
  const tagged = new TypedBlob(store, 'box', 'tagged');
  await store.put('box', 'tagged', small);
  await tagged.setTags([
    ['colour', 'blue'],
    ['size', '3'],
  ]);
}

/** And what time will clear away: deleted states, a deleted container, a blob that ends by itself; and versions. */
async function fillPast(store: TestStore, settings: { keepsVersions: boolean }): Promise<void> {
  await retainBlobs(store, 7);
  await store.put('box', 'whole', small);
  await store.put('box', 'deleted', large);
  await store.delete('box', 'deleted');
  await retainBlobs(store, null);
  await store.put('box', 'ending', small);
  await setBlobExpiry(store.storage, { ...blobRequest('box', 'ending'), option: 'RelativeToNow', time: '60000' });
  await store.putBlock('box', 'staged', blockIdOf(1), large);
  settings.keepsVersions = true;
  await store.put('box', 'versions', small);
  await store.put('box', 'versions', large);
  await setBlobMetadata(store.storage, { ...blobRequest('box', 'versions'), metadata: [['turn', '3']] });
  settings.keepsVersions = false;
  await store.createContainer('restorable');
  await store.put('restorable', 'large', large);
  await new TypedBlob(store, 'restorable', 'large').snapshot();
  await store.deleteContainer('restorable');
}

/** A store with all of it, swept. */
async function sharedStore(): Promise<TestStore> {
  const settings = { ...DEFAULT_SETTINGS, keepsVersions: false, containerRetentionDays: 7 };
  const store = await TestStore.open({ settings: () => settings });
  await fillShared(store);
  await fillPast(store, settings);
  await store.sweep();
  await store.close();
  return store;
}

const PEOPLE = { account: ACCOUNT, table: 'People' };
const ENTITY_COUNT = 300;

async function fillTables(store: TestStore): Promise<void> {
  await createTable(store.storage, PEOPLE);
  await createTable(store.storage, { account: ACCOUNT, table: 'empty' });
  const properties: Properties = [
    ['number', { type: 'Edm.Int32', value: 1 }],
    ['text', { type: 'Edm.String', value: 'text' }],
  ];
  const changes = Array.from({ length: ENTITY_COUNT }, (_, index) => ({
    key: { partitionKey: `p${index % 3}`, rowKey: String(index) },
    change: { kind: 'insert', properties } as const,
  }));
  await changeEntities(store.storage, PEOPLE, changes);
}

async function tableStore(): Promise<TestStore> {
  const store = await TestStore.open();
  await fillTables(store);
  await store.close();
  return store;
}

const check = (store: Pick<TestStore, 'engine' | 'content'>, { afterCrash = false } = {}): Promise<CheckReport> =>
  checkStore({ engine: store.engine, content: store.content, afterCrash });

const put = (store: TestStore, key: Uint8Array, value: Uint8Array) =>
  store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
const remove = (store: TestStore, key: Uint8Array) => store.engine.commit({ checks: [], puts: [], deletes: [key] });

const inTable = async (store: TestStore, letter: string): Promise<Entry[]> =>
  (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));

type FoundBlob = Entry & { readonly blob: BlobRecord };

async function blobEntry(store: TestStore, name: string, kind: BlobKeyKind = 'blob'): Promise<FoundBlob> {
  const entries = await inTable(store, 'B');
  const entry = entries.find(({ key }) => parseBlobKey(key).name === name && parseBlobKey(key).kind === kind) as Entry;
  return { ...entry, blob: decodeJson<BlobRecord>(entry.value) };
}

async function changeBlob(
  store: TestStore,
  { key, blob }: FoundBlob,
  change: { readonly [Field in keyof BlobRecord]?: BlobRecord[Field] | undefined },
): Promise<void> {
  await put(store, key, encodeJson({ ...blob, ...change }));
}

/** The id under which the blob's bytes, or its block list, stand. */
async function contentId(store: TestStore, name: string, kind: BlobKeyKind = 'blob'): Promise<string> {
  return ((await blobEntry(store, name, kind)).blob.content as { id: string }).id;
}

const appendedIn = async (store: TestStore, kind: BlobKeyKind = 'blob'): Promise<AppendedContent> =>
  (await blobEntry(store, 'log', kind)).blob.content as AppendedContent;

const pagesIn = async (store: TestStore, kind: BlobKeyKind = 'blob'): Promise<PagesContent> =>
  (await blobEntry(store, 'disk', kind)).blob.content as PagesContent;

const firstIn = async (store: TestStore, letter: string): Promise<Entry> => (await inTable(store, letter))[0] as Entry;

const discard = (store: TestStore, garbage: GarbageRecord) => put(store, garbageKey(UNUSED_ID), encodeJson(garbage));

/** The row that says when this record is over. */
async function dueRow(store: TestStore, of: (row: Record<string, string>) => boolean): Promise<Uint8Array> {
  const rows = await inTable(store, 'E');
  return (rows.find(({ value }) => of(decodeJson(value))) as Entry).key;
}

const dueOf = (store: TestStore, key: Uint8Array) =>
  dueRow(store, ({ blobKey, containerKey }) => (blobKey ?? containerKey) === Buffer.from(key).toString('base64'));

describe('a healthy store', () => {
  test('is clean, and its counts are told', async () => {
    const { findings, ...counts } = await check(await healthyStore());
    assert.deepEqual(findings, []);
    assert.deepEqual(counts, {
      containers: 1,
      blobs: 4,
      pastBlobs: 0,
      stagedBlocks: 2,
      tables: 0,
      entities: 0,
      queues: 0,
      messages: 0,
      shares: 0,
      directories: 0,
      files: 0,
      pastFiles: 0,
      extents: 6,
      contentBytes: 3 * large.length + 3 * small.length,
      awaitingSweep: 0,
      leftByCrash: 0,
    });
  });

  test('is clean while much waits to be swept', async () => {
    const store = await healthyStore();
    await store.reopen();
    await store.put('box', 'large', small);
    await store.put('box', 'blocks', small);
    await store.putBlockList('box', 'staged', [{ kind: 'latest', id: blockIdOf(1) }]);
    await store.putBlock('box', 'staged', blockIdOf(3), large);
    await store.putBlockList('box', 'staged', [{ kind: 'committed', id: blockIdOf(1) }]);
    await store.createContainer('gone');
    await store.put('gone', 'large', large);
    await store.putBlock('gone', 'staged', blockIdOf(1), large);
    await store.deleteContainer('gone');
    await store.close();
    const report = await check(store);
    assert.deepEqual(report.findings, []);
    assert.ok(report.awaitingSweep >= 5, `${report.awaitingSweep}`);
    assert.equal(report.blobs, 5);
  });

  test('is clean where several hold the same content, and what stands beside the blobs is counted', async () => {
    const { findings, containers, blobs, pastBlobs, stagedBlocks, awaitingSweep } = await check(await sharedStore());
    assert.deepEqual(findings, []);
    assert.deepEqual(
      { containers, blobs, pastBlobs, stagedBlocks, awaitingSweep },
      { containers: 2, blobs: 8, pastBlobs: 9, stagedBlocks: 1, awaitingSweep: 0 },
    );
  });

  test('is clean with tables in it, and counts those of them that are there', async () => {
    const store = await tableStore();
    const before = await check(store);
    assert.deepEqual(before.findings, []);
    assert.deepEqual([before.tables, before.entities, before.awaitingSweep], [2, ENTITY_COUNT, 0]);
    await store.reopen();
    await deleteTable(store.storage, PEOPLE);
    await createTable(store.storage, PEOPLE);
    await store.close();
    const after = await check(store);
    assert.deepEqual(after.findings, []);
    assert.deepEqual([after.tables, after.entities, after.awaitingSweep], [2, 0, 1]);
  });

  test('is clean when it is empty', async () => {
    const store = await TestStore.open();
    await store.close();
    assert.deepEqual((await check(store)).findings, []);
  });

  test('is told about as it goes', async () => {
    const store = await healthyStore();
    const seen: number[] = [];
    await checkStore({ engine: store.engine, content: store.content, afterCrash: false }, (count) => seen.push(count));
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    assert.ok((seen.at(-1) as number) >= 14);
  });
});

/** Leaves garbage of every kind, on an engine and a content store that nobody sweeps meanwhile. */
async function leaveGarbage(parts: Pick<TestStoreParts, 'engine' | 'content'>): Promise<void> {
  const settings = { ...DEFAULT_SETTINGS, keepsVersions: false };
  const store = await TestStore.open({ ...parts, settings: () => settings });
  await store.sweeper.close();
  await fillShared(store);
  // What a list took over, beside what it did not, while the old list lives on in a snapshot, and while it does not.
  await store.putBlock('box', 'blocks', blockIdOf(4), large);
  await store.putBlockList('box', 'blocks', [committed(1), latest(4)]);
  await store.putBlockList('box', 'blocks', [committed(4)]);
  await new TypedBlob(store, 'box', 'blocks').delete({ deleteSnapshots: 'only' });
  await store.put('box', 'blocks', small);
  await store.putBlock('box', 'plain', blockIdOf(1), large);
  await store.putBlockList('box', 'plain', [latest(1)]);
  await store.putBlock('box', 'plain', blockIdOf(2), large);
  await store.putBlockList('box', 'plain', [committed(1), latest(2)]);
  await store.putBlockList('box', 'plain', [committed(2)]);
  await store.put('box', 'large', large);
  await store.put('box', 'large', small);
  // Lists so long that they are counted, and let go of, in several steps.
  const numbers = Array.from({ length: 300 }, (_, index) => index);
  for (const number of numbers) await store.putBlock('box', 'long', blockIdOf(number), small);
  await store.putBlockList('box', 'long', numbers.map(latest));
  await new TypedBlob(store, 'box', 'long').snapshot();
  await store.putBlockList('box', 'long', numbers.slice(1).map(committed));
  await new TypedBlob(store, 'box', 'long').snapshot();
  await store.putBlockList('box', 'long', numbers.slice(2).map(committed));
  await new TypedBlob(store, 'box', 'long').delete({ deleteSnapshots: 'only' });
  // A list of appended blocks of which a snapshot holds a part, and one that nobody holds.
  await new TypedBlob(store, 'box', 'log').delete({ deleteSnapshots: 'include' });
  const log = new TypedBlob(store, 'box', 'log');
  await log.createAppend();
  for (const bytes of [small, large, large]) await log.append(bytes);
  // Pages that snapshots saw, and a range too wide to be cleared at once.
  const disk = new TypedBlob(store, 'box', 'disk');
  await disk.delete({ deleteSnapshots: 'only' });
  await disk.createPages(80 * CHUNK_BYTES);
  for (let chunk = 0; chunk < 80; chunk++) await disk.putPages(chunk * CHUNK_BYTES, Buffer.alloc(512, chunk));
  await disk.putPages(0, large);
  await disk.snapshot();
  await disk.clearPages(0, 80 * CHUNK_BYTES);
  await disk.putPages(CHUNK_BYTES, large);
  await disk.delete({ deleteSnapshots: 'only' });
  await fillPast(store, settings);
  await store.createContainer('gone');
  await store.put('gone', 'large', large);
  await new TypedBlob(store, 'gone', 'large').setTags([['colour', 'red']]);
  await new TypedBlob(store, 'gone', 'large').snapshot();
  await store.putBlock('gone', 'staged', blockIdOf(1), large);
  await store.deleteContainer('gone');
  // A table of several steps, whose name another has by now.
  await fillTables(store);
  await deleteTable(store.storage, PEOPLE);
  await createTable(store.storage, PEOPLE);
  await store.close();
}

describe('a store stopped at any moment is clean', () => {
  test('before anything is swept, whatever kind of garbage there is', async () => {
    const parts = { engine: openMemoryEngine(), content: openMemoryContent() };
    await leaveGarbage(parts);
    const rows = await everything(parts.engine);
    const garbage = rows.filter(({ key }) => key[0] === 'G'.charCodeAt(0));
    const kinds = new Set(garbage.map(({ value }) => decodeJson<GarbageRecord>(value).kind));
    assert.deepEqual([...kinds].toSorted(), [
      'container',
      'cut',
      'epoch',
      'extent',
      'layout',
      'list',
      'share',
      'staging',
      'table',
    ]);
    const { findings, awaitingSweep } = await check(parts);
    assert.deepEqual(findings, []);
    assert.equal(awaitingSweep, garbage.length);
  });

  test('after every commit and every extent given back while all of it is swept', async () => {
    const parts = { engine: openMemoryEngine(), content: openMemoryContent() };
    await leaveGarbage(parts);
    const hooks = new Hooks();
    let stopCount = 0;
    const wrong: string[] = [];
    hooks.before = async ({ what }) => {
      if (what !== 'committed' && what !== 'freed') return;
      stopCount++;
      const { findings } = await check(parts, { afterCrash: true });
      wrong.push(...findings.map((finding) => `${stopCount}: ${finding}`));
    };
    const store = await TestStore.open({
      engine: hookEngine(parts.engine, hooks),
      content: hookContent(parts.content, hooks),
    });
    await store.sweep();
    await store.close();
    assert.deepEqual(wrong, []);
    assert.ok(stopCount > 50, `stopped ${stopCount} times`);
    assert.deepEqual(store.errors, []);
    assert.deepEqual((await check(parts)).findings, []);
    assert.deepEqual(await store.garbage(), []);
  });

  for (const [what, copy] of [
    ['a copy of pages', copyPages],
    ['an incremental copy', copyIncrementally],
  ] as const) {
    test(`after every commit of ${what} that is cut off there, and when it has gone on after a restart`, async () => {
      for (let [cutAfter, wasCut] = [0, true]; wasCut; cutAfter++) {
        const begun = new MemoryEngine();
        const content = openMemoryContent();
        ({ wasCut } = await copyCutOff({ engine: begun, content }, { copy, cutAfter }));
        assert.deepEqual((await check({ engine: begun, content }, { afterCrash: true })).findings, []);
        const store = await TestStore.open({ engine: begun.restart(), content });
        await untilCopied(store);
        assert.deepEqual((await check(store)).findings, []);
        await store.deleteContainer('box');
        await store.sweep();
        assert.deepEqual(await store.records(), []);
        await store.close();
        assert.ok(wasCut || cutAfter > 5, `${cutAfter} commits`);
      }
    });
  }
});

/** Or that it was given up. */
const untilCopied = (store: TestStore, isOver = (): boolean => false): Promise<boolean> =>
  until(
    { what: 'no copy is under way', limitSeconds: 30 },
    async () => isOver() || (await inTable(store, 'J')).length === 0,
  );

/** The engine takes so many commits of the copy, and no more. */
async function copyCutOff(
  parts: Pick<TestStoreParts, 'engine' | 'content'>,
  { copy, cutAfter }: { copy: typeof copyPages; cutAfter: number },
): Promise<{ wasCut: boolean }> {
  const hooks = new Hooks();
  const store = await TestStore.open({ ...parts, engine: hookEngine(parts.engine, hooks) });
  await store.createContainer('box');
  const disk = new TypedBlob(store, 'box', 'disk');
  await disk.createPages(80 * CHUNK_BYTES);
  for (let chunk = 0; chunk < 80; chunk++) await disk.putPages(chunk * CHUNK_BYTES, Buffer.alloc(512, chunk));
  let [wasCut, commitCount] = [false, 0];
  await copy(store, disk, () => {
    hooks.before = ({ what }) => {
      if (what !== 'commit' || commitCount++ < cutAfter) return;
      wasCut = true;
      throw new EngineUnavailable('cut off');
    };
  }).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
  await untilCopied(store, () => wasCut);
  await store.close();
  return { wasCut };
}

const sourceAt = (moment: Moment | null) => ({
  kind: 'inside' as const,
  name: blobRequest('box', 'disk').name,
  at: moment === null ? null : { kind: 'snapshot' as const, moment },
  mayReadTags: true,
});

/** `begins`: the copy that counts. */
async function copyPages(store: TestStore, disk: TypedBlob, begins: () => void): Promise<void> {
  await disk.putPages(0, large);
  begins();
  await copyBlob(store.storage, {
    ...blobRequest('box', 'copy'),
    ...NEW_BLOB,
    source: sourceAt(null),
    demands: { conditions: NO_CONDITIONS, ifTags: null, range: null, md5: null, crc64: null },
    shownSource: '',
    seals: null,
    mayOverwrite: true,
  });
}

async function copyIncrementally(store: TestStore, disk: TypedBlob, begins: () => void): Promise<void> {
  const request = { ...blobRequest('box', 'copy'), shownSource: '', mayOverwrite: true };
  await incrementalCopyBlob(store.storage, { ...request, source: sourceAt(await disk.snapshot()) });
  await untilCopied(store);
  await disk.putPages(0, large);
  await disk.clearPages(CHUNK_BYTES, 70 * CHUNK_BYTES);
  const source = sourceAt(await disk.snapshot());
  begins();
  await incrementalCopyBlob(store.storage, { ...request, source });
}

async function everything(engine: Engine): Promise<Entry[]> {
  const snapshot = engine.snapshot();
  const all = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
  return snapshot.range(all, { limit: 1_000_000 }).finally(() => snapshot.close());
}

type Fault = readonly [what: string, plant: (store: TestStore) => Promise<unknown>, finding: RegExp];

describe('a fault is found', () => {
  const rows: readonly Fault[] = [
    [
      'the row of a large blob’s extent is missing',
      async (store) => remove(store, extentKey({ id: await contentId(store, 'large'), inline: false })),
      /a record refers to extent \w+, which has no record itself/,
    ],
    [
      'the row of a small blob’s extent is missing',
      async (store) => remove(store, extentKey({ id: await contentId(store, 'small'), inline: true })),
      /a record refers to extent \w+, which has no record itself/,
    ],
    [
      'the row of a committed block’s extent is missing',
      async (store) => {
        const [layout] = await inTable(store, 'L');
        const [block] = decodeLayout((layout as Entry).value);
        await remove(store, extentKey((block as { extent: { id: string; inline: boolean } }).extent));
      },
      /a record refers to extent \w+, which has no record itself/,
    ],
    [
      'the row of a staged block’s extent is missing',
      async (store) => {
        const [staged] = await inTable(store, 'K');
        const { extent } = decodeJson<{ extent: { id: string; inline: boolean } }>((staged as Entry).value);
        await remove(store, extentKey(extent));
      },
      /a record refers to extent \w+, which has no record itself/,
    ],
    [
      'a small extent has another length than its blob',
      async (store) =>
        put(store, extentKey({ id: await contentId(store, 'small'), inline: true }), encodeInline(Buffer.alloc(11))),
      /extent \w+ has 11 bytes, but should have 10/,
    ],
    [
      'a blob has another length than its blocks',
      async (store) => {
        const { key, blob } = await blobEntry(store, 'blocks');
        await put(store, key, encodeJson({ ...blob, lengthBytes: 5 }));
      },
      /blob blocks has 5 bytes, but its blocks have 40970/,
    ],
    [
      'an empty blob has a length',
      async (store) => {
        const { key, blob } = await blobEntry(store, 'empty');
        await put(store, key, encodeJson({ ...blob, lengthBytes: 5 }));
      },
      /blob empty has a length but no content/,
    ],
    [
      'an extent is named by nothing',
      (store) => put(store, extentKey({ id: UNUSED_ID, inline: true }), encodeInline(small)),
      /no record refers to extent 0123456789abcdef01234567/,
    ],
    [
      'a block list is named by nothing',
      (store) => put(store, layoutKey(UNUSED_ID), encodeLayout([])),
      /block list 0123456789abcdef01234567 belongs to no blob/,
    ],
    [
      'a block list is missing',
      async (store) => remove(store, layoutKey(await contentId(store, 'blocks'))),
      /blob blocks refers to block list \w+, which is missing/,
    ],
    [
      'a blob stands in no container',
      async (store) => {
        const { blob } = await blobEntry(store, 'empty');
        const { blob: key } = blobKeys({ account: 'account1', containerId: UNUSED_ID, name: 'lost' });
        await put(store, key, encodeJson(blob));
      },
      /blob lost belongs to no container/,
    ],
    [
      'a staged block belongs to no blob',
      async (store) => {
        const [staged] = await inTable(store, 'K');
        await put(store, stagedBlockKey(UNUSED_ID, 'AAAA'), (staged as Entry).value);
      },
      /staged block AAAA belongs to no blob/,
    ],
    [
      'two containers share an id',
      async (store) => {
        const [container] = await inTable(store, 'C');
        await put(store, Buffer.from('Caccount1\0other'), (container as Entry).value);
      },
      /container other has the same id as another container/,
    ],
    [
      'the content of an extent is missing',
      async (store) => {
        for (const { value } of await inTable(store, 'X')) {
          const { placement, lengthBytes } = decodeJson<PlacedRecord>(value);
          await store.content.free(placement, lengthBytes);
        }
      },
      /extent \w+ is missing in the content store/,
    ],
    [
      'the content of an extent is another’s',
      async (store) => {
        const [one, other] = await inTable(store, 'X');
        await put(store, (one as Entry).key, (other as Entry).value);
      },
      /extent \w+ is damaged in the content store/,
    ],
    [
      'the content store holds what nothing names',
      (store) => store.content.write(UNUSED_ID, piecesOf(large), large.length),
      /extents that no record refers to: 1 \(20480 bytes\)/,
    ],
    [
      'the block list that garbage is told apart by is missing',
      (store) => put(store, garbageKey(UNUSED_ID), encodeJson({ kind: 'staging', id: UNUSED_ID, keeping: UNUSED_ID })),
      /0123456789abcdef01234567/,
    ],
    ['a record stands in no table', (store) => put(store, Buffer.from('Zsomething'), encodeJson({})), /Zsomething/],
  ];
  for (const [what, plant, finding] of rows) {
    test(`when ${what}`, async () => {
      const store = await healthyStore();
      await plant(store);
      const { findings } = await check(store);
      assert.ok(findings.length > 0, 'something is found');
      assert.ok(
        findings.some((text) => finding.test(text)),
        findings.join('\n'),
      );
    });
  }

  for (const table of ['A', 'B', 'C', 'D', 'E', 'G', 'I', 'J', 'K', 'L', 'P', 'R', 'X']) {
    test(`when a record of table ${table} cannot be read`, async () => {
      const store = await healthyStore();
      const [entry] = await inTable(store, table);
      const key = entry?.key ?? Buffer.concat([Buffer.from(table), Buffer.alloc(12, 'x')]);
      await put(store, key, Buffer.from([0xee, 1, 2, 3]));
      const { findings } = await check(store);
      assert.ok(
        findings.some((text) => text.startsWith(`record ${table} `) && /cannot be read/.test(text)),
        findings.join('\n'),
      );
    });
  }
});

async function blocksOf(store: TestStore): Promise<Uint8Array[]> {
  const keys = (await inTable(store, 'A')).map(({ key }) => key);
  return keys.toSorted((a, b) => appendedBlockStartOf(a) - appendedBlockStartOf(b));
}

/** The extent that was written over the boundary of two chunks. */
async function sharedByChunks(store: TestStore): Promise<string> {
  const counted = new Set((await inTable(store, 'R')).map(({ key }) => idOf(key)));
  const rows = await inTable(store, 'M');
  const named = rows.map(({ value }) => new Set(decodeChunk(value).pieces.map(({ extent }) => extent.id)));
  return [...(named[0] as Set<string>)].find((id) => named[1]?.has(id) === true && counted.has(id)) as string;
}

async function deletedContainerId(store: TestStore): Promise<string> {
  return decodeJson<ContainerRecord>((await firstIn(store, 'D')).value).id;
}

async function blobIn(store: TestStore, containerId: string): Promise<FoundBlob> {
  const entries = await inTable(store, 'B');
  const entry = entries.find(
    ({ key }) => parseBlobKey(key).containerId === containerId && parseBlobKey(key).kind === 'blob',
  ) as Entry;
  return { ...entry, blob: decodeJson<BlobRecord>(entry.value) };
}

describe('a fault in what several hold, or what stands beside the blob, is found', () => {
  const counts: readonly Fault[] = [
    [
      'nobody counts the holders of an extent',
      async (store) => remove(store, referencesKey(await contentId(store, 'whole', 'snapshot'))),
      /^the reference count of \w+ is 1, but should be 2/,
    ],
    [
      'nobody counts the holders of a list of appended blocks',
      async (store) => remove(store, referencesKey((await appendedIn(store)).lists[0]?.id as string)),
      /^the reference count of \w+ is 1, but should be 2/,
    ],
    [
      'nobody counts the block lists that have an extent in common',
      async (store) => {
        const { extent } = decodeLayout((await firstIn(store, 'L')).value)[0] as { extent: ExtentRef };
        await remove(store, referencesKey(extent.id));
      },
      /^the reference count of \w+ is 1, but should be 2/,
    ],
    [
      'nobody counts the chunks that have an extent in common',
      async (store) => remove(store, referencesKey(await sharedByChunks(store))),
      /^the reference count of \w+ is 1, but should be 2/,
    ],
    [
      'more holders are counted than there are',
      async (store) => {
        const { key, value } = await firstIn(store, 'R');
        await put(store, key, encodeJson({ count: decodeJson<ReferencesRecord>(value).count + 1 }));
      },
      /^the reference count of \w+ is 3, but should be 2/,
    ],
    [
      'the holders of what is not there are counted',
      (store) => put(store, referencesKey(UNUSED_ID), encodeJson({ count: 2 })),
      /^the reference count of 0123456789abcdef01234567 is 2, but should be 0/,
    ],
    [
      'a blob takes itself for the only holder of its content',
      async (store) => changeBlob(store, await blobEntry(store, 'whole', 'snapshot'), { isShared: undefined }),
      /^\w+ has 2 references, but one of them is not marked as shared/,
    ],
    [
      'a blob takes itself for the only one with its blocks',
      async (store) => changeBlob(store, await blobEntry(store, 'blocks'), { isShared: undefined }),
      /^\w+ has 2 references, but one of them is not marked as shared/,
    ],
    [
      'two blobs hold one block list, and nobody knows',
      async (store) => {
        const { blob } = await blobEntry(store, 'blocks');
        await changeBlob(store, await blobEntry(store, 'tagged'), {
          content: blob.content,
          lengthBytes: blob.lengthBytes,
        });
      },
      /^the reference count of \w+ is 1, but should be 2/,
    ],
  ];

  const lists: readonly Fault[] = [
    [
      'a block is missing in the middle of a list',
      async (store) => remove(store, (await blocksOf(store))[1] as Uint8Array),
      /^append list \w+ has its next block at byte 20490, but should have it at byte 10/,
    ],
    [
      'the last block of a list is missing',
      async (store) => remove(store, (await blocksOf(store)).at(-1) as Uint8Array),
      /^append list \w+ has no block that ends at byte \d+/,
    ],
    [
      'all blocks of a list are missing',
      async (store) => {
        for (const key of await blocksOf(store)) await remove(store, key);
      },
      /^append list \w+ has no block that ends at byte \d+/,
    ],
    [
      'a list has a block behind its end',
      async (store) => {
        const { key, value } = await firstIn(store, 'A');
        const { lengthBytes } = (await blobEntry(store, 'log')).blob;
        await put(store, appendedBlockKey(idOf(key), lengthBytes), value);
      },
      /^append list \w+ has blocks up to byte \d+, but its blob ends at byte \d+/,
    ],
    [
      'a block belongs to no list',
      async (store) => put(store, appendedBlockKey(UNUSED_ID, 0), (await firstIn(store, 'A')).value),
      /^a block of append list 0123456789abcdef01234567 belongs to no blob/,
    ],
    [
      'two blobs append to one list',
      async (store) => {
        const content = { ...(await appendedIn(store, 'snapshot')), isBorrowed: undefined };
        await changeBlob(store, await blobEntry(store, 'log', 'snapshot'), {
          content: content as AppendedContent & { isBorrowed: never },
        });
      },
      /^two blobs append to list \w+/,
    ],
    [
      'an append blob miscounts its blocks',
      async (store) => {
        const content = { ...(await appendedIn(store)), blockCount: 7 };
        await changeBlob(store, await blobEntry(store, 'log'), { content });
      },
      /^blob log should have 7 blocks, but has 5/,
    ],
    [
      'an append blob has another length than its blocks',
      async (store) => changeBlob(store, await blobEntry(store, 'log'), { lengthBytes: 7 }),
      /^blob log has 7 bytes, but its blocks have \d+/,
    ],
  ];

  const pages: readonly Fault[] = [
    [
      'a chunk of pages is missing',
      async (store) => remove(store, (await inTable(store, 'M')).at(-1)?.key as Uint8Array),
      /^the reference count of \w+ is 2, but should be 1/,
    ],
    [
      'an earlier state of a chunk is missing',
      async (store) => remove(store, (await firstIn(store, 'H')).key),
      /^the index lists an earlier state of chunk \d+ of page map \w+ that does not exist/,
    ],
    [
      'an earlier state of a chunk is not in the index',
      async (store) => remove(store, (await firstIn(store, 'N')).key),
      /^an earlier state of chunk \d+ of page map \w+ is missing from the index/,
    ],
    [
      'the epoch that a snapshot holds is not noted',
      async (store) => {
        const { id, epoch } = await pagesIn(store, 'snapshot');
        await remove(store, epochKey(id, epoch));
      },
      /^a record holds epoch \d+ of page map \w+, which does not exist/,
    ],
    [
      'an epoch is noted that no record holds',
      async (store) => put(store, epochKey((await pagesIn(store)).id, 99), Buffer.alloc(0)),
      /^no record holds epoch 99 of page map \w+/,
    ],
    [
      'two records hold one epoch',
      async (store) => {
        const content = await pagesIn(store);
        await changeBlob(store, await blobEntry(store, 'disk', 'snapshot'), { content });
      },
      /^epoch \d+ of page map \w+ is held by two records/,
    ],
    [
      'a chunk cannot be read',
      async (store) => put(store, (await firstIn(store, 'M')).key, Buffer.from([0xee, 1])),
      /^chunk \d+ of page map \w+ cannot be read/,
    ],
  ];

  const tags: readonly Fault[] = [
    [
      'the index of tags lacks a row',
      async (store) => remove(store, (await firstIn(store, 'T')).key),
      /^tag colour of blob tagged is missing from the index/,
    ],
    [
      'the index of tags has a row of a tag that the blob lacks',
      async (store) => changeBlob(store, await blobEntry(store, 'tagged'), { tags: [['colour', 'blue']] }),
      /^the index lists tag size for blob tagged, which does not have it/,
    ],
    [
      'the index of tags has a row of a blob that is not there',
      async (store) => remove(store, (await blobEntry(store, 'tagged')).key),
      /^the index lists tag colour for blob tagged, which does not have it/,
    ],
    [
      'a row of the index of tags stands in another container',
      async (store) => {
        const key = Buffer.from((await firstIn(store, 'T')).key);
        key.write(UNUSED_ID, `T${ACCOUNT}\0`.length, 'hex');
        await put(store, key, Buffer.alloc(0));
      },
      /^the index lists tag colour for blob tagged, which does not have it/,
    ],
  ];

  const past: readonly Fault[] = [
    [
      'a snapshot stands in no container',
      async (store) => {
        const { blob } = await blobEntry(store, 'ending');
        const key = pastKey(
          { account: ACCOUNT, containerId: UNUSED_ID, name: 'lost' },
          'snapshot',
          '2030-01-01T00:00:00.0000000Z',
        );
        await put(store, key, encodeJson({ ...blob, content: { kind: 'empty' }, lengthBytes: 0 }));
      },
      /^blob lost belongs to no container/,
    ],
    [
      'the content of a snapshot is missing',
      async (store) => remove(store, extentKey({ id: await contentId(store, 'whole', 'snapshot'), inline: false })),
      /^a record refers to extent \w+, which has no record itself/,
    ],
    [
      'the content of a blob in a deleted container is missing',
      async (store) => {
        const { blob } = await blobIn(store, await deletedContainerId(store));
        await remove(store, extentKey({ id: (blob.content as { id: string }).id, inline: false }));
      },
      /^a record refers to extent \w+, which has no record itself/,
    ],
    [
      'a deleted container is missing, and its blobs are not',
      async (store) => remove(store, (await firstIn(store, 'D')).key),
      /^blob large belongs to no container/,
    ],
    [
      'a deleted container is not marked as such',
      async (store) => {
        const { key, value } = await firstIn(store, 'D');
        await put(store, key, encodeJson({ ...decodeJson<ContainerRecord>(value), deleted: undefined }));
      },
      /^deleted container restorable is not marked as deleted/,
    ],
    [
      'a deleted container stands under another id',
      async (store) => {
        const { value } = await firstIn(store, 'D');
        await put(store, Buffer.from(`D${ACCOUNT}\0other\0${UNUSED_ID}`), value);
      },
      /^deleted container other is stored under another id/,
    ],
    [
      'a deleted state is not marked as such',
      async (store) => changeBlob(store, await blobEntry(store, 'deleted', 'deleted'), { deleted: undefined }),
      /^a deleted state of blob deleted is not marked as deleted/,
    ],
    [
      'a blob is marked as deleted where it stands',
      async (store) => {
        const { blob } = await blobEntry(store, 'deleted', 'deleted');
        await changeBlob(store, await blobEntry(store, 'whole'), { deleted: blob.deleted });
      },
      /^blob whole is marked as deleted, but is stored as an existing blob/,
    ],
    [
      'a version has the id of another',
      async (store) =>
        changeBlob(store, await blobEntry(store, 'versions', 'version'), { versionId: '2030-01-01T00:00:00.0000000Z' }),
      /^version \S+ of blob versions has the version id 2030-01-01T00:00:00.0000000Z/,
    ],
    [
      'the current version is older than one before it',
      async (store) =>
        changeBlob(store, await blobEntry(store, 'versions'), { versionId: '2000-01-01T00:00:00.0000000Z' }),
      /^version \S+ of blob versions is not older than the current one/,
    ],
    [
      'nobody will see that a deleted state is over',
      async (store) => remove(store, await dueOf(store, (await blobEntry(store, 'deleted', 'deleted')).key)),
      /^blob deleted is not scheduled to expire/,
    ],
    [
      'nobody will see that a blob ends',
      async (store) => remove(store, await dueOf(store, (await blobEntry(store, 'ending')).key)),
      /^blob ending is not scheduled to expire/,
    ],
    [
      'nobody will see that a deleted container is over',
      async (store) => remove(store, await dueOf(store, (await firstIn(store, 'D')).key)),
      /^deleted container restorable is not scheduled to expire/,
    ],
    [
      'nobody will see that staged blocks expire',
      async (store) => remove(store, await dueRow(store, ({ stagingId }) => stagingId !== undefined)),
      /^the staged blocks of blob staged are not scheduled to expire/,
    ],
    [
      'a blob waits for a copy that nobody makes',
      async (store) =>
        changeBlob(store, await blobEntry(store, 'tagged'), {
          copy: { id: 'a', source: '', status: 'pending', bytesCopied: 0, bytesTotal: 1 },
        }),
      /^blob tagged waits for a copy that has no job/,
    ],
  ];

  const awaited: readonly Fault[] = [
    [
      'an extent that a blob names awaits the sweeper',
      async (store) =>
        discard(store, { kind: 'extent', extent: { id: await contentId(store, 'whole', 'snapshot'), inline: false } }),
      /^a record refers to extent \w+, which is to be swept/,
    ],
    [
      'a block list that a blob has awaits the sweeper',
      async (store) => discard(store, { kind: 'layout', id: await contentId(store, 'blocks'), keeping: null }),
      /^block list \w+ belongs to a blob, but is to be swept/,
    ],
    [
      'a block list that is missing awaits the sweeper',
      (store) => discard(store, { kind: 'layout', id: UNUSED_ID, keeping: null }),
      /^block list 0123456789abcdef01234567 is needed for sweeping, but is missing/,
    ],
    [
      'the block lists are missing that are to be compared',
      (store) => discard(store, { kind: 'share', id: UNUSED_ID, with: UNUSED_ID, done: 0 }),
      /^block list 0123456789abcdef01234567 is needed for sweeping, but is missing/,
    ],
    [
      'extents are to be counted that are counted already',
      async (store) =>
        discard(store, {
          kind: 'share',
          id: await contentId(store, 'blocks'),
          with: await contentId(store, 'blocks', 'snapshot'),
          done: 0,
        }),
      /^the reference count of \w+ is 2, but should be 1/,
    ],
    [
      'a list that a blob appends to awaits the sweeper',
      async (store) => discard(store, { kind: 'list', id: (await appendedIn(store)).lists[0]?.id as string }),
      /^append list \w+ belongs to a blob, but is to be swept/,
    ],
    [
      'the blocks that are staged for a blob await the sweeper',
      async (store) => {
        const { value } = await blobEntry(store, 'staged', 'staging');
        await discard(store, { kind: 'staging', id: decodeJson<StagingRecord>(value).id, keeping: null });
      },
      /^the staged blocks of blob staged are in use, but are to be swept/,
    ],
    [
      'a container that is there awaits the sweeper',
      async (store) => {
        const { id } = decodeJson<ContainerRecord>((await firstIn(store, 'C')).value);
        await discard(store, { kind: 'container', account: ACCOUNT, id });
      },
      /^container box exists, but is to be swept/,
    ],
  ];

  for (const [what, plant, finding] of [...counts, ...lists, ...pages, ...tags, ...past, ...awaited]) {
    test(`when ${what}`, async () => {
      const store = await sharedStore();
      await plant(store);
      const { findings } = await check(store);
      assert.ok(
        findings.some((text) => finding.test(text)),
        findings.join('\n'),
      );
    });
  }
});

describe('what there is of a copy under way', () => {
  const EXTENT: ExtentRef = { id: '89abcdef0123456789abcdef', inline: true };
  const block = encodeJson({ extent: EXTENT, lengthBytes: small.length, stagedMs: 0 });
  const source = { url: '', authorization: null, etag: null, lastModifiedMs: null, lengthBytes: 99, contentMd5: null };
  const begun = { copyId: 'a', blobKey: '', startedMs: 0, source };
  const fetched = { ...begun, kind: 'fetchBlob', partsId: UNUSED_ID, partBytes: 10, isSealed: false } as const;
  const map: PagesContent = { kind: 'pages', id: UNUSED_ID, epoch: 1, cuts: [] };
  const putExtent = (store: TestStore) => put(store, extentKey(EXTENT), encodeInline(small));

  const rows: readonly (readonly [what: string, job: CopyJob, plant: (store: TestStore) => Promise<unknown>])[] = [
    [
      'parts of a block blob',
      { ...fetched, type: 'BlockBlob' },
      async (store) => {
        await putExtent(store);
        await put(store, stagedBlockKey(UNUSED_ID, '000000'), block);
      },
    ],
    [
      'parts of an append blob',
      { ...fetched, type: 'AppendBlob' },
      async (store) => {
        await putExtent(store);
        await put(store, appendedBlockKey(UNUSED_ID, 0), block);
      },
    ],
    [
      'pages',
      { ...begun, kind: 'fetchPages', map, reachedBytes: 0 },
      async (store) => {
        await putExtent(store);
        await put(store, epochKey(UNUSED_ID, 1), Buffer.alloc(0));
        const piece = { extent: EXTENT, offsetBytes: 0, lengthBytes: 10, extentOffsetBytes: 0, isShared: false };
        await put(store, chunkKey(UNUSED_ID, 0), encodeChunk({ since: 1, pieces: [piece] }));
      },
    ],
  ];
  for (const [what, job, plant] of rows) {
    test(`is its job's: ${what}`, async () => {
      const store = await healthyStore();
      await plant(store);
      assert.notDeepEqual((await check(store)).findings, [], 'without a job it is nobody’s');
      await put(store, copyJobKey(UNUSED_ID), encodeJson(job));
      const { key, blob } = await blobEntry(store, 'empty');
      const copy = { id: 'a', source: '', status: 'pending', bytesCopied: 0, bytesTotal: 99 };
      await put(store, key, encodeJson({ ...blob, copy }));
      assert.deepEqual((await check(store)).findings, []);
    });
  }
});

test('what a crash left in the content store is counted and is no fault', async () => {
  const store = await healthyStore();
  await store.content.write(UNUSED_ID, piecesOf(large), large.length);
  const report = await check(store, { afterCrash: true });
  assert.deepEqual(report.findings, []);
  assert.equal(report.leftByCrash, 1);
});

test('a crash excuses nothing else', async () => {
  const store = await healthyStore();
  await remove(store, extentKey({ id: await contentId(store, 'large'), inline: false }));
  assert.notDeepEqual((await check(store, { afterCrash: true })).findings, []);
});

test('a check changes nothing', async () => {
  const calls: string[] = [];
  const hooks = new Hooks();
  const store = await TestStore.open({ content: hookContent(openMemoryContent(), hooks) });
  await store.createContainer('box');
  await store.put('box', 'large', large);
  await store.close();
  const before = await store.records();
  hooks.before = ({ what }) => void calls.push(what);
  await check(store);
  assert.deepEqual(await store.records(), before);
  assert.deepEqual(
    calls.filter((what) => what === 'write' || what === 'free'),
    [],
  );
});

test('the ids in findings are those of the records', async () => {
  const store = await healthyStore();
  const [row] = await inTable(store, 'X');
  await remove(store, (row as Entry).key);
  const { findings } = await check(store);
  assert.ok(findings.some((text) => text.includes(idOf((row as Entry).key))));
});

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
