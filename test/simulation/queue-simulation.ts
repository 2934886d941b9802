/**
 * Random operations on a few queues, by several consumers at once, each held back for random moments, with a clock that
 * moves between them, sweeps and walks for expired messages that are cut off or go on beside, and restarts. What all
 * consumers of a round have seen, and what is stored behind it, is what one order of their operations makes of the
 * model; nobody gets a message while it is another's; counts are exact; and a check finds nothing wrong. At the end
 * everything is deleted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import { EngineUnavailable } from '../../src/engine/engine.ts';
import { checkStore } from '../../src/service/check.ts';
import { dropAllExpired } from '../../src/service/queue/drop-expired.ts';
import { Dispenser } from '../../src/service/queue/get-messages.ts';
import type { Hold } from '../../src/service/queue/held-message.ts';
import type { Storage } from '../../src/service/storage.ts';
import { openLocalSignals } from '../../src/signals/local/local-signals.ts';
import { Hooks, hookEngine } from '../harness/hooked-store.ts';
import { Random } from '../harness/random.ts';
import { TestStore } from '../harness/store.ts';
import { type Parts, type Place, runSteps } from './place.ts';
import type { Action } from './queue-action.ts';
import {
  clearAction,
  countAction,
  createAction,
  deleteAction,
  listAction,
  setMetadataAction,
} from './queue-actions.ts';
import { compareCounts, frozen, isStored, type StoredQueues, settled, storedQueues } from './queue-comparison.ts';
import { deleteMessageAction, getAction, peekAction, putAction, updateAction } from './queue-messages.ts';
import { QueueModel } from './queue-model.ts';

const QUEUES = ['alpha', 'beta', 'beta-2'];
const ACTORS_MAX = 4;
const TURNS_MAX = 3;
const CALLS_BEFORE_CUT_MAX = 12;
const PASSES_MAX = 20;
const HOLDS_MAX = 200;
/** Nobody starts a server in the moment in which it stopped. */
const RESTART_SECONDS = 5;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly place: Place;
  /** So many servers on one store. */
  readonly nodeCount: number;
}

export async function simulateQueues({ seed, steps, place, nodeCount }: SimulationOptions): Promise<void> {
  const simulation = await QueueSimulation.open(new Random(seed), place, nodeCount);
  await runSteps(simulation, { seed, steps });
}

type Doing = readonly [what: string, act: () => Promise<void>];

class QueueSimulation {
  readonly #random: Random;
  readonly #place: Place;
  readonly #nodeCount: number;
  readonly #clock = new ManualClock();
  readonly #hooks = new Hooks();
  readonly #doings: readonly Doing[];
  readonly #nodes: TestStore[] = [];
  #parts: Parts;
  #model: QueueModel;
  /** Given in the course of time, the oldest first. */
  #since: Hold[] = [];
  /** Until when the message is its holder's, unless it is updated. */
  #holders = new Map<string, number>();
  /** Sweeps and walks that nobody has waited for yet. */
  #beside: Promise<unknown> = Promise.resolve();
  /** So many commits reach the engine, or are answered by it, before it is cut off; null: it is not. */
  #callsBeforeCut: number | null = null;
  doing = '';

  private constructor(random: Random, place: Place, { parts, nodeCount }: { parts: Parts; nodeCount: number }) {
    this.#random = random;
    this.#place = place;
    this.#parts = parts;
    this.#nodeCount = nodeCount;
    this.#model = new QueueModel(this.#clock.nowMs());
    this.#doings = this.#weighted();
    this.#hooks.before = ({ what }) => {
      if (what !== 'commit' && what !== 'committed') return;
      if (this.#callsBeforeCut !== null && --this.#callsBeforeCut < 0) throw new EngineUnavailable('cut off');
    };
  }

  static async open(random: Random, place: Place, nodeCount: number): Promise<QueueSimulation> {
    const simulation = new QueueSimulation(random, place, { parts: await place.open(), nodeCount });
    await simulation.#openNodes();
    return simulation;
  }

  async step(): Promise<void> {
    const [what, act] = this.#random.pick(this.#doings);
    this.doing = what;
    await act();
    await this.#compare();
  }

  #weighted(): readonly Doing[] {
    const weighted: readonly (readonly [weight: number, ...Doing])[] = [
      [30, 'a round', () => this.#round()],
      [8, 'let time pass', async () => this.#letTimePass(this.#random.pick([0.001, 0.999, 1, 2, 5, 60]))],
      [1, 'sweep', () => this.#waitFor(() => this.#sweep())],
      [1, 'sweep beside what follows', () => this.#goOnBeside(() => this.#sweep())],
      [2, 'walk', () => this.#waitFor(() => this.#walk())],
      [2, 'walk beside what follows', () => this.#goOnBeside(() => this.#walk())],
      // Nodes that answer each other are not cut off in the midst of it: nodes-simulation.test.ts has their deaths.
      ...(this.#nodeCount === 1
        ? [
            [1, 'sweep and be cut off', () => this.#cutOff(() => this.#sweep())] as const,
            [1, 'walk and be cut off', () => this.#cutOff(() => this.#walk())] as const,
          ]
        : []),
      [1, 'restart', () => this.#restart()],
    ];
    return weighted.flatMap(([weight, ...doing]) => Array.from({ length: weight }, () => doing));
  }

  // ---- rounds

  /** Some operations from one starting line. */
  async #round(): Promise<void> {
    const queue = this.#random.pick(QUEUES);
    const count = 1 + this.#random.below(ACTORS_MAX);
    const actions = Array.from({ length: count }, () => {
      return this.#someAction(this.#random.chance(0.8) ? queue : this.#random.pick(QUEUES));
    });
    this.doing = actions.map(({ what }) => what).join(' | ');
    await Promise.all(actions.map((action) => this.#heldBack(action)));
    this.#refuseSecondHolders(actions);
    this.#model = inSomeOrder(this.#model, actions, await this.#stored());
  }

  #someAction(queue: string): Action {
    const random = this.#random;
    const consumer = { random, model: this.#model, since: [...this.#since], learn: (hold: Hold) => this.#learn(hold) };
    const dice = random.next();
    if (this.#model.find(queue) === null && dice < 0.5) return createAction(random, queue);
    if (dice < 0.35) return putAction(consumer, queue);
    if (dice < 0.6) return getAction(consumer, queue);
    if (dice < 0.68) return peekAction(consumer, queue);
    if (dice < 0.78) return updateAction(consumer, queue);
    if (dice < 0.89) return deleteMessageAction(consumer, queue);
    if (dice < 0.92) return countAction(queue);
    if (dice < 0.94) return clearAction(this.#model, queue);
    if (dice < 0.96) return deleteAction(this.#model, queue);
    if (dice < 0.98) return createAction(random, queue);
    return random.chance(0.5) ? setMetadataAction(random, queue) : listAction();
  }

  #learn(hold: Hold): void {
    this.#since.push(hold);
    if (this.#since.length > HOLDS_MAX) this.#since.shift();
  }

  /** Each call that reaches the engine waits for a few turns, by the action's own chance. */
  async #heldBack(action: Action): Promise<void> {
    const { storage } = this.#random.pick(this.#nodes);
    const own = new Random(this.#random.below(2 ** 31));
    // Some share the rounds of their node, where nothing of their own is held back.
    if (own.chance(0.3)) return action.run(storage);
    const hooks = new Hooks();
    hooks.before = async () => {
      for (let turns = own.below(TURNS_MAX); turns > 0; turns--) await nextTurn();
    };
    const held: Storage = {
      ...storage,
      engine: hookEngine(storage.engine, hooks),
      dispenser: new Dispenser(() => held),
    };
    await action.run(held);
  }

  /** By what consumers were told alone, without the model. */
  #refuseSecondHolders(actions: readonly Action[]): void {
    const freed = new Set(actions.flatMap((action) => action.touched().removed));
    for (const messageId of freed) this.#holders.delete(messageId);
    for (const { messageId, untilMs } of actions.flatMap((action) => action.handedOut())) {
      const heldUntilMs = this.#holders.get(messageId) ?? 0;
      assert.ok(heldUntilMs <= this.#clock.nowMs(), `message ${messageId} has two holders`);
      if (!freed.has(messageId)) this.#holders.set(messageId, untilMs);
    }
  }

  // ---- time, sweeps, walks and restarts

  #letTimePass(seconds: number): void {
    this.#clock.advance({ seconds });
    this.#model = this.#model.at(this.#clock.nowMs());
  }

  async #sweep(): Promise<void> {
    for (const { sweeper } of this.#nodes) await sweeper.sweep();
  }

  /** By any node, not only by the one that leads. */
  async #walk(): Promise<void> {
    const stop = new AbortController();
    if (this.#random.chance(0.1)) stop.abort();
    await dropAllExpired(this.#random.pick(this.#nodes).storage, stop.signal);
  }

  async #waitFor(act: () => Promise<void>): Promise<void> {
    await this.#beside;
    await this.#beat();
    await act();
  }

  async #goOnBeside(act: () => Promise<void>): Promise<void> {
    await this.#beside;
    await this.#beat();
    this.#beside = act();
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#beside.catch(() => {});
  }

  /** As by a crash between two steps, or by an engine that took a commit and could not say so. */
  async #cutOff(act: () => Promise<void>): Promise<void> {
    await this.#beside;
    this.#callsBeforeCut = this.#random.below(CALLS_BEFORE_CUT_MAX);
    await act().catch(onlyCutOff);
    this.#callsBeforeCut = null;
    for (const { errors } of this.#nodes) for (const error of errors.splice(0)) onlyCutOff(error);
    if (this.#random.chance(0.5)) await this.#restart();
  }

  /** Nodes find out who leads, and the leader does what is due. */
  async #beat(): Promise<void> {
    for (const { beat } of this.#nodes) await beat();
  }

  async #restart(): Promise<void> {
    await this.#beside;
    this.#letTimePass(RESTART_SECONDS);
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

  #stored(): Promise<StoredQueues> {
    return storedQueues(this.#parts.engine);
  }

  /** What goes on beside takes expired messages away at any moment. */
  async #compare(): Promise<void> {
    const stored = await this.#stored();
    assert.ok(isStored(this.#model, stored), 'the store holds what the model holds');
    this.#model = settled(this.#model, stored);
    for (const { errors } of this.#nodes) assert.deepEqual(errors, []);
    const { engine, content } = this.#parts;
    const { findings } = await checkStore({ engine: await frozen(engine), content, afterCrash: true });
    assert.deepEqual(findings, []);
  }

  /** Everything is deleted, and nothing is left. */
  async end(): Promise<void> {
    await this.#restart();
    await this.#compare();
    await compareCounts(this.#random.pick(this.#nodes).storage, await this.#stored());
    for (const name of this.#model.queues.keys()) {
      const action = deleteAction(this.#model, name);
      await this.#heldBack(action);
      this.#model = inSomeOrder(this.#model, [action], await this.#stored());
    }
    const [node] = this.#nodes as [TestStore];
    for (let pass = 0; pass < PASSES_MAX && (await node.garbage()).length > 0; pass++) {
      await this.#waitFor(() => this.#sweep());
    }
    assert.deepEqual(await node.records(), []);
    await this.#closeNodes();
    await this.#place.close(this.#parts);
  }
}

/** The model after these actions in an order that explains all that was seen, and what is stored now. */
function inSomeOrder(model: QueueModel, actions: readonly Action[], stored: StoredQueues): QueueModel {
  const problems: string[] = [];
  const found = search(model, actions, { all: actions, stored, problems });
  assert.ok(found !== null, `no order explains it:\n${problems.join('\n')}`);
  return found;
}

function search(
  model: QueueModel,
  actions: readonly Action[],
  context: { readonly all: readonly Action[]; readonly stored: StoredQueues; readonly problems: string[] },
): QueueModel | null {
  const { all, stored, problems } = context;
  if (actions.length === 0) {
    if (isStored(model, stored)) return model;
    problems.push('what is stored is something else');
    return null;
  }
  for (const action of actions) {
    const touched = all.filter((other) => other !== action).map((other) => other.touched());
    const beside = {
      placed: touched.flatMap(({ placed }) => placed),
      removed: touched.flatMap(({ removed }) => removed),
    };
    const after = action.explain(model, beside);
    if (typeof after === 'string') {
      problems.push(`${action.what}: ${after}`);
      continue;
    }
    const rest = actions.filter((other) => other !== action);
    const found = search(after, rest, context);
    if (found !== null) return found;
  }
  return null;
}

function onlyCutOff(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}
