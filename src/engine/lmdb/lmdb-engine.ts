/**
 * The engine on LMDB, for the one process that owns the folder. A commit is judged at once, against everything
 * accepted before it, and joins the group that gathers; groups are written one at a time, each as one LMDB
 * transaction with one fsync, so the writers of one key follow each other without waiting for the disk in between.
 */
import { type Item, OrderedMap } from '../../base/ordered-map.ts';
import { Claims } from '../claims.ts';
import {
  type Batch,
  type Claim,
  type Engine,
  EngineUnavailable,
  type Entry,
  isVolatile,
  type KeyRange,
  type Outcome,
  type Snapshot,
  type Tip,
  type Version,
} from '../engine.ts';
import { refuseMalformed } from '../malformed.ts';
import { VOLATILE_RANGE } from '../stretches.ts';
import { type Changes, Group } from './group.ts';
import { type DurableView, LmdbFile, type LmdbFileOptions } from './lmdb-file.ts';
import { type Layer, View } from './view.ts';

export const openLmdbEngine = (options: LmdbFileOptions): Promise<LmdbEngine> => LmdbEngine.open(options);

export class LmdbEngine implements Engine {
  readonly #file: LmdbFile;
  readonly #claims = new Claims();
  /** The last version given to a commit, durable or not: it never goes back. */
  #lastVersion: Version;
  /** Everything settled: the file after the last group, and the volatile records. */
  #durable: DurableView;
  #volatile = OrderedMap.empty<Entry>();
  /** Being written. */
  #sealed: Group | null = null;
  /** Gathers commits while the sealed one is written. Holds at least one durable write. */
  #gathering: Group | null = null;
  #groupCount = 0;
  #isSealing = false;
  /** Why no commit is taken any more. */
  #refusal: EngineUnavailable | null = null;
  #closed: Promise<void> | null = null;

  private constructor(file: LmdbFile) {
    this.#file = file;
    this.#lastVersion = file.lastVersion();
    this.#durable = file.view();
  }

  static async open(options: LmdbFileOptions): Promise<LmdbEngine> {
    return new LmdbEngine(await LmdbFile.open(options));
  }

  /** How many groups were begun since the engine was opened. */
  get groupCount(): number {
    return this.#groupCount;
  }

  snapshot(): Snapshot {
    return new View(this.#durable, this.#volatile, []);
  }

  tip(): Tip {
    return this.#tip();
  }

  async commit(batch: Batch): Promise<Outcome> {
    if (this.#refusal !== null) throw this.#refusal;
    refuseMalformed(batch);
    const group = this.#accept(batch);
    if (group === 'conflict') return 'conflict';
    return group === null ? 'committed' : group.outcome;
  }

  async claim(range: KeyRange, limit: number): Promise<Claim> {
    const tip = this.#tip();
    try {
      return this.#claims.take(tip.entries(range, false), limit);
    } finally {
      tip.close();
    }
  }

  close(): Promise<void> {
    this.#refusal ??= new EngineUnavailable('the engine is closed');
    this.#closed ??= this.#closeAfterGroups();
    return this.#closed;
  }

  #tip(): View {
    const layers: Layer[] = [];
    if (this.#gathering !== null) layers.push({ group: this.#gathering, changes: this.#gathering.changes });
    if (this.#sealed !== null) layers.push({ group: this.#sealed, changes: this.#sealed.changes });
    return new View(this.#durable, this.#volatile, layers);
  }

  /** Applies the batch if its checks hold, and says which group it waits for. */
  #accept(batch: Batch): Group | 'conflict' | null {
    const tip = this.#tip();
    try {
      for (const check of batch.checks) {
        const holds = 'empty' in check ? tip.isEmpty(check.empty) : tip.hasVersion(check.key, check.version);
        if (!holds) return 'conflict';
      }
      const group = isDurable(batch) ? this.#gather() : this.#groupUnder(tip, batch);
      this.#apply(batch, group);
      return group;
    } finally {
      tip.close();
    }
  }

  #gather(): Group {
    if (this.#gathering === null) {
      this.#gathering = new Group(++this.#groupCount);
      this.#sealSoon();
    }
    return this.#gathering;
  }

  /**
   * Volatile writes wait for no disk, but they must not outlive, nor be seen before, what they rest on: the groups
   * that their checks have read or that they overwrite.
   */
  #groupUnder(tip: View, { puts, deletes }: Batch): Group | null {
    for (const { key } of puts) tip.touch(key);
    for (const key of deletes) tip.touch(key);
    return tip.restsOn;
  }

  #apply({ puts, deletes }: Batch, group: Group | null): void {
    const version = ++this.#lastVersion;
    if (group === null) {
      for (const { key, value } of puts) this.#volatile = this.#volatile.set(key, { key, version, value });
      for (const key of deletes) this.#volatile = this.#volatile.delete(key);
      return;
    }
    for (const { key, value } of puts) group.changes = group.changes.set(key, { key, version, value });
    for (const key of deletes) group.changes = group.changes.set(key, null);
  }

  /** At the end of the event loop's turn, so that all commits of this turn share the group. */
  #sealSoon(): void {
    if (this.#isSealing || this.#sealed !== null) return;
    this.#isSealing = true;
    setImmediate(() => {
      this.#isSealing = false;
      void this.#writeGathered();
    });
  }

  async #writeGathered(): Promise<void> {
    const group = this.#gathering;
    if (group === null) return;
    this.#gathering = null;
    this.#sealed = group;
    try {
      await this.#file.write(durableOf(group.changes), this.#lastVersion);
      this.#renewDurable();
    } catch (error) {
      this.#dropAccepted(error as EngineUnavailable);
      return;
    }
    this.#sealed = null;
    this.#volatile = withVolatileOf(group.changes, this.#volatile);
    group.durable();
    if (this.#gathering !== null) this.#sealSoon();
  }

  /** Everything accepted may rest on the group that failed, so all of it fails with it. */
  #dropAccepted(error: EngineUnavailable): void {
    const groups = [this.#sealed, this.#gathering];
    this.#sealed = null;
    this.#gathering = null;
    try {
      if (!this.#file.isWritable()) throw error;
      this.#renewDurable();
    } catch {
      this.#refusal ??= error;
    }
    for (const group of groups) group?.failed(error);
  }

  #renewDurable(): void {
    const renewed = this.#file.view();
    this.#durable.release();
    this.#durable = renewed;
  }

  async #closeAfterGroups(): Promise<void> {
    const last = this.#gathering ?? this.#sealed;
    await last?.outcome.catch(() => undefined);
    await this.#file.close();
  }
}

function isDurable({ puts, deletes }: Batch): boolean {
  return puts.some(({ key }) => !isVolatile(key)) || deletes.some((key) => !isVolatile(key));
}

function* durableOf(changes: Changes): Generator<Item<Entry | null>, void> {
  for (const item of changes.items()) if (!isVolatile(item.key)) yield item;
}

function withVolatileOf(changes: Changes, records: OrderedMap<Entry>): OrderedMap<Entry> {
  let kept = records;
  for (const { key, value } of changes.items(VOLATILE_RANGE)) {
    kept = value === null ? kept.delete(key) : kept.set(key, value);
  }
  return kept;
}
