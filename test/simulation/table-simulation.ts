/**
 * Random operations on a few tables, by several actors at once, each held back for random moments, with sweeps that are
 * cut off, restarts and a clock that stands still or is set back between them. What all actors of a round have seen, and
 * what is stored behind it, is what one order of their operations makes of the model; no ETag is ever given twice; and a
 * check finds nothing wrong. At the end everything is deleted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { ManualClock } from '../../src/base/clock.ts';
import { checkStore } from '../../src/service/check.ts';
import { Random } from '../harness/random.ts';
import { inSomeOrder } from './action.ts';
import { type Doing, heldBack, RESTART_SECONDS, SimulatedNodes, type SimulationOptions, spread } from './nodes.ts';
import { type Place, runSteps } from './place.ts';
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

export async function simulateTables({ seed, steps, place, nodeCount }: SimulationOptions): Promise<void> {
  const simulation = await TableSimulation.open(new Random(seed), place, nodeCount);
  await runSteps(simulation, { seed, steps });
}

class TableSimulation {
  readonly #random: Random;
  readonly #clock: ManualClock;
  readonly #nodes: SimulatedNodes;
  readonly #doings: readonly Doing[];
  #model = new TableModel();
  #queries: PagedQuery[] = [];
  /** Every ETag that was ever given. */
  readonly #given = new Set<bigint>();
  #latestMs: number;
  /** A process knows the ETags that it gave, not those of its predecessor: the clock is never set back behind a start. */
  #startedMs: number;
  doing = '';

  private constructor(random: Random, clock: ManualClock, nodes: SimulatedNodes) {
    this.#random = random;
    this.#clock = clock;
    this.#nodes = nodes;
    this.#latestMs = this.#startedMs = clock.nowMs();
    this.#doings = this.#weighted();
  }

  static async open(random: Random, place: Place, nodeCount: number): Promise<TableSimulation> {
    const clock = new ManualClock();
    const nodes = await SimulatedNodes.open({
      random,
      place,
      nodeCount,
      clock,
      whileDown: () => simulation.#letRestartPass(),
    });
    const simulation = new TableSimulation(random, clock, nodes);
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
    const nodes = this.#nodes;
    return spread([
      [30, 'a round', () => this.#round()],
      [4, 'let time pass', async () => this.#letTimePass()],
      [1, 'set the clock back', async () => this.#setClockBack()],
      [1, 'sweep', () => nodes.waitFor(() => nodes.sweep())],
      [
        1,
        'sweep beside what follows',
        () => nodes.goOnBeside(() => Promise.all(nodes.all.map(({ sweeper }) => sweeper.sweep()))),
      ],
      // Nodes that answer each other are not cut off in the midst of it: nodes-simulation.test.ts has their deaths.
      ...(nodes.all.length === 1
        ? [[1, 'sweep and be cut off', () => nodes.cutOff(() => nodes.sweep())] as const]
        : []),
      [1, 'restart', () => nodes.restart()],
    ]);
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
    this.#explain(actions, await this.#stored());
  }

  #explain(actions: readonly Action[], stored: StoredTables): void {
    this.#model = inSomeOrder(this.#model, actions, {
      explain: (action: Action, model: TableModel) => action.explain(model),
      isStored: (model) => isStored(model, stored),
    });
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

  async #heldBack(action: Action): Promise<void> {
    const { storage } = this.#nodes.some();
    const own = new Random(this.#random.below(2 ** 31));
    await action.run({ ...storage, engine: heldBack(storage.engine, own) });
  }

  #refuseOldEtags(actions: readonly Action[]): void {
    for (const ticks of actions.flatMap((action) => action.given())) {
      assert.ok(!this.#given.has(ticks), `the ETag of ${ticks} was given before`);
      this.#given.add(ticks);
    }
  }

  // ---- time

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

  #letRestartPass(): void {
    this.#setClock(this.#latestMs + RESTART_SECONDS * 1000);
    this.#latestMs = this.#startedMs = this.#clock.nowMs();
  }

  // ---- what holds after every step

  #stored(): Promise<StoredTables> {
    return storedTables(this.#nodes.parts.engine);
  }

  async #compare(): Promise<void> {
    assert.ok(isStored(this.#model, await this.#stored()), 'the store holds what the model holds');
    await compareQueries(this.#nodes.some().storage, this.#model, this.#random);
    this.#nodes.assertNoErrors();
  }

  async #check(): Promise<void> {
    assert.deepEqual((await checkStore({ ...this.#nodes.parts, afterCrash: true })).findings, []);
  }

  /** Everything is deleted, and nothing is left. */
  async end(): Promise<void> {
    await this.#nodes.restart();
    await this.#compare();
    for (const { name } of this.#model.tables.values()) {
      const action = deleteAction(name);
      await this.#heldBack(action);
      this.#explain([action], await this.#stored());
    }
    await this.#nodes.assertEmpty();
    await this.#nodes.close();
  }
}
