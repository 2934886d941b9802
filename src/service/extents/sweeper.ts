/**
 * Gives back what committed changes let go of: in small steps, off the path of any request, and never what a reader still
 * holds. Every step can be cut off by a crash and done again: bytes are freed first, the rows that name them go after.
 * Also moves the survivors of mostly dead segments, so that their space can be given back as well.
 *
 * Of several nodes one sweeps, the leader. One that was paused, and does not know that another leads by now, does no harm:
 * what it still sweeps was garbage and held by no reader, and nothing can change that; ids and placements are not used
 * twice, so giving back what is gone, and deleting its rows, does nothing; and all else is done in transactions that
 * read what they change. Hence no transaction here asks who leads.
 */
import type { Id } from '../../base/ids.ts';
import { type ContentStore, ExtentMissing, type PlacedExtent } from '../../content/content.ts';
import type { Engine, Entry, KeyRange } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import { indexTags } from '../blob/tag-index.ts';
import { sweepTree, type TreeSweep } from '../file/sweep-tree.ts';
import { sweepTreeEpoch } from '../file/sweep-tree-epoch.ts';
import type { Census, Pins } from '../nodes/census.ts';
import { type Nodes, SWEEP } from '../nodes/nodes.ts';
import { type PageSweep, sweepCut, sweepEpoch } from '../pages/sweep-pages.ts';
import type { AppendedBlock, BlobRecord, StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson, UnreadableRecord } from '../records/codec.ts';
import type { ExtentRef, PlacedRecord } from '../records/extent-record.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import {
  appendedListRange,
  blobRange,
  extentKey,
  layoutKey,
  type ParsedBlobKey,
  parseBlobKey,
  stagedBlockRange,
  tableRange,
} from '../records/keys.ts';
import { decodeLayout } from '../records/layout.ts';
import { countsRange, placesRange, textsRange } from '../records/queue-keys.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import { entitiesRange } from '../records/table-keys.ts';
import type { Extents } from './extents.ts';
import { release, share } from './references.ts';

/** Records handled per step, so that no step keeps the event loop or a commit busy for long. */
const STEP_RECORDS = 256;
/** Extents given back at the same time: each may take a round trip to the store. */
const AT_ONCE_MAX = 16;
/** Garbage is gathered for a moment, so that one pass serves many changes. */
const PAUSE_MS = 200;
/** What a reader still pins, or could not be swept, is looked at again after this long. */
const RETRY_PAUSE_MS = 5_000;
/** Garbage taken on in one go, so that memory stays small however much there is. */
const GATHERED_RECORDS_MAX = 10_000;

/** A garbage row, read once. */
interface Row {
  readonly entry: Entry;
  readonly garbage: GarbageRecord | Error;
}

export class Sweeper {
  readonly #engine: Engine;
  readonly #content: ContentStore;
  readonly #extents: Extents;
  readonly #nodes: Nodes;
  readonly #census: Census;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;
  /** The last pass begun, or waiting for the one before. */
  #pass: Promise<void> = Promise.resolve();
  #closed = false;
  readonly #pageSweep: PageSweep;
  readonly #treeSweep: TreeSweep;

  constructor(options: {
    engine: Engine;
    content: ContentStore;
    extents: Extents;
    nodes: Nodes;
    census: Census;
    onError: (error: unknown) => void;
  }) {
    this.#engine = options.engine;
    this.#content = options.content;
    this.#extents = options.extents;
    this.#nodes = options.nodes;
    this.#census = options.census;
    this.#onError = options.onError;
    const parts = { engine: options.engine, extents: options.extents, isClosed: () => this.#closed };
    this.#pageSweep = parts;
    this.#treeSweep = parts;
  }

  /** There is something to sweep; a pass starts soon. */
  wake(afterMs: number = PAUSE_MS): void {
    if (this.#closed || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.sweep().catch(this.#onError);
    }, afterMs).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#census.close();
    await this.#pass.catch(() => {});
  }

  /** One pass over everything there is to sweep right now, if this node leads; passes never overlap. */
  sweep(): Promise<void> {
    this.#pass = this.#pass.catch(() => {}).then(() => (this.#closed ? undefined : this.#sweepAll()));
    return this.#pass;
  }

  async #sweepAll(): Promise<void> {
    if (!(await this.#nodes.lead(SWEEP))) return;
    for (;;) {
      const { rows, needed } = await this.#gatherGarbage();
      if (rows.length === 0) break;
      // From here on no reader can come to know what these rows let go of; those that do have pinned it.
      const pins = await this.#census.take();
      if (pins === null) {
        this.wake(RETRY_PAUSE_MS);
        return;
      }
      let sweptCount = 0;
      for (const batch of batchesOf(rows)) {
        if (this.#closed || !this.#nodes.seemsToLead(SWEEP)) return;
        const swept = await Promise.all(batch.map((row) => this.#sweepRow(row, { needed, pins })));
        sweptCount += swept.filter(Boolean).length;
      }
      if (sweptCount > 0 && pins.nodesAsked > 0) {
        // The others are not asked again without a pause. A store that nodes share has nothing to move.
        this.wake();
        return;
      }
      if (sweptCount < rows.length) this.wake(RETRY_PAUSE_MS);
      // A swept container leaves new garbage: only what lives on after all of it is worth moving.
      if (sweptCount === 0) break;
    }
    await this.#moveSurvivors();
  }

  /**
   * What to sweep in one go, and the layouts that other garbage still needs (by which it is told from what lives on, or
   * whose extents are still to be counted): they go only after it. Both from one snapshot: garbage that is added
   * meanwhile may need layouts not counted here, and waits for the next.
   */
  async #gatherGarbage(): Promise<{ rows: Row[]; needed: Map<Id, number> }> {
    const needed = new Map<Id, number>();
    const rows: Row[] = [];
    const snapshot = this.#engine.snapshot();
    try {
      for await (const step of scanSteps(snapshot, tableRange('G'), STEP_RECORDS)) {
        const read = step.map((entry): Row => ({ entry, garbage: garbageIn(entry) }));
        if (rows.length < GATHERED_RECORDS_MAX) rows.push(...read);
        for (const { garbage } of read) {
          for (const id of neededBy(garbage)) needed.set(id, (needed.get(id) ?? 0) + 1);
        }
      }
    } finally {
      snapshot.close();
    }
    return { rows, needed };
  }

  /** Whether the row could be swept. One that cannot be, now or ever, must not keep the others. */
  async #sweepRow(
    { entry, garbage }: Row,
    { needed, pins }: { needed: Map<Id, number>; pins: Pins },
  ): Promise<boolean> {
    try {
      if (garbage instanceof Error) throw garbage;
      if (mustWait(garbage, { needed, pins })) return false;
      if (!(await this.#sweepOne(entry, garbage))) return false;
      for (const id of neededBy(garbage)) letGo(needed, id);
      return true;
    } catch (error) {
      if (!(error instanceof UnreadableRecord && (await this.#isGone(entry)))) this.#onError(error);
      return false;
    }
  }

  /** Swept by another node, which took over while this one was paused. */
  async #isGone({ key }: Entry): Promise<boolean> {
    const snapshot = this.#engine.snapshot();
    const [found] = await snapshot.get([key]).finally(() => snapshot.close());
    return found === null;
  }

  /** Whether it is done with; false: to be looked at again later. */
  async #sweepOne(entry: Entry, garbage: GarbageRecord): Promise<boolean> {
    switch (garbage.kind) {
      case 'extent':
        await this.#freeExtents([garbage.extent], [entry.key]);
        return true;
      case 'layout':
        await (garbage.mayShare === true ? this.#releaseLayout(entry, garbage) : this.#sweepLayout(entry, garbage));
        return true;
      case 'share':
        await this.#countShared(entry, garbage);
        return true;
      case 'list':
        await this.#sweepList(entry, garbage);
        return true;
      case 'staging':
        await this.#sweepStaging(entry, garbage);
        return true;
      case 'container':
        await this.#sweepContainer(entry, garbage);
        return true;
      case 'table':
        await this.#sweepTable(entry, garbage);
        return true;
      case 'messages':
        await this.#sweepMessages(entry, garbage);
        return true;
      case 'epoch':
        return sweepEpoch(this.#pageSweep, entry, garbage);
      case 'cut':
        return sweepCut(this.#pageSweep, entry, garbage);
      case 'tree':
        return sweepTree(this.#treeSweep, entry, garbage);
      case 'treeEpoch':
        return sweepTreeEpoch(this.#treeSweep, entry, garbage);
    }
  }

  async #sweepLayout(entry: Entry, garbage: GarbageRecord & { kind: 'layout' }): Promise<void> {
    const kept = await this.#extentsOf(garbage.keeping);
    const dropped = [...(await this.#extentsOf(garbage.id)).values()].filter((extent) => !kept.has(extent.id));
    for (let at = 0; at < dropped.length; at += STEP_RECORDS) {
      await this.#freeExtents(dropped.slice(at, at + STEP_RECORDS));
    }
    await this.#deleteKeys([layoutKey(garbage.id), entry.key]);
  }

  /** A layout whose extents may have other owners: each step counts them down and notes how far it has come. */
  async #releaseLayout(entry: Entry, garbage: GarbageRecord & { kind: 'layout' }): Promise<void> {
    const kept = await this.#extentsOf(garbage.keeping);
    const dropped = [...(await this.#extentsOf(garbage.id)).values()].filter((extent) => !kept.has(extent.id));
    await this.#inSteps(entry, { items: dropped, alsoDelete: [layoutKey(garbage.id)] }, async (tx, extents) => {
      const gone = new Set(
        await release(
          tx,
          extents.map((extent) => extent.id),
        ),
      );
      for (const extent of extents) if (gone.has(extent.id)) this.#extents.dropExtent(tx, extent);
    });
  }

  /** Two layouts that both live name these extents: one more owner each. */
  async #countShared(entry: Entry, garbage: GarbageRecord & { kind: 'share' }): Promise<void> {
    const older = await this.#extentsOf(garbage.with);
    const common = [...(await this.#extentsOf(garbage.id)).values()].filter((extent) => older.has(extent.id));
    await this.#inSteps(entry, { items: common, alsoDelete: [] }, (tx, extents) =>
      share(
        tx,
        extents.map((extent) => extent.id),
      ),
    );
  }

  /** Each step and the note of it are one commit, so that a step is done once, whatever happens. */
  async #inSteps(
    entry: Entry,
    { items, alsoDelete }: { items: readonly ExtentRef[]; alsoDelete: readonly Uint8Array[] },
    step: (tx: Transaction, items: readonly ExtentRef[]) => Promise<void>,
  ): Promise<void> {
    for (let isDone = false; !isDone && !this.#closed; ) {
      isDone = await transact(this.#engine, async (tx) => {
        const value = await tx.get(entry.key);
        if (value === null) return true;
        const garbage = decodeJson<GarbageRecord & { done?: number }>(value);
        const from = garbage.done ?? 0;
        const to = Math.min(from + STEP_RECORDS, items.length);
        await step(tx, items.slice(from, to));
        if (to < items.length) tx.put(entry.key, encodeJson({ ...garbage, done: to }));
        else for (const key of [entry.key, ...alsoDelete]) tx.delete(key);
        return to === items.length;
      });
    }
  }

  async #sweepList(entry: Entry, garbage: GarbageRecord & { kind: 'list' }): Promise<void> {
    for await (const rows of this.#steps(appendedListRange(garbage.id))) {
      await this.#freeExtents(
        rows.map((row) => decodeJson<AppendedBlock>(row.value).extent),
        rows.map((row) => row.key),
      );
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  async #sweepStaging(entry: Entry, garbage: GarbageRecord & { kind: 'staging' }): Promise<void> {
    const kept = await this.#extentsOf(garbage.keeping);
    for await (const blocks of this.#steps(stagedBlockRange(garbage.id))) {
      const dropped = blocks
        .map((block) => decodeJson<StagedBlock>(block.value).extent)
        .filter((extent) => !kept.has(extent.id));
      await this.#freeExtents(
        dropped,
        blocks.map((block) => block.key),
      );
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  /** The blobs of a deleted container: nobody can name them any more, so their records just turn into garbage. */
  async #sweepContainer(entry: Entry, garbage: GarbageRecord & { kind: 'container' }): Promise<void> {
    for await (const records of this.#steps(blobRange(garbage.account, garbage.id, ''))) {
      const keys = records.map((record) => record.key);
      await transact(this.#engine, async (tx) => {
        for (const [index, value] of (await tx.getMany(keys)).entries()) {
          const key = keys[index] as Uint8Array;
          if (value === null) continue;
          await this.#dropRecord(tx, parseBlobKey(key), value);
          tx.delete(key);
        }
      });
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  /** The entities of a deleted table hold nothing but themselves. */
  async #sweepTable(entry: Entry, garbage: GarbageRecord & { kind: 'table' }): Promise<void> {
    const { account, id: tableId } = garbage;
    for await (const records of this.#steps(entitiesRange({ account, tableId }))) {
      await this.#deleteKeys(records.map((record) => record.key));
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  /** Places first: a place without its text would be found wanting. */
  async #sweepMessages(entry: Entry, garbage: GarbageRecord & { kind: 'messages' }): Promise<void> {
    const content = { account: garbage.account, contentId: garbage.id };
    for (const range of [placesRange(content), textsRange(content), countsRange(content)]) {
      for await (const records of this.#steps(range)) {
        await this.#deleteKeys(records.map((record) => record.key));
      }
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  async #dropRecord(tx: Transaction, key: ParsedBlobKey, value: Uint8Array): Promise<void> {
    if (key.kind === 'staging') {
      this.#extents.dropStaging(tx, decodeJson<StagingRecord>(value).id);
      return;
    }
    const record = decodeJson<BlobRecord>(value);
    if (key.kind === 'blob') indexTags(tx, key, { before: record.tags, after: undefined });
    await this.#extents.drop(tx, record);
  }

  /** Frees the bytes, then removes the rows of these extents, and `alsoDelete` with them. */
  async #freeExtents(extents: readonly ExtentRef[], alsoDelete: readonly Uint8Array[] = []): Promise<void> {
    const placed = extents.filter((extent) => !extent.inline);
    const snapshot = this.#engine.snapshot();
    const entries = await snapshot.get(placed.map(extentKey)).finally(() => snapshot.close());
    const records = entries.flatMap((entry) => (entry === null ? [] : [decodeJson<PlacedRecord>(entry.value)]));
    for (let at = 0; at < records.length; at += AT_ONCE_MAX) {
      const some = records.slice(at, at + AT_ONCE_MAX);
      await Promise.all(some.map(({ placement, lengthBytes }) => this.#content.free(placement, lengthBytes)));
    }
    await this.#deleteKeys([...extents.map(extentKey), ...alsoDelete]);
  }

  async #moveSurvivors(): Promise<void> {
    for (const extent of await this.#content.worthMoving()) {
      if (this.#closed) return;
      await this.#move(extent);
    }
  }

  async #move(extent: PlacedExtent): Promise<void> {
    let placement: string;
    try {
      const bytes = this.#content.read(extent.placement, { offsetBytes: 0, lengthBytes: extent.lengthBytes });
      placement = await this.#content.write(extent.id, bytes, extent.lengthBytes);
    } catch (error) {
      if (error instanceof ExtentMissing) return;
      throw error;
    }
    const moved = await transact(this.#engine, async (tx) => {
      const key = extentKey({ id: extent.id, inline: false });
      const value = await tx.get(key);
      if (value === null || decodeJson<PlacedRecord>(value).placement !== extent.placement) return false;
      tx.put(key, encodeJson({ placement, lengthBytes: extent.lengthBytes }));
      return true;
    });
    await this.#content.free(moved ? extent.placement : placement, extent.lengthBytes);
  }

  async #extentsOf(layoutId: Id | null): Promise<Map<Id, ExtentRef>> {
    if (layoutId === null) return new Map();
    const snapshot = this.#engine.snapshot();
    const [entry] = await snapshot.get([layoutKey(layoutId)]).finally(() => snapshot.close());
    if (!entry) throw new UnreadableRecord(`the block list ${layoutId} is needed for sweeping, but has no record`);
    return new Map(decodeLayout(entry.value).map(({ extent }) => [extent.id, extent]));
  }

  async #deleteKeys(keys: readonly Uint8Array[]): Promise<void> {
    await transact(this.#engine, async (tx) => {
      for (const key of keys) tx.delete(key);
    });
  }

  /** Ends early when the sweeper is closed. */
  async *#steps(range: KeyRange): AsyncGenerator<Entry[]> {
    for await (const entries of scanSteps(freshSnapshots(this.#engine), range, STEP_RECORDS)) {
      if (this.#closed) return;
      yield entries;
    }
  }
}

function mustWait(garbage: GarbageRecord, { needed, pins }: { needed: ReadonlyMap<Id, number>; pins: Pins }): boolean {
  if (garbage.kind === 'extent') return pins.has(garbage.extent.id);
  if (garbage.kind === 'layout') return pins.has(garbage.id) || needed.has(garbage.id);
  if (garbage.kind === 'list') return pins.has(garbage.id);
  return false;
}

/** Extents have nothing to do with each other, so those that follow each other are swept together; all else by itself. */
function* batchesOf(rows: readonly Row[]): Generator<Row[], void> {
  let batch: Row[] = [];
  for (const row of rows) {
    const isExtent = !(row.garbage instanceof Error) && row.garbage.kind === 'extent';
    if (batch.length > 0 && (!isExtent || batch.length >= AT_ONCE_MAX)) {
      yield batch;
      batch = [];
    }
    if (isExtent) batch.push(row);
    else yield [row];
  }
  if (batch.length > 0) yield batch;
}

/** The error for a row that cannot be read: sweeping it will say so. */
function garbageIn(entry: Entry): GarbageRecord | Error {
  try {
    return decodeJson<GarbageRecord>(entry.value);
  } catch (error) {
    return error as Error;
  }
}

/** Layouts that must stay until this garbage is swept. */
function neededBy(garbage: GarbageRecord | Error): readonly Id[] {
  if (garbage instanceof Error) return [];
  if (garbage.kind === 'share') return [garbage.id, garbage.with];
  return 'keeping' in garbage && garbage.keeping !== null ? [garbage.keeping] : [];
}

function letGo(needed: Map<Id, number>, id: Id): void {
  const count = needed.get(id) as number;
  if (count === 1) needed.delete(id);
  else needed.set(id, count - 1);
}
