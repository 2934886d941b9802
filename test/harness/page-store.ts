/**
 * Maps of pages on an engine and a content store of the test's choosing, without blobs around them: records that hold
 * nothing but a map and its length, the operations on them, readers, and a sweeper that knows only what maps leave.
 */
import type { Id } from '../../src/base/ids.ts';
import { IdSource } from '../../src/base/ids.ts';
import type { ByteRange, ContentStore } from '../../src/content/content.ts';
import { openMemoryContent } from '../../src/content/memory/memory-content.ts';
import { type Engine, type Entry, isVolatile, type Key, type Snapshot } from '../../src/engine/engine.ts';
import { openMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { type Transaction, transact } from '../../src/engine/transact.ts';
import { Extents, type StagedExtent } from '../../src/service/extents/extents.ts';
import { type PageHold, PageHolds } from '../../src/service/pages/page-holds.ts';
import { createPages, dropPages, freezePages } from '../../src/service/pages/page-map.ts';
import { PAGE_SETTINGS, type PageSettings } from '../../src/service/pages/page-settings.ts';
import { type ReadPiece, readHeldPages, readPages } from '../../src/service/pages/read-pages.ts';
import { sweepCut, sweepEpoch } from '../../src/service/pages/sweep-pages.ts';
import { resizePages, writePages } from '../../src/service/pages/write-pages.ts';
import type { PagesContent } from '../../src/service/records/blob-record.ts';
import { decodeJson, encodeJson } from '../../src/service/records/codec.ts';
import { decodeInline, type ExtentRef, type PlacedRecord } from '../../src/service/records/extent-record.ts';
import type { GarbageRecord } from '../../src/service/records/garbage-record.ts';
import { extentKey, tableRange } from '../../src/service/records/keys.ts';
import type { LayoutPiece } from '../../src/service/records/layout.ts';

export interface PageRecord {
  readonly content: PagesContent;
  readonly lengthBytes: number;
  /** Grows with every change: by it a test knows which state a reader got. */
  readonly revision: number;
}

export type PageReader = AsyncIterableIterator<Uint8Array>;

const recordKey = (name: string): Key => Buffer.from(`Z${name}`);
const EVERYTHING = { from: Buffer.of(0), to: Buffer.of(0xff) };
const PASSES_MAX = 20;

export class PageStore {
  engine: Engine;
  readonly content: ContentStore;
  readonly settings: PageSettings;
  readonly ids = new IdSource();
  readonly extents: Extents;
  readonly errors: unknown[] = [];
  holds!: PageHolds;
  readonly #pins = new Map<Id, number>();
  readonly #lookingUp = new Set<Promise<unknown>>();

  constructor(parts: { engine?: Engine; content?: ContentStore; settings?: PageSettings } = {}) {
    this.engine = parts.engine ?? openMemoryEngine();
    this.content = parts.content ?? openMemoryContent();
    this.settings = parts.settings ?? PAGE_SETTINGS;
    const limits = { publishLimitMs: Number.POSITIVE_INFINITY, onGarbage: () => {} };
    this.extents = new Extents({ content: this.content, ids: this.ids, clock: { nowMs: () => 0 }, ...limits });
    this.useEngine(this.engine);
  }

  /** As after a restart: holds, and readers with them, are gone. */
  useEngine(engine: Engine): void {
    this.engine = engine;
    this.holds = new PageHolds({ engine, ids: this.ids, onError: (error) => this.errors.push(error) });
    this.#pins.clear();
  }

  // ---- records

  async create(name: string, lengthBytes: number): Promise<void> {
    await transact(this.engine, async (tx) => {
      putRecord(tx, name, { content: createPages(tx, this.ids), lengthBytes, revision: 0 });
    });
  }

  async put(name: string, record: PageRecord): Promise<void> {
    await transact(this.engine, async (tx) => putRecord(tx, name, record));
  }

  load(name: string): Promise<PageRecord> {
    return transact(this.engine, (tx) => loadRecord(tx, name));
  }

  async stage(bytes: Uint8Array, inline: boolean): Promise<StagedExtent> {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield bytes;
    }
    return inline ? this.extents.stageSmall(bytes) : this.extents.stageLarge(pieces(), bytes.length);
  }

  async write(name: string, offsetBytes: number, bytes: Uint8Array, inline = true): Promise<void> {
    const staged = await this.stage(bytes, inline);
    const range = { offsetBytes, lengthBytes: bytes.length };
    await this.#change(name, (tx, { content }) => writePages(tx, this.extents, content, range, staged, this.settings));
  }

  async clear(name: string, range: ByteRange): Promise<void> {
    await this.#change(name, (tx, { content }) => writePages(tx, this.extents, content, range, null, this.settings));
  }

  async resize(name: string, toBytes: number): Promise<void> {
    await this.#change(
      name,
      (tx, { content, lengthBytes }) =>
        resizePages(tx, this.extents, content, { fromBytes: lengthBytes, toBytes }, this.settings),
      toBytes,
    );
  }

  async freeze(name: string, frozenName: string): Promise<void> {
    await transact(this.engine, async (tx) => {
      const record = await loadRecord(tx, name);
      const { frozen, current } = freezePages(tx, record.content);
      putRecord(tx, frozenName, { ...record, content: frozen });
      putRecord(tx, name, { ...record, content: current });
    });
  }

  async drop(name: string): Promise<void> {
    await transact(this.engine, async (tx) => {
      const { content } = await loadRecord(tx, name);
      dropPages(tx, this.extents, content);
      tx.delete(recordKey(name));
    });
  }

  async #change(
    name: string,
    change: (tx: Transaction, record: PageRecord) => Promise<PagesContent>,
    lengthBytes?: number,
  ): Promise<void> {
    await transact(this.engine, async (tx) => {
      const record = await loadRecord(tx, name);
      const content = await change(tx, record);
      const revision = record.revision + 1;
      putRecord(tx, name, { content, lengthBytes: lengthBytes ?? record.lengthBytes, revision });
    });
  }

  // ---- readers

  /** Of the whole, or of a range: planned at once if that is possible, and `always` by a hold. */
  async open(
    name: string,
    { range, always = false }: { range?: ByteRange; always?: boolean } = {},
  ): Promise<{ reader: PageReader; record: PageRecord; hold: PageHold | null }> {
    const short = always ? null : await this.#openShort(name, range);
    if (short !== null) return { ...short, hold: null };
    const { loaded, hold } = await this.holds.take((tx) => loadRecord(tx, name));
    if (hold === null) throw new Error('there is always a map to hold');
    return { record: loaded, hold, reader: this.readHeld(hold, range ?? wholeOf(loaded)) };
  }

  readHeld(hold: PageHold, range: ByteRange): PageReader {
    const inSnapshot = <T>(look: (snapshot: Snapshot) => Promise<T>): Promise<T> => this.#inSnapshot(look);
    return readHeldPages({ inSnapshot, hold, range, readPiece: this.#readPiece, settings: this.settings });
  }

  async #openShort(name: string, range?: ByteRange): Promise<{ reader: PageReader; record: PageRecord } | null> {
    return this.#inSnapshot(async (snapshot) => {
      const record = await recordIn(snapshot, name);
      const reader = await readPages({
        snapshot,
        content: record.content,
        range: range ?? wholeOf(record),
        pin: (id) => this.#pin(id),
        readPiece: this.#readPiece,
        settings: this.settings,
      });
      return reader === null ? null : { reader, record };
    });
  }

  async read(name: string, range?: ByteRange): Promise<Buffer> {
    const { reader } = await this.open(name, range === undefined ? {} : { range });
    const pieces: Uint8Array[] = [];
    for await (const piece of reader) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  readonly #readPiece: ReadPiece = (piece, row) => this.#bytesOf(piece, row);

  async *#bytesOf(piece: LayoutPiece, row: Uint8Array): AsyncGenerator<Uint8Array> {
    const { extent, offsetBytes, lengthBytes } = piece;
    if (extent.inline) yield decodeInline(row).subarray(offsetBytes, offsetBytes + lengthBytes);
    else yield* this.content.read(decodeJson<PlacedRecord>(row).placement, piece);
  }

  async #inSnapshot<T>(look: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.engine.snapshot();
    const looking = look(snapshot).finally(() => snapshot.close());
    this.#lookingUp.add(looking);
    return looking.finally(() => this.#lookingUp.delete(looking));
  }

  #pin(id: Id): () => void {
    const pins = this.#pins;
    pins.set(id, (pins.get(id) ?? 0) + 1);
    return () => {
      const count = pins.get(id) ?? 0;
      if (count <= 1) pins.delete(id);
      else pins.set(id, count - 1);
    };
  }

  // ---- sweeping

  /** Whether all garbage there was is swept. `engine` may fail. */
  async sweepOnce(engine: Engine = this.engine): Promise<boolean> {
    const rows = await this.#scan(tableRange('G'));
    await Promise.allSettled(this.#lookingUp);
    let isDone = true;
    for (const entry of rows) isDone = (await this.#sweepRow(engine, entry)) && isDone;
    return isDone;
  }

  /** Passes follow each other until nothing is left, or nothing that is not held. */
  async sweep(): Promise<void> {
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const isDone = await this.sweepOnce();
      if (isDone && (await this.#scan(tableRange('G'))).length === 0) return;
    }
  }

  async #sweepRow(engine: Engine, entry: Entry): Promise<boolean> {
    const garbage = decodeJson<GarbageRecord>(entry.value);
    const sweep = { engine, extents: this.extents, isClosed: () => false, settings: this.settings };
    if (garbage.kind === 'epoch') return sweepEpoch(sweep, entry, garbage);
    if (garbage.kind === 'cut') return sweepCut(sweep, entry, garbage);
    if (garbage.kind !== 'extent') throw new Error(`maps leave no ${garbage.kind}`);
    if (this.#pins.has(garbage.extent.id)) return false;
    await this.#free(garbage.extent);
    await transact(engine, async (tx) => {
      tx.delete(extentKey(garbage.extent));
      tx.delete(entry.key);
    });
    return true;
  }

  async #free(extent: ExtentRef): Promise<void> {
    const snapshot = this.engine.snapshot();
    const [entry] = await snapshot.get([extentKey(extent)]).finally(() => snapshot.close());
    if (!entry) return;
    const { placement, lengthBytes } = decodeJson<PlacedRecord>(entry.value);
    await this.content.free(placement, lengthBytes);
  }

  // ---- what there is

  /** Without the volatile ones. */
  async entries(): Promise<Entry[]> {
    return (await this.#scan(EVERYTHING)).filter(({ key }) => !isVolatile(key));
  }

  async holdCount(): Promise<number> {
    return (await this.#scan(EVERYTHING)).filter(({ key }) => isVolatile(key)).length;
  }

  async records(): Promise<Map<string, PageRecord>> {
    const entries = await this.#scan(tableRange('Z'));
    return new Map(entries.map(({ key, value }) => [Buffer.from(key).toString('latin1', 1), decodeJson(value)]));
  }

  async #scan(range: { from: Key; to: Key }): Promise<Entry[]> {
    const snapshot = this.engine.snapshot();
    return snapshot.range(range, { limit: 1_000_000 }).finally(() => snapshot.close());
  }
}

const wholeOf = ({ lengthBytes }: PageRecord): ByteRange => ({ offsetBytes: 0, lengthBytes });

async function loadRecord(tx: Transaction, name: string): Promise<PageRecord> {
  const value = await tx.get(recordKey(name));
  if (value === null) throw new Error(`there is no ${name}`);
  return decodeJson(value);
}

async function recordIn(snapshot: Snapshot, name: string): Promise<PageRecord> {
  const [entry] = await snapshot.get([recordKey(name)]);
  if (!entry) throw new Error(`there is no ${name}`);
  return decodeJson(entry.value);
}

const putRecord = (tx: Transaction, name: string, record: PageRecord): void =>
  tx.put(recordKey(name), encodeJson(record));
