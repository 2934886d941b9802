/**
 * Serializable transactions over any engine, optimistic: what a body reads is remembered as checks, what it writes is
 * gathered, and both go out as one commit. When something that was read has changed meanwhile, the body runs again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { successor } from '../base/bytes.ts';
import { OrderedMap } from '../base/ordered-map.ts';
import {
  type Batch,
  type Check,
  type Engine,
  EngineUnavailable,
  type Entry,
  type Key,
  type KeyRange,
  type RangeOptions,
  type Tip,
  type Version,
} from './engine.ts';
import { layOver } from './lay-over.ts';

/** One run of a body. Reads see the run's own writes. */
export interface Transaction {
  get(key: Key): Promise<Uint8Array | null>;
  /** The values of these keys, in the order asked, for one round trip to the engine. */
  getMany(keys: readonly Key[]): Promise<(Uint8Array | null)[]>;
  /** The run's own writes stand among the entries with the version NOT_YET_WRITTEN. */
  range(range: KeyRange, options: RangeOptions): Promise<Entry[]>;
  isEmpty(range: KeyRange): Promise<boolean>;
  /** What stands there at the moment, without the run's own writes: no check, so it may change before the commit. */
  glance(range: KeyRange, options: RangeOptions): Promise<Entry[]>;
  put(key: Key, value: Uint8Array): void;
  delete(key: Key): void;
  /** Done once everything that the run has read and written is durable. */
  afterwards(act: () => void): void;
}

/** No engine gives this version. */
export const NOT_YET_WRITTEN: Version = 0;

const ATTEMPTS_MAX = 100;
/** So many follow at once; whoever still loses gives the others some time. */
const IMMEDIATE_ATTEMPTS = 10;
const BACK_OFF_MAX_MS = 10;

/**
 * Runs `body` until it commits, and resolves with its result once that is durable. The body may run several times, so
 * it touches nothing but its transaction. What it throws is rethrown once everything it read is settled. Throws
 * EngineUnavailable when the store failed, or when others keep changing what the body reads.
 */
export async function transact<T>(engine: Engine, body: (tx: Transaction) => Promise<T>): Promise<T> {
  let contested: Key | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const endTurn = contested === null ? NO_TURN : await takeTurn(engine, contested);
    const tip = engine.tip();
    const run = new Run(tip);
    try {
      const result = await body(run);
      if (run.isReadOnly) {
        endTurn();
        if (await holds(engine, tip, run)) return run.ended(result);
      } else {
        const outcome = engine.commit(run.batch());
        endTurn();
        if ((await outcome) === 'committed') return run.ended(result);
      }
    } catch (thrown) {
      endTurn();
      // A refusal must not rest on what a crash could undo, nor on what never came to be.
      if (thrown instanceof EngineUnavailable || (await holds(engine, tip, run))) throw thrown;
    } finally {
      tip.close();
    }
    contested = run.contestedKey;
    await backOff(attempt);
  }
  throw new EngineUnavailable(`gave up after ${ATTEMPTS_MAX} attempts: others kept changing the same records`);
}

/** Whether all that the run has read is durable, and was the state at one moment: at the latest now. */
async function holds(engine: Engine, tip: Tip, run: Run): Promise<boolean> {
  if (await tip.settled()) return true;
  return (await engine.commit({ checks: run.checks, puts: [], deletes: [] })) === 'committed';
}

/**
 * Runs that lost over the same key try again one at a time: in step with each other all but one would lose again. A turn
 * ends with the handing over of the commit, not with its durability, so those who follow each other still share a group.
 */
const turns = new WeakMap<Engine, Map<string, Promise<void>>>();
const NO_TURN = (): void => {};

async function takeTurn(engine: Engine, key: Key): Promise<() => void> {
  const ofEngine = turns.get(engine) ?? new Map<string, Promise<void>>();
  turns.set(engine, ofEngine);
  const name = Buffer.from(key).toString('latin1');
  const before = ofEngine.get(name);
  let resolveTurn = NO_TURN;
  const turn = new Promise<void>((resolve) => {
    resolveTurn = resolve;
  });
  ofEngine.set(name, turn);
  await before;
  return () => {
    resolveTurn();
    if (ofEngine.get(name) === turn) ofEngine.delete(name);
  };
}

async function backOff(attempt: number): Promise<void> {
  if (attempt < IMMEDIATE_ATTEMPTS) return;
  await delay(Math.random() * Math.min(2 ** (attempt - IMMEDIATE_ATTEMPTS), BACK_OFF_MAX_MS));
}

class Run implements Transaction {
  readonly #tip: Tip;
  readonly #checks: Check[] = [];
  /** null: deleted. */
  #writes = OrderedMap.empty<Uint8Array | null>();
  readonly #acts: (() => void)[] = [];

  constructor(tip: Tip) {
    this.#tip = tip;
  }

  async get(key: Key): Promise<Uint8Array | null> {
    const [value] = await this.getMany([key]);
    return value as Uint8Array | null;
  }

  async getMany(keys: readonly Key[]): Promise<(Uint8Array | null)[]> {
    const own = keys.map((key) => this.#writes.get(key));
    const asked = keys.filter((_, index) => own[index] === undefined);
    const entries = asked.length === 0 ? [] : await this.#tip.get(asked);
    for (const [index, key] of asked.entries()) this.#checks.push({ key, version: entries[index]?.version ?? null });
    let next = 0;
    return own.map((value) => (value === undefined ? (entries[next++]?.value ?? null) : value));
  }

  async range(range: KeyRange, { limit, reverse = false }: RangeOptions): Promise<Entry[]> {
    const own = [...this.#writes.items({ ...range, reverse })].map(({ key, value }) => ({
      key,
      entry: value === null ? null : { key, version: NOT_YET_WRITTEN, value },
    }));
    // Each own write hides at most one stored entry.
    const stored = await this.#tip.range(range, { limit: limit + own.length, reverse });
    const merged = layOver(stored, own, reverse);
    if (merged.length < limit) {
      this.#checkCovered(range, stored, reverse);
      return merged;
    }
    const found = merged.slice(0, limit);
    const last = found.at(-1);
    if (last !== undefined) this.#checkCovered(upTo(last.key, range, reverse), stored, reverse);
    return found;
  }

  async isEmpty(range: KeyRange): Promise<boolean> {
    return (await this.range(range, { limit: 1 })).length === 0;
  }

  async glance(range: KeyRange, options: RangeOptions): Promise<Entry[]> {
    return this.#tip.range(range, options);
  }

  put(key: Key, value: Uint8Array): void {
    this.#writes = this.#writes.set(key, value);
  }

  delete(key: Key): void {
    this.#writes = this.#writes.set(key, null);
  }

  afterwards(act: () => void): void {
    this.#acts.push(act);
  }

  ended<T>(result: T): T {
    for (const act of this.#acts) act();
    return result;
  }

  get checks(): readonly Check[] {
    return this.#checks;
  }

  /** What the run wrote first, or only read: those who lose over the same key wait for each other. */
  get contestedKey(): Key | null {
    for (const { key } of this.#writes.items()) return key;
    for (const check of this.#checks) return 'empty' in check ? check.empty.from : check.key;
    return null;
  }

  get isReadOnly(): boolean {
    return this.#writes.size === 0;
  }

  batch(): Batch {
    const puts: { key: Key; value: Uint8Array }[] = [];
    const deletes: Key[] = [];
    for (const { key, value } of this.#writes.items()) {
      if (value === null) deletes.push(key);
      else puts.push({ key, value });
    }
    return { checks: this.#checks, puts, deletes };
  }

  /** Each stored entry in the covered part, and the emptiness of the gaps around them. */
  #checkCovered(covered: KeyRange, stored: readonly Entry[], reverse: boolean): void {
    let gapFrom = covered.from;
    for (const { key, version } of reverse ? stored.toReversed() : stored) {
      if (Buffer.compare(key, covered.from) < 0) continue;
      if (Buffer.compare(key, covered.to) >= 0) break;
      this.#checkEmpty(gapFrom, key);
      this.#checks.push({ key, version });
      gapFrom = successor(key);
    }
    this.#checkEmpty(gapFrom, covered.to);
  }

  #checkEmpty(from: Key, to: Key): void {
    if (Buffer.compare(from, to) < 0) this.#checks.push({ empty: { from, to } });
  }
}

/** The part of a range that was read when the reading stopped after this key. */
function upTo(last: Key, { from, to }: KeyRange, reverse: boolean): KeyRange {
  return reverse ? { from: last, to } : { from, to: successor(last) };
}
