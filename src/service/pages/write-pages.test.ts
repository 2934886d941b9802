import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { CountedEngine, type EngineCost } from '../../../test/harness/counted-engine.ts';
import { PageStore } from '../../../test/harness/page-store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import { decodeJson } from '../records/codec.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { StorageError } from '../storage-error.ts';
import { freezePages } from './page-map.ts';
import { PAGE_SETTINGS } from './page-settings.ts';
import { resizePages, writePages } from './write-pages.ts';

const PAGE_BYTES = 512;
const MIB = 1024 ** 2;
const TIB = 1024 ** 4;
const { chunkBytes: CHUNK_BYTES, clearedRowsMax, cutsMax } = PAGE_SETTINGS;

const page = (text: string): Buffer => Buffer.alloc(PAGE_BYTES, text);

/** How many rows each table has; garbage by its kind. */
async function tally(store: PageStore): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { key, value } of await store.entries()) {
    const table = String.fromCharCode(key[0] as number);
    const name = table === 'G' ? `garbage ${decodeJson<GarbageRecord>(value).kind}` : table;
    if (table !== 'Z') counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

async function countedStore(): Promise<{ store: PageStore; engine: CountedEngine }> {
  const engine = new CountedEngine(openMemoryEngine());
  return { store: new PageStore({ engine }), engine };
}

/** Of a wide clear, and of making the blob shorter. */
async function wideClearCosts(chunkCount: number): Promise<EngineCost[]> {
  const { store, engine } = await countedStore();
  await store.create('blob', 8 * TIB);
  for (let chunk = 0; chunk < chunkCount; chunk++) await store.write('blob', chunk * CHUNK_BYTES, page('a'));
  const cleared = await engine.costOf(() => store.clear('blob', { offsetBytes: 0, lengthBytes: 4 * TIB }));
  const shrunk = await engine.costOf(() => store.resize('blob', 0));
  assert.deepEqual(await tally(store).then(({ M }) => M), chunkCount);
  return [cleared, shrunk].map((cost) => ({ ...cost, bytesRead: 0, bytesWritten: 0 }));
}

async function writeCost(lengthBytes: number, offsetBytes: number): Promise<EngineCost[]> {
  const { store, engine } = await countedStore();
  await store.create('blob', lengthBytes);
  // The record tells the length, and must not tell the two apart.
  await store.put('blob', { ...(await store.load('blob')), lengthBytes: 0 });
  return [
    await engine.costOf(() => store.write('blob', offsetBytes, page('a'))),
    await engine.costOf(() => store.write('blob', offsetBytes, page('b'))),
    await engine.costOf(() => store.freeze('blob', 'snapshot')),
    await engine.costOf(() => store.write('blob', offsetBytes, page('c'))),
  ];
}

describe('what a change costs', () => {
  test('a page written to 8 TiB costs what it costs in 1 MiB', async () => {
    const small = await writeCost(MIB, MIB - PAGE_BYTES);
    assert.deepEqual(await writeCost(8 * TIB, 8 * TIB - PAGE_BYTES), small);
    assert.deepEqual(await writeCost(8 * TIB, 4 * TIB), small);
  });

  test('a page written over another is one commit after two looks: at the record, and at all else together', async () => {
    const { store, engine } = await countedStore();
    await store.create('blob', MIB);
    await store.write('blob', 0, page('a'));
    const cost = await engine.costOf(() => store.write('blob', 0, page('b')));
    const { keysAsked, rangesAsked, commits, puts, deletes } = cost;
    // The record; the chunk, whether the map was copied; holds and epochs.
    assert.deepEqual({ keysAsked, rangesAsked, commits }, { keysAsked: 3, rangesAsked: 2, commits: 1 });
    // The record, the chunk and the bytes; the bytes before.
    assert.deepEqual({ puts, deletes }, { puts: 3, deletes: 1 });
  });

  test('a freeze costs the same whatever the map holds', async () => {
    const { store, engine } = await countedStore();
    await store.create('blob', 64 * MIB);
    await store.write('blob', 0, page('a'));
    const cost = await engine.costOf(() => store.freeze('blob', 'one'));
    for (let chunk = 0; chunk < 8; chunk++) await store.write('blob', chunk * CHUNK_BYTES, page('b'));
    assert.deepEqual(await engine.costOf(() => store.freeze('blob', 'two')), cost);
  });

  test('neither the newest state nor the oldest is dearer to read after a hundred snapshots', async () => {
    const { store, engine } = await countedStore();
    await store.create('blob', MIB);
    await store.write('blob', 0, page('a'));
    const snapshotTimes = async (from: number, to: number): Promise<void> => {
      for (let count = from; count < to; count++) {
        await store.freeze('blob', `snapshot ${String(count).padStart(3, '0')}`);
        await store.write('blob', 0, page('b'));
      }
    };
    const readBoth = async (): Promise<EngineCost[]> => [
      await engine.costOf(() => store.read('blob')),
      await engine.costOf(() => store.read('snapshot 000')),
      await engine.costOf(() => store.read('snapshot 010')),
    ];
    // From ten on, so that the numbers in the records have as many digits.
    await snapshotTimes(0, 20);
    const cost = await readBoth();
    await snapshotTimes(20, 98);
    assert.deepEqual(await readBoth(), cost);
  });

  test('a long walk over a snapshot skips what other snapshots see', async () => {
    const { store, engine } = await countedStore();
    await store.create('blob', 64 * CHUNK_BYTES);
    const writeAll = async (text: string): Promise<void> => {
      for (let chunk = 0; chunk < 64; chunk++) await store.write('blob', chunk * CHUNK_BYTES, page(text));
    };
    await writeAll('a');
    await store.freeze('blob', 'first');
    await writeAll('b');
    await store.freeze('blob', 'second');
    await writeAll('c');
    const cost = await engine.costOf(() => store.read('second'));
    for (let count = 0; count < 20; count++) {
      await store.freeze('blob', `later ${count}`);
      await writeAll('d');
    }
    const { entriesRead } = await engine.costOf(() => store.read('second'));
    assert.ok(entriesRead <= 20 * cost.entriesRead, `${entriesRead} in place of ${cost.entriesRead}`);
    assert.ok((await store.read('second')).subarray(0, PAGE_BYTES).equals(page('b')));
  });

  test('a wide clear costs the same whatever it clears, as does making a blob shorter', async () => {
    assert.deepEqual(await wideClearCosts(clearedRowsMax + 300), await wideClearCosts(clearedRowsMax + 1));
  });

  test('a clear of what has no pages writes nothing but the record', async () => {
    const { store, engine } = await countedStore();
    await store.create('blob', 8 * TIB);
    await store.write('blob', 0, page('a'));
    const { puts, deletes } = await engine.costOf(() =>
      store.clear('blob', { offsetBytes: PAGE_BYTES, lengthBytes: 8 * TIB - PAGE_BYTES }),
    );
    assert.deepEqual({ puts, deletes }, { puts: 1, deletes: 0 });
  });
});

describe('bytes that are written over', () => {
  let store: PageStore;

  beforeEach(async () => {
    store = new PageStore();
    await store.create('blob', 8 * MIB);
  });

  test('go with the commit, if nobody else sees them', async () => {
    await store.write('blob', 0, page('a'));
    await store.write('blob', 0, page('b'));
    assert.deepEqual(await tally(store), { I: 1, M: 1, V: 1 });
    await store.write('blob', 0, page('c'), false);
    await store.write('blob', 0, page('d'), false);
    assert.deepEqual(await tally(store), { M: 1, V: 1, X: 2, 'garbage extent': 1 });
  });

  test('stay while a part of them is seen', async () => {
    await store.write('blob', 0, Buffer.alloc(3 * PAGE_BYTES, 'a'));
    await store.write('blob', 0, page('b'));
    await store.write('blob', 2 * PAGE_BYTES, page('c'));
    assert.deepEqual(await tally(store), { I: 3, M: 1, V: 1 });
    await store.clear('blob', { offsetBytes: PAGE_BYTES, lengthBytes: PAGE_BYTES });
    assert.deepEqual(await tally(store), { I: 2, M: 1, V: 1 });
  });

  test('stay while a snapshot sees them, and go with its sweep', async () => {
    await store.write('blob', 0, page('a'));
    await store.freeze('blob', 'snapshot');
    await store.write('blob', 0, page('b'));
    assert.deepEqual(await tally(store), { H: 1, I: 2, M: 1, N: 1, V: 2 });
    await store.drop('snapshot');
    await store.sweep();
    assert.deepEqual(await tally(store), { I: 1, M: 1, V: 1 });
    assert.ok((await store.read('blob')).subarray(0, PAGE_BYTES).equals(page('b')));
  });

  test('stay if a snapshot sees them in the state before, which the map has already left', async () => {
    await store.write('blob', 0, page('a'));
    await store.write('blob', PAGE_BYTES, page('b'));
    await store.freeze('blob', 'snapshot');
    await store.write('blob', 0, page('c'));
    await store.write('blob', PAGE_BYTES, page('d'));
    assert.deepEqual(await tally(store), { H: 1, I: 4, M: 1, N: 1, V: 2 });
    assert.ok((await store.read('snapshot')).subarray(PAGE_BYTES, 2 * PAGE_BYTES).equals(page('b')));
  });

  test('leave no earlier state once the snapshot is gone, though the chunk was not touched since', async () => {
    await store.write('blob', 0, page('a'));
    await store.freeze('blob', 'snapshot');
    await store.drop('snapshot');
    await store.write('blob', 0, page('b'));
    assert.deepEqual(await tally(store), { I: 1, M: 1, V: 1, 'garbage epoch': 1 });
    await store.sweep();
    assert.deepEqual(await tally(store), { I: 1, M: 1, V: 1 });
  });

  test('in several chunks go with the last of these', async () => {
    await store.write('blob', CHUNK_BYTES - PAGE_BYTES, Buffer.alloc(CHUNK_BYTES + 2 * PAGE_BYTES, 'a'), false);
    assert.deepEqual(await tally(store), { M: 3, R: 1, V: 1, X: 1 });
    await store.clear('blob', { offsetBytes: 0, lengthBytes: CHUNK_BYTES });
    await store.clear('blob', { offsetBytes: CHUNK_BYTES, lengthBytes: CHUNK_BYTES });
    assert.deepEqual(await tally(store), { M: 1, V: 1, X: 1 });
    await store.clear('blob', { offsetBytes: 2 * CHUNK_BYTES, lengthBytes: CHUNK_BYTES });
    assert.deepEqual(await tally(store), { V: 1, X: 1, 'garbage extent': 1 });
  });

  test('in several chunks go at once where all are written over at once', async () => {
    await store.write('blob', 0, Buffer.alloc(4 * MIB, 'a'), false);
    await store.write('blob', 0, Buffer.alloc(4 * MIB, 'b'), false);
    assert.deepEqual(await tally(store), { M: 16, R: 1, V: 1, X: 2, 'garbage extent': 1 });
  });
});

describe('a wide clear', () => {
  const CHUNK_COUNT = clearedRowsMax + 10;
  const WHOLE = { offsetBytes: 0, lengthBytes: CHUNK_COUNT * CHUNK_BYTES };
  const TEXT = page('a');
  let store: PageStore;

  beforeEach(async () => {
    store = new PageStore();
    await store.create('blob', WHOLE.lengthBytes);
    await fill();
  });

  async function fill(): Promise<void> {
    for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) await store.write('blob', chunk * CHUNK_BYTES, TEXT);
  }

  const cutsOf = async (name: string): Promise<number> => (await store.load(name)).content.cuts.length;

  test('clears the edges that are not whole chunks as well', async () => {
    await store.clear('blob', { offsetBytes: PAGE_BYTES, lengthBytes: WHOLE.lengthBytes - CHUNK_BYTES });
    const expected = Buffer.alloc(WHOLE.lengthBytes);
    TEXT.copy(expected);
    assert.ok((await store.read('blob')).equals(expected));
  });

  test('is forgotten once it is carried out', async () => {
    await store.clear('blob', WHOLE);
    assert.equal(await cutsOf('blob'), 1);
    await store.sweep();
    assert.deepEqual(await tally(store), { V: 1 });
    await store.write('blob', 0, TEXT);
    assert.equal(await cutsOf('blob'), 0);
  });

  test('hides nothing that is written later, before it is carried out or after', async () => {
    await store.clear('blob', WHOLE);
    await store.write('blob', CHUNK_BYTES + PAGE_BYTES, page('b'));
    await store.freeze('blob', 'snapshot');
    const expected = Buffer.alloc(WHOLE.lengthBytes);
    page('b').copy(expected, CHUNK_BYTES + PAGE_BYTES);
    for (const isSwept of [false, true]) {
      if (isSwept) await store.sweep();
      assert.ok((await store.read('blob')).equals(expected));
      assert.ok((await store.read('snapshot')).equals(expected));
    }
  });

  test('leaves to an older snapshot what it sees', async () => {
    await store.freeze('blob', 'snapshot');
    await store.clear('blob', WHOLE);
    await store.write('blob', 0, page('b'));
    const before = await store.read('snapshot');
    assert.ok(before.subarray(0, PAGE_BYTES).equals(TEXT));
    await store.sweep();
    assert.ok((await store.read('snapshot')).equals(before));
    assert.deepEqual(await tally(store), { H: CHUNK_COUNT, I: CHUNK_COUNT + 1, M: 1, N: CHUNK_COUNT, V: 2 });
    await store.drop('snapshot');
    await store.sweep();
    assert.deepEqual(await tally(store), { I: 1, M: 1, V: 1 });
  });

  test('makes up for the cuts that it covers', async () => {
    const halfBytes = WHOLE.lengthBytes / 2;
    await fill();
    await store.clear('blob', WHOLE);
    await fill();
    await store.clear('blob', WHOLE);
    assert.equal(await cutsOf('blob'), 1);
    await store.resize('blob', halfBytes);
    assert.equal(await cutsOf('blob'), 1);
    await store.resize('blob', 0);
    await store.resize('blob', WHOLE.lengthBytes);
    assert.ok((await store.read('blob')).every((byte) => byte === 0));
    await store.sweep();
    assert.deepEqual(await tally(store), { V: 1 });
  });

  test('is asked to come again while too many are not carried out', async () => {
    const settings = { ...PAGE_SETTINGS, clearedRowsMax: 0 };
    const narrow = new PageStore({ settings });
    await narrow.create('blob', 2 * cutsMax * CHUNK_BYTES);
    const clearChunk = async (chunk: number): Promise<void> => {
      await narrow.write('blob', chunk * CHUNK_BYTES, TEXT);
      await narrow.clear('blob', { offsetBytes: chunk * CHUNK_BYTES, lengthBytes: CHUNK_BYTES });
    };
    for (let chunk = 0; chunk < cutsMax; chunk++) await clearChunk(chunk);
    await assert.rejects(clearChunk(cutsMax), (error) => error instanceof StorageError && error.code === 'ServerBusy');
    await narrow.sweep();
    await clearChunk(cutsMax);
  });
});

describe('a blob that is made shorter and longer again', () => {
  for (const [what, lengthBytes, toBytes] of [
    ['within a chunk', CHUNK_BYTES / 2, PAGE_BYTES],
    ['to the end of a chunk', 3 * CHUNK_BYTES, CHUNK_BYTES],
    ['within another chunk', 3 * CHUNK_BYTES - PAGE_BYTES, CHUNK_BYTES + PAGE_BYTES],
    ['to nothing', 3 * CHUNK_BYTES - PAGE_BYTES, 0],
  ] as const) {
    test(`${what} has lost the pages behind`, async () => {
      const store = new PageStore();
      await store.create('blob', lengthBytes);
      const bytes = Buffer.alloc(lengthBytes, 'some text ');
      await store.write('blob', 0, bytes, false);
      await store.resize('blob', toBytes);
      await store.resize('blob', lengthBytes);
      assert.ok((await store.read('blob')).equals(bytes.fill(0, toBytes)));
    });
  }
});

describe('refused is', () => {
  test('a change of what is frozen', async () => {
    const store = new PageStore();
    await store.create('blob', MIB);
    await store.freeze('blob', 'snapshot');
    const { content } = await store.load('snapshot');
    const range = { offsetBytes: 0, lengthBytes: PAGE_BYTES };
    await transact(store.engine, async (tx) => {
      await assert.rejects(writePages(tx, store.extents, content, range, null));
      await assert.rejects(resizePages(tx, store.extents, content, { fromBytes: MIB, toBytes: 0 }));
      assert.throws(() => freezePages(tx, content));
    });
  });

  test('an extent of another length than its range', async () => {
    const store = new PageStore();
    await store.create('blob', MIB);
    const { content } = await store.load('blob');
    const staged = await store.stage(page('a'), true);
    await transact(store.engine, async (tx) => {
      const range = { offsetBytes: 0, lengthBytes: 2 * PAGE_BYTES };
      await assert.rejects(writePages(tx, store.extents, content, range, staged));
    });
  });
});
