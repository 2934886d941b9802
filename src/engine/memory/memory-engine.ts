/**
 * The engine as its port describes it and no more: one immutable map, replaced by each commit. It is what unit tests
 * and `--memory` run on, and the model that the other engines are compared with.
 */
import { OrderedMap } from '../../base/ordered-map.ts';
import { Claims } from '../claims.ts';
import {
  type Batch,
  type Check,
  type Claim,
  type Engine,
  EngineUnavailable,
  type Entry,
  isVolatile,
  type Key,
  type KeyRange,
  type Outcome,
  type RangeOptions,
  type ScanOptions,
  type Snapshot,
  type Tip,
  type Visit,
} from '../engine.ts';
import { refuseMalformed } from '../malformed.ts';
import { scanByRange } from '../scan-by-range.ts';

export const openMemoryEngine = (): Engine => new MemoryEngine();

export class MemoryEngine implements Engine {
  #records = OrderedMap.empty<Entry>();
  #lastVersion = 0;
  #closed = false;
  readonly #claims = new Claims();

  /** A new engine as it would be after a restart: without the volatile records, with versions that go on. */
  restart(): MemoryEngine {
    const restarted = new MemoryEngine();
    restarted.#lastVersion = this.#lastVersion;
    for (const { key, value } of this.#records.items()) {
      if (!isVolatile(key)) restarted.#records = restarted.#records.set(key, value);
    }
    return restarted;
  }

  snapshot(): Snapshot {
    return this.tip();
  }

  tip(): Tip {
    this.#refuseClosed();
    return new View(this.#records);
  }

  async commit(batch: Batch): Promise<Outcome> {
    this.#refuseClosed();
    refuseMalformed(batch);
    if (!batch.checks.every((check) => this.#holds(check))) return 'conflict';
    this.#lastVersion++;
    for (const { key, value } of batch.puts) {
      this.#records = this.#records.set(key, { key, version: this.#lastVersion, value });
    }
    for (const key of batch.deletes) this.#records = this.#records.delete(key);
    return 'committed';
  }

  async claim(range: KeyRange, limit: number): Promise<Claim> {
    this.#refuseClosed();
    return this.#claims.take(entriesOf(this.#records, range), limit);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #holds(check: Check): boolean {
    if ('empty' in check) return this.#records.items(check.empty).next().done === true;
    return (this.#records.get(check.key)?.version ?? null) === check.version;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new EngineUnavailable('the engine is closed');
  }
}

class View implements Tip {
  readonly #records: OrderedMap<Entry>;
  #closed = false;

  constructor(records: OrderedMap<Entry>) {
    this.#records = records;
  }

  async get(keys: readonly Key[]): Promise<(Entry | null)[]> {
    this.#refuseClosed();
    return keys.map((key) => this.#records.get(key) ?? null);
  }

  async range(
    range: KeyRange,
    { limit, reverse = false, bytesMax = Number.POSITIVE_INFINITY }: RangeOptions,
  ): Promise<Entry[]> {
    this.#refuseClosed();
    const found: Entry[] = [];
    if (limit <= 0) return found;
    let valueBytes = 0;
    for (const entry of entriesOf(this.#records, range, reverse)) {
      found.push(entry);
      valueBytes += entry.value.length;
      if (found.length >= limit || valueBytes >= bytesMax) break;
    }
    return found;
  }

  scan(range: KeyRange, options: ScanOptions, visit: Visit): Promise<Key | null> {
    return scanByRange(this, range, { options, visit });
  }

  async settled(): Promise<boolean> {
    return true;
  }

  close(): void {
    this.#closed = true;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Error('this view is closed');
  }
}

function* entriesOf(records: OrderedMap<Entry>, range: KeyRange, reverse = false): Generator<Entry, void> {
  for (const { value } of records.items({ ...range, reverse })) yield value;
}
