/**
 * The messages that wait in a contestant's queue while a round takes some of them. They are counted here, and put before
 * the round begins, so that a round neither meets an empty queue nor is charged for filling it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Contestant } from '../contestants.ts';
import { expectSuccess, headerOf, inLanes, type LaneRequest } from '../load.ts';

const loaderCount = 64;
const waitingTextBytes = 100;
/** Beyond the end of a hidden period, for a node whose clock is behind. */
const returnSlackMs = 500;

export class QueueStock {
  readonly #contestant: Contestant;
  readonly #queue: string;
  #waitingCount = 0;
  #hiddenUntilMs = 0;
  #fillMs = 0;
  /** What it held when its time to be filled was over. */
  #countMax = Number.POSITIVE_INFINITY;

  private constructor(contestant: Contestant, queue: string) {
    this.#contestant = contestant;
    this.#queue = queue;
  }

  /** The same for all rows about a queue, which is created by the first of them. */
  static async of(contestant: Contestant, queue: string): Promise<QueueStock> {
    const ofContestant = stocks.get(contestant) ?? new Map<string, QueueStock>();
    stocks.set(contestant, ofContestant);
    const known = ofContestant.get(queue);
    if (known !== undefined) return known;
    const stock = new QueueStock(contestant, queue);
    await stock.#create();
    ofContestant.set(queue, stock);
    return stock;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** So many of these: it may hold fewer. The bare server has whatever it is asked for, without end. */
  canGive(count: number): number {
    if (this.#contestant.name === 'bare') return Number.POSITIVE_INFINITY;
    return Math.min(count, this.#waitingCount);
  }

  /** Puts what is missing, for no longer than `fillSecondsMax` in the life of the queue. */
  async fillUp(options: { count: number; fillSecondsMax: number }): Promise<void> {
    if (this.#contestant.name === 'bare') return;
    await delay(Math.max(0, this.#hiddenUntilMs + returnSlackMs - Date.now()));
    const wantedCount = Math.min(options.count, this.#countMax);
    if (this.#waitingCount >= wantedCount) return;
    const startedAtMs = performance.now();
    // What was held once is put back, however long it takes.
    const isOver = (): boolean =>
      this.#countMax === Number.POSITIVE_INFINITY &&
      this.#fillMs + performance.now() - startedAtMs > options.fillSecondsMax * 1000;
    await this.#put(wantedCount, isOver);
    this.#fillMs += performance.now() - startedAtMs;
    if (this.#waitingCount < wantedCount) this.#countMax = this.#waitingCount;
    await this.#expectHeld();
  }

  /** Some were got and deleted. */
  take(count: number): void {
    this.#waitingCount -= count;
  }

  /** Some are got by now, and come back. */
  hide(seconds: number): void {
    this.#hiddenUntilMs = Math.max(this.#hiddenUntilMs, Date.now() + seconds * 1000);
  }

  async #create(): Promise<void> {
    const contestant = this.#contestant;
    if (contestant.name === 'bare') return;
    await contestant.startQueues();
    const path = `${contestant.queuePath(this.#queue)}?${contestant.query()}`;
    await inLanes({ ports: contestant.queuePorts.slice(0, 1), connections: 1 }, async (lane) => {
      expectSuccess(await lane.send({ method: 'PUT', path }));
    });
  }

  async #put(wantedCount: number, isOver: () => boolean): Promise<void> {
    const request = putMessage(this.#contestant, this.#queue, waitingTextBytes);
    let asked = this.#waitingCount;
    await inLanes({ ports: this.#contestant.queuePorts, connections: loaderCount }, async (lane) => {
      while (asked < wantedCount && !isOver()) {
        asked += 1;
        expectSuccess(await lane.send(request));
        this.#waitingCount += 1;
      }
    });
  }

  /** A server that forgot messages would be quick with the rest. */
  async #expectHeld(): Promise<void> {
    const contestant = this.#contestant;
    const path = `${contestant.queuePath(this.#queue)}?${contestant.query('comp=metadata')}`;
    await inLanes({ ports: contestant.queuePorts.slice(0, 1), connections: 1 }, async (lane) => {
      const answer = expectSuccess(await lane.send({ method: 'HEAD', path }));
      const heldCount = Number(headerOf(answer, 'x-ms-approximate-messages-count') ?? Number.NaN);
      if (heldCount >= this.#waitingCount) return;
      throw new Error(`${this.#queue} holds ${heldCount} of ${this.#waitingCount} messages`);
    });
  }
}

const stocks = new WeakMap<Contestant, Map<string, QueueStock>>();

export const messageHeaders = ['Content-Type: application/xml'];

export function messageBody(textBytes: number): string {
  return `<QueueMessage><MessageText>${'x'.repeat(textBytes)}</MessageText></QueueMessage>`;
}

function putMessage(contestant: Contestant, queue: string, textBytes: number): LaneRequest {
  const path = `${contestant.queuePath(`${queue}/messages`)}?${contestant.query()}`;
  return { method: 'POST', path, headers: messageHeaders, body: Buffer.from(messageBody(textBytes)) };
}
