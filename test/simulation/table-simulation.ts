/**
 * Random operations on a few tables, by several actors at once, each held back for random moments, with sweeps that are
 * cut off, restarts and a clock that stands still or is set back between them. What all actors of a round have seen, and
 * what is stored behind it, is what one order of their operations makes of the model; no ETag is ever given twice; and a
 * check finds nothing wrong. At the end everything is deleted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import { EngineUnavailable } from '../../src/engine/engine.ts';
import { checkStore } from '../../src/service/check.ts';
import { openLocalSignals } from '../../src/signals/local/local-signals.ts';
import { Hooks, hookEngine } from '../harness/hooked-store.ts';
import { Random } from '../harness/random.ts';
import { TestStore } from '../harness/store.ts';
import { type Parts, type Place, runSteps } from './place.ts';
import type { Action } from './table-action.ts';
import {
  batchAction,
  changeAction,
  createAction,
  deleteAction,
  getAclAction,
  getAction,
  setAclAction,
} from './table-actions.ts';
import { compareQueries, isStored, type StoredTables, storedTables } from './table-comparison.ts';
import { TableModel } from './table-model.ts';
import { PagedQuery } from './table-query.ts';
import { TABLES } from './table-values.ts';

const ACTORS_MAX = 4;
const QUERIES_MAX = 4;
const TURNS_MAX = 3;
const CALLS_BEFORE_CUT_MAX = 12;
const PASSES_MAX = 20;
/** Nobody starts a server in the moment in which it stopped. */
const RESTART_MS = 5_000;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly place: Place;
  /** So many servers on one store. */
  readonly nodeCount: number;
}

export async function simulateTables({ seed, steps, place, nodeCount }: SimulationOptions): Promise<void> {
  const simulation = await TableSimulation.open(new Random(seed), place, nodeCount);
  await runSteps(simulation, { seed, steps });
}

type Doing = readonly [what: string, act: () => Promise<void>];

class TableSimulation {
  readonly #random: Random;
  readonly #place: Place;
  readonly #nodeCount: number;
  readonly #clock = new ManualClock();
  readonly #hooks = new Hooks();
  readonly #doings: readonly Doing[];
  #parts: Parts;
  #nodes: TestStore[] = [];
  #model = new TableModel();
  #queries: PagedQuery[] = [];
  /** Every ETag that was ever given. */
  readonly #given = new Set<bigint>();
  #latestMs: number;
  /** A process knows the ETags that it gave, not those of its predecessor: the clock is never set back behind a start. */
  #startedMs: number;
  #sweeping: Promise<void> = Promise.resolve();
  /** So many calls of the sweeper still get through; null: all. */
  #callsBeforeCut: number | null = null;
  doing = '';

  private constructor(random: Random, place: Place, { parts, nodeCount }: { parts: Parts; nodeCount: number }) {
    this.#random = random;
    this.#place = place;
    this.#parts = parts;
    this.#nodeCount = nodeCount;
    this.#latestMs = this.#startedMs = this.#clock.nowMs();
    this.#doings = this.#weighted();
    this.#hooks.before = ({ what }) => {
      if (what !== 'commit' && what !== 'committed') return;
      if (this.#callsBeforeCut !== null && --this.#callsBeforeCut < 0) throw new EngineUnavailable('cut off');
    };
  }

  static async open(random: Random, place: Place, nodeCount: number): Promise<TableSimulation> {
    const simulation = new TableSimulation(random, place, { parts: await place.open(), nodeCount });
    await simulation.#openNodes();
    return simulation;
  }

  async step(): Promise<void> {
    const [what, act] = this.#random.pick(this.#doings);
    this.doing = what;
    await act();
    await this.#compare();
    await this.#check();
  }

  #weighted(): readonly Doing[] {
    const weighted: readonly (readonly [weight: number, ...Doing])[] = [
      [30, 'a round', () => this.#round()],
      [4, 'let time pass', async () => this.#letTimePass()],
      [1, 'set the clock back', async () => this.#setClockBack()],
      [1, 'sweep', () => this.#sweep()],
      [1, 'sweep beside what follows', () => this.#sweepBeside()],
      // Nodes that answer each other are not cut off in the midst of it: nodes-simulation.test.ts has their deaths.
      ...(this.#nodeCount === 1 ? [[1, 'sweep and be cut off', () => this.#sweepCutOff()] as const] : []),
      [1, 'restart', () => this.#restart()],
    ];
    return weighted.flatMap(([weight, ...doing]) => Array.from({ length: weight }, () => doing));
  }

  // ---- rounds

  /** Some operations from one starting line. */
  async #round(): Promise<void> {
    const table = this.#random.pick(TABLES);
    const count = 1 + this.#random.below(ACTORS_MAX);
    const actions = Array.from({ length: count }, () => {
      return this.#someAction(this.#random.chance(0.7) ? table : this.#random.pick(TABLES));
    });
    this.doing = actions.map(({ what }) => what).join(' | ');
    await Promise.all(actions.map((action) => this.#heldBack(action)));
    this.#queries = this.#queries.filter(({ isAtEnd }) => !isAtEnd);
    this.#refuseOldEtags(actions);
    this.#model = inSomeOrder(this.#model, actions, await this.#stored());
  }

  #someAction(table: string): Action {
    const random = this.#random;
    const known = { random, model: this.#model, since: [...this.#given] };
    const dice = random.next();
    if (this.#model.find(table) === null && dice < 0.5) return createAction(table);
    if (dice < 0.35) return changeAction(known, table);
    if (dice < 0.6) return batchAction(known, table);
    if (dice < 0.72) return getAction(random, table);
    if (dice < 0.92) return this.#somePage(table);
    if (dice < 0.94) return deleteAction(table);
    if (dice < 0.96) return createAction(table);
    return random.chance(0.5) ? setAclAction(random, table) : getAclAction(table);
  }

  /** Of a new query, or of one under way that has no other page in this round. */
  #somePage(table: string): Action {
    const waiting = this.#queries.filter((query) => !query.isUnderWay);
    if (waiting.length > 0 && this.#random.chance(0.6)) return this.#random.pick(waiting).nextPage();
    const query = new PagedQuery(this.#random, table);
    if (this.#queries.length < QUERIES_MAX) this.#queries.push(query);
    return query.nextPage();
  }

  /** Each call that reaches the engine waits for a few turns, by the action's own chance. */
  async #heldBack(action: Action): Promise<void> {
    const { storage } = this.#random.pick(this.#nodes);
    const own = new Random(this.#random.below(2 ** 31));
    const hooks = new Hooks();
    hooks.before = async () => {
      for (let turns = own.below(TURNS_MAX); turns > 0; turns--) await nextTurn();
    };
    await action.run({ ...storage, engine: hookEngine(storage.engine, hooks) });
  }

  #refuseOldEtags(actions: readonly Action[]): void {
    for (const ticks of actions.flatMap((action) => action.given())) {
      assert.ok(!this.#given.has(ticks), `the ETag of ${ticks} was given before`);
      this.#given.add(ticks);
    }
  }

  // ---- time, sweeps and restarts

  #letTimePass(): void {
    this.#clock.advance({ seconds: this.#random.pick([0.001, 0.001, 1, 3_600]) });
    this.#latestMs = Math.max(this.#latestMs, this.#clock.nowMs());
  }

  #setClockBack(): void {
    this.#setClock(Math.max(this.#startedMs, this.#clock.nowMs() - this.#random.pick([1, 60_000])));
  }

  #setClock(nowMs: number): void {
    this.#clock.advance({ seconds: (nowMs - this.#clock.nowMs()) / 1000 });
  }

  async #sweep(): Promise<void> {
    await this.#sweeping;
    await this.#beat();
    for (const { sweeper } of this.#nodes) await sweeper.sweep();
  }

  async #sweepBeside(): Promise<void> {
    await this.#sweeping;
    await this.#beat();
    this.#sweeping = Promise.all(this.#nodes.map(({ sweeper }) => sweeper.sweep())).then(() => {});
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#sweeping.catch(() => {});
  }

  /** As by a crash between two steps of a sweep, or by an engine that took a commit and could not say so. */
  async #sweepCutOff(): Promise<void> {
    await this.#sweeping;
    this.#callsBeforeCut = this.#random.below(CALLS_BEFORE_CUT_MAX);
    for (const { sweeper } of this.#nodes) await sweeper.sweep().catch(onlyCutOff);
    this.#callsBeforeCut = null;
    for (const { errors } of this.#nodes) for (const error of errors.splice(0)) onlyCutOff(error);
    if (this.#random.chance(0.5)) await this.#restart();
  }

  /** Nodes that share a store find out who leads, and wait before they do. */
  async #beat(): Promise<void> {
    if (this.#nodeCount > 1) for (const { beat } of this.#nodes) await beat();
  }

  async #restart(): Promise<void> {
    await this.#sweeping;
    this.#setClock(this.#latestMs + RESTART_MS);
    this.#latestMs = this.#startedMs = this.#clock.nowMs();
    await this.#closeNodes();
    await this.#place.close(this.#parts);
    this.#parts = await this.#place.open();
    await this.#openNodes();
  }

  async #openNodes(): Promise<void> {
    const signals = openLocalSignals();
    const isShared = this.#nodeCount > 1;
    const { content } = this.#parts;
    const engine = hookEngine(this.#parts.engine, this.#hooks);
    for (let slot = 0; slot < this.#nodeCount; slot++) {
      const parts = { engine, content, signals, clock: this.#clock, isShared };
      this.#nodes.push(await TestStore.open({ ...parts, slot: () => (isShared ? slot : null) }));
    }
  }

  async #closeNodes(): Promise<void> {
    for (const node of this.#nodes.splice(0)) {
      await node.close();
      assert.deepEqual(node.errors, []);
    }
  }

  // ---- what holds after every step

  #stored(): Promise<StoredTables> {
    return storedTables(this.#parts.engine);
  }

  async #compare(): Promise<void> {
    assert.ok(isStored(this.#model, await this.#stored()), 'the store holds what the model holds');
    await compareQueries(this.#random.pick(this.#nodes).storage, this.#model, this.#random);
    for (const { errors } of this.#nodes) assert.deepEqual(errors, []);
  }

  async #check(): Promise<void> {
    assert.deepEqual((await checkStore({ ...this.#parts, afterCrash: true })).findings, []);
  }

  /** Everything is deleted, and nothing is left. */
  async end(): Promise<void> {
    await this.#restart();
    await this.#compare();
    for (const { name } of this.#model.tables.values()) {
      const action = deleteAction(name);
      await this.#heldBack(action);
      this.#model = inSomeOrder(this.#model, [action], await this.#stored());
    }
    const [node] = this.#nodes as [TestStore];
    for (let pass = 0; pass < PASSES_MAX && (await node.garbage()).length > 0; pass++) await this.#sweep();
    assert.deepEqual(await node.records(), []);
    await this.#closeNodes();
    await this.#place.close(this.#parts);
  }
}

/** The model after these actions in an order that explains all that was seen, and what is stored now. */
function inSomeOrder(model: TableModel, actions: readonly Action[], stored: StoredTables): TableModel {
  const problems: string[] = [];
  const found = search(model, actions, { stored, problems });
  assert.ok(found !== null, `no order explains it:\n${problems.join('\n')}`);
  return found;
}

function search(
  model: TableModel,
  actions: readonly Action[],
  { stored, problems }: { stored: StoredTables; problems: string[] },
): TableModel | null {
  if (actions.length === 0) {
    if (isStored(model, stored)) return model;
    problems.push('what is stored is something else');
    return null;
  }
  for (const action of actions) {
    const after = action.explain(model);
    if (typeof after === 'string') {
      problems.push(`${action.what}: ${after}`);
      continue;
    }
    const rest = actions.filter((other) => other !== action);
    const found = search(after, rest, { stored, problems });
    if (found !== null) return found;
  }
  return null;
}

function onlyCutOff(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}
