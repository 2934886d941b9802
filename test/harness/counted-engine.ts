/** Counts what goes to an engine and comes from it, so that a test can say what an operation costs. */
import type { Batch, Engine, Entry, Key, Snapshot } from '../../src/engine/engine.ts';

export interface EngineCost {
  keysAsked: number;
  rangesAsked: number;
  entriesRead: number;
  bytesRead: number;
  commits: number;
  checks: number;
  puts: number;
  deletes: number;
  bytesWritten: number;
}

const NO_COST: EngineCost = {
  keysAsked: 0,
  rangesAsked: 0,
  entriesRead: 0,
  bytesRead: 0,
  commits: 0,
  checks: 0,
  puts: 0,
  deletes: 0,
  bytesWritten: 0,
};

export class CountedEngine implements Engine {
  readonly #inner: Engine;
  #cost = { ...NO_COST };

  constructor(inner: Engine) {
    this.#inner = inner;
  }

  async costOf(act: () => Promise<unknown>): Promise<EngineCost> {
    const cost = { ...NO_COST };
    this.#cost = cost;
    await act();
    this.#cost = { ...NO_COST };
    return cost;
  }

  snapshot(): Snapshot {
    return this.#counted(this.#inner.snapshot());
  }

  tip(): ReturnType<Engine['tip']> {
    const tip = this.#inner.tip();
    return { ...this.#counted(tip), settled: () => tip.settled() };
  }

  commit(batch: Batch): ReturnType<Engine['commit']> {
    this.#cost.commits++;
    this.#cost.checks += batch.checks.length;
    this.#cost.puts += batch.puts.length;
    this.#cost.deletes += batch.deletes.length;
    for (const { key, value } of batch.puts) this.#cost.bytesWritten += key.length + value.length;
    return this.#inner.commit(batch);
  }

  async claim(...args: Parameters<Engine['claim']>): ReturnType<Engine['claim']> {
    this.#cost.rangesAsked++;
    const claim = await this.#inner.claim(...args);
    this.#read([...claim.entries]);
    return claim;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #counted(view: Snapshot): Snapshot {
    return {
      get: async (keys: readonly Key[]) => {
        this.#cost.keysAsked += keys.length;
        return this.#read(await view.get(keys));
      },
      range: async (range, options) => {
        this.#cost.rangesAsked++;
        return this.#read(await view.range(range, options));
      },
      scan: (range, options, visit) => {
        this.#cost.rangesAsked++;
        return view.scan(range, options, (key, value) => {
          this.#read([{ key, version: 0, value }]);
          return visit(key, value);
        });
      },
      close: () => view.close(),
    };
  }

  #read<T extends Entry | null>(entries: T[]): T[] {
    for (const entry of entries) {
      if (entry === null) continue;
      this.#cost.entriesRead++;
      this.#cost.bytesRead += entry.key.length + entry.value.length;
    }
    return entries;
  }
}
