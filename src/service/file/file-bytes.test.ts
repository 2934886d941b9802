/**
 * The bytes of a file against a buffer, and what is allocated against a set of pages: any offset, any length, with
 * snapshots of the share in between. LARIMAR_SEED replays one seed.
 */
// tier: both
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { TestShare } from '../../../test/harness/file-store.ts';
import { Random, simulationSeeds } from '../../../test/harness/random.ts';
import { byTier } from '../../../test/harness/tier.ts';
import type { Engine } from '../../engine/engine.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { endOf, type Span } from '../../rules/page-ranges.ts';
import { checkStore } from '../check.ts';
import { INLINE_BYTES_MAX } from '../extents/extents.ts';
import { pageRanges } from '../pages/list-pages.ts';
import { PAGE_SETTINGS } from '../pages/page-settings.ts';
import { extentKey } from '../records/keys.ts';
import type { FileRecord } from '../records/node-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { gatherNeeds, OldBytes, PAGE_BYTES, splitPages, withOldBytes } from './file-bytes.ts';
import { findNode } from './load.ts';

const { chunkBytes: CHUNK_BYTES, clearedRowsMax: CLEARED_ROWS_MAX } = PAGE_SETTINGS;

const ENGINES: readonly (readonly [name: string, open: (t: TestContext) => Promise<Engine>])[] = [
  ['in memory', async () => openMemoryEngine()],
  ['on disk', openOnDisk],
];

async function openOnDisk(t: TestContext): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-file-bytes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const engine = await openLmdbEngine({ path: join(folder, 'records') });
  t.after(() => engine.close());
  return engine;
}

for (const [offsetBytes, lengthBytes, headBytes, middleBytes, tailBytes] of [
  [0, 0, 0, 0, 0],
  [0, 1, 0, 0, 1],
  [0, 512, 0, 512, 0],
  [0, 513, 0, 512, 1],
  [1, 1, 1, 0, 0],
  [1, 511, 511, 0, 0],
  [1, 512, 511, 0, 1],
  [1, 1023, 511, 512, 0],
  [1, 1024, 511, 512, 1],
  [511, 1, 1, 0, 0],
  [511, 2, 1, 0, 1],
  [512, 1024, 0, 1024, 0],
  [4 * 1024 ** 4 - 1, 1, 1, 0, 0],
] as const) {
  test(`${lengthBytes} bytes at ${offsetBytes} are ${headBytes}, ${middleBytes} in whole pages, and ${tailBytes}`, () => {
    assert.deepEqual(splitPages({ offsetBytes, lengthBytes }), { headBytes, middleBytes, tailBytes });
  });
}

// ---- the model

class ModelFile {
  readonly bytes: Buffer;
  /** The numbers of those that are allocated. */
  readonly pages: ReadonlySet<number>;

  constructor(bytes: Buffer, pages: Iterable<number>) {
    this.bytes = bytes;
    this.pages = new Set(pages);
  }

  static created(lengthBytes: number, body: Uint8Array): ModelFile {
    return new ModelFile(Buffer.alloc(lengthBytes), []).written(0, body);
  }

  written(at: number, bytes: Uint8Array): ModelFile {
    const after = Buffer.from(this.bytes);
    after.set(bytes, at);
    return new ModelFile(after, [...this.pages, ...pagesOver({ offsetBytes: at, lengthBytes: bytes.length })]);
  }

  /** Only what is covered whole is given back. */
  cleared(range: Span): ModelFile {
    const after = Buffer.from(this.bytes).fill(0, range.offsetBytes, endOf(range));
    const isLeft = (page: number): boolean =>
      page * PAGE_BYTES < range.offsetBytes || (page + 1) * PAGE_BYTES > endOf(range);
    return new ModelFile(after, [...this.pages].filter(isLeft));
  }

  resized(lengthBytes: number): ModelFile {
    const after = Buffer.alloc(lengthBytes);
    after.set(this.bytes.subarray(0, lengthBytes));
    return new ModelFile(
      after,
      [...this.pages].filter((page) => page * PAGE_BYTES < lengthBytes),
    );
  }
}

const pagesOver = ({ offsetBytes, lengthBytes }: Span): number[] => {
  const first = Math.floor(offsetBytes / PAGE_BYTES);
  const end = Math.ceil((offsetBytes + lengthBytes) / PAGE_BYTES);
  return lengthBytes === 0 ? [] : Array.from({ length: end - first }, (_, index) => first + index);
};

async function fileAt(share: TestShare, path: string, snapshot: Moment | null = null): Promise<FileRecord> {
  const { engine, known } = share.store.storage;
  const look = engine.snapshot();
  const found = await findNode(snapshotReader(look), share.nameOf(path, snapshot), known).finally(() => look.close());
  return found.node as FileRecord;
}

async function allocatedPages(share: TestShare, path: string, snapshot: Moment | null = null): Promise<number[]> {
  const { content, lengthBytes } = await fileAt(share, path, snapshot);
  if (content.kind === 'empty') return [];
  const look = share.store.engine.snapshot();
  try {
    const pages: number[] = [];
    // Behind the end nothing may be left, either.
    const range = { offsetBytes: 0, lengthBytes: lengthBytes + 2 * CHUNK_BYTES };
    for await (const each of pageRanges(look, content, range)) pages.push(...pagesOver(each));
    return pages;
  } finally {
    look.close();
  }
}

async function compare(share: TestShare, model: ModelFile, snapshot: Moment | null = null): Promise<void> {
  const where = snapshot === null ? 'the file' : `the file in snapshot ${snapshot}`;
  const bytes = await share.read('file', snapshot);
  assert.equal(bytes.length, model.bytes.length, where);
  assert.ok(bytes.equals(model.bytes), `${where} differs at ${firstDifference(bytes, model.bytes)}`);
  assert.deepEqual(
    await allocatedPages(share, 'file', snapshot),
    [...model.pages].sort((a, b) => a - b),
    where,
  );
}

const firstDifference = (a: Buffer, b: Buffer): number => a.findIndex((byte, index) => byte !== b[index]);

async function checkClean({ store }: TestShare): Promise<void> {
  const { engine, content } = store;
  assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
}

// ---- random changes

const LENGTH_BYTES_MAX = 3 * CHUNK_BYTES;
const SNAPSHOT_COUNT_MAX = 4;
const STEP_COUNT = byTier({ quick: 75, system: 150 });

class RandomFile {
  readonly #random: Random;
  readonly #share: TestShare;
  #model: ModelFile;
  readonly #snapshots = new Map<Moment, ModelFile>();

  constructor(random: Random, share: TestShare) {
    this.#random = random;
    this.#share = share;
    this.#model = ModelFile.created(0, Buffer.alloc(0));
  }

  async run(): Promise<void> {
    await this.#share.createFile('file', 0);
    for (let step = 0; step < STEP_COUNT; step++) {
      const what = await this.#step();
      try {
        await compare(this.#share, this.#model);
        if (step % 10 === 0) await this.#compareSnapshots();
      } catch (error) {
        throw new Error(`LARIMAR_SEED=${this.#random.seed}, step ${step}: ${what}`, { cause: error });
      }
    }
    await this.#compareSnapshots();
    await checkClean(this.#share);
  }

  async #compareSnapshots(): Promise<void> {
    for (const [moment, model] of this.#snapshots) await compare(this.#share, model, moment);
  }

  async #step(): Promise<string> {
    const random = this.#random;
    const dice = random.next();
    if (dice < 0.45) return this.#write();
    if (dice < 0.65) return this.#clear();
    if (dice < 0.8) return this.#resize();
    if (dice < 0.83) return this.#create();
    if (dice < 0.93) return this.#snapshot();
    await this.#share.store.sweep();
    return 'sweep';
  }

  async #write(): Promise<string> {
    const { offsetBytes, lengthBytes } = this.#someRange();
    if (lengthBytes === 0) return 'nothing';
    const bytes = this.#random.bytes(lengthBytes);
    await this.#share.write('file', offsetBytes, bytes);
    this.#model = this.#model.written(offsetBytes, bytes);
    return `write ${lengthBytes} at ${offsetBytes}`;
  }

  async #clear(): Promise<string> {
    const range = this.#someRange();
    if (range.lengthBytes === 0) return 'nothing';
    await this.#share.clear('file', range.offsetBytes, range.lengthBytes);
    this.#model = this.#model.cleared(range);
    return `clear ${range.lengthBytes} at ${range.offsetBytes}`;
  }

  async #resize(): Promise<string> {
    const lengthBytes = this.#someOffset(LENGTH_BYTES_MAX);
    await this.#share.resize('file', lengthBytes);
    this.#model = this.#model.resized(lengthBytes);
    return `resize to ${lengthBytes}`;
  }

  async #create(): Promise<string> {
    const lengthBytes = this.#someOffset(LENGTH_BYTES_MAX);
    const body = this.#random.chance(0.5) ? this.#random.bytes(lengthBytes) : new Uint8Array(0);
    await this.#share.createFile('file', body.length === 0 ? lengthBytes : body);
    this.#model = ModelFile.created(lengthBytes, body);
    return `create ${lengthBytes}, ${body.length} of them given`;
  }

  async #snapshot(): Promise<string> {
    const [oldest] = this.#snapshots.keys();
    if (oldest !== undefined && (this.#snapshots.size >= SNAPSHOT_COUNT_MAX || this.#random.chance(0.3))) {
      const going = this.#random.pick([...this.#snapshots.keys()]);
      await this.#share.deleteSnapshot(going);
      this.#snapshots.delete(going);
      return `delete snapshot ${going}`;
    }
    const moment = await this.#share.snapshot();
    this.#snapshots.set(moment, this.#model);
    return `snapshot ${moment}`;
  }

  /** Within the file; rather near the borders of pages, of chunks and of what stands in the engine. */
  #someRange(): Span {
    const { length } = this.#model.bytes;
    const offsetBytes = this.#someOffset(Math.max(0, length - 1));
    const wanted = this.#random.chance(0.6) ? this.#random.pick(LENGTHS)(this.#random) : this.#someOffset(length);
    return { offsetBytes, lengthBytes: Math.max(0, Math.min(wanted, length - offsetBytes)) };
  }

  #someOffset(maxBytes: number): number {
    const random = this.#random;
    const unit = random.pick([1, PAGE_BYTES, PAGE_BYTES, CHUNK_BYTES]);
    const near =
      unit * random.below(Math.floor(maxBytes / unit) + 1) + random.pick([0, 0, -1, 1, random.below(PAGE_BYTES)]);
    return Math.min(maxBytes, Math.max(0, near));
  }
}

const LENGTHS: readonly ((random: Random) => number)[] = [
  (random) => 1 + random.below(PAGE_BYTES),
  (random) => PAGE_BYTES * (1 + random.below(4)),
  (random) => INLINE_BYTES_MAX + random.pick([-1, 0, 1]),
  (random) => random.below(CHUNK_BYTES + PAGE_BYTES),
];

const { seeds, freshSeed } = simulationSeeds(1, 2);

describe('a file and its snapshots are what a buffer says', () => {
  for (const seed of seeds) {
    test(`in memory, seed ${seed}`, async () => {
      await new RandomFile(new Random(seed), await TestShare.create()).run();
    });
  }

  test(`on disk, seed ${freshSeed}`, async (t) => {
    const share = await TestShare.create({ engine: await openOnDisk(t) });
    await new RandomFile(new Random(freshSeed), share).run();
    await share.store.close();
  });
});

// ---- one thing at a time

describe('what is allocated', () => {
  /** Writes 0 to 9, clears 1 to 8, and so on: inclusive, as in headers. */
  type Change = readonly ['write' | 'clear', first: number, last: number];
  const rows: readonly (readonly [what: string, changes: readonly Change[], pages: readonly number[]])[] = [
    ['a write within a page is all of the page', [['write', 0, 9]], [0]],
    [
      'a clear within a page leaves it',
      [
        ['write', 0, 9],
        ['clear', 1, 8],
      ],
      [0],
    ],
    [
      'a clear of just what was written leaves it',
      [
        ['write', 0, 9],
        ['clear', 0, 9],
      ],
      [0],
    ],
    [
      'a clear of a whole page gives it back',
      [
        ['write', 0, 9],
        ['clear', 0, 511],
      ],
      [],
    ],
    [
      'a clear over a border gives back what it covers',
      [
        ['write', 0, 2047],
        ['clear', 511, 1536],
      ],
      [0, 3],
    ],
    ['a clear of what was never written allocates nothing', [['clear', 3, 700]], []],
    [
      'a clear whose ends lie where nothing is',
      [
        ['write', 512, 1023],
        ['clear', 100, 1100],
      ],
      [],
    ],
    [
      'a write over a border after a clear',
      [
        ['write', 0, 2047],
        ['clear', 0, 1023],
        ['write', 1023, 1027],
      ],
      [1, 2, 3],
    ],
  ];
  for (const [what, changes, pages] of rows) {
    test(what, async () => {
      const share = await TestShare.create();
      await share.createFile('file', 2_049);
      for (const [kind, first, last] of changes) {
        if (kind === 'write') await share.write('file', first, Buffer.alloc(last - first + 1, 'w'));
        else await share.clear('file', first, last - first + 1);
      }
      assert.deepEqual(await allocatedPages(share, 'file'), pages);
    });
  }
});

test('a small write is one extent, wherever it begins and ends', async () => {
  for (const [offset, length, before] of [
    [0, 1_024, 0],
    [300, 1, 0],
    [300, 1_000, 0],
    [300, INLINE_BYTES_MAX, 0],
    [300, 1_000, 2_000],
    [CHUNK_BYTES - 300, 1_000, 0],
  ] as const) {
    const share = await TestShare.create();
    const lengthBytes = 2 * CHUNK_BYTES;
    await share.createFile('file', lengthBytes);
    if (before > 0) await share.write('file', 0, Buffer.alloc(before, 'b'));
    await share.write('file', offset, Buffer.alloc(length, 'w'));
    const inlineCount = (await share.store.records()).filter((key) => key.startsWith('I')).length;
    assert.equal(inlineCount, before > 0 ? 2 : 1, `${length} at ${offset}`);
    const model = ModelFile.created(lengthBytes, Buffer.alloc(before, 'b')).written(offset, Buffer.alloc(length, 'w'));
    await compare(share, model);
    await checkClean(share);
  }
});

test('a file that was cut off within a page and grows again shows zeros there', async () => {
  for (const lengthBytes of [700, 20_000, CHUNK_BYTES + 700]) {
    const share = await TestShare.create();
    await share.createFile('file', Buffer.alloc(lengthBytes, 'x'));
    const left = lengthBytes - 301;
    await share.resize('file', left);
    await share.resize('file', lengthBytes);
    const expected = Buffer.concat([Buffer.alloc(left, 'x'), Buffer.alloc(301)]);
    assert.ok((await share.read('file')).equals(expected), `${lengthBytes} bytes`);
  }
});

test('a clear of more rows than are taken one by one shows zeros at once, and old bytes to a snapshot', async () => {
  const share = await TestShare.create();
  const chunkCount = CLEARED_ROWS_MAX + 6;
  const lengthBytes = chunkCount * CHUNK_BYTES + 3;
  await share.createFile('file', lengthBytes);
  const stretch = Buffer.alloc(PAGE_BYTES + 20, 'p');
  const starts = Array.from({ length: chunkCount }, (_, chunk) => chunk * CHUNK_BYTES + 500);
  let before = ModelFile.created(lengthBytes, Buffer.alloc(0));
  for (const at of starts) {
    await share.write('file', at, stretch);
    before = before.written(at, stretch);
  }
  const snapshot = await share.snapshot();
  const range = { offsetBytes: 510, lengthBytes: lengthBytes - CHUNK_BYTES };
  await share.clear('file', range.offsetBytes, range.lengthBytes);
  let after = before.cleared(range);
  const rewritten = 40 * CHUNK_BYTES + 700;
  await share.write('file', rewritten, stretch);
  after = after.written(rewritten, stretch);
  await compare(share, after);
  await compare(share, before, snapshot);
  assert.notDeepEqual((await fileAt(share, 'file')).content, { kind: 'empty' });
  await share.store.sweep();
  await compare(share, after);
  await compare(share, before, snapshot);
  await share.resize('file', 0);
  await share.resize('file', lengthBytes);
  await compare(share, ModelFile.created(lengthBytes, Buffer.alloc(0)));
  await compare(share, before, snapshot);
  await checkClean(share);
});

describe('writers of different bytes of one page, 32 at once, all leave what they wrote', () => {
  const PIECE_BYTES = PAGE_BYTES / 32;
  const pieceOf = (index: number): Buffer => Buffer.alloc(PIECE_BYTES, 1 + index);
  const together = Buffer.concat(Array.from({ length: 32 }, (_, index) => pieceOf(index)));

  for (const [where, open] of ENGINES) {
    for (const [what, before] of [
      ['a file without content', Buffer.alloc(0)],
      ['a page that stands in the engine', Buffer.alloc(PAGE_BYTES, 'e')],
      ['a page that stands in the content store', Buffer.alloc(3 * INLINE_BYTES_MAX, 'c')],
    ] as const) {
      test(`${what}, ${where}`, async (t) => {
        const share = await TestShare.create({ engine: await open(t) });
        const lengthBytes = 4 * INLINE_BYTES_MAX;
        await share.createFile('file', lengthBytes);
        if (before.length > 0) await share.write('file', 0, before);
        const snapshot = await share.snapshot();
        await Promise.all(
          Array.from({ length: 32 }, (_, index) => share.write('file', index * PIECE_BYTES, pieceOf(index))),
        );
        const old = ModelFile.created(lengthBytes, before);
        await compare(share, old.written(0, together));
        await compare(share, old, snapshot);
        await checkClean(share);
        await share.store.close();
      });
    }
  }
});

async function keyOfPlaced({ store }: TestShare): Promise<Uint8Array> {
  const found = (await store.entries()).find(({ key }) => key[0] === 'X'.charCodeAt(0));
  assert.ok(found !== undefined);
  return found.key;
}

test('a change of a page whose bytes are lost is refused, and not tried for ever', async () => {
  const share = await TestShare.create();
  await share.createFile('file', Buffer.alloc(3 * INLINE_BYTES_MAX, 'c'));
  await share.store.engine.commit({ checks: [], puts: [], deletes: [await keyOfPlaced(share)] });
  await assert.rejects(share.write('file', 1, Buffer.from('x')), /has no record/);
});

test('a change runs again with the old bytes it asked for, and with those of another extent if that is gone', async () => {
  const share = await TestShare.create();
  await share.createFile('file', Buffer.alloc(3 * INLINE_BYTES_MAX, 'c'));
  const placedKey = await keyOfPlaced(share);
  const id = Buffer.from(placedKey.subarray(1)).toString('hex');
  const gone = { extent: { id: 'f'.repeat(24), inline: false }, offsetBytes: 0, lengthBytes: PAGE_BYTES };
  const there = { extent: { id, inline: false }, offsetBytes: PAGE_BYTES, lengthBytes: PAGE_BYTES };
  assert.deepEqual(extentKey(there.extent), placedKey);
  const asked: string[] = [];
  const bytes = await withOldBytes(share.store.storage, async (old) => {
    assert.ok(old instanceof OldBytes);
    const piece = asked.length === 0 ? gone : there;
    asked.push(piece.extent.id);
    return old.get(piece);
  });
  assert.ok(Buffer.from(bytes).equals(Buffer.alloc(PAGE_BYTES, 'c')));
  assert.deepEqual(asked, [gone.extent.id, id, id]);
});

test('what a write needs of two pages is fetched at once, and of extents that are known not at all', async () => {
  const share = await TestShare.create();
  await share.createFile('file', Buffer.alloc(3 * INLINE_BYTES_MAX, 'c'));
  const id = Buffer.from((await keyOfPlaced(share)).subarray(1)).toString('hex');
  const pieceAt = (page: number) => ({
    extent: { id, inline: false },
    offsetBytes: page * PAGE_BYTES,
    lengthBytes: PAGE_BYTES,
  });
  const known = { id: 'e'.repeat(24), inline: false };
  let runCount = 0;
  const pages = await withOldBytes(share.store.storage, async (old) => {
    runCount++;
    old.noteExtent(known, Buffer.alloc(2 * PAGE_BYTES, 'k'));
    return gatherNeeds([pieceAt(0), { ...pieceAt(1), extent: known }, pieceAt(3)], async (piece) => old.get(piece));
  });
  assert.deepEqual(
    pages.map((page) => Buffer.from(page).toString().charAt(0)),
    ['c', 'k', 'c'],
  );
  assert.equal(runCount, 2);
});
