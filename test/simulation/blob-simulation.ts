/**
 * Random operations on a few blobs of all types, with slow readers, sweeps that are cut off and restarts between them.
 * After every step the store holds what the model says, and a check finds nothing wrong; at the end everything is let go
 * of, and nothing is left.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import { type Engine, EngineUnavailable } from '../../src/engine/engine.ts';
import type { BlobType } from '../../src/rules/precedence.ts';
import { getBlob } from '../../src/service/blob/get-blob.ts';
import { checkStore } from '../../src/service/check.ts';
import { DEFAULT_SETTINGS } from '../../src/service/storage.ts';
import { type Call, Hooks, hookContent, hookEngine } from '../harness/hooked-store.ts';
import { Random } from '../harness/random.ts';
import { Gate, gather, TestStore } from '../harness/store.ts';
import { BlobActions } from './blob-actions.ts';
import { compareBlobs, readable } from './blob-comparison.ts';
import { CONTAINERS, type Target, World } from './blob-world.ts';
import { type Parts, type Place, runSteps } from './place.ts';

const READERS_MAX = 5;
const CALLS_BEFORE_CUT_MAX = 40;
/** Longer than anything is kept. */
const AGE_SECONDS = 30 * 86_400;

interface Reader {
  readonly stream: AsyncIterator<Uint8Array>;
  readonly expected: Buffer;
  readonly taken: Uint8Array[];
}

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly place: Place;
}

export async function simulateBlobs({ seed, steps, place }: SimulationOptions): Promise<void> {
  const simulation = await BlobSimulation.open(new Random(seed), place);
  await runSteps(simulation, { seed, steps });
}

/** With the type of blob that it is for, if it is for one. */
type Doing = readonly [what: string, type: BlobType | null, act: (at: Target) => Promise<void>];

class BlobSimulation {
  readonly #place: Place;
  readonly #world: World;
  readonly #actions: BlobActions;
  readonly #hooks: Hooks;
  readonly #doings: readonly Doing[];
  #parts: Parts;
  #readers: Reader[] = [];
  #sweeping: Promise<void> = Promise.resolve();
  /** While the store is looked through, whatever goes on beside waits here. */
  #pause: Gate | null = null;
  /** Extents that are being given back at the moment: those calls got through before the pause. */
  #freeingCount = 0;
  /** So many calls of the sweeper still get through; null: all. */
  #callsBeforeCut: number | null = null;
  doing = '';

  private constructor({ place, parts, hooks, world }: { place: Place; parts: Parts; hooks: Hooks; world: World }) {
    this.#place = place;
    this.#parts = parts;
    this.#world = world;
    this.#hooks = hooks;
    this.#actions = new BlobActions(world);
    this.#doings = this.#weighted();
    hooks.before = (call) => this.#onCall(call);
  }

  static async open(random: Random, place: Place): Promise<BlobSimulation> {
    const settings = {
      ...DEFAULT_SETTINGS,
      keepsVersions: random.chance(0.5),
      containerRetentionDays: random.pick([null, 2]),
    };
    const parts = await place.open();
    const hooks = new Hooks();
    const world: World = new World(
      random,
      settings,
      await TestStore.open({ ...hooked(parts, hooks), clock: new ManualClock(), settings: () => world.settings }),
    );
    return new BlobSimulation({ place, parts, hooks, world });
  }

  async step(): Promise<void> {
    const [what, type, act] = this.#world.random.pick(this.#doings);
    const target = this.#world.someTarget(type);
    this.doing = `${what} ${target.container}/${target.blob}`;
    await act(target);
    await this.#whilePaused(async (parts) => {
      await compareBlobs(this.#world, target);
      await this.#check(parts, { afterCrash: true });
    });
  }

  #weighted(): readonly Doing[] {
    const actions = this.#actions;
    const weighted: readonly (readonly [weight: number, ...Doing])[] = [
      [4, 'put', 'BlockBlob', (at) => actions.put(at)],
      [6, 'put block', 'BlockBlob', (at) => actions.putBlock(at)],
      [6, 'put block list', 'BlockBlob', (at) => actions.putBlockList(at)],
      [2, 'create append blob', 'AppendBlob', (at) => actions.createEmpty(at, 'AppendBlob')],
      [8, 'append', 'AppendBlob', (at) => actions.append(at)],
      [1, 'seal', 'AppendBlob', (at) => actions.seal(at)],
      [2, 'create page blob', 'PageBlob', (at) => actions.createEmpty(at, 'PageBlob')],
      [9, 'put pages', 'PageBlob', (at) => actions.putPages(at)],
      [2, 'resize', 'PageBlob', (at) => actions.resize(at)],
      [3, 'set metadata', null, (at) => actions.setMetadata(at)],
      [3, 'set tags', null, (at) => actions.setTags(at)],
      [2, 'set expiry', null, (at) => actions.setExpiry(at)],
      [6, 'snapshot', null, (at) => actions.snapshot(at)],
      [4, 'delete', null, (at) => actions.delete(at)],
      [3, 'delete a snapshot or version', null, (at) => actions.deletePast(at)],
      [1, 'delete permanently', null, (at) => actions.deletePermanently(at)],
      [2, 'undelete', null, (at) => actions.undelete(at)],
      [5, 'copy', null, (at) => actions.copy(at)],
      [3, 'create container', null, ({ container }) => actions.createContainer(container)],
      [1, 'delete container', null, ({ container }) => actions.deleteContainer(container)],
      [1, 'restore container', null, () => actions.restoreContainer()],
      [1, 'set retention', null, () => actions.setRetention()],
      [4, 'let time pass', null, () => this.#letTimePass()],
      [2, 'do what is due', null, () => actions.doWhatIsDue()],
      [4, 'open reader', null, () => this.#openReader()],
      [2, 'go on reading', null, () => this.#goOnReading()],
      [2, 'end reading', null, () => this.#endReading()],
      [2, 'sweep', null, () => this.#sweep()],
      [2, 'sweep beside what follows', null, () => this.#sweepBeside()],
      [2, 'sweep and be cut off', null, () => this.#sweepCutOff()],
      [1, 'restart', null, () => this.#restart()],
    ];
    return weighted.flatMap(([weight, ...doing]) => Array.from({ length: weight }, () => doing));
  }

  // ---- time and readers

  async #letTimePass(): Promise<void> {
    const { random, store } = this.#world;
    store.clock.advance({ seconds: random.pick([0.001, 1, 3_600, 40_000, 100_000]) });
  }

  async #openReader(): Promise<void> {
    const choices = [...readable(this.#world)];
    if (choices.length === 0 || this.#readers.length >= READERS_MAX) return;
    const { target, at, state } = this.#world.random.pick(choices);
    const { bytes } = await getBlob(this.#world.store.storage, { ...this.#world.request(target), at, range: null });
    if (bytes instanceof Uint8Array) return;
    this.#readers.push({ stream: bytes[Symbol.asyncIterator](), expected: state.bytes, taken: [] });
  }

  async #goOnReading(): Promise<void> {
    for (const { stream, taken } of this.#readers) {
      const { done, value } = await stream.next();
      if (done !== true) taken.push(value);
    }
  }

  async #endReading(): Promise<void> {
    if (this.#readers.length === 0) return;
    const { random } = this.#world;
    const [{ stream, taken, expected }] = this.#readers.splice(random.below(this.#readers.length), 1) as [Reader];
    if (random.chance(0.2)) {
      await stream.return?.();
      return;
    }
    const rest = await gather({ [Symbol.asyncIterator]: () => stream });
    assert.ok(Buffer.concat([...taken, rest]).equals(expected), 'a reader got its state, whole');
  }

  // ---- sweeps and restarts

  async #sweep(): Promise<void> {
    await this.#sweeping;
    await this.#world.store.sweeper.sweep();
  }

  async #sweepBeside(): Promise<void> {
    await this.#sweeping;
    this.#sweeping = this.#world.store.sweeper.sweep();
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#sweeping.catch(() => {});
  }

  /** As by a crash between two steps of a sweep, or by an engine that took a commit and could not say so. */
  async #sweepCutOff(): Promise<void> {
    await this.#sweeping;
    const { random, store } = this.#world;
    this.#callsBeforeCut = random.below(CALLS_BEFORE_CUT_MAX);
    await store.sweeper.sweep().catch(onlyCutOff);
    this.#callsBeforeCut = null;
    for (const error of store.errors.splice(0)) onlyCutOff(error);
    if (random.chance(0.5)) await this.#restart();
  }

  /** At times with another setting. */
  async #restart(): Promise<void> {
    await this.#sweeping;
    for (const { stream } of this.#readers) await stream.return?.();
    this.#readers = [];
    const { store, random, settings } = this.#world;
    await store.close();
    await this.#place.close(this.#parts);
    this.#parts = await this.#place.open();
    if (random.chance(0.2)) settings.keepsVersions = !settings.keepsVersions;
    this.#world.store = await TestStore.open({
      ...hooked(this.#parts, this.#hooks),
      clock: store.clock,
      settings: () => settings,
    });
    // A start does so as well, beside all else.
    await this.#actions.doWhatIsDue();
    await this.#sweep();
    await this.#whilePaused((parts) => this.#check(parts, { afterCrash: false }));
  }

  async #onCall({ what }: Call): Promise<void> {
    if (what !== 'commit' && what !== 'committed' && what !== 'free' && what !== 'freed' && what !== 'write') return;
    if (what === 'freed') this.#freeingCount--;
    await this.#pause?.passed;
    if (this.#callsBeforeCut !== null && --this.#callsBeforeCut < 0) throw new EngineUnavailable('cut off');
    if (what === 'free') this.#freeingCount++;
  }

  async #whilePaused(look: (parts: Parts) => Promise<void>): Promise<void> {
    this.#pause = new Gate();
    while (this.#freeingCount > 0) await nextTurn();
    const engine = atOneMoment(this.#parts.engine);
    try {
      await look({ engine, content: this.#parts.content });
    } finally {
      await engine.close();
      this.#pause.open();
      this.#pause = null;
    }
  }

  async #check(parts: Parts, { afterCrash }: { afterCrash: boolean }): Promise<void> {
    assert.deepEqual((await checkStore({ ...parts, afterCrash })).findings, []);
  }

  /** Everything is let go of, and nothing is left. */
  async end(): Promise<void> {
    while (this.#readers.length > 0) await this.#endReading();
    await this.#restart();
    await this.#whilePaused(() => compareBlobs(this.#world, null));
    const { store, settings } = this.#world;
    settings.containerRetentionDays = null;
    for (const container of CONTAINERS) {
      if (this.#world.containers.has(container)) await this.#actions.deleteContainer(container);
    }
    // What has ended by itself may be kept for a while.
    for (let age = 0; age < 2; age++) {
      store.clock.advance({ seconds: AGE_SECONDS });
      await this.#actions.doWhatIsDue();
      await store.sweep();
    }
    await this.#whilePaused((parts) => this.#check(parts, { afterCrash: false }));
    const left = await store.records();
    assert.deepEqual(
      left.filter((key) => !key.startsWith('P ')),
      [],
    );
    assert.deepEqual(store.errors, []);
    await store.close();
    await this.#place.close(this.#parts);
  }
}

const hooked = ({ engine, content }: Parts, hooks: Hooks): Parts => ({
  engine: hookEngine(engine, hooks),
  content: hookContent(content, hooks),
});

function onlyCutOff(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}

const refuse = (): never => {
  throw new Error('only to be looked at');
};

/** An engine that shows one state, however often it is asked, and takes no writes. */
function atOneMoment(engine: Engine): Engine {
  const snapshot = engine.snapshot();
  const view = {
    get: (...args: Parameters<typeof snapshot.get>) => snapshot.get(...args),
    range: (...args: Parameters<typeof snapshot.range>) => snapshot.range(...args),
    scan: (...args: Parameters<typeof snapshot.scan>) => snapshot.scan(...args),
    close: () => {},
  };
  return { snapshot: () => view, tip: refuse, commit: refuse, claim: refuse, close: async () => snapshot.close() };
}
