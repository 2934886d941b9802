import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, type TestContext, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { PageStore } from '../../../test/harness/page-store.ts';
import { together } from '../../../test/harness/parallel.ts';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { gather } from '../../../test/harness/store.ts';
import { missingTool } from '../../../test/packages.ts';
import { type Engine, EngineUnavailable } from '../../engine/engine.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { MemoryEngine } from '../../engine/memory/memory-engine.ts';
import { openPostgresEngine } from '../../engine/postgres/postgres-engine.ts';
import { transact } from '../../engine/transact.ts';
import { PAGE_SETTINGS } from './page-settings.ts';

const PAGE_BYTES = 512;
const PAGE_COUNT = 8;
const LENGTH_BYTES = PAGE_COUNT * PAGE_BYTES;
/** Every page is a chunk, and every window has one of them. */
const SETTINGS = { ...PAGE_SETTINGS, chunkBytes: PAGE_BYTES, window: { rows: 1, placedPieces: 1, inlinePieces: 1 } };

const page = (text: string): Buffer => Buffer.alloc(PAGE_BYTES, text);

async function openStore(engine: Engine): Promise<PageStore> {
  const store = new PageStore({ engine, settings: SETTINGS });
  await store.create('blob', LENGTH_BYTES);
  for (let index = 0; index < PAGE_COUNT; index++) await store.write('blob', index * PAGE_BYTES, page('a'), false);
  return store;
}

const tables = async (store: PageStore): Promise<string> =>
  [...new Set((await store.entries()).map(({ key }) => String.fromCharCode(key[0] as number)))].join('');

describe('a reader that holds its epoch', () => {
  const WHOLE = Buffer.alloc(LENGTH_BYTES, page('a'));
  let hooks: Hooks;
  let store: PageStore;

  beforeEach(async () => {
    hooks = new Hooks();
    store = await openStore(hookEngine(new MemoryEngine(), hooks));
  });

  test('gets what was there when it began, whatever is written, cleared, frozen and swept meanwhile', async () => {
    const { reader } = await store.open('blob', { always: true });
    const pieces: Uint8Array[] = [];
    const changes = [
      () => store.write('blob', 0, page('b')),
      () => store.clear('blob', { offsetBytes: PAGE_BYTES, lengthBytes: PAGE_BYTES }),
      () => store.freeze('blob', 'snapshot'),
      () => store.resize('blob', 2 * PAGE_BYTES),
      () => store.drop('snapshot'),
      () => store.drop('blob'),
    ];
    for await (const piece of reader) {
      pieces.push(piece);
      await changes.shift()?.();
      await store.sweep();
    }
    assert.ok(Buffer.concat(pieces).equals(WHOLE));
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
    assert.equal(await store.holdCount(), 0);
  });

  test('makes writers go on at the next epoch, once', async () => {
    const { hold } = await store.open('blob', { always: true });
    const epoch = async (): Promise<number> => (await store.load('blob')).content.epoch;
    assert.equal(await epoch(), 1);
    await store.write('blob', 0, page('b'));
    assert.equal(await epoch(), 2);
    await store.write('blob', PAGE_BYTES, page('b'));
    assert.equal(await epoch(), 2);
    await hold?.release();
    await store.sweep();
    assert.equal(await tables(store), 'MVXZI'.split('').sort().join(''));
  });

  test('makes no difference to the map if nothing is written meanwhile', async () => {
    const before = await store.entries();
    const { reader } = await store.open('blob', { always: true });
    assert.ok((await gather(reader)).equals(WHOLE));
    assert.deepEqual(await store.entries(), before);
  });

  test('that takes its hold between the reading and the commit of a write makes that begin anew', async () => {
    let taken: Awaited<ReturnType<PageStore['open']>> | null = null;
    hooks.before = async ({ what }) => {
      if (what !== 'commit') return;
      hooks.clear();
      taken = await store.open('blob', { always: true });
    };
    await store.write('blob', 0, page('b'));
    const { reader, record } = taken as unknown as Awaited<ReturnType<PageStore['open']>>;
    assert.equal(record.revision, PAGE_COUNT);
    await store.sweep();
    assert.ok((await gather(reader)).equals(WHOLE));
    assert.ok((await store.read('blob')).subarray(0, PAGE_BYTES).equals(page('b')));
  });

  test('begins anew if a write comes between its reading and its commit, and gets what was written', async () => {
    hooks.before = async ({ what }) => {
      if (what !== 'commit') return;
      hooks.clear();
      await store.write('blob', 0, page('b'));
    };
    const { reader, record } = await store.open('blob', { always: true });
    assert.equal(record.revision, PAGE_COUNT + 1);
    assert.ok((await gather(reader)).subarray(0, PAGE_BYTES).equals(page('b')));
  });

  test('lets go of it when it gives up, even before it began', async () => {
    for (const isBegun of [false, true]) {
      const { reader } = await store.open('blob', { always: true });
      if (isBegun) await reader.next();
      await reader.return?.();
      assert.equal(await store.holdCount(), 0);
    }
  });

  test('lets go of it when its content cannot be read', async () => {
    const { reader } = await store.open('blob', { always: true });
    hooks.before = ({ what }) => {
      if (what === 'get') throw new EngineUnavailable('away');
    };
    await assert.rejects(reader.next(), EngineUnavailable);
    hooks.clear();
    assert.equal(await store.holdCount(), 0);
  });

  test('is told when the engine gave its node up, and never gets other bytes', async () => {
    const { reader, hold } = await store.open('blob', { always: true });
    await reader.next();
    await transact(store.engine, async (tx) => tx.delete((hold as { key: Uint8Array }).key));
    await store.write('blob', PAGE_BYTES, page('b'));
    await assert.rejects(reader.next(), EngineUnavailable);
  });

  test('tries again later to let go of it, if the engine failed', async () => {
    const { hold: first } = await store.open('blob', { always: true });
    hooks.before = ({ what }) => {
      if (what === 'commit') throw new EngineUnavailable('away');
    };
    await first?.release();
    hooks.clear();
    assert.equal(store.errors.length, 1);
    assert.equal(await store.holdCount(), 1);
    const { hold: second } = await store.open('blob', { always: true });
    await second?.release();
    assert.equal(await store.holdCount(), 0);
  });

  test('finds nothing to hold where the record holds no map', async () => {
    const { hold } = await store.holds.take(async () => ({ content: null }));
    assert.equal(hold, null);
    assert.equal(await store.holdCount(), 0);
  });
});

test('what was kept for a reader that died with its node is swept', async () => {
  const engine = new MemoryEngine();
  const store = await openStore(engine);
  await store.open('blob', { always: true });
  await store.write('blob', 0, page('b'), false);
  await store.sweep();
  assert.equal(await tables(store), 'GHMNVXZ');
  store.useEngine(engine.restart());
  await store.sweep();
  assert.equal(await tables(store), 'MVXZ');
});

/** Nodes on one store: the first writes, the others read. */
type Nodes = (t: TestContext) => Promise<readonly Engine[]>;

async function inMemory(): Promise<Engine[]> {
  const engine = new MemoryEngine();
  return [engine, engine];
}

async function onDisk(t: TestContext): Promise<Engine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-holds-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const engine = await openLmdbEngine({ path: join(folder, 'records') });
  t.after(() => engine.close());
  return [engine, engine];
}

async function overPostgres(t: TestContext): Promise<Engine[]> {
  const { url, drop } = await freshDatabase();
  t.after(drop);
  const nodes = [await openPostgresEngine({ url }), await openPostgresEngine({ url })];
  for (const node of nodes) t.after(() => node.close());
  return nodes;
}

for (const [where, open, skip] of [
  ['in memory', inMemory, false],
  ['on disk', onDisk, false],
  ['on another node', overPostgres, missingTool('postgres')],
] as readonly (readonly [string, Nodes, string | false])[]) {
  test(`readers ${where} get a state that there was, whole, while others are written`, { skip }, async (t) => {
    const [engine, otherEngine] = (await open(t)) as [Engine, Engine];
    const store = await openStore(engine);
    const elsewhere = new PageStore({ engine: otherEngine, content: store.content, settings: SETTINGS });
    const READERS = 4;
    const WRITES = 20;
    // Every write puts its number on every page, so that a mixture of two would show.
    const outcomes = await together(READERS + 1, async (index) => {
      if (index < READERS) {
        for (let round = 0; round < 5; round++) {
          const { reader, record } = await elsewhere.open('blob', { always: true });
          const text = record.revision === PAGE_COUNT ? 'a' : `${record.revision - PAGE_COUNT} `;
          assert.ok((await gather(reader)).equals(Buffer.alloc(LENGTH_BYTES, page(text))));
        }
        return;
      }
      for (let count = 1; count <= WRITES; count++) {
        await store.write('blob', 0, Buffer.alloc(LENGTH_BYTES, page(`${count} `)), count % 2 === 0);
        await store.sweepOnce();
      }
    });
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    await store.drop('blob');
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
  });
}
