/**
 * What simulations of queues, tables and shares have in common: servers on one store that are restarted, beaten and swept,
 * also beside what follows, and cut off from their engine in the midst of it; and operations that are held back.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ManualClock } from '../../src/base/clock.ts';
import { type Engine, EngineUnavailable } from '../../src/engine/engine.ts';
import { openLocalSignals } from '../../src/signals/local/local-signals.ts';
import { type Call, Hooks, hookContent, hookEngine } from '../harness/hooked-store.ts';
import { Random } from '../harness/random.ts';
import { TestStore } from '../harness/store.ts';
import type { Parts, Place } from './place.ts';

const TURNS_MAX = 3;
const CALLS_BEFORE_CUT_MAX = 12;
const PASSES_MAX = 20;
/** Nobody starts a server in the moment in which it stopped. */
export const RESTART_SECONDS = 5;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly place: Place;
  /** So many servers on one store. */
  readonly nodeCount: number;
}

export type Doing = readonly [what: string, act: () => Promise<void>];

/** Each as often as it weighs. */
export const spread = (weighted: readonly (readonly [weight: number, ...Doing])[]): readonly Doing[] =>
  weighted.flatMap(([weight, ...doing]) => Array.from({ length: weight }, () => doing));

/** Each call that reaches the engine waits for a few turns, by a chance of its own. */
export function heldBack(engine: Engine, own: Random): Engine {
  const hooks = new Hooks();
  hooks.before = async () => {
    for (let turns = own.below(TURNS_MAX); turns > 0; turns--) await nextTurn();
  };
  return hookEngine(engine, hooks);
}

interface NodesOptions {
  readonly random: Random;
  readonly place: Place;
  readonly nodeCount: number;
  readonly clock: ManualClock;
  /** Moves the clock while no server runs. */
  readonly whileDown: () => void;
  /** On calls of the servers to engine and content; `cut` throws if it is time to. Absent: commits are cut off. */
  readonly onCall?: (call: Call, cut: () => void) => Promise<void>;
}

export class SimulatedNodes {
  readonly #options: NodesOptions;
  readonly #hooks = new Hooks();
  readonly #nodes: TestStore[] = [];
  #parts: Parts;
  /** What goes on beside, and nobody has waited for yet. */
  #beside: Promise<unknown> = Promise.resolve();
  /** So many calls get through before the engine is cut off; null: all. */
  #callsBeforeCut: number | null = null;

  private constructor(options: NodesOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    const { onCall } = options;
    const cut = (): void => {
      if (this.#callsBeforeCut !== null && --this.#callsBeforeCut < 0) throw new EngineUnavailable('cut off');
    };
    this.#hooks.before = (call) => {
      if (onCall !== undefined) return onCall(call, cut);
      if (call.what === 'commit' || call.what === 'committed') cut();
    };
  }

  static async open(options: NodesOptions): Promise<SimulatedNodes> {
    const nodes = new SimulatedNodes(options, await options.place.open());
    await nodes.#openNodes();
    return nodes;
  }

  /** Without hooks. */
  get parts(): Parts {
    return this.#parts;
  }

  get all(): readonly TestStore[] {
    return this.#nodes;
  }

  some(): TestStore {
    return this.#options.random.pick(this.#nodes);
  }

  async sweep(): Promise<void> {
    for (const { sweeper } of this.#nodes) await sweeper.sweep();
  }

  /** Once nothing goes on beside. */
  async waitFor(act: () => Promise<void>): Promise<void> {
    await this.#beside;
    await this.#beat();
    await act();
  }

  async goOnBeside(act: () => Promise<unknown>): Promise<void> {
    await this.#beside;
    await this.#beat();
    this.#beside = act();
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#beside.catch(() => {});
  }

  /** As by a crash between two steps, or by an engine that took a commit and could not say so. */
  async cutOff(act: () => Promise<void>): Promise<void> {
    await this.#beside;
    this.#callsBeforeCut = this.#options.random.below(CALLS_BEFORE_CUT_MAX);
    await act().catch(onlyCutOff);
    this.#callsBeforeCut = null;
    for (const { errors } of this.#nodes) for (const error of errors.splice(0)) onlyCutOff(error);
    if (this.#options.random.chance(0.5)) await this.restart();
  }

  /** Nodes find out who leads, and the leader does what is due. */
  async #beat(): Promise<void> {
    for (const { beat } of this.#nodes) await beat();
  }

  async restart(): Promise<void> {
    await this.#beside;
    this.#options.whileDown();
    await this.close();
    this.#parts = await this.#options.place.open();
    await this.#openNodes();
  }

  async #openNodes(): Promise<void> {
    const { nodeCount, clock } = this.#options;
    const signals = openLocalSignals();
    const isShared = nodeCount > 1;
    const content = hookContent(this.#parts.content, this.#hooks);
    const engine = hookEngine(this.#parts.engine, this.#hooks);
    for (let slot = 0; slot < nodeCount; slot++) {
      const parts = { engine, content, signals, clock, isShared };
      this.#nodes.push(await TestStore.open({ ...parts, slot: () => (isShared ? slot : null) }));
    }
  }

  assertNoErrors(): void {
    for (const { errors } of this.#nodes) assert.deepEqual(errors, []);
  }

  /** After some sweeps no record is left. */
  async assertEmpty(): Promise<void> {
    const [node] = this.#nodes as [TestStore];
    for (let pass = 0; pass < PASSES_MAX && (await node.garbage()).length > 0; pass++) {
      await this.waitFor(() => this.sweep());
    }
    assert.deepEqual(await node.records(), []);
  }

  async close(): Promise<void> {
    for (const node of this.#nodes.splice(0)) {
      await node.close();
      assert.deepEqual(node.errors, []);
    }
    await this.#options.place.close(this.#parts);
  }
}

function onlyCutOff(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}
