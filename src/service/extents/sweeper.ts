/**
 * Gives back what committed changes let go of: in small steps, off the path of any request, and never what a reader still
 * holds. Every step can be cut off by a crash and done again: bytes are freed first, the rows that name them go after.
 * Also moves the survivors of mostly dead segments, so that their space can be given back as well.
 */
import { successor } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import { type ContentStore, ExtentMissing, type PlacedExtent } from '../../content/content.ts';
import type { Engine, Entry, KeyRange } from '../../engine/engine.ts';
import { transact } from '../../engine/transact.ts';
import type { BlobRecord, StagedBlock, StagingRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson, UnreadableRecord } from '../records/codec.ts';
import type { ExtentRef, PlacedRecord } from '../records/extent-record.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { blobRange, extentKey, layoutKey, parseBlobKey, stagedBlockRange, tableRange } from '../records/keys.ts';
import { decodeLayout } from '../records/layout.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import type { Extents } from './extents.ts';
import type { Readers } from './readers.ts';

/** Records handled per step, so that no step keeps the event loop or a commit busy for long. */
const STEP_RECORDS = 256;
/** Garbage is gathered for a moment, so that one pass serves many changes. */
const PAUSE_MS = 200;
/** Content that a reader still pins is looked at again after this long. */
const PINNED_PAUSE_MS = 2_000;

export class Sweeper {
  readonly #engine: Engine;
  readonly #content: ContentStore;
  readonly #extents: Extents;
  readonly #readers: Readers;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;
  #pass: Promise<void> | null = null;
  #closed = false;

  constructor(options: {
    engine: Engine;
    content: ContentStore;
    extents: Extents;
    readers: Readers;
    onError: (error: unknown) => void;
  }) {
    this.#engine = options.engine;
    this.#content = options.content;
    this.#extents = options.extents;
    this.#readers = options.readers;
    this.#onError = options.onError;
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
    await this.#pass?.catch(() => {});
  }

  /** One pass over everything there is to sweep right now; passes never overlap. */
  async sweep(): Promise<void> {
    await this.#pass?.catch(() => {});
    if (this.#closed) return;
    this.#pass = this.#sweepAll();
    await this.#pass;
  }

  async #sweepAll(): Promise<void> {
    let leftForLater = 0;
    const { needed, to } = await this.#layoutsNeeded();
    for await (const entries of this.#steps({ from: tableRange('G').from, to })) {
      // From here on no reader can come to know what these rows let go of; those that do have pinned it.
      await this.#readers.settled();
      for (const entry of entries) {
        if (this.#closed) return;
        const garbage = decodeJson<GarbageRecord>(entry.value);
        if (this.#mustWait(garbage, needed)) {
          leftForLater++;
        } else {
          await this.#sweepOne(entry, garbage);
          if ('keeping' in garbage && garbage.keeping !== null) letGo(needed, garbage.keeping);
        }
      }
    }
    await this.#moveSurvivors();
    if (leftForLater > 0) this.wake(PINNED_PAUSE_MS);
  }

  /**
   * Layouts by which garbage is told from what lives on: they go only after it. `to` ends what was looked at: garbage
   * that is added meanwhile may need layouts not counted here, and waits for the next pass.
   */
  async #layoutsNeeded(): Promise<{ needed: Map<Id, number>; to: Uint8Array }> {
    const needed = new Map<Id, number>();
    let to = tableRange('G').from;
    for await (const entries of this.#steps(tableRange('G'))) {
      for (const entry of entries) {
        to = successor(entry.key);
        const garbage = decodeJson<GarbageRecord>(entry.value);
        if ('keeping' in garbage && garbage.keeping !== null) {
          needed.set(garbage.keeping, (needed.get(garbage.keeping) ?? 0) + 1);
        }
      }
    }
    return { needed, to };
  }

  #mustWait(garbage: GarbageRecord, needed: ReadonlyMap<Id, number>): boolean {
    if (garbage.kind === 'extent') return this.#readers.isPinned(garbage.extent.id);
    if (garbage.kind === 'layout') return this.#readers.isPinned(garbage.id) || needed.has(garbage.id);
    return false;
  }

  async #sweepOne(entry: Entry, garbage: GarbageRecord): Promise<void> {
    switch (garbage.kind) {
      case 'extent':
        await this.#freeExtents([garbage.extent], [entry.key]);
        return;
      case 'layout':
        await this.#sweepLayout(entry, garbage);
        return;
      case 'staging':
        await this.#sweepStaging(entry, garbage);
        return;
      case 'container':
        await this.#sweepContainer(entry, garbage);
        return;
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
      await transact(this.#engine, async (tx) => {
        for (const record of records) {
          if (parseBlobKey(record.key).kind === 'blob') {
            this.#extents.drop(tx, decodeJson<BlobRecord>(record.value).content);
          } else {
            this.#extents.dropStaging(tx, decodeJson<StagingRecord>(record.value).id);
          }
          tx.delete(record.key);
        }
      });
    }
    if (this.#closed) return;
    await this.#deleteKeys([entry.key]);
  }

  /** Frees the bytes, then removes the rows of these extents, and `alsoDelete` with them. */
  async #freeExtents(extents: readonly ExtentRef[], alsoDelete: readonly Uint8Array[] = []): Promise<void> {
    const placed = extents.filter((extent) => !extent.inline);
    const snapshot = this.#engine.snapshot();
    const entries = await snapshot.get(placed.map(extentKey)).finally(() => snapshot.close());
    for (const entry of entries) {
      if (entry === null) continue;
      const { placement, lengthBytes } = decodeJson<PlacedRecord>(entry.value);
      await this.#content.free(placement, lengthBytes);
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
    if (!entry) throw new UnreadableRecord(`the block list ${layoutId} is needed for sweeping and has no record`);
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

function letGo(needed: Map<Id, number>, id: Id): void {
  const count = needed.get(id) as number;
  if (count === 1) needed.delete(id);
  else needed.set(id, count - 1);
}
