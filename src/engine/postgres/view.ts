/**
 * What a reader sees: one state of the database, and for a Tip the commits that this node has accepted and that state
 * does not hold yet, laid over it. Which of them it holds, the state itself says (the last group of this session).
 */
import { compareBytes } from '../../base/bytes.ts';
import type { Entry, Key, KeyRange, RangeOptions, ScanOptions, Tip, Visit } from '../engine.ts';
import { layOver, type Overlay } from '../lay-over.ts';
import { scanByRange } from '../scan-by-range.ts';
import { nameOf } from './keys.ts';
import { type Change, type Changes, NO_CHANGES, type Pending } from './pending.ts';
import type { Reading } from './reading.ts';
import type { Recent } from './recent.ts';

export interface ViewSource {
  /** The state of the database, as of the first read. */
  join(): Reading;
  /** What a Tip lays over it; null for a snapshot. */
  accepted(): Changes | null;
  readonly recent: Recent;
}

export class View implements Tip {
  readonly #source: ViewSource;
  #opened: { readonly reading: Reading; readonly changes: Changes } | null = null;
  readonly #restsOn = new Set<Pending>();
  /** What was taken to be as this node saw it last, at the first read: by the names of keys. */
  #guessed: Map<string, Entry | null> | null = null;
  #closed = false;

  constructor(source: ViewSource) {
    this.#source = source;
  }

  async get(keys: readonly Key[]): Promise<(Entry | null)[]> {
    const known = this.#opened === null && this.#guessed === null ? this.#knownHere(keys) : null;
    if (known !== null) return known;
    const entries = await this.#ask(keys);
    const guessed = this.#guessed;
    // Whoever reads a key again reads the same.
    if (guessed === null) return entries;
    return entries.map((entry, index) => {
      const earlier = guessed.get(nameOf(keys[index] as Key));
      return earlier === undefined ? entry : earlier;
    });
  }

  async #ask(keys: readonly Key[]): Promise<(Entry | null)[]> {
    const { reading, changes } = this.#open();
    const entries = await reading.get(keys);
    if (changes.size === 0) return entries;
    const lastGroup = await reading.lastGroup();
    return Promise.all(
      entries.map(async (entry, index) => {
        const change = await this.#valid(changes.get(keys[index] as Key) ?? null, lastGroup);
        return change === null ? entry : change.entry;
      }),
    );
  }

  async range(range: KeyRange, options: RangeOptions): Promise<Entry[]> {
    const { reading, changes } = this.#open();
    const { limit, reverse = false } = options;
    if (limit <= 0 || compareBytes(range.from, range.to) >= 0) return [];
    if (changes.size === 0) return reading.range(range, options);
    const lastGroup = await reading.lastGroup();
    const over: Overlay[] = [];
    for (const { key, value } of changes.items({ ...range, reverse })) {
      const valid = await this.#valid(value, lastGroup);
      if (valid !== null) over.push({ key, entry: valid.entry });
    }
    // Each change hides at most one entry of the state.
    const state = await reading.range(range, { limit: limit + over.length, reverse });
    const merged = layOver(state, over, reverse);
    return merged.slice(0, Math.min(limit, merged.length));
  }

  scan(range: KeyRange, options: ScanOptions, visit: Visit): Promise<Key | null> {
    return scanByRange(this, range, { options, visit });
  }

  async settled(): Promise<boolean> {
    if (this.#restsOn.size === 0) return this.#guessed === null;
    await Promise.all([...this.#restsOn].map((pending) => pending.outcome));
    // The rest of what was read may have changed before they took effect.
    return false;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#opened?.reading.leave();
  }

  #open(): { reading: Reading; changes: Changes } {
    if (this.#closed) throw new Error('this view is closed');
    if (this.#opened === null) {
      const changes = this.#source.accepted() ?? NO_CHANGES;
      this.#opened = { reading: this.#source.join(), changes };
    }
    return this.#opened;
  }

  /**
   * Who reads what a commit under way writes follows that commit without asking the database, where this node has also
   * seen the rest lately: so the writers of one key share groups. And while what it has seen is trusted, nobody whose
   * commit will tell need ask. A snapshot has no commit.
   */
  #knownHere(keys: readonly Key[]): (Entry | null)[] | null {
    const changes = this.#source.accepted();
    if (this.#closed || changes === null) return null;
    const { recent } = this.#source;
    const entries: (Entry | null)[] = [];
    const by = new Set<Pending>();
    for (const key of keys) {
      const change = changes.get(key);
      if (change?.by.isLikely === false) return null;
      const entry = change === undefined ? recent.entryOf(key) : change.entry;
      if (entry === undefined) return null;
      if (change !== undefined) by.add(change.by);
      entries.push(entry);
    }
    if (by.size === 0 && !recent.isTrusted) return null;
    for (const pending of by) this.#restsOn.add(pending);
    this.#guessed = new Map(keys.map((key, index) => [nameOf(key), entries[index] as Entry | null]));
    return entries;
  }

  /** The change that lies over the state; null: the state itself counts. One that may well fail is waited for. */
  async #valid(change: Change | null, lastGroup: number): Promise<Change | null> {
    for (let valid = change; valid !== null; valid = valid.under) {
      if (isHeld(valid, lastGroup)) return null;
      if (!valid.by.isLikely && (await valid.by.outcome) === 'conflict') continue;
      this.#restsOn.add(valid.by);
      return valid;
    }
    return null;
  }
}

/** Whether the state that holds this group holds the change. */
const isHeld = ({ by }: Change, lastGroup: number): boolean => by.group !== null && by.group <= lastGroup;
