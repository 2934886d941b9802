/**
 * Random operations on a few blobs, with slow readers, sweeps and restarts between them, compared after every step with
 * a model that is nothing but maps. LARIMAR_SEED replays one seed.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { ACCOUNT, blobRequest, blockIdOf, gather, TestStore } from '../../../test/harness/store.ts';
import type { ContentStore } from '../../content/content.ts';
import { openFilesContent } from '../../content/files/files-content.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import type { Engine } from '../../engine/engine.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { BlockListEntry } from '../../rules/block-list.ts';
import { checkStore } from '../check.ts';
import { StorageError } from '../storage-error.ts';
import { doWhatIsDue } from './do-what-is-due.ts';
import { getBlockList } from './get-block-list.ts';
import { listBlobs } from './list-blobs.ts';
import { STAGING_LIFE_MS } from './staging.ts';

const KIB = 1024;
const CONTAINERS = ['one', 'two'];
const BLOBS = ['a', 'a/b', 'b', 'ü'];
const BLOCK_COUNT = 6;
const READERS_MAX = 5;

interface ModelBlock {
  readonly id: string;
  readonly bytes: Buffer;
}

interface ModelBlob {
  /** Null while there are only staged blocks. */
  committed: Buffer | null;
  blocks: readonly ModelBlock[];
  staged: Map<string, Buffer>;
}

interface Reader {
  readonly stream: AsyncIterableIterator<Uint8Array>;
  readonly expected: Buffer;
  readonly taken: Uint8Array[];
}

/** How the simulation gets at its store, the first time and after each restart. */
interface Place {
  open(): Promise<{ engine: Engine; content: ContentStore }>;
  close(parts: { engine: Engine; content: ContentStore }): Promise<void>;
}

class Simulation {
  readonly #random: Random;
  readonly #place: Place;
  readonly #model = new Map<string, Map<string, ModelBlob>>();
  #store: TestStore;
  #readers: Reader[] = [];
  #sweeping: Promise<void> = Promise.resolve();
  #nextByte = 0;

  private constructor(random: Random, place: Place, store: TestStore) {
    this.#random = random;
    this.#place = place;
    this.#store = store;
  }

  static async run({ seed, steps, place }: { seed: number; steps: number; place: Place }): Promise<void> {
    const simulation = new Simulation(new Random(seed), place, await TestStore.open(await place.open()));
    for (let step = 0; step < steps; step++) {
      const what = await simulation.#step();
      try {
        await simulation.#compare();
      } catch (error) {
        throw new Error(`seed ${seed}, after step ${step} (${what})`, { cause: error });
      }
    }
    await simulation.#end();
  }

  async #step(): Promise<string> {
    // One blob is changed much more often than the others, so that its versions pile up under slow readers.
    const isFavourite = this.#random.chance(0.6);
    const container = isFavourite ? 'one' : this.#random.pick(CONTAINERS);
    const blob = isFavourite ? 'a' : this.#random.pick(BLOBS);
    const [what, act] = this.#random.pick<readonly [string, () => Promise<void>]>([
      ['create container', () => this.#createContainer(container)],
      ['put', () => this.#put(container, blob)],
      ['put', () => this.#put(container, blob)],
      ['put block', () => this.#putBlock(container, blob)],
      ['put block', () => this.#putBlock(container, blob)],
      ['put block', () => this.#putBlock(container, blob)],
      ['put block list', () => this.#putBlockList(container, blob)],
      ['put block list', () => this.#putBlockList(container, blob)],
      ['put block list', () => this.#putBlockList(container, blob)],
      ['delete', () => this.#delete(container, blob)],
      ['open reader', () => this.#openReader(container, blob)],
      ['open reader', () => this.#openReader(container, blob)],
      ['go on reading', () => this.#goOnReading()],
      ['end reading', () => this.#endReading()],
      ['sweep', () => this.#sweep()],
      ['sweep beside what follows', () => this.#sweepBeside()],
      ...(this.#random.chance(0.3) ? ([['delete container', () => this.#deleteContainer(container)]] as const) : []),
      ...(this.#random.chance(0.3) ? ([['restart', () => this.#restart()]] as const) : []),
    ]);
    await act();
    return `${what} ${container} ${blob}`;
  }

  // ---- each operation, on the store and on the model

  async #createContainer(container: string): Promise<void> {
    const outcome = await codeOf(this.#store.createContainer(container));
    assert.equal(outcome, this.#model.has(container) ? 'ContainerAlreadyExists' : 'ok');
    if (outcome === 'ok') this.#model.set(container, new Map());
  }

  async #deleteContainer(container: string): Promise<void> {
    const outcome = await codeOf(this.#store.deleteContainer(container));
    assert.equal(outcome, this.#model.delete(container) ? 'ok' : 'ContainerNotFound');
  }

  async #put(container: string, blob: string): Promise<void> {
    const bytes = this.#someBytes();
    const outcome = await codeOf(this.#store.put(container, blob, bytes));
    const blobs = this.#model.get(container);
    assert.equal(outcome, blobs === undefined ? 'ContainerNotFound' : 'ok');
    blobs?.set(blob, { committed: bytes, blocks: [], staged: new Map() });
  }

  async #putBlock(container: string, blob: string): Promise<void> {
    const id = blockIdOf(this.#random.below(BLOCK_COUNT));
    const bytes = this.#someBytes({ empty: false });
    const outcome = await codeOf(this.#store.putBlock(container, blob, id, bytes));
    const blobs = this.#model.get(container);
    assert.equal(outcome, blobs === undefined ? 'ContainerNotFound' : 'ok');
    if (blobs === undefined) return;
    const known = blobs.get(blob) ?? { committed: null, blocks: [], staged: new Map() };
    known.staged.set(id, bytes);
    blobs.set(blob, known);
  }

  async #putBlockList(container: string, blob: string): Promise<void> {
    const known = this.#model.get(container)?.get(blob);
    const entries = this.#someEntries(known);
    const outcome = await codeOf(this.#store.putBlockList(container, blob, entries));
    if (!this.#model.has(container)) {
      assert.equal(outcome, 'ContainerNotFound');
      return;
    }
    const blocks = entries.map((entry) => resolve(entry, known));
    if (blocks.includes(null) || hasIdOfTwoKinds(entries)) {
      assert.equal(outcome, 'InvalidBlockList');
      return;
    }
    assert.equal(outcome, 'ok');
    const found = blocks as ModelBlock[];
    const committed = Buffer.concat(found.map((block) => block.bytes));
    this.#model.get(container)?.set(blob, { committed, blocks: found, staged: new Map() });
  }

  async #delete(container: string, blob: string): Promise<void> {
    const outcome = await codeOf(this.#store.delete(container, blob));
    const blobs = this.#model.get(container);
    const expected = blobs === undefined ? 'ContainerNotFound' : blobs.delete(blob) ? 'ok' : 'BlobNotFound';
    assert.equal(outcome, expected);
  }

  async #openReader(container: string, blob: string): Promise<void> {
    const expected = this.#model.get(container)?.get(blob)?.committed;
    if (expected === null || expected === undefined || this.#readers.length >= READERS_MAX) return;
    const { bytes } = await this.#store.open(container, blob);
    if (bytes instanceof Uint8Array) return;
    const stream = bytes[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
    this.#readers.push({ stream, expected, taken: [] });
  }

  async #goOnReading(): Promise<void> {
    for (const reader of this.#readers) {
      const { done, value } = await reader.stream.next();
      if (done !== true) reader.taken.push(value);
    }
  }

  async #endReading(): Promise<void> {
    if (this.#readers.length === 0) return;
    const [reader] = this.#readers.splice(this.#random.below(this.#readers.length), 1) as [Reader];
    if (this.#random.chance(0.2)) {
      await reader.stream.return?.();
      return;
    }
    const rest = await gather(reader.stream);
    assert.ok(Buffer.concat([...reader.taken, rest]).equals(reader.expected), 'a reader got its version, whole');
  }

  async #sweep(): Promise<void> {
    await this.#sweeping;
    await this.#store.sweeper.sweep();
  }

  async #sweepBeside(): Promise<void> {
    await this.#sweeping;
    this.#sweeping = this.#store.sweeper.sweep();
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#sweeping.catch(() => {});
  }

  async #restart(): Promise<void> {
    await this.#sweeping;
    for (const reader of this.#readers) await reader.stream.return?.();
    this.#readers = [];
    const { engine, content, clock } = this.#store;
    await this.#store.close();
    await this.#place.close({ engine, content });
    this.#store = await TestStore.open({ ...(await this.#place.open()), clock });
  }

  // ---- what is random about them

  #someBytes({ empty = true } = {}): Buffer {
    const kind = this.#random.next();
    if (empty && kind < 0.05) return Buffer.alloc(0);
    const lengthBytes =
      kind < 0.5
        ? 1 + this.#random.below(200)
        : kind < 0.9
          ? 17 * KIB + this.#random.below(40 * KIB)
          : 300 * KIB + this.#random.below(300 * KIB);
    this.#nextByte++;
    return Buffer.alloc(lengthBytes, `${this.#nextByte} `);
  }

  /** Mostly of blocks that are there, in any mix. */
  #someEntries(known: ModelBlob | undefined): BlockListEntry[] {
    const staged = [...(known?.staged.keys() ?? [])];
    const committed = (known?.blocks ?? []).map((block) => block.id);
    const entries = Array.from({ length: this.#random.below(9) }, (): BlockListEntry => {
      const kind = this.#random.pick(['committed', 'uncommitted', 'latest'] as const);
      const there = kind === 'committed' ? committed : kind === 'uncommitted' ? staged : [...staged, ...committed];
      const id = there.length > 0 && this.#random.chance(0.97) ? this.#random.pick(there) : blockIdOf(BLOCK_COUNT);
      return { kind, id };
    });
    const isThere = (entry: BlockListEntry): boolean => resolve(entry, known) !== null;
    return this.#random.chance(0.8) ? onceOfEachKind(entries.filter(isThere)) : entries;
  }

  // ---- the comparison

  async #compare(): Promise<void> {
    for (const container of CONTAINERS) {
      const blobs = this.#model.get(container);
      const page = listBlobs(this.#store.storage, {
        name: { account: ACCOUNT, container },
        prefix: '',
        delimiter: '',
        from: '',
        limit: 100,
        includeUncommitted: true,
      });
      if (blobs === undefined) {
        assert.equal(await codeOf(page), 'ContainerNotFound');
        continue;
      }
      const listed = (await page).items.map(({ kind, name }) => `${kind} ${name}`);
      const expected = [...blobs].map(([name, { committed }]) => ({
        name,
        kind: committed === null ? 'uncommitted' : 'blob',
      }));
      const inOrder = expected.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
      assert.deepEqual(
        listed,
        inOrder.map(({ kind, name }) => `${kind} ${name}`),
      );
      for (const [name, blob] of blobs) await this.#compareBlob(container, name, blob);
    }
    assert.deepEqual(this.#store.errors, []);
  }

  async #compareBlob(container: string, name: string, expected: ModelBlob): Promise<void> {
    const { storage } = this.#store;
    if (expected.committed === null) assert.equal(await codeOf(this.#store.read(container, name)), 'BlobNotFound');
    else assert.ok((await this.#store.read(container, name)).equals(expected.committed), `the bytes of ${name}`);
    const list = await getBlockList(storage, { ...blobRequest(container, name), type: 'all' });
    assert.deepEqual(list.committed.map(named), expected.blocks.map(ofModel));
    const staged = [...expected.staged].map(([id, bytes]) => ofModel({ id, bytes }));
    assert.deepEqual(list.uncommitted.map(named), staged.toSorted());
  }

  /** Everything is let go of, and nothing is left. */
  async #end(): Promise<void> {
    while (this.#readers.length > 0) await this.#endReading();
    await this.#restart();
    const { engine, content, clock } = this.#store;
    const before = await checkStore({ engine, content, afterCrash: false });
    assert.deepEqual(before.findings, []);
    for (const container of this.#model.keys()) await this.#store.deleteContainer(container);
    clock.advance({ seconds: STAGING_LIFE_MS / 1000 });
    await doWhatIsDue(this.#store.storage);
    await this.#store.sweep();
    const after = await checkStore({ engine, content, afterCrash: false });
    assert.deepEqual(after.findings, []);
    assert.deepEqual(await this.#store.records(), []);
    await this.#store.close();
    await this.#place.close({ engine, content });
  }
}

const named = ({ blockId, lengthBytes }: { blockId: string; lengthBytes: number }): string =>
  `${blockId} ${lengthBytes}`;
const ofModel = ({ id, bytes }: ModelBlock): string => `${id} ${bytes.length}`;

function resolve({ kind, id }: BlockListEntry, blob: ModelBlob | undefined): ModelBlock | null {
  const staged = blob?.staged.get(id);
  // Where a list has a block twice, both are the same.
  const committed = blob?.blocks.find((block) => block.id === id);
  if (staged !== undefined && kind !== 'committed') return { id, bytes: staged };
  return (kind === 'uncommitted' ? undefined : committed) ?? null;
}

const hasIdOfTwoKinds = (entries: readonly BlockListEntry[]): boolean =>
  entries.some((one) => entries.some((other) => other.id === one.id && other.kind !== one.kind));

const onceOfEachKind = (entries: readonly BlockListEntry[]): BlockListEntry[] =>
  entries.filter((entry) => entries.find((first) => first.id === entry.id)?.kind === entry.kind);

async function codeOf(operation: Promise<unknown>): Promise<string> {
  try {
    await operation;
    return 'ok';
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}

function inMemory(): Place {
  const parts = { engine: openMemoryEngine(), content: openMemoryContent() };
  return { open: async () => parts, close: async () => {} };
}

async function onDisk(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-simulation-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return {
    open: async () => ({
      engine: await openLmdbEngine({ path: join(folder, 'records') }),
      content: await openFilesContent({
        path: join(folder, 'content'),
        segmentBytesMax: 512 * KIB,
        segmentExtentBytesMax: 128 * KIB,
      }),
    }),
    async close({ engine, content }) {
      await engine.close();
      await content.close();
    },
  };
}

const firstSeed = new Random().seed;

for (const seed of process.env['LARIMAR_SEED'] === undefined ? [1, 2, 3, firstSeed] : [firstSeed]) {
  test(`blobs in memory are what the model says, seed ${seed}`, async () => {
    await Simulation.run({ seed, steps: 400, place: inMemory() });
  });
}

test(`blobs on disk are what the model says, seed ${firstSeed}`, async (t) => {
  await Simulation.run({ seed: firstSeed, steps: 150, place: await onDisk(t) });
});
