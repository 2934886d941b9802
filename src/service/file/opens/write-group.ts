/**
 * Changes of one file that arrive while another is being committed: they are gathered and go with the next run, all of
 * them together and in the order of their arrival, so that they do not get into each other's way one by one.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** What became of one of them; null: it is done. */
export type Outcome = { readonly error: unknown } | null;

/** Outcomes in the order of the items. What it throws is the outcome of all. */
export type RunGroup<Item> = (items: readonly Item[]) => Promise<readonly Outcome[]>;

interface Member<Item> {
  /** Null: it is still being prepared. */
  item: Item | null;
  readonly prepared: Promise<void>;
  readonly end: (outcome: Outcome) => void;
}

/** One run has no more than so many. */
const ITEM_COUNT_MAX = 128;

export class WriteGroup<Item> {
  readonly #run: RunGroup<Item>;
  readonly #onIdle: () => void;
  #waiting: Member<Item>[] = [];
  #isRunning = false;

  constructor(run: RunGroup<Item>, onIdle: () => void = () => {}) {
    this.#run = run;
    this.#onIdle = onIdle;
  }

  /** Takes its place in the line now, and is run once it is prepared. Whoever comes later does not overtake it. */
  add(preparing: Promise<Item>): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (outcome: Outcome): void => (outcome === null ? resolve() : reject(outcome.error));
      const prepared = preparing.then(
        (item) => {
          member.item = item;
        },
        (error: unknown) => {
          this.#waiting = this.#waiting.filter((other) => other !== member);
          end({ error });
        },
      );
      const member: Member<Item> = { item: null, prepared, end };
      this.#waiting.push(member);
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      await first.prepared;
      // What has arrived together with it is about to be added.
      await nextTurn();
      const ready = this.#waiting.findIndex(({ item }) => item === null);
      const members = this.#waiting.splice(0, Math.min(ready < 0 ? Number.POSITIVE_INFINITY : ready, ITEM_COUNT_MAX));
      if (members.length > 0) await this.#runTogether(members);
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  async #runTogether(members: readonly Member<Item>[]): Promise<void> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#run(members.map(({ item }) => item as Item));
    } catch (error) {
      outcomes = members.map(() => ({ error }));
    }
    for (const [index, { end }] of members.entries()) end(outcomes[index] ?? null);
  }
}
