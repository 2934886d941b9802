/**
 * What a reader sees: the durable and the volatile records, and for a Tip the groups of accepted commits on top,
 * newest first. Immutable but for one thing: a Tip notes which group its reader has come to rest on.
 */
import { compareBytes } from '../../base/bytes.ts';
import type { Item, OrderedMap } from '../../base/ordered-map.ts';
import {
  type Entry,
  isVolatile,
  type Key,
  type KeyRange,
  type RangeOptions,
  type ScanOptions,
  type Tip,
  type Visit,
} from '../engine.ts';
import { scanByRange } from '../scan-by-range.ts';
import { stretchesOf } from '../stretches.ts';
import type { Changes, Group } from './group.ts';
import type { DurableView } from './lmdb-file.ts';

/** A group as it stood at one moment: it may grow afterwards. */
export interface Layer {
  readonly group: Group;
  readonly changes: Changes;
}

export class View implements Tip {
  readonly #durable: DurableView;
  readonly #volatile: OrderedMap<Entry>;
  readonly #layers: readonly Layer[];
  #restsOn: Group | null = null;
  #closed = false;

  /** The layers from the newest to the oldest. Takes a hold of the durable view, until it is closed. */
  constructor(durable: DurableView, volatile: OrderedMap<Entry>, layers: readonly Layer[]) {
    this.#durable = durable.hold();
    this.#volatile = volatile;
    this.#layers = layers;
  }

  async get(keys: readonly Key[]): Promise<(Entry | null)[]> {
    this.#refuseClosed();
    return keys.map((key) => this.#find(key));
  }

  async range(
    range: KeyRange,
    { limit, reverse = false, bytesMax = Number.POSITIVE_INFINITY }: RangeOptions,
  ): Promise<Entry[]> {
    this.#refuseClosed();
    const found: Entry[] = [];
    if (limit <= 0) return found;
    let valueBytes = 0;
    for (const entry of this.entries(range, reverse)) {
      found.push(entry);
      valueBytes += entry.value.length;
      if (found.length >= limit || valueBytes >= bytesMax) break;
    }
    return found;
  }

  async scan(range: KeyRange, options: ScanOptions, visit: Visit): Promise<Key | null> {
    this.#refuseClosed();
    const [stretch, ...others] = stretchesOf(range);
    const isPlain = this.#layers.length === 0 && others.length === 0 && stretch?.isVolatile === false;
    if (!isPlain || options.limit <= 0) return scanByRange(this, range, { options, visit });
    return this.#durable.scan(stretch, options, visit);
  }

  async settled(): Promise<boolean> {
    if (this.#restsOn !== null) await this.#restsOn.outcome;
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#durable.release();
  }

  /** The newest group that anything read so far comes from, deletions and absences included. */
  get restsOn(): Group | null {
    return this.#restsOn;
  }

  /** Counts as a read of the key. */
  touch(key: Key): void {
    this.#changeOf(key);
  }

  /** Whether the key has this version; null: whether it is absent. */
  hasVersion(key: Key, version: number | null): boolean {
    const change = this.#changeOf(key);
    if (change !== undefined) return (change?.version ?? null) === version;
    if (isVolatile(key)) return (this.#volatile.get(key)?.version ?? null) === version;
    return this.#durable.versionOf(key) === version;
  }

  isEmpty(range: KeyRange): boolean {
    for (const _ of this.entries(range, false)) return false;
    return true;
  }

  /** Reads as far as it is asked to. */
  *entries(range: KeyRange, reverse: boolean): Generator<Entry, void> {
    if (compareBytes(range.from, range.to) >= 0) return;
    const sources = this.#layers.map((layer) => this.#changesIn(layer, range, reverse));
    const settled = this.#settledIn(range, reverse);
    if (sources.length === 0) {
      for (const { value } of settled) yield value;
      return;
    }
    for (const { value } of newestOf([...sources, settled], reverse)) if (value !== null) yield value;
  }

  #find(key: Key): Entry | null {
    const change = this.#changeOf(key);
    if (change !== undefined) return change;
    return isVolatile(key) ? (this.#volatile.get(key) ?? null) : this.#durable.get(key);
  }

  /** null: deleted; undefined: no accepted commit touches the key. */
  #changeOf(key: Key): Entry | null | undefined {
    for (const { group, changes } of this.#layers) {
      const change = changes.get(key);
      if (change !== undefined) {
        this.#restOn(group);
        return change;
      }
    }
    return undefined;
  }

  *#changesIn({ group, changes }: Layer, range: KeyRange, reverse: boolean): Generator<Item<Entry | null>, void> {
    for (const item of changes.items({ ...range, reverse })) {
      this.#restOn(group);
      yield item;
    }
  }

  *#settledIn(range: KeyRange, reverse: boolean): Generator<Item<Entry>, void> {
    const stretches = stretchesOf(range);
    for (const { from, to, isVolatile } of reverse ? stretches.toReversed() : stretches) {
      if (isVolatile) yield* this.#volatile.items({ from, to, reverse });
      else for (const entry of this.#durable.entries({ from, to }, reverse)) yield { key: entry.key, value: entry };
    }
  }

  #restOn(group: Group): void {
    if (this.#restsOn === null || group.number > this.#restsOn.number) this.#restsOn = group;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Error('this view is closed');
  }
}

/** One item for each key of these ordered sources, from the first source that has it. */
function* newestOf<V>(sources: readonly Generator<Item<V>, void>[], reverse: boolean): Generator<Item<V>, void> {
  const heads = sources.map((source) => source.next().value);
  try {
    for (;;) {
      let first: Item<V> | undefined;
      for (const head of heads) if (head && (!first || isBefore(head.key, first.key, reverse))) first = head;
      if (!first) return;
      yield first;
      for (const [index, head] of heads.entries()) {
        if (head && compareBytes(head.key, first.key) === 0) heads[index] = sources[index]?.next().value;
      }
    }
  } finally {
    for (const source of sources) source.return();
  }
}

const isBefore = (a: Key, b: Key, reverse: boolean): boolean =>
  reverse ? compareBytes(a, b) > 0 : compareBytes(a, b) < 0;
