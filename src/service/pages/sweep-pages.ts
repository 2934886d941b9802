/**
 * Gives back what maps of pages no longer show to anybody: states of chunks that only a dropped epoch saw, rows in ranges
 * that were cut, whole maps. In small transactions that read what they rest on and remove rows together with what only
 * those named: each can be cut off by a crash, or come late from a node that does not lead any more, and is just done again.
 *
 * An epoch that nobody holds never comes to life again: a hold is taken by reading a record that holds the epoch. So what
 * was found dead stays so, and readers of the moment need not be asked: they have pinned what they read (read-pages.ts).
 */
import type { Id } from '../../base/ids.ts';
import type { Engine, Entry, KeyRange } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { sinceOf } from '../records/page-chunk.ts';
import { chunkKey, chunkOf, chunkRange, cutKey, type EndedChunk, endedRange, parseEndedKey } from '../records/page-keys.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import { keepPast } from './keep-past.ts';
import { isAnyLive, NO_EPOCH, newestLive, oldestLive } from './live-epochs.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';
import { type ChunkStateAt, removeStates } from './remove-states.ts';
import { removeMap } from './remove-map.ts';

export interface PageSweep {
  readonly engine: Engine;
  readonly extents: Pick<Extents, 'dropExtent'>;
  /** Asked between steps: a sweep that is given up goes on another time. */
  readonly isClosed: () => boolean;
  readonly settings?: PageSettings;
}

/** Whether it is done, and its garbage row removed; false: to be looked at again later. */
export async function sweepEpoch(
  sweep: PageSweep,
  entry: Entry,
  { id, epoch }: GarbageRecord & { readonly kind: 'epoch' },
): Promise<boolean> {
  const reader = freshSnapshots(sweep.engine);
  // A reader may hold on to it.
  if (await isAnyLive(reader, id, { from: epoch, to: epoch + 1 })) return false;
  const [before, after] = await Promise.all([
    newestLive(reader, id, { to: epoch }),
    oldestLive(reader, id, { from: epoch + 1 }),
  ]);
  const isSwept =
    before === NO_EPOCH && after === NO_EPOCH
      ? await removeMap(sweep, id)
      : await sweepBetween(sweep, id, { before, epoch, after: after === NO_EPOCH ? null : after });
  if (isSwept) await deleteKeys(sweep.engine, [entry.key]);
  return isSwept;
}

/** Whether it is done, and its garbage row removed. */
export async function sweepCut(
  sweep: PageSweep,
  entry: Entry,
  { id, epoch, fromBytes, toBytes }: GarbageRecord & { readonly kind: 'cut' },
): Promise<boolean> {
  const { chunkBytes } = settingsOf(sweep);
  const range = chunkRange(id, fromBytes / chunkBytes, toBytes === null ? undefined : toBytes / chunkBytes);
  const isSwept = await eachStale(sweep, range, { isStale: (since) => since < epoch }, (tx, chunks) =>
    carryOutCut(tx, sweep, { id, epoch, chunks }),
  );
  if (isSwept) await deleteKeys(sweep.engine, [cutKey(id, epoch), entry.key]);
  return isSwept;
}

/** What was seen by `epoch` alone of all epochs between two that live: `before` (or none), and `after` (or none). */
interface Between {
  readonly before: number;
  readonly epoch: number;
  readonly after: number | null;
}

async function sweepBetween(sweep: PageSweep, id: Id, between: Between): Promise<boolean> {
  for await (const ended of endedStates(sweep, id, between)) {
    if (sweep.isClosed()) return false;
    await removeDead(sweep, id, between, ended);
  }
  if (between.after !== null) return !sweep.isClosed();
  // The newest epoch went: what it wrote stands in the rows that are not earlier states.
  return eachStale(sweep, chunkRange(id), { isStale: (since) => since > between.before }, async (tx, chunks) => {
    if (!(await isDead(tx, id, between))) return;
    await removeStates(tx, sweep.extents, id, chunks.map((chunk) => ({ chunk, epoch: null })));
  });
}

async function removeDead(sweep: PageSweep, id: Id, between: Between, ended: readonly ChunkStateAt[]): Promise<void> {
  await transact(sweep.engine, async (tx) => {
    if (await isDead(tx, id, between)) await removeStates(tx, sweep.extents, id, ended);
  });
}

const isDead = async (tx: Transaction, id: Id, { before, after }: Between): Promise<boolean> =>
  !(await isAnyLive(tx, id, { from: before + 1, ...(after === null ? {} : { to: after }) }));

/**
 * Earlier states that ended with `epoch` or later, before `after`, and began after `before`. Of other dead epochs in that
 * stretch some may be left that `before` still sees: they are skipped, not read.
 */
async function* endedStates(
  sweep: PageSweep,
  id: Id,
  { before, epoch, after }: Between,
): AsyncGenerator<readonly EndedChunk[]> {
  const reader = freshSnapshots(sweep.engine);
  const { stepRows } = settingsOf(sweep);
  const { to } = endedRange(id, 0, 0, after ?? undefined);
  for (let { from } = endedRange(id, epoch, before + 1); ; ) {
    const entries = (await reader.range({ from, to }, { limit: stepRows })).map(({ key }) => parseEndedKey(key));
    const seenAt = entries.findIndex(({ since }) => since <= before);
    const ended = seenAt < 0 ? entries : entries.slice(0, seenAt);
    if (ended.length > 0) yield ended;
    const last = entries[seenAt < 0 ? entries.length - 1 : seenAt];
    if (last === undefined || (seenAt < 0 && entries.length < stepRows)) return;
    from = seenAt < 0 ? after(last) : endedRange(id, last.epoch, before + 1).from;
  }
}
