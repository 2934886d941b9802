import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import type { Engine, Put } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import { formatMoment } from '../../rules/moment.ts';
import { retentionUntil } from '../../rules/retention.ts';
import type { BlobRecord, StagingRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { blobKeys, type PastKind, pastKey } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { type ListBlobsRequest, type ListedBlob, listBlobs } from './list-blobs.ts';
import { findContainer } from './load.ts';

/** Of a past state: as it was, deleted and kept, or deleted longer ago than it is kept. */
type Fate = 'live' | 'kept' | 'gone';

interface Name {
  readonly staged: boolean;
  readonly snapshots: readonly Fate[];
  readonly versions: readonly Fate[];
  readonly states: readonly Exclude<Fate, 'live'>[];
  readonly base: 'none' | 'live' | 'expired';
}

type Model = ReadonlyMap<string, Name>;

type Include = Pick<
  ListBlobsRequest,
  'includeUncommitted' | 'includeSnapshots' | 'includeVersions' | 'includeDeleted' | 'includeDeletedWithVersions'
>;

const NAME = { account: ACCOUNT, container: 'box' };
const DAY_MS = 86_400_000;
const utf8Order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const momentOf = (index: number): string => formatMoment(10_000_000_000_000_000n + BigInt(index));

/** Everything listed, each as its kind, name and, of what has one, its number among its kind. */
function expectedItems(model: Model, include: Include, delimiter = ''): string[] {
  const items: string[] = [];
  for (const name of [...model.keys()].sort(utf8Order)) {
    const ofName = itemsOf(name, model.get(name) as Name, include);
    const cut = delimiter === '' ? -1 : name.indexOf(delimiter);
    if (cut === -1) items.push(...ofName);
    else if (ofName.length > 0) {
      const prefix = `prefix ${name.slice(0, cut + delimiter.length)}`;
      if (items.at(-1) !== prefix) items.push(prefix);
    }
  }
  return items;
}

function itemsOf(name: string, { staged, snapshots, versions, states, base }: Name, include: Include): string[] {
  const shows = (fate: Fate): boolean => fate === 'live' || (fate === 'kept' && include.includeDeleted === true);
  const listed = (kind: string, fates: readonly Fate[]): string[] =>
    fates.flatMap((fate, index) => (shows(fate) ? [`${kind} ${name} ${fate} ${momentOf(index)}`] : []));
  const isLive = base === 'live';
  const newest = states.lastIndexOf('kept');
  const deletedBlob = !isLive && include.includeDeleted === true && newest !== -1;
  const overwritten = states.map((fate, index) => (deletedBlob && index === newest ? ('gone' as const) : fate));
  const hasVersions = versions.some((fate) => fate !== 'gone');
  return [
    ...(include.includeSnapshots === true ? listed('snapshot', snapshots) : []),
    ...(include.includeVersions === true ? listed('version', versions) : []),
    ...(include.includeSnapshots === true ? listed('snapshot', overwritten) : []),
    ...(deletedBlob ? [`deleted ${name} kept ${momentOf(newest)}`] : []),
    ...(!isLive && !deletedBlob && include.includeDeletedWithVersions === true && hasVersions
      ? [`versionsOnly ${name} ${momentOf(versions.findLastIndex((fate) => fate !== 'gone'))}`]
      : []),
    ...(!isLive && staged && include.includeUncommitted ? [`uncommitted ${name}`] : []),
    ...(isLive ? [`blob ${name}`] : []),
  ];
}

function describeItem(item: ListedBlob): string {
  if (!('blob' in item)) return `${item.kind} ${item.name}`;
  const fate = item.blob.deleted === undefined ? 'live' : 'kept';
  switch (item.kind) {
    case 'snapshot':
      return `snapshot ${item.name} ${fate} ${item.moment}`;
    case 'version':
      return `version ${item.name} ${fate} ${item.blob.versionId}`;
    case 'versionsOnly':
      return `versionsOnly ${item.name} ${item.blob.versionId}`;
    case 'deleted':
      return `deleted ${item.name} ${fate} ${item.blob.etag}`;
    case 'blob':
      return `blob ${item.name}`;
  }
}

/** Records without content, straight into the engine. */
async function makeStore(model: Model, engine: Engine = openMemoryEngine()): Promise<TestStore> {
  const store = await TestStore.open({ engine });
  await store.createContainer('box');
  const snapshot = engine.snapshot();
  const container = await findContainer(snapshotReader(snapshot), NAME).finally(() => snapshot.close());
  const nowMs = store.clock.nowMs();
  const puts: Put[] = [];
  for (const [name, { staged, snapshots, versions, states, base }] of model) {
    const address = { account: ACCOUNT, containerId: container?.id as string, name };
    const put = (key: Uint8Array, record: BlobRecord | StagingRecord): void =>
      void puts.push({ key, value: encodeJson(record) });
    const putPast = (kind: PastKind, fates: readonly Fate[]): void => {
      for (const [index, fate] of fates.entries()) {
        const etag = momentOf(index);
        const versionId = kind === 'version' ? { versionId: momentOf(index) } : {};
        put(pastKey(address, kind, momentOf(index)), { ...recordOf(fate, nowMs), etag, ...versionId });
      }
    };
    putPast('snapshot', snapshots);
    putPast('version', versions);
    putPast('deleted', states);
    const keys = blobKeys(address);
    if (staged) put(keys.staging, { id: '0'.repeat(24), blockIdBytes: 3, createdMs: nowMs, lease: AVAILABLE });
    const expiresMs = base === 'expired' ? nowMs : nowMs + 1;
    if (base !== 'none') put(keys.blob, { ...recordOf('live', nowMs), expiresMs });
  }
  await engine.commit({ checks: [], puts, deletes: [] });
  return store;
}

function recordOf(fate: Fate, nowMs: number): BlobRecord {
  const atMs = fate === 'gone' ? nowMs - DAY_MS : nowMs - DAY_MS + 1;
  return {
    type: 'BlockBlob',
    etag: '0x1',
    lastModifiedMs: nowMs,
    createdMs: nowMs,
    lengthBytes: 0,
    content: { kind: 'empty' },
    headers: {},
    metadata: [],
    lease: AVAILABLE,
    ...(fate === 'live' ? {} : { deleted: { atMs, untilMs: retentionUntil(atMs, 1) } }),
  };
}

async function listAll(
  store: TestStore,
  request: Include & { limit: number; delimiter?: string },
): Promise<{ items: string[]; pageSizes: number[] }> {
  const items: string[] = [];
  const pageSizes: number[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const page = await listBlobs(store.storage, { name: NAME, prefix: '', delimiter: '', ...request, from });
    items.push(...page.items.map(describeItem));
    pageSizes.push(page.items.length);
    from = page.next;
  }
  return { items, pageSizes };
}

const fates = fc.constantFrom<Fate>('live', 'live', 'kept', 'gone');
const names = fc.record(
  {
    staged: fc.boolean(),
    snapshots: fc.array(fates, { maxLength: 4 }),
    versions: fc.array(fates, { maxLength: 4 }),
    states: fc.array(fc.constantFrom('kept' as const, 'kept' as const, 'gone' as const), { maxLength: 4 }),
    base: fc.constantFrom('none' as const, 'live' as const, 'live' as const, 'expired' as const),
  },
  { noNullPrototype: true },
);
const models = fc
  .array(fc.tuple(fc.constantFrom('a', 'a/1', 'a/2', 'a/b/1', 'a\x01', 'b', 'c/1', 'é'), names), { maxLength: 8 })
  .map((rows): Model => new Map(rows));
const includes = fc.record(
  {
    includeUncommitted: fc.boolean(),
    includeSnapshots: fc.boolean(),
    includeVersions: fc.boolean(),
    includeDeleted: fc.boolean(),
    includeDeletedWithVersions: fc.boolean(),
  },
  { noNullPrototype: true },
);

test('page by page, whatever is included, everything comes exactly once and in order, on full pages', async () => {
  await fc.assert(
    fc.asyncProperty(models, fc.array(includes, { minLength: 3, maxLength: 6 }), async (model, asked) => {
      const store = await makeStore(model);
      for (const include of asked) {
        for (const delimiter of ['', '/']) {
          const expected = expectedItems(model, include, delimiter);
          for (const limit of [1, 2, 3, 5_000]) {
            const { items, pageSizes } = await listAll(store, { ...include, delimiter, limit });
            assert.deepEqual(items, expected, `limit ${limit}`);
            assert.ok(
              pageSizes.slice(0, -1).every((size) => size === limit),
              `pages of ${pageSizes.join(', ')} with limit ${limit}`,
            );
          }
        }
      }
      await store.close();
    }),
    { ...seeded, numRuns: 150 },
  );
});

/** An engine that counts what its snapshots read by ranges. */
function countingEngine(): { engine: Engine; counts: { calls: number; records: number } } {
  const inner = openMemoryEngine();
  const counts = { calls: 0, records: 0 };
  const engine: Engine = {
    snapshot() {
      const view = inner.snapshot();
      return {
        get: (keys) => view.get(keys),
        async range(range, options) {
          const entries = await view.range(range, options);
          counts.calls++;
          counts.records += entries.length;
          return entries;
        },
        scan: (...args) => view.scan(...args),
        close: () => view.close(),
      };
    },
    tip: () => inner.tip(),
    commit: (batch) => inner.commit(batch),
    claim: (range, limit) => inner.claim(range, limit),
    close: () => inner.close(),
  };
  return { engine, counts };
}

const NAME_COUNT = 20;
const PAST_COUNT = 2_000;
const NOTHING_ELSE: Include = { includeUncommitted: false };

/** Names with thousands of past states each, of which a listing shows one item per name. */
const buried = (name: Partial<Name>): Model =>
  new Map(
    Array.from({ length: NAME_COUNT }, (_, index) => [
      `${index % 2 === 0 ? 'x' : 'y'}/${String(index).padStart(2, '0')}`,
      { staged: false, snapshots: [], versions: [], states: [], base: 'live', ...name },
    ]),
  );

const many = <T>(fate: T): T[] => Array.from({ length: PAST_COUNT }, () => fate);

for (const [what, model, include] of [
  ['the blobs alone', buried({ snapshots: many('live'), versions: many('live'), states: many('kept') }), NOTHING_ELSE],
  [
    'uncommitted blobs',
    buried({ staged: true, versions: many('live'), base: 'none' }),
    { ...NOTHING_ELSE, includeUncommitted: true },
  ],
  ['deleted blobs', buried({ states: many('kept'), base: 'none' }), { ...NOTHING_ELSE, includeDeleted: true }],
  [
    'live blobs where deleted ones are asked for',
    buried({ states: many('kept') }),
    { ...NOTHING_ELSE, includeDeleted: true },
  ],
  [
    'names that have versions only',
    buried({ versions: many('live'), states: many('gone'), base: 'none' }),
    { ...NOTHING_ELSE, includeDeletedWithVersions: true },
  ],
  [
    'the few versions behind many snapshots',
    buried({ snapshots: many('live'), versions: ['live'], base: 'none' }),
    { ...NOTHING_ELSE, includeVersions: true },
  ],
] as const) {
  test(`a listing of ${what} reads little of the thousands of states that it hides`, async () => {
    const { engine, counts } = countingEngine();
    const store = await makeStore(model, engine);
    for (const limit of [7, 5_000]) {
      counts.calls = 0;
      counts.records = 0;
      const { items } = await listAll(store, { ...include, limit });
      assert.deepEqual(items, expectedItems(model, include));
      assert.equal(items.length, NAME_COUNT);
      // The first read of a page is as long as the page may be: nothing is known by then.
      const firstRecords = Math.ceil(NAME_COUNT / limit) * Math.min(500, limit + 1);
      assert.ok(counts.calls <= 3 * NAME_COUNT, `${counts.calls} calls with limit ${limit}`);
      assert.ok(counts.records <= firstRecords + 130 * NAME_COUNT, `${counts.records} records with limit ${limit}`);
    }
    await store.close();
  });
}

test('with a delimiter, the many states of the many names behind a prefix are passed over at once', async () => {
  const { engine, counts } = countingEngine();
  const store = await makeStore(buried({ versions: many('live') }), engine);
  counts.records = 0;
  const { items } = await listAll(store, { ...NOTHING_ELSE, delimiter: '/', limit: 10 });
  assert.deepEqual(items, ['prefix x/', 'prefix y/']);
  assert.ok(counts.records < 400, `${counts.records} records`);
  await store.close();
});

test('names with a few states each are read in long steps', async () => {
  const model: Model = new Map(
    Array.from({ length: 1_000 }, (_, index) => [
      String(index).padStart(4, '0'),
      { staged: false, snapshots: many('live').slice(0, 4) as Fate[], versions: [], states: [], base: 'live' },
    ]),
  );
  const { engine, counts } = countingEngine();
  const store = await makeStore(model, engine);
  counts.calls = 0;
  const { items } = await listAll(store, { ...NOTHING_ELSE, limit: 5_000 });
  assert.equal(items.length, 1_000);
  assert.ok(counts.calls <= 12, `${counts.calls} calls`);
  await store.close();
});

test('a page that ends among snapshots goes on there, though others came and went meanwhile', async () => {
  const store = await makeStore(
    new Map([
      ['a', { staged: false, snapshots: many('live').slice(0, 5) as Fate[], versions: [], states: [], base: 'live' }],
    ]),
  );
  const list = (from: string) =>
    listBlobs(store.storage, {
      ...NOTHING_ELSE,
      name: NAME,
      prefix: '',
      delimiter: '',
      includeSnapshots: true,
      from,
      limit: 2,
    });
  const first = await list('');
  assert.deepEqual(
    first.items.map(describeItem),
    [0, 1].map((index) => `snapshot a live ${momentOf(index)}`),
  );
  const container = await findContainer(snapshotReader(store.engine.snapshot()), NAME);
  const address = { account: ACCOUNT, containerId: container?.id as string, name: 'a' };
  const deletes = [1, 2].map((index) => pastKey(address, 'snapshot', momentOf(index)));
  await store.engine.commit({ checks: [], puts: [], deletes });
  const second = await list(first.next as string);
  assert.deepEqual(
    second.items.map(describeItem),
    [3, 4].map((index) => `snapshot a live ${momentOf(index)}`),
  );
  const third = await list(second.next as string);
  assert.deepEqual(third.items.map(describeItem), ['blob a']);
  assert.equal(third.next, null);
  await store.close();
});

test('a place that no page gave is a name, or ends where it cannot be read', async () => {
  const store = await makeStore(
    new Map(['a', 'b'].map((name) => [name, { staged: false, snapshots: [], versions: [], states: [], base: 'live' }])),
  );
  for (const [from, want] of [
    ['a\0', ['blob a', 'blob b']],
    ['a\0snapshot', ['blob a', 'blob b']],
    ['a\0snapshot\0yesterday', ['blob a', 'blob b']],
    ['a\0nothing\0else', ['blob a', 'blob b']],
    ['a\0blob', ['blob a', 'blob b']],
    ['aa\0version\x002020-01-01T00:00:00Z', ['blob b']],
    ['c\0blob', []],
  ] as const) {
    const page = await listBlobs(store.storage, {
      ...NOTHING_ELSE,
      name: NAME,
      prefix: '',
      delimiter: '',
      from,
      limit: 9,
    });
    assert.deepEqual(page.items.map(describeItem), want, JSON.stringify(from));
  }
  await store.close();
});
