import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { PageStore } from '../../../test/harness/page-store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import { decodeJson } from '../records/codec.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { copyPages } from './copy-pages.ts';
import { createPages } from './page-map.ts';
import { PAGE_SETTINGS } from './page-settings.ts';
import { sweepCut, sweepEpoch } from './sweep-pages.ts';

const PAGE_BYTES = 512;
const SETTINGS = { ...PAGE_SETTINGS, clearedRowsMax: 2, stepRows: 4 };
const { chunkBytes: CHUNK_BYTES } = SETTINGS;
const CHUNK_COUNT = 10;

const page = (text: string): Buffer => Buffer.alloc(PAGE_BYTES, text);

let store: PageStore;

beforeEach(async () => {
  store = new PageStore({ settings: SETTINGS });
  await store.create('blob', CHUNK_COUNT * CHUNK_BYTES);
});

/** The tables in which something stands, with the number of their rows. */
async function tally(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { key } of await store.entries()) {
    const table = String.fromCharCode(key[0] as number);
    if (table !== 'Z') counts[table] = (counts[table] ?? 0) + 1;
  }
  return counts;
}

async function writeAll(text: string): Promise<void> {
  for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) await store.write('blob', chunk * CHUNK_BYTES, page(text));
}

const firstPage = async (name: string): Promise<string> =>
  (await store.read(name, { offsetBytes: 0, lengthBytes: 1 })).toString();

describe('a sweep of epochs', () => {
  test('removes states that follow each other together with what these alone named', async () => {
    await store.write('blob', 0, Buffer.concat([page('a'), page('b')]));
    for (const name of ['one', 'two', 'three', 'four']) {
      await store.freeze('blob', name);
      await store.write('blob', 0, page(name));
    }
    // Of both states in the middle: they share the second page with all others, and nothing else.
    await store.drop('two');
    await store.drop('three');
    await store.sweep();
    assert.deepEqual(await tally(), { H: 2, I: 3, M: 1, N: 2, V: 3 });
    assert.deepEqual([await firstPage('one'), await firstPage('four'), await firstPage('blob')], ['a', 't', 'f']);
  });

  for (const order of ['one two three', 'three two one', 'two three one', 'blob three one two', 'one blob two three']) {
    test(`in the order ${order} leaves the others what they see`, async () => {
      const left = new Map<string, string>();
      for (const name of ['one', 'two', 'three']) {
        await writeAll(name);
        await store.freeze('blob', name);
        left.set(name, name.slice(0, 1));
      }
      await store.write('blob', 0, page('last'));
      left.set('blob', 'l');
      for (const name of order.split(' ')) {
        await store.drop(name);
        left.delete(name);
        await store.sweep();
        for (const [other, text] of left) assert.equal(await firstPage(other), text);
      }
      for (const name of left.keys()) await store.drop(name);
      await store.sweep();
      assert.deepEqual(await store.entries(), []);
    });
  }

  test('of a map with many states of one chunk removes it step by step', async () => {
    await store.write('blob', 0, Buffer.concat([page('a'), page('b')]), false);
    for (let count = 0; count < 11; count++) {
      await store.freeze('blob', `snapshot ${count}`);
      await store.write('blob', 0, page('c'), false);
    }
    for (const name of (await store.records()).keys()) await store.drop(name);
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
  });

  test('of a map with many states of one chunk counts what these share once', async () => {
    await store.write('blob', 0, page('a'), false);
    for (let count = 0; count < 2 * SETTINGS.stepRows; count++) {
      await store.freeze('blob', `snapshot ${count}`);
      await store.write('blob', (1 + count) * PAGE_BYTES, page('b'));
    }
    const from = (await store.load('snapshot 0')).content;
    const to = await transact(store.engine, async (tx) => createPages(tx, store.ids));
    const lengthBytes = CHUNK_COUNT * CHUNK_BYTES;
    for await (const _ of copyPages({ engine: store.engine, from, to, lengthBytes, settings: SETTINGS }));
    await store.put('copy', { content: to, lengthBytes, revision: 0 });
    await store.clear('blob', { offsetBytes: 0, lengthBytes: CHUNK_BYTES });
    for (const name of (await store.records()).keys()) if (name !== 'copy') await store.drop(name);
    await store.sweep();
    assert.equal(await firstPage('copy'), 'a');
    await store.drop('copy');
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
  });

  test('skips what an older epoch still sees of those that were swept before', async () => {
    await writeAll('a');
    await store.freeze('blob', 'old');
    await store.freeze('blob', 'kept by old');
    await store.freeze('blob', 'also');
    await writeAll('b');
    await store.drop('also');
    await store.sweep();
    assert.deepEqual(await tally(), { H: 10, I: 20, M: 10, N: 10, V: 3 });
    await store.drop('kept by old');
    await store.sweep();
    assert.deepEqual(await tally(), { H: 10, I: 20, M: 10, N: 10, V: 2 });
    assert.equal(await firstPage('old'), 'a');
    await store.drop('old');
    await store.sweep();
    assert.deepEqual(await tally(), { I: 10, M: 10, V: 1 });
  });

  test('waits for readers that hold them', async () => {
    await store.write('blob', 0, page('a'));
    const { hold } = await store.open('blob', { always: true });
    await store.drop('blob');
    assert.equal(await store.sweepOnce(), false);
    assert.deepEqual(await tally(), { G: 1, I: 1, M: 1 });
    await hold?.release();
    assert.equal(await store.sweepOnce(), true);
    assert.deepEqual(await store.entries(), []);
  });
});

test('states with more pieces than one step takes are removed in several', async () => {
  store = new PageStore({ settings: { ...SETTINGS, stepPieces: 3 } });
  await store.create('blob', CHUNK_COUNT * CHUNK_BYTES);
  const writeTwice = async (): Promise<void> => {
    await writeAll('a');
    for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) await store.write('blob', chunk * CHUNK_BYTES + 1024, page('b'));
  };
  await writeTwice();
  await store.freeze('blob', 'snapshot');
  await writeTwice();
  await store.drop('snapshot');
  await store.sweep();
  assert.deepEqual(await tally(), { I: 2 * CHUNK_COUNT, M: CHUNK_COUNT, V: 1 });
  await store.clear('blob', { offsetBytes: 0, lengthBytes: CHUNK_COUNT * CHUNK_BYTES });
  await store.sweep();
  assert.deepEqual(await tally(), { V: 1 });
});

test('a sweep of a cut leaves alone what is written there meanwhile', async () => {
  const hooks = new Hooks();
  store = new PageStore({ settings: SETTINGS, engine: hookEngine(openMemoryEngine(), hooks) });
  await store.create('blob', CHUNK_COUNT * CHUNK_BYTES);
  await writeAll('a');
  await store.clear('blob', { offsetBytes: 0, lengthBytes: CHUNK_COUNT * CHUNK_BYTES });
  hooks.before = async ({ what }) => {
    if (what !== 'commit') return;
    hooks.clear();
    await store.write('blob', 0, page('b'));
  };
  await store.sweep();
  assert.equal(await firstPage('blob'), 'b');
  assert.deepEqual(await tally(), { I: 1, M: 1, V: 1 });
});

describe('a sweep that is closed', () => {
  for (const [what, prepare] of [
    ['of a whole map', () => store.drop('blob')],
    [
      'of a snapshot',
      async () => {
        await store.freeze('blob', 'snapshot');
        await writeAll('b');
        await store.drop('snapshot');
      },
    ],
    [
      'of the newest epoch',
      async () => {
        await store.freeze('blob', 'snapshot');
        await writeAll('b');
        await store.drop('blob');
      },
    ],
    ['of a cut', () => store.clear('blob', { offsetBytes: 0, lengthBytes: CHUNK_COUNT * CHUNK_BYTES })],
  ] as const) {
    test(`${what} stops between two steps, keeps its row, and is ended by the next`, async () => {
      await writeAll('a');
      await prepare();
      const rowsBefore = (await store.entries()).length;
      const [entry] = (await store.entries()).filter(({ key }) => key[0] === 'G'.charCodeAt(0));
      assert.ok(entry);
      const garbage = decodeJson<GarbageRecord>(entry.value);
      let steps = 2;
      const { engine, extents } = store;
      const sweep = { engine, extents, isClosed: () => --steps < 0, settings: SETTINGS };
      const isDone = await (garbage.kind === 'cut'
        ? sweepCut(sweep, entry, garbage)
        : sweepEpoch(sweep, entry, garbage as GarbageRecord & { kind: 'epoch' }));
      assert.equal(isDone, false);
      const rowsAfter = await store.entries();
      assert.ok(rowsAfter.length < rowsBefore, 'it had begun');
      assert.ok(rowsAfter.some(({ key }) => Buffer.from(key).equals(entry.key)));
      await store.sweep();
      assert.ok(!('G' in (await tally())));
    });
  }
});
