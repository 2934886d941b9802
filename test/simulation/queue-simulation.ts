/**
 * Random operations on a few queues, by several consumers at once, each held back for random moments, with a clock that
 * moves between them, sweeps and walks for expired messages that are cut off or go on beside, and restarts. What all
 * consumers of a round have seen, and what is stored behind it, is what one order of their operations makes of the
 * model; nobody gets a message while it is another's; counts are exact; and a check finds nothing wrong. At the end
 * everything is deleted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { ManualClock } from '../../src/base/clock.ts';
import { checkStore } from '../../src/service/check.ts';
import { dropAllExpired } from '../../src/service/queue/drop-expired.ts';
import { Dispenser } from '../../src/service/queue/get-messages.ts';
import type { Hold } from '../../src/service/queue/held-message.ts';
import type { Storage } from '../../src/service/storage.ts';
import { Random } from '../harness/random.ts';
import { inSomeOrder } from './action.ts';
import { type Doing, heldBack, RESTART_SECONDS, SimulatedNodes, type SimulationOptions, spread } from './nodes.ts';
import { type Place, runSteps } from './place.ts';
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
const HOLDS_MAX = 200;

export async function simulateQueues({ seed, steps, place, nodeCount }: SimulationOptions): Promise<void> {
  const simulation = await QueueSimulation.open(new Random(seed), place, nodeCount);
  await runSteps(simulation, { seed, steps });
}

class QueueSimulation {
  readonly #random: Random;
  readonly #clock: ManualClock;
  readonly #nodes: SimulatedNodes;
  readonly #doings: readonly Doing[];
  #model: QueueModel;
  /** Given in the course of time, the oldest first. */
  #since: Hold[] = [];
  /** Until when the message is its holder's, unless it is updated. */
  #holders = new Map<string, number>();
  doing = '';

  private constructor(random: Random, clock: ManualClock, nodes: SimulatedNodes) {
    this.#random = random;
    this.#clock = clock;
    this.#nodes = nodes;
    this.#model = new QueueModel(clock.nowMs());
    this.#doings = this.#weighted();
  }

  static async open(random: Random, place: Place, nodeCount: number): Promise<QueueSimulation> {
    const clock = new ManualClock();
    const nodes = await SimulatedNodes.open({
      random,
      place,
      nodeCount,
      clock,
      whileDown: () => simulation.#letTimePass(RESTART_SECONDS),
    });
    const simulation = new QueueSimulation(random, clock, nodes);
    return simulation;
  }

  async step(): Promise<void> {
    const [what, act] = this.#random.pick(this.#doings);
    this.doing = what;
    await act();
    await this.#compare();
  }

  #weighted(): readonly Doing[] {
    const nodes = this.#nodes;
    return spread([
      [30, 'a round', () => this.#round()],
      [8, 'let time pass', async () => this.#letTimePass(this.#random.pick([0.001, 0.999, 1, 2, 5, 60]))],
      [1, 'sweep', () => nodes.waitFor(() => nodes.sweep())],
      [1, 'sweep beside what follows', () => nodes.goOnBeside(() => nodes.sweep())],
      [2, 'walk', () => nodes.waitFor(() => this.#walk())],
      [2, 'walk beside what follows', () => nodes.goOnBeside(() => this.#walk())],
      // Nodes that answer each other are not cut off in the midst of it: nodes-simulation.test.ts has their deaths.
      ...(nodes.all.length === 1
        ? [
            [1, 'sweep and be cut off', () => nodes.cutOff(() => nodes.sweep())] as const,
            [1, 'walk and be cut off', () => nodes.cutOff(() => this.#walk())] as const,
          ]
        : []),
      [1, 'restart', () => nodes.restart()],
    ]);
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
    this.#explain(actions, await this.#stored());
  }

  /** Beside each action, what the others touched. */
  #explain(actions: readonly Action[], stored: StoredQueues): void {
    this.#model = inSomeOrder(this.#model, actions, {
      explain(action: Action, model: QueueModel) {
        const touched = actions.filter((other) => other !== action).map((other) => other.touched());
        return action.explain(model, {
          placed: touched.flatMap(({ placed }) => placed),
          removed: touched.flatMap(({ removed }) => removed),
        });
      },
      isStored: (model) => isStored(model, stored),
    });
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

  async #heldBack(action: Action): Promise<void> {
    const { storage } = this.#nodes.some();
    const own = new Random(this.#random.below(2 ** 31));
    // Some share the rounds of their node, where nothing of their own is held back.
    if (own.chance(0.3)) return action.run(storage);
    const held: Storage = {
      ...storage,
      engine: heldBack(storage.engine, own),
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

  // ---- time and walks

  #letTimePass(seconds: number): void {
    this.#clock.advance({ seconds });
    this.#model = this.#model.at(this.#clock.nowMs());
  }

  /** By any node, not only by the one that leads. */
  async #walk(): Promise<void> {
    const stop = new AbortController();
    if (this.#random.chance(0.1)) stop.abort();
    await dropAllExpired(this.#nodes.some().storage, stop.signal);
  }

  // ---- what holds after every step

  #stored(): Promise<StoredQueues> {
    return storedQueues(this.#nodes.parts.engine);
  }

  /** What goes on beside takes expired messages away at any moment. */
  async #compare(): Promise<void> {
    const stored = await this.#stored();
    assert.ok(isStored(this.#model, stored), 'the store holds what the model holds');
    this.#model = settled(this.#model, stored);
    this.#nodes.assertNoErrors();
    const { engine, content } = this.#nodes.parts;
    const { findings } = await checkStore({ engine: await frozen(engine), content, afterCrash: true });
    assert.deepEqual(findings, []);
  }

  /** Everything is deleted, and nothing is left. */
  async end(): Promise<void> {
    await this.#nodes.restart();
    await this.#compare();
    await compareCounts(this.#nodes.some().storage, await this.#stored());
    for (const name of this.#model.queues.keys()) {
      const action = deleteAction(this.#model, name);
      await this.#heldBack(action);
      this.#explain([action], await this.#stored());
    }
    await this.#nodes.assertEmpty();
    await this.#nodes.close();
  }
}
