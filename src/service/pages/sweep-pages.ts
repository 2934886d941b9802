/**
 * Gives back what maps of pages no longer show to anybody: states of chunks that only a dropped epoch saw, rows in ranges
 * that were cut, whole maps. In small transactions that read what they rest on, and remove rows together with what those
 * alone named: each can be cut off by a crash, or come late from a node that leads no more, and is just done again.
 * An epoch that nobody holds never comes to life again, since a hold is taken by reading a record that holds the epoch;
 * and readers of the moment need not be asked, for they have pinned what they read (read-pages.ts).
 */
import { successor } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import type { Engine, Entry, KeyRange } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { sinceOf } from '../records/page-chunk.ts';
import { chunkKey, chunkOf, chunkRange, cutKey, endedRange, parseEndedKey } from '../records/page-keys.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import { keepPast } from './keep-past.ts';
import { isAnyLive, NO_EPOCH, newestLive, oldestLive } from './live-epochs.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';
import { removeMap } from './remove-map.ts';
import { countWithin, removeStates, type StateAt } from './remove-states.ts';

export interface PageSweep {
  readonly engine: Engine;
  readonly extents: Pick<Extents, 'dropExtent'>;
  /** Asked between steps: a sweep that is given up goes on another time. */
  readonly isClosed: () => boolean;
  readonly settings?: PageSettings;
}

/** Whether it is done, and its garbage row removed; false: to be looked at again later. */
export async function sweepEpoch(
  options: PageSweep,
  entry: Entry,
  { id, epoch }: GarbageRecord & { readonly kind: 'epoch' },
): Promise<boolean> {
  if (!(await new Sweep(options, id).epoch(epoch))) return false;
  return transact(options.engine, async (tx) => {
    // That a reader let go shows at once; what a writer kept for it before shows only once it is durable.
    const before = await newestLive(tx, id, { to: epoch });
    const [left] = await tx.range(endedRange(id, epoch, before + 1, epoch + 1), { limit: 1 });
    if (left !== undefined) return false;
    tx.delete(entry.key);
    return true;
  });
}

/** Whether it is done, and its garbage row removed; false: to be looked at again later. */
export async function sweepCut(
  options: PageSweep,
  entry: Entry,
  { id, epoch, fromBytes, toBytes }: GarbageRecord & { readonly kind: 'cut' },
): Promise<boolean> {
  const { chunkBytes } = options.settings ?? PAGE_SETTINGS;
  const range = chunkRange(id, fromBytes / chunkBytes, toBytes === null ? undefined : toBytes / chunkBytes);
  const isSwept = await new Sweep(options, id).cut(epoch, range);
  if (isSwept) await deleteKeys(options.engine, [cutKey(id, epoch), entry.key]);
  return isSwept;
}

/** A dropped epoch, and the live ones next to it; null where there is none. */
interface Gap {
  readonly before: number;
  readonly epoch: number;
  readonly after: number | null;
}

/** Deals with some of the chunks or states, from the first on, and says with how many. */
type Step<T> = (tx: Transaction, items: readonly T[]) => Promise<number>;

class Sweep {
  readonly #engine: Engine;
  readonly #extents: Pick<Extents, 'dropExtent'>;
  readonly #isClosed: () => boolean;
  readonly #settings: PageSettings;
  readonly #mapId: Id;

  constructor({ engine, extents, isClosed, settings = PAGE_SETTINGS }: PageSweep, mapId: Id) {
    this.#engine = engine;
    this.#extents = extents;
    this.#isClosed = isClosed;
    this.#settings = settings;
    this.#mapId = mapId;
  }

  async epoch(epoch: number): Promise<boolean> {
    const reader = freshSnapshots(this.#engine);
    // A reader may hold on to it.
    if (await isAnyLive(reader, this.#mapId, { from: epoch, to: epoch + 1 })) return false;
    const [before, after] = await Promise.all([
      newestLive(reader, this.#mapId, { to: epoch }),
      oldestLive(reader, this.#mapId, { from: epoch + 1 }),
    ]);
    if (before === NO_EPOCH && after === NO_EPOCH) {
      const parts = { engine: this.#engine, extents: this.#extents, isClosed: this.#isClosed };
      return removeMap({ ...parts, settings: this.#settings }, this.#mapId);
    }
    return this.#gap({ before, epoch, after: after === NO_EPOCH ? null : after });
  }

  /** Rows that began before the cut: kept for older epochs that see them, removed where there are none. */
  async cut(epoch: number, range: KeyRange): Promise<boolean> {
    return this.#eachNewest(
      range,
      (since) => since < epoch,
      async (tx, chunks) => {
        const [values, liveBefore] = await Promise.all([
          tx.getMany(chunks.map((chunk) => chunkKey(this.#mapId, chunk))),
          newestLive(tx, this.#mapId, { to: epoch }),
        ]);
        const count = countWithin(values, this.#settings.stepPieces);
        const dead: StateAt[] = [];
        for (const [index, chunk] of chunks.slice(0, count).entries()) {
          const value = values[index] ?? null;
          if (value === null || sinceOf(value) >= epoch) continue;
          if (sinceOf(value) > liveBefore) {
            dead.push({ chunk, epoch: null });
            continue;
          }
          keepPast(tx, this.#mapId, { chunk, value, epoch: liveBefore });
          tx.delete(chunkKey(this.#mapId, chunk));
        }
        await removeStates(tx, this.#extents, {
          mapId: this.#mapId,
          states: dead,
          piecesMax: Number.POSITIVE_INFINITY,
        });
        return count;
      },
    );
  }

  /** States that were seen by the dropped epoch, and by neither of the live ones. */
  async #gap(gap: Gap): Promise<boolean> {
    const removeDead: Step<StateAt> = async (tx, states) => {
      if (!(await this.#isDead(tx, gap))) return states.length;
      const { stepPieces } = this.#settings;
      return removeStates(tx, this.#extents, { mapId: this.#mapId, states, piecesMax: stepPieces });
    };
    for await (const states of this.#endedStates(gap)) {
      if (!(await this.#inSteps(states, removeDead))) return false;
    }
    if (gap.after !== null) return true;
    // The newest epoch went: what it wrote last are no earlier states.
    return this.#eachNewest(
      chunkRange(this.#mapId),
      (since) => since > gap.before,
      (tx, chunks) =>
        removeDead(
          tx,
          chunks.map((chunk) => ({ chunk, epoch: null })),
        ),
    );
  }

  async #isDead(tx: Transaction, { before, after }: Gap): Promise<boolean> {
    return !(await isAnyLive(tx, this.#mapId, { from: before + 1, ...(after === null ? {} : { to: after }) }));
  }

  /**
   * Earlier states that ended in the gap, with its epoch or later, and began there as well. Of epochs that were dropped
   * before, states may be left that `before` still sees: they are skipped, and not read.
   */
  async *#endedStates({ before, epoch, after }: Gap): AsyncGenerator<readonly StateAt[]> {
    const reader = freshSnapshots(this.#engine);
    const { walkRows } = this.#settings;
    const { to } = endedRange(this.#mapId, epoch, 0, after ?? undefined);
    for (let from = endedRange(this.#mapId, epoch, before + 1).from; ; ) {
      const entries = await reader.range({ from, to }, { limit: walkRows });
      const rows = entries.map(({ key }) => parseEndedKey(key));
      const skipAt = rows.findIndex(({ since }) => since <= before);
      yield skipAt < 0 ? rows : rows.slice(0, skipAt);
      const last = entries.at(-1);
      if (skipAt >= 0) from = endedRange(this.#mapId, (rows[skipAt] as { epoch: number }).epoch, before + 1).from;
      else if (last === undefined || entries.length < walkRows) return;
      else from = successor(last.key);
    }
  }

  /** Steps over the newest states that began at such an epoch. */
  async #eachNewest(range: KeyRange, isMeant: (since: number) => boolean, step: Step<number>): Promise<boolean> {
    for await (const entries of scanSteps(freshSnapshots(this.#engine), range, this.#settings.walkRows)) {
      const meant = entries.filter(({ value }) => isMeant(sinceOf(value))).map(({ key }) => chunkOf(key));
      if (!(await this.#inSteps(meant, step))) return false;
    }
    return true;
  }

  /** False: closed meanwhile. */
  async #inSteps<T>(items: readonly T[], step: Step<T>): Promise<boolean> {
    for (let at = 0; at < items.length; ) {
      if (this.#isClosed()) return false;
      const some = items.slice(at, at + this.#settings.stepRows);
      at += await transact(this.#engine, (tx) => step(tx, some));
    }
    return !this.#isClosed();
  }
}

async function deleteKeys(engine: Engine, keys: readonly Uint8Array[]): Promise<void> {
  await transact(engine, async (tx) => {
    for (const key of keys) tx.delete(key);
  });
}
