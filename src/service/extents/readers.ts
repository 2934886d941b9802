/**
 * Reading what may be replaced or deleted meanwhile. A reader looks its records up in one snapshot, pins the content they
 * name, lets the snapshot go, and streams for as long as it likes: the sweeper leaves pinned content alone, also what is
 * pinned on other nodes (nodes/census.ts).
 */
import { gather } from '../../base/gather.ts';
import type { Id } from '../../base/ids.ts';
import { type ByteRange, type ContentStore, ExtentMissing } from '../../content/content.ts';
import type { Engine, Snapshot } from '../../engine/engine.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { type ReadPiece, readHeldPages, readPages } from '../pages/read-pages.ts';
import type { BlobContent } from '../records/blob-record.ts';
import { decodeJson, UnreadableRecord } from '../records/codec.ts';
import { decodeInline, type ExtentRef, type PlacedRecord } from '../records/extent-record.ts';
import { extentKey, layoutKey } from '../records/keys.ts';
import { type LayoutPiece, layoutPieces } from '../records/layout.ts';
import { freshSnapshots } from '../records/scan.ts';
import { appendedPieces } from './appended.ts';
import { type CustomerKey, sealBytes, sealStream } from './customer-key.ts';

/** How many extents of a block list are looked up at a time. */
const WINDOW_PIECES = 64;

export class Readers {
  readonly #engine: Engine;
  readonly #content: ContentStore;
  /** Readers that hold a snapshot and may yet pin what it names. */
  readonly #lookingUp = new Set<LookUp>();
  readonly #pins = new Map<Id, number>();

  constructor(options: { engine: Engine; content: ContentStore }) {
    this.#engine = options.engine;
    this.#content = options.content;
  }

  /** One consistent look at the records; `look` may open content and keep it longer than the snapshot. */
  async inSnapshot<T>(look: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#engine.snapshot();
    const lookUp = new LookUp();
    this.#lookingUp.add(lookUp);
    try {
      return await look(snapshot);
    } finally {
      snapshot.close();
      this.#lookingUp.delete(lookUp);
      lookUp.end();
    }
  }

  /**
   * The bytes of one range of a blob: at once when they stand in the engine, as a stream otherwise. `key`: what they are
   * sealed with. Null: a map of pages of which so much is asked for that its epoch must be held (`openHeld`).
   */
  async open(
    snapshot: Snapshot,
    content: BlobContent,
    range: ByteRange,
    key: CustomerKey | null = null,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array> | null> {
    if (content.kind === 'empty' || range.lengthBytes === 0) return new Uint8Array(0);
    switch (content.kind) {
      case 'inline':
      case 'extent':
        return this.#openExtent(
          snapshot,
          { extent: { id: content.id, inline: content.kind === 'inline' }, ...range },
          key,
        );
      case 'layout': {
        const layout = await loadValue(snapshot, layoutKey(content.id));
        const windows = inWindows(layoutPieces(layout, range));
        return new PinnedBytes([this.#pin(content.id)], this.#readPieces(windows, key));
      }
      case 'appended': {
        const pins = content.lists.map(({ id }) => this.#pin(id));
        const windows = appendedPieces(freshSnapshots(this.#engine), content, range);
        return new PinnedBytes(pins, this.#readPieces(windows, key));
      }
      case 'pages': {
        const readPiece: ReadPiece = (piece, row) => this.#readPiece(piece, row, key);
        return readPages({ snapshot, content, range, pin: (id) => this.#pin(id), readPiece });
      }
    }
  }

  /** The same, for as long as it takes, of an epoch that is held; lets go of it in the end. */
  openHeld(hold: PageHold, range: ByteRange, key: CustomerKey | null): AsyncIterable<Uint8Array> {
    const readPiece: ReadPiece = (piece, row) => this.#readPiece(piece, row, key);
    return readHeldPages({ inSnapshot: (look) => this.inSnapshot(look), hold, range, readPiece });
  }

  async #openExtent(
    snapshot: Snapshot,
    piece: LayoutPiece,
    key: CustomerKey | null,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const row = await loadValue(snapshot, extentKey(piece.extent));
    if (piece.extent.inline) return openInline(piece, row, key);
    return new PinnedBytes([this.#pin(piece.extent.id)], this.#readPiece(piece, row, key));
  }

  /** A small part of an extent, gathered; null: nothing names the extent any more. */
  async readExtent(piece: LayoutPiece): Promise<Uint8Array | null> {
    const bytes = await this.inSnapshot(async (snapshot) => {
      const [entry] = await snapshot.get([extentKey(piece.extent)]);
      if (!entry) return null;
      if (piece.extent.inline) return openInline(piece, entry.value, null);
      return new PinnedBytes([this.#pin(piece.extent.id)], this.#readPiece(piece, entry.value, null));
    });
    return bytes === null ? null : gather(bytes);
  }

  isPinned(id: Id): boolean {
    return this.#pins.has(id);
  }

  /** What is being read right now; null when that is more than `countMax`. */
  pinned(countMax: number): readonly Id[] | null {
    return this.#pins.size > countMax ? null : [...this.#pins.keys()];
  }

  /** Resolves once every reader that is looking records up right now has pinned what it will read. */
  async settled(): Promise<void> {
    await Promise.all([...this.#lookingUp].map((lookUp) => lookUp.ended()));
  }

  #pin(id: Id): () => void {
    this.#pins.set(id, (this.#pins.get(id) ?? 0) + 1);
    return () => {
      const count = this.#pins.get(id) as number;
      if (count === 1) this.#pins.delete(id);
      else this.#pins.set(id, count - 1);
    };
  }

  async *#readPieces(
    windows: AsyncIterable<LayoutPiece[]> | Iterable<LayoutPiece[]>,
    key: CustomerKey | null,
  ): AsyncGenerator<Uint8Array> {
    for await (const window of windows) {
      const rows = await this.#lookUp(window.map((piece) => piece.extent));
      for (const [index, piece] of window.entries()) yield* this.#readPiece(piece, rows[index] as Uint8Array, key);
    }
  }

  /** `row`: of the registry. */
  async *#readPiece(piece: LayoutPiece, row: Uint8Array, key: CustomerKey | null): AsyncGenerator<Uint8Array> {
    if (piece.extent.inline) {
      yield openInline(piece, row, key);
      return;
    }
    const bytes = this.#readPlaced(piece, decodeJson(row));
    const at = { extentId: piece.extent.id, offsetBytes: piece.offsetBytes };
    yield* key === null ? bytes : sealStream(key, at, bytes);
  }

  /** The sweeper may have moved the extent since it was looked up; its row then says where to. */
  async *#readPlaced(piece: LayoutPiece, { placement }: PlacedRecord): AsyncGenerator<Uint8Array> {
    let givenBytes = 0;
    try {
      for await (const bytes of this.#content.read(placement, piece)) {
        givenBytes += bytes.length;
        yield bytes;
      }
    } catch (error) {
      if (!(error instanceof ExtentMissing)) throw error;
      const [value] = await this.#lookUp([piece.extent]);
      const now = decodeJson<PlacedRecord>(value as Uint8Array);
      if (now.placement === placement) throw error;
      yield* this.#content.read(now.placement, {
        offsetBytes: piece.offsetBytes + givenBytes,
        lengthBytes: piece.lengthBytes - givenBytes,
      });
    }
  }

  async #lookUp(extents: readonly ExtentRef[]): Promise<Uint8Array[]> {
    const snapshot = this.#engine.snapshot();
    try {
      const entries = await snapshot.get(extents.map(extentKey));
      return entries.map((entry, index) => {
        if (entry === null) throw new UnreadableRecord(`extent ${extents[index]?.id} has no record`);
        return entry.value;
      });
    } finally {
      snapshot.close();
    }
  }
}

/** A stream that lets its pin go when it is read to the end, fails, or is given up, even before its first piece. */
class PinnedBytes implements AsyncIterableIterator<Uint8Array> {
  #unpins: readonly (() => void)[];
  readonly #bytes: AsyncGenerator<Uint8Array>;

  constructor(unpins: readonly (() => void)[], bytes: AsyncGenerator<Uint8Array>) {
    this.#unpins = unpins;
    this.#bytes = bytes;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const result = await this.#bytes.next();
      if (result.done === true) this.#release();
      return result;
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    try {
      await this.#bytes.return(undefined);
    } finally {
      this.#release();
    }
    return { done: true, value: undefined };
  }

  #release(): void {
    for (const unpin of this.#unpins) unpin();
    this.#unpins = [];
  }
}

/** A reader between its snapshot and its pins. Almost nobody ever waits for one, so it costs no promise. */
class LookUp {
  readonly #waiting: (() => void)[] = [];

  ended(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  end(): void {
    for (const resolve of this.#waiting) resolve();
  }
}

async function loadValue(snapshot: Snapshot, key: Uint8Array): Promise<Uint8Array> {
  const [entry] = await snapshot.get([key]);
  if (!entry) throw new UnreadableRecord('a blob refers to content that has no record');
  return entry.value;
}

function* inWindows(pieces: Iterable<LayoutPiece>): Generator<LayoutPiece[]> {
  let window: LayoutPiece[] = [];
  for (const piece of pieces) {
    window.push(piece);
    if (window.length < WINDOW_PIECES) continue;
    yield window;
    window = [];
  }
  if (window.length > 0) yield window;
}

function openInline(piece: LayoutPiece, row: Uint8Array, key: CustomerKey | null): Uint8Array {
  const bytes = slice(decodeInline(row), piece);
  const at = { extentId: piece.extent.id, offsetBytes: piece.offsetBytes };
  return key === null ? bytes : sealBytes(key, at, bytes);
}

const slice = (bytes: Uint8Array, range: ByteRange): Uint8Array =>
  bytes.subarray(range.offsetBytes, range.offsetBytes + range.lengthBytes);
