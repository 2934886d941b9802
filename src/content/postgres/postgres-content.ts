/**
 * Content in the database that keeps the records, for those who run no object store: an extent is a row in
 * larimar_extents and its bytes in pieces (extent-tables.ts). The tables must be there (src/postgres/schema.ts). Many
 * nodes may use one database at once.
 */
import type { Id } from '../../base/ids.ts';
import { Database } from '../../postgres/database.ts';
import {
  type ByteRange,
  type ContentStore,
  ExtentMissing,
  type PlacedExtent,
  type Placement,
  type RecoverOptions,
  type RecoveryReport,
} from '../content.ts';
import { refuseExtent, refuseRange } from '../malformed.ts';
import { ExtentTables, type Moment } from './extent-tables.ts';
import { newPlace, type Place, parsePlacement } from './placement.ts';
import { readExtent } from './read-extent.ts';
import { ReaderCounts } from './reader-counts.ts';
import { findStrays, type Stray } from './strays.ts';
import { writeExtent } from './write-extent.ts';

const TOUCH_INTERVAL_MS = 10_000;

export interface PostgresContentOptions {
  readonly url: string;
  /** How often an extent that is being written says so; far shorter than recovery spares. */
  readonly touchIntervalMs?: number;
}

export async function openPostgresContent(options: PostgresContentOptions): Promise<ContentStore> {
  const tables = new ExtentTables(new Database({ url: options.url }));
  return new PostgresContent(tables, options.touchIntervalMs ?? TOUCH_INTERVAL_MS);
}

class PostgresContent implements ContentStore {
  readonly #tables: ExtentTables;
  readonly #touchIntervalMs: number;
  readonly #readers = new ReaderCounts();
  readonly #writing = new Map<Placement, Promise<void>>();
  readonly #removing = new Set<Promise<void>>();
  #closed = false;

  constructor(tables: ExtentTables, touchIntervalMs: number) {
    this.#tables = tables;
    this.#touchIntervalMs = touchIntervalMs;
  }

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    refuseExtent(id, lengthBytes);
    const place = newPlace(id, lengthBytes);
    this.#refuseWhenClosed();
    const writing = this.#writeOrRemove(place, source);
    this.#writing.set(place.placement, writing);
    try {
      await writing;
      return place.placement;
    } finally {
      this.#writing.delete(place.placement);
    }
  }

  async *read(placement: Placement, range: ByteRange): AsyncIterable<Uint8Array> {
    this.#refuseWhenClosed();
    const place = parsePlacement(placement);
    if (place === null) throw new ExtentMissing(`not a placement of this store: ${placement}`);
    refuseRange(range, place.lengthBytes);
    this.#readers.enter(placement);
    try {
      yield* readExtent({ tables: this.#tables, place, range });
    } finally {
      if (this.#readers.leave(placement)) this.#removeInBackground(place);
    }
  }

  async free(placement: Placement): Promise<void> {
    const place = parsePlacement(placement);
    if (place === null) return;
    if (this.#readers.freeLater(placement)) await this.#tables.withdraw(place);
    else await this.#tables.remove(place);
  }

  async verify({ id, placement, lengthBytes }: PlacedExtent): Promise<'ok' | 'missing' | 'damaged'> {
    const place = parsePlacement(placement);
    if (place === null) return 'missing';
    const found = await this.#tables.measure(place);
    if (found === null) return 'missing';
    const { pieceCount } = place;
    const isWhole = found.pieceCount === pieceCount && found.lastPiece === pieceCount - 1;
    return isWhole && found.bytes === lengthBytes && place.lengthBytes === lengthBytes && place.id === id
      ? 'ok'
      : 'damaged';
  }

  async recover(live: AsyncIterable<PlacedExtent>, options: RecoverOptions = {}): Promise<RecoveryReport> {
    const { spareYoungerThanMs = 0 } = options;
    const notTouchedSince = await this.#tables.momentBefore(spareYoungerThanMs);
    const strays = this.#straysOf(live, notTouchedSince, (placement) => {
      // Records of another store: everything here would look like a stray.
      throw new Error(`a record refers to content that this store never wrote: ${placement}`);
    });
    return tally(strays, async (page) => {
      const rows = page.filter(({ hasRow }) => hasRow).map(({ place }) => place);
      const gone = await this.#tables.removeRows(rows, notTouchedSince);
      const removed = page.filter(({ place, hasRow }) => !hasRow || gone.has(place.placement));
      await this.#tables.removePieces(removed.map(({ place }) => place));
      return removed;
    });
  }

  async worthMoving(): Promise<readonly PlacedExtent[]> {
    return [];
  }

  async strays(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    const notTouchedSince = await this.#tables.momentBefore(0);
    return tally(
      this.#straysOf(live, notTouchedSince, () => {}),
      async (page) => page,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tables.hurry();
    await Promise.allSettled(this.#writing.values());
    await Promise.all(this.#removing);
    await this.#tables.close();
  }

  async #writeOrRemove(place: Place, source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await writeExtent({ tables: this.#tables, place, source, touchIntervalMs: this.#touchIntervalMs });
    } catch (error) {
      this.#removeInBackground(place);
      throw error;
    }
  }

  /** What does not count, or no more: nobody waits for it, and what stays is found by recovery. */
  #removeInBackground(place: Place): void {
    const removing = this.#tables
      .remove(place)
      .catch(() => {})
      .finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }

  #straysOf(
    live: AsyncIterable<PlacedExtent>,
    notTouchedSince: Moment,
    onForeign: (placement: Placement) => void,
  ): AsyncGenerator<Stray[]> {
    const isInUse = (placement: Placement): boolean => this.#writing.has(placement) || this.#readers.has(placement);
    return findStrays({ tables: this.#tables, live, notTouchedSince, isInUse, onForeign });
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new Error('the content store is closed');
  }
}

async function tally(
  pages: AsyncIterable<Stray[]>,
  counted: (page: Stray[]) => Promise<Stray[]>,
): Promise<RecoveryReport> {
  let extentCount = 0;
  let bytes = 0;
  for await (const page of pages) {
    for (const stray of await counted(page)) {
      extentCount++;
      bytes += stray.bytes;
    }
  }
  return { extentCount, bytes };
}
