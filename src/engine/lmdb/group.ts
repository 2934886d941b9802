/** Commits that become durable together: their net effect, and the one promise that all of them wait for. */
import { OrderedMap } from '../../base/ordered-map.ts';
import type { Entry, Outcome } from '../engine.ts';

/** null: deleted. */
export type Changes = OrderedMap<Entry | null>;

export class Group {
  /** Groups become durable in this order. */
  readonly number: number;
  /** 'committed' once durable; rejects with EngineUnavailable when that failed. */
  readonly outcome: Promise<Outcome>;
  changes: Changes = OrderedMap.empty();
  #resolve!: (outcome: Outcome) => void;
  #reject!: (error: Error) => void;

  constructor(number: number) {
    this.number = number;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  durable(): void {
    this.#resolve('committed');
  }

  failed(error: Error): void {
    this.#reject(error);
  }
}
