/**
 * Random operations on a few maps of pages, several at a time, with slow readers, copies, sweeps that fail and restarts
 * between them, compared after every step with a model that is nothing but buffers. LARIMAR_SEED replays one seed.
 */
// tier: both
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { type PageReader, PageStore } from '../../../test/harness/page-store.ts';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { Random, simulationSeeds } from '../../../test/harness/random.ts';
import { byTier } from '../../../test/harness/tier.ts';
import { missingTool } from '../../../test/packages.ts';
import type { Id } from '../../base/ids.ts';
import type { ByteRange, PlacedExtent } from '../../content/content.ts';
import { type Engine, EngineUnavailable, type Entry } from '../../engine/engine.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { MemoryEngine } from '../../engine/memory/memory-engine.ts';
import { openPostgresEngine } from '../../engine/postgres/postgres-engine.ts';
import { transact } from '../../engine/transact.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { idOf } from '../records/keys.ts';
import { freshSnapshots } from '../records/scan.ts';
import { StorageError } from '../storage-error.ts';
import { checkPages } from './check-pages.ts';
import { copyPages } from './copy-pages.ts';
import { pageRanges, pageRangesDiff } from './list-pages.ts';
import type { PageHold } from './page-holds.ts';
import { createPages, dropPages } from './page-map.ts';
import type { PageSettings } from './page-settings.ts';

const PAGE_BYTES = 64;
const LENGTH_MAX = 8 * 1024;

/** So small that a few writes reach every limit. */
const SETTINGS: PageSettings = {
  chunkBytes: 256,
  clearedRowsMax: 4,
  clearedPiecesMax: 12,
  cutsMax: 5,
  stepRows: 3,
  stepPieces: 8,
  walkRows: 5,
  seekChunksMax: 3,
  plan: { rows: 8, placedPieces: 5, inlinePieces: 7 },
  window: { rows: 3, placedPieces: 2, inlinePieces: 3 },
};

/** A state of a map: bytes, and for every page the number of the write that it is from (0: none). */
interface ModelState {
  readonly bytes: Buffer;
  readonly stamps: readonly number[];
}

interface ModelMap {
  /** The states by revision; readers may have got any of them. */
  readonly states: ModelState[];
  readonly isFrozen: boolean;
}

interface Reader {
  readonly stream: PageReader;
  readonly states: readonly ModelState[];
  readonly revision: number;
  readonly taken: Uint8Array[];
}

interface Copy {
  readonly steps: AsyncGenerator<number>;
  readonly source: PagesContent;
  /** Lets go of the source. */
  readonly release: () => Promise<void>;
  readonly to: PagesContent;
  readonly expected: ModelState;
  doneBytes: number;
}

/** How the simulation gets at its engine, and at what would be left of it after a crash. */
interface Place {
  readonly engine: Engine;
  restart(): Promise<Engine>;
  close(): Promise<void>;
}

class Simulation {
  readonly #random: Random;
  readonly #place: Place;
  readonly #hooks = new Hooks();
  readonly #store: PageStore;
  readonly #model = new Map<string, ModelMap>();
  readonly #isSweepFailing: boolean;
  #readers: Reader[] = [];
  /** By what runs beside: the model may not know yet what they read. */
  #opened: Reader[] = [];
  #copies: Copy[] = [];
  #stamp = 0;
  #nameCount = 0;

  private constructor(random: Random, place: Place, { isSweepFailing }: { isSweepFailing: boolean }) {
    this.#random = random;
    this.#place = place;
    this.#isSweepFailing = isSweepFailing;
    this.#store = new PageStore({ engine: this.#delayed(place.engine), settings: SETTINGS });
  }

  static async run(options: { seed: number; steps: number; place: Place; isSweepFailing: boolean }): Promise<void> {
    const simulation = new Simulation(new Random(options.seed), options.place, options);
    let what = 'the start';
    let step = 0;
    try {
      for (; step < options.steps; step++) {
        what = await simulation.#step();
        await simulation.#compare({ isFull: step % 10 === 0 });
        if (step % 10 === 0) await simulation.#check();
      }
      what = 'the end';
      await simulation.#end();
    } catch (error) {
      throw new Error(`seed ${options.seed}, step ${step} (${what})`, { cause: error });
    }
  }

  /** Some calls take longer than others, so that what runs side by side meets in every order. */
  #delayed(engine: Engine): Engine {
    this.#hooks.before = async () => {
      for (let turns = this.#random.below(4); turns > 0; turns--) await Promise.resolve();
    };
    return hookEngine(engine, this.#hooks);
  }

  /** One to four things at once, of which no two change the same map. */
  async #step(): Promise<string> {
    if (this.#random.chance(0.02)) {
      await this.#restart();
      return 'restart';
    }
    const busy = new Set<string>();
    const acts: [string, () => Promise<void>][] = [];
    for (let count = 1 + this.#random.below(4); count > 0; count--) {
      const act = this.#pickAct(busy);
      if (act !== null) acts.push(act);
    }
    await Promise.all(acts.map(([, act]) => act()));
    this.#readers.push(...this.#opened.splice(0));
    return acts.map(([what]) => what).join(', ');
  }

  #pickAct(busy: Set<string>): [string, () => Promise<void>] | null {
    const names = [...this.#model.keys()].filter((name) => !busy.has(name));
    const current = names.filter((name) => this.#model.get(name)?.isFrozen === false);
    // One map is changed much more often than the others, so that its states pile up.
    const name = this.#random.chance(0.6) ? current[0] : current.length > 0 ? this.#random.pick(current) : undefined;
    const any = names.length > 0 ? this.#random.pick(names) : undefined;
    if (name === undefined || any === undefined) {
      return this.#model.size > 8 ? null : [`create`, () => this.#create()];
    }
    const [what, act, changes] = this.#random.pick<readonly [string, () => Promise<void>, string | null]>([
      ...Array.from({ length: 8 }, () => ['write', () => this.#write(name), name] as const),
      ['clear', () => this.#clear(name, this.#range(6 * SETTINGS.chunkBytes)), name],
      ['wide clear', () => this.#clear(name, this.#range(LENGTH_MAX)), name],
      ['resize', () => this.#resize(name), name],
      ['freeze', () => this.#freeze(name), name],
      ['freeze', () => this.#freeze(name), name],
      ['drop', () => this.#drop(any), any],
      ['open reader', () => this.#openReader(any), null],
      ['open reader', () => this.#openReader(any), null],
      ['go on reading', () => this.#goOnReading(), '(readers)'],
      ['end reading', () => this.#endReading(), '(readers)'],
      ['sweep', () => this.#sweep(), null],
      ['sweep', () => this.#sweep(), null],
      ['begin copy', () => this.#beginCopy(any), any],
      ['copy at once', () => this.#copyAtOnce(any), any],
      ['go on copying', () => this.#goOnCopying(), '(copies)'],
      ['go on copying', () => this.#goOnCopying(), '(copies)'],
      ['create', () => this.#create(), null],
    ]);
    if (changes !== null && busy.has(changes)) return null;
    if (changes !== null) busy.add(changes);
    return [`${what} ${changes === any ? any : name}`, act];
  }

  // ---- each operation, on the store and on the model

  async #create(): Promise<void> {
    if (this.#model.size > 8) return;
    const name = this.#newName();
    const lengthBytes = LENGTH_MAX / 2 + PAGE_BYTES * this.#random.below(LENGTH_MAX / PAGE_BYTES / 2);
    await this.#store.create(name, lengthBytes);
    this.#model.set(name, { states: [emptyState(lengthBytes)], isFrozen: false });
  }

  async #write(name: string): Promise<void> {
    const state = this.#stateOf(name);
    const range = this.#rangeIn(state, this.#random.chance(0.5) ? 2 * PAGE_BYTES : 4 * SETTINGS.chunkBytes);
    if (range.lengthBytes === 0) return;
    const bytes = this.#random.bytes(range.lengthBytes);
    const stamp = ++this.#stamp;
    await this.#store.write(name, range.offsetBytes, bytes, this.#random.chance(0.6));
    this.#changed(name, { bytes: patched(state.bytes, range, bytes), stamps: stamped(state.stamps, range, stamp) });
  }

  async #clear(name: string, asked: ByteRange): Promise<void> {
    const state = this.#stateOf(name);
    const lengthBytes = Math.min(asked.lengthBytes, state.bytes.length - asked.offsetBytes);
    if (lengthBytes <= 0) return;
    const range = { offsetBytes: asked.offsetBytes, lengthBytes };
    if (!(await this.#unlessBusy(() => this.#store.clear(name, range)))) return;
    const zeros = Buffer.alloc(range.lengthBytes);
    this.#changed(name, { bytes: patched(state.bytes, range, zeros), stamps: stamped(state.stamps, range, 0) });
  }

  async #resize(name: string): Promise<void> {
    const state = this.#stateOf(name);
    const fromBytes = this.#random.chance(0.3) ? 0 : LENGTH_MAX / 2;
    const toBytes = fromBytes + PAGE_BYTES * this.#random.below((LENGTH_MAX - fromBytes) / PAGE_BYTES + 1);
    if (!(await this.#unlessBusy(() => this.#store.resize(name, toBytes)))) return;
    const grown = Buffer.concat([state.bytes, Buffer.alloc(Math.max(0, toBytes - state.bytes.length))]);
    const stamps = Array.from({ length: toBytes / PAGE_BYTES }, (_, page) => state.stamps[page] ?? 0);
    this.#changed(name, { bytes: grown.subarray(0, toBytes), stamps });
  }

  /** A wide clear is refused while too many are not yet carried out. */
  async #unlessBusy(act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      assert.ok(error instanceof StorageError && error.code === 'ServerBusy', String(error));
      return false;
    }
  }

  async #freeze(name: string): Promise<void> {
    if (this.#model.size > 12) return;
    const frozenName = this.#newName();
    await this.#store.freeze(name, frozenName);
    const { states } = this.#model.get(name) as ModelMap;
    this.#model.set(frozenName, { states: [...states], isFrozen: true });
  }

  async #drop(name: string): Promise<void> {
    await this.#store.drop(name);
    this.#model.delete(name);
  }

  async #openReader(name: string): Promise<void> {
    const states = this.#model.get(name)?.states;
    if (states === undefined || this.#readers.length > 6) return;
    const always = this.#random.chance(0.5);
    let opened: Awaited<ReturnType<PageStore['open']>>;
    try {
      opened = await this.#store.open(name, { always });
    } catch (error) {
      // Dropped by what runs beside.
      assert.equal((error as Error).message, `there is no ${name}`);
      return;
    }
    this.#opened.push({ stream: opened.reader, states, revision: opened.record.revision, taken: [] });
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
    for await (const bytes of reader.stream) reader.taken.push(bytes);
    const expected = reader.states[reader.revision] as ModelState;
    assert.ok(Buffer.concat(reader.taken).equals(expected.bytes), 'a reader got its state, whole');
  }

  async #sweep(): Promise<void> {
    if (!this.#isSweepFailing) {
      await this.#store.sweepOnce();
      return;
    }
    // Every commit fails once: before it took effect, or after.
    for (let isCutOff = true; isCutOff; ) {
      isCutOff = false;
      const failing = this.#failing(() => {
        isCutOff = true;
      });
      await this.#store.sweepOnce(failing).catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) throw error;
      });
    }
  }

  /** Lets a few commits through, and fails the next. */
  #failing(onFailure: () => void): Engine {
    let left = this.#random.below(6);
    const inner = this.#store.engine;
    return {
      snapshot: () => inner.snapshot(),
      tip: () => inner.tip(),
      commit: async (batch) => {
        const fails = left-- === 0;
        if (fails) onFailure();
        if (fails && this.#random.chance(0.5)) throw new EngineUnavailable('before');
        const outcome = await inner.commit(batch);
        if (fails) throw new EngineUnavailable('after');
        return outcome;
      },
      claim: (range, limit) => inner.claim(range, limit),
      close: () => inner.close(),
    };
  }

  async #beginCopy(name: string): Promise<void> {
    if (this.#copies.length > 2 || this.#model.size > 10) return;
    const copy = await this.#newCopy(name);
    this.#copies.push(copy);
  }

  async #copyAtOnce(name: string): Promise<void> {
    if (this.#model.size > 10) return;
    const copy = await this.#newCopy(name);
    while ((await copy.steps.next()).done !== true);
    await this.#endCopy(copy);
  }

  async #newCopy(name: string): Promise<Copy> {
    const expected = this.#stateOf(name);
    const hold = (await this.#store.open(name, { always: true })).hold as PageHold;
    const { content: source } = hold;
    const to = await transact(this.#store.engine, async (tx) => createPages(tx, this.#store.ids));
    const steps = this.#stepsOf({ source, to, expected, doneBytes: 0 });
    return { steps, source, release: () => hold.release(), to, expected, doneBytes: 0 };
  }

  #stepsOf({ source, to, expected, doneBytes }: Omit<Copy, 'steps' | 'release'>): AsyncGenerator<number> {
    const lengthBytes = expected.bytes.length;
    const { engine } = this.#store;
    return copyPages({ engine, from: source, to, lengthBytes, fromBytes: doneBytes, settings: SETTINGS });
  }

  async #goOnCopying(): Promise<void> {
    for (const copy of this.#copies) {
      const { done, value } = await copy.steps.next();
      if (done === true) await this.#endCopy(copy);
      else if (this.#random.chance(0.1)) await this.#giveUpCopy(copy);
      // What was done since the last note is done again.
      else if (this.#random.chance(0.3)) this.#replaceCopy(copy, { ...copy, steps: this.#stepsOf(copy) });
      else copy.doneBytes = value;
    }
  }

  async #endCopy(copy: Copy): Promise<void> {
    const name = this.#newName();
    await this.#store.put(name, { content: copy.to, lengthBytes: copy.expected.bytes.length, revision: 0 });
    this.#model.set(name, { states: [copy.expected], isFrozen: false });
    await copy.release();
    this.#replaceCopy(copy, null);
  }

  async #giveUpCopy(copy: Copy): Promise<void> {
    await transact(this.#store.engine, async (tx) => dropPages(tx, this.#store.extents, copy.to));
    await copy.release();
    this.#replaceCopy(copy, null);
  }

  #replaceCopy(copy: Copy, by: Copy | null): void {
    this.#copies = this.#copies.flatMap((one) => (one !== copy ? [one] : by === null ? [] : [by]));
  }

  /** Holds go with their node. */
  async #restart(): Promise<void> {
    this.#readers = [];
    while (this.#copies.length > 0) await this.#giveUpCopy(this.#copies[0] as Copy);
    this.#store.useEngine(this.#delayed(await this.#place.restart()));
  }

  // ---- what is random about them

  #range(lengthBytesMax: number): ByteRange {
    const offsetBytes = PAGE_BYTES * this.#random.below(LENGTH_MAX / PAGE_BYTES);
    return { offsetBytes, lengthBytes: PAGE_BYTES * (1 + this.#random.below(lengthBytesMax / PAGE_BYTES)) };
  }

  #rangeIn({ bytes }: ModelState, lengthBytesMax: number): ByteRange {
    if (bytes.length === 0) return { offsetBytes: 0, lengthBytes: 0 };
    const offsetBytes = PAGE_BYTES * this.#random.below(bytes.length / PAGE_BYTES);
    const lengthBytes = PAGE_BYTES * (1 + this.#random.below(lengthBytesMax / PAGE_BYTES));
    return { offsetBytes, lengthBytes: Math.min(lengthBytes, bytes.length - offsetBytes) };
  }

  #newName(): string {
    return `map ${++this.#nameCount}`;
  }

  #stateOf(name: string): ModelState {
    return this.#model.get(name)?.states.at(-1) as ModelState;
  }

  #changed(name: string, state: ModelState): void {
    this.#model.get(name)?.states.push(state);
  }

  // ---- the comparison

  /** All maps, or one. */
  async #compare({ isFull }: { isFull: boolean }): Promise<void> {
    const records = await this.#store.records();
    assert.deepEqual([...records.keys()].sort(), [...this.#model.keys()].sort());
    const maps = [...this.#model];
    for (const [name, map] of isFull || maps.length === 0 ? maps : [this.#random.pick(maps)]) {
      const state = map.states.at(-1) as ModelState;
      assert.ok((await this.#store.read(name)).equals(state.bytes), `the bytes of ${name}`);
      await this.#compareRanges(name, state);
      await this.#compareDiff(name, map);
    }
    assert.deepEqual(this.#store.errors, []);
  }

  async #compareRanges(name: string, state: ModelState): Promise<void> {
    const { content, lengthBytes } = await this.#store.load(name);
    const offsetBytes = this.#random.chance(0.5) ? 0 : PAGE_BYTES * this.#random.below(LENGTH_MAX / PAGE_BYTES);
    const range = { offsetBytes, lengthBytes: Math.max(0, lengthBytes - offsetBytes) };
    const listed = await all(pageRanges(freshSnapshots(this.#store.engine), content, range, SETTINGS));
    const expected = runsOf(
      state.stamps.map((stamp, page) => (stamp > 0 && page >= offsetBytes / PAGE_BYTES ? 'page' : null)),
    );
    assert.deepEqual(
      listed.map((one) => ({ kind: 'page', ...one })),
      expected,
    );
  }

  /** Against each older state of the same map that is still there. */
  async #compareDiff(name: string, map: ModelMap): Promise<void> {
    const { content: current } = await this.#store.load(name);
    for (const [otherName, other] of this.#model) {
      const { content: previous } = await this.#store.load(otherName);
      if (previous.id !== current.id || previous.epoch >= current.epoch) continue;
      const now = (map.states.at(-1) as ModelState).stamps;
      const then = (other.states.at(-1) as ModelState).stamps;
      const range = { offsetBytes: 0, lengthBytes: LENGTH_MAX };
      const reader = freshSnapshots(this.#store.engine);
      const listed = await all(pageRangesDiff(reader, { previous, current }, range, SETTINGS));
      const kinds = Array.from({ length: LENGTH_MAX / PAGE_BYTES }, (_, page) => {
        const [before, after] = [then[page] ?? 0, now[page] ?? 0];
        return before === after ? null : after === 0 ? 'clear' : 'page';
      });
      assert.deepEqual(listed, runsOf(kinds), `what changed from ${otherName} to ${name}`);
    }
  }

  /** Rows fit together, and every extent has as many references as it should. */
  async #check(): Promise<void> {
    const entries = await this.#store.entries();
    const table = (letter: string): Entry[] => entries.filter(({ key }) => key[0] === letter.charCodeAt(0));
    const garbage = table('G').map(({ value }) => decodeJson<GarbageRecord>(value));
    const sweptMaps = new Set(garbage.flatMap((one) => (one.kind === 'epoch' || one.kind === 'cut' ? [one.id] : [])));
    const discarded = new Set(garbage.flatMap((one) => (one.kind === 'extent' ? [one.extent.id] : [])));
    const { extents, findings } = await checkPages({
      reader: freshSnapshots(this.#store.engine),
      holders: await this.#holders(),
      sweptMaps,
      settings: SETTINGS,
    });
    assert.deepEqual(findings, []);
    const registered = [...table('I'), ...table('X')].map(({ key }) => idOf(key));
    assert.deepEqual(
      registered.filter((id) => !discarded.has(id)).sort(),
      [...extents.keys()].sort(),
      'extents that are named, and no others',
    );
    const counted = table('R').map(({ key, value }) => `${idOf(key)} ${decodeJson<{ count: number }>(value).count}`);
    const expected = [...extents].filter(([, { references }]) => references > 1);
    assert.deepEqual(counted.sort(), expected.map(([id, { references }]) => `${id} ${references}`).sort());
  }

  async #holders(): Promise<Map<Id, Set<number>>> {
    const holders = new Map<Id, Set<number>>();
    const contents = [...(await this.#store.records()).values()].map(({ content }) => content);
    for (const { id, epoch } of [...contents, ...this.#copies.map(({ to }) => to)]) {
      holders.set(id, (holders.get(id) ?? new Set()).add(epoch));
    }
    return holders;
  }

  /** Everything is let go of, and nothing is left. */
  async #end(): Promise<void> {
    while (this.#readers.length > 0) await this.#endReading();
    while (this.#copies.length > 0) await this.#goOnCopying();
    await this.#store.sweep();
    await this.#compare({ isFull: true });
    await this.#check();
    for (const name of this.#model.keys()) await this.#drop(name);
    await this.#store.sweep();
    assert.equal(await this.#store.holdCount(), 0);
    assert.deepEqual(await this.#store.entries(), []);
    const strays = await this.#store.content.strays(nothing());
    assert.deepEqual(strays, { extentCount: 0, bytes: 0 });
    await this.#place.close();
  }
}

async function* nothing(): AsyncGenerator<PlacedExtent> {}

const emptyState = (lengthBytes: number): ModelState => ({
  bytes: Buffer.alloc(lengthBytes),
  stamps: Array.from({ length: lengthBytes / PAGE_BYTES }, () => 0),
});

function patched(bytes: Buffer, { offsetBytes }: ByteRange, patch: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  patch.copy(copy, offsetBytes);
  return copy;
}

const stamped = (stamps: readonly number[], { offsetBytes, lengthBytes }: ByteRange, stamp: number): number[] =>
  stamps.map((old, page) => {
    const at = page * PAGE_BYTES;
    return at >= offsetBytes && at < offsetBytes + lengthBytes ? stamp : old;
  });

interface Run extends ByteRange {
  readonly kind: string;
}

/** Pages of one kind that follow each other, as ranges. */
function runsOf(kinds: readonly (string | null)[]): Run[] {
  const runs: Run[] = [];
  for (const [page, kind] of kinds.entries()) {
    if (kind === null) continue;
    const last = runs.at(-1);
    const offsetBytes = page * PAGE_BYTES;
    if (last?.kind === kind && last.offsetBytes + last.lengthBytes === offsetBytes) {
      runs[runs.length - 1] = { ...last, lengthBytes: last.lengthBytes + PAGE_BYTES };
    } else runs.push({ kind, offsetBytes, lengthBytes: PAGE_BYTES });
  }
  return runs;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function inMemory(): Place {
  let engine = new MemoryEngine();
  return {
    engine,
    restart: async () => {
      engine = engine.restart();
      return engine;
    },
    close: async () => {},
  };
}

async function onDisk(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-pages-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const open = (): Promise<Engine> => openLmdbEngine({ path: join(folder, 'records') });
  let engine = await open();
  return {
    engine,
    async restart() {
      await engine.close();
      engine = await open();
      return engine;
    },
    close: () => engine.close(),
  };
}

async function overPostgres(t: TestContext): Promise<Place> {
  const { url, drop } = await freshDatabase();
  t.after(drop);
  let engine = await openPostgresEngine({ url });
  return {
    engine,
    async restart() {
      await engine.close();
      engine = await openPostgresEngine({ url });
      return engine;
    },
    close: () => engine.close(),
  };
}

const { seeds, freshSeed } = simulationSeeds(1, 2, 3);

for (const seed of seeds) {
  for (const isSweepFailing of [false, true]) {
    test(`maps of pages${isSweepFailing ? ', whose sweeps are cut off,' : ''} are what the model says, seed ${seed}`, async () => {
      await Simulation.run({ seed, steps: byTier({ quick: 120, system: 250 }), place: inMemory(), isSweepFailing });
    });
  }
}

test(`maps of pages on disk are what the model says, seed ${freshSeed}`, async (t) => {
  await Simulation.run({ seed: freshSeed, steps: 100, place: await onDisk(t), isSweepFailing: false });
});

test(`maps of pages in a database are what the model says, seed ${freshSeed}`, {
  skip: missingTool('postgres'),
}, async (t) => {
  await Simulation.run({ seed: freshSeed, steps: 60, place: await overPostgres(t), isSweepFailing: false });
});
