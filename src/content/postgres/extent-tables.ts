/**
 * The statements over the two tables. An extent counts once its row says that it is whole; a row comes before its
 * pieces and goes before them, so pieces without a row are always leftovers. Every statement may run twice: all are run
 * again after a lost connection or a lost race, for a while, and then fail with ContentUnavailable.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { byteaArray } from '../../postgres/binary.ts';
import {
  type Database,
  describeFailure,
  isContended,
  isLost,
  type Parameter,
  type Row,
  type Statement,
} from '../../postgres/database.ts';
import { type ByteRange, ContentUnavailable, type Placement } from '../content.ts';
import type { Place } from './placement.ts';

const RETRY_LIMIT_MS = 3_000;
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 500;
/** Removed by one statement, so that none runs long: 16 MiB. */
const REMOVED_PIECES_MAX = 64;

/** A moment by the database's clock, in its own words. */
export type Moment = string;

export interface PieceRange extends ByteRange {
  readonly piece: number;
}

export class ExtentTables {
  readonly #database: Database;
  #isPatient = true;
  #closed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** An extent of one piece, at once. */
  async insertWhole({ placement, lengthBytes }: Place, bytes: Buffer): Promise<void> {
    await this.#run(
      'content_insert_whole',
      `WITH extent AS (
         INSERT INTO larimar_extents (placement, length_bytes, is_whole, touched_at)
         VALUES ($1, $2, true, now()) ON CONFLICT DO NOTHING)
       INSERT INTO larimar_extent_pieces (placement, piece, bytes) VALUES ($1, 0, $3) ON CONFLICT DO NOTHING`,
      [key(placement), lengthBytes, bytes],
    );
  }

  /** The row of an extent whose pieces are to come. */
  async begin({ placement, lengthBytes }: Place): Promise<void> {
    await this.#run(
      'content_begin',
      `INSERT INTO larimar_extents (placement, length_bytes, is_whole, touched_at)
       VALUES ($1, $2, false, now()) ON CONFLICT DO NOTHING`,
      [key(placement), lengthBytes],
    );
  }

  async insertPiece({ placement }: Place, piece: number, bytes: Buffer): Promise<void> {
    await this.#run(
      'content_insert_piece',
      'INSERT INTO larimar_extent_pieces (placement, piece, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [key(placement), piece, bytes],
    );
  }

  /** So that nobody takes for a stray what is still being written. */
  async touch({ placement }: Place): Promise<void> {
    await this.#run('content_touch', 'UPDATE larimar_extents SET touched_at = now() WHERE placement = $1', [
      key(placement),
    ]);
  }

  /** Adds the last piece and makes the extent count. False when its row is gone: somebody took it for a stray. */
  async finish({ placement, pieceCount }: Place, lastPiece: Buffer): Promise<boolean> {
    const rows = await this.#run(
      'content_finish',
      `WITH whole AS (
         UPDATE larimar_extents SET is_whole = true, touched_at = now() WHERE placement = $1 RETURNING placement),
       piece AS (
         INSERT INTO larimar_extent_pieces (placement, piece, bytes)
         SELECT placement, $2::bigint, $3::bytea FROM whole ON CONFLICT DO NOTHING)
       SELECT placement FROM whole`,
      [key(placement), pieceCount - 1, lastPiece],
    );
    return rows.length > 0;
  }

  /** Part of a piece of an extent that counts; null when there is none. */
  async readFirst({ placement }: Place, range: PieceRange): Promise<Buffer | null> {
    const [row] = await this.#run(
      'content_read_first',
      `SELECT substring(p.bytes from $3::int for $4::int)
       FROM larimar_extents e JOIN larimar_extent_pieces p ON p.placement = e.placement
       WHERE e.placement = $1 AND e.is_whole AND p.piece = $2`,
      [key(placement), range.piece, range.offsetBytes + 1, range.lengthBytes],
    );
    return (row?.[0] as Buffer | undefined) ?? null;
  }

  /** Part of a piece, whether or not its extent counts (any more). */
  async readNext({ placement }: Place, range: PieceRange): Promise<Buffer | null> {
    const [row] = await this.#run(
      'content_read_next',
      `SELECT substring(bytes from $3::int for $4::int) FROM larimar_extent_pieces
       WHERE placement = $1 AND piece = $2`,
      [key(placement), range.piece, range.offsetBytes + 1, range.lengthBytes],
    );
    return (row?.[0] as Buffer | undefined) ?? null;
  }

  /** What there is of an extent that counts; null when there is none. */
  async measure({ placement }: Place): Promise<{ pieceCount: number; lastPiece: number; bytes: number } | null> {
    const [row] = await this.#run(
      'content_measure',
      `SELECT count(p.piece), coalesce(max(p.piece), -1), coalesce(sum(octet_length(p.bytes)), 0)
       FROM larimar_extents e LEFT JOIN larimar_extent_pieces p ON p.placement = e.placement
       WHERE e.placement = $1 AND e.is_whole GROUP BY e.placement`,
      [key(placement)],
    );
    if (row === undefined) return null;
    return { pieceCount: Number(row[0]), lastPiece: Number(row[1]), bytes: Number(row[2]) };
  }

  /** From now on the extent does not count; its pieces stay for those who read them. */
  async withdraw({ placement }: Place): Promise<void> {
    await this.#run(
      'content_withdraw',
      'UPDATE larimar_extents SET is_whole = false, touched_at = now() WHERE placement = $1',
      [key(placement)],
    );
  }

  async remove(place: Place): Promise<void> {
    await this.#run(
      'content_remove',
      `WITH extent AS (DELETE FROM larimar_extents WHERE placement = $1)
       DELETE FROM larimar_extent_pieces WHERE placement = $1 AND piece < $2`,
      [key(place.placement), REMOVED_PIECES_MAX],
    );
    await this.#removeTail(place);
  }

  /** Those that were removed: not the ones touched since, or gone. */
  async removeRows(places: readonly Place[], notTouchedSince: Moment): Promise<Set<Placement>> {
    const rows = await this.#run(
      'content_remove_rows',
      `DELETE FROM larimar_extents WHERE placement = ANY($1::bytea[]) AND touched_at <= $2::timestamptz
       RETURNING placement`,
      [keys(places), notTouchedSince],
    );
    return new Set(rows.map(placementOf));
  }

  async removePieces(places: readonly Place[]): Promise<void> {
    for (const together of inBatches(places)) {
      await this.#run(
        'content_remove_pieces',
        'DELETE FROM larimar_extent_pieces WHERE placement = ANY($1::bytea[]) AND piece < $2',
        [keys(together), REMOVED_PIECES_MAX],
      );
    }
    for (const place of places) await this.#removeTail(place);
  }

  async momentBefore(ms: number): Promise<Moment> {
    const [row] = await this.#run('content_moment', "SELECT (now() - $1::bigint * interval '1 millisecond')::text", [
      ms,
    ]);
    return row?.[0] as Moment;
  }

  /** In order, from the first that sorts after `after`. */
  async listRows(after: Placement, notTouchedSince: Moment, limit: number): Promise<Placement[]> {
    const rows = await this.#run(
      'content_list_rows',
      `SELECT placement FROM larimar_extents WHERE placement > $1 AND touched_at <= $2::timestamptz
       ORDER BY placement LIMIT $3`,
      [key(after), notTouchedSince, limit],
    );
    return rows.map(placementOf);
  }

  /** Pieces that have no row, by their placements: in order, after `after` and up to `to`. */
  async listRowless(after: Placement, to: Placement, limit: number): Promise<Placement[]> {
    const rows = await this.#run(
      'content_list_rowless',
      `SELECT p.placement FROM larimar_extent_pieces p WHERE p.placement > $1 AND p.placement <= $2
       AND NOT EXISTS (SELECT 1 FROM larimar_extents e WHERE e.placement = p.placement)
       GROUP BY p.placement ORDER BY p.placement LIMIT $3`,
      [key(after), key(to), limit],
    );
    return rows.map(placementOf);
  }

  /** How many bytes there are in pieces. */
  async weigh(places: readonly Place[]): Promise<Map<Placement, number>> {
    const rows = await this.#run(
      'content_weigh',
      `SELECT placement, sum(octet_length(bytes)) FROM larimar_extent_pieces WHERE placement = ANY($1::bytea[])
       GROUP BY placement`,
      [keys(places)],
    );
    return new Map(rows.map((row) => [placementOf(row), Number(row[1])]));
  }

  /** From now on a statement that fails is not run again: whoever waits wants to leave. */
  hurry(): void {
    this.#isPatient = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#database.close();
  }

  /** Beyond the first REMOVED_PIECES_MAX. */
  async #removeTail({ placement, pieceCount }: Place): Promise<void> {
    for (let from = REMOVED_PIECES_MAX; from < pieceCount; from += REMOVED_PIECES_MAX) {
      await this.#run(
        'content_remove_tail',
        'DELETE FROM larimar_extent_pieces WHERE placement = $1 AND piece >= $2 AND piece < $3',
        [key(placement), from, from + REMOVED_PIECES_MAX],
      );
    }
  }

  async #run(name: string, text: string, values: readonly Parameter[]): Promise<readonly Row[]> {
    const statement: Statement = { name, text, values };
    const deadlineMs = performance.now() + RETRY_LIMIT_MS;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      if (this.#closed) throw new Error('the content store is closed');
      try {
        return await this.#database.query(statement);
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (!this.#isPatient || performance.now() > deadlineMs) {
          throw new ContentUnavailable(`the content database failed: ${describeFailure(error)}`, { cause: error });
        }
      }
      await delay(pauseMs * (0.5 + Math.random() / 2));
    }
  }
}

const isPassing = (error: unknown): boolean => isLost(error) || isContended(error);

/** Places that have no more than REMOVED_PIECES_MAX pieces together, or are alone. */
function* inBatches(places: readonly Place[]): Generator<Place[]> {
  let batch: Place[] = [];
  let pieceCount = 0;
  for (const place of places) {
    if (batch.length > 0 && pieceCount + place.pieceCount > REMOVED_PIECES_MAX) {
      yield batch;
      batch = [];
      pieceCount = 0;
    }
    batch.push(place);
    pieceCount += place.pieceCount;
  }
  if (batch.length > 0) yield batch;
}

const key = (placement: Placement): Buffer => Buffer.from(placement, 'latin1');
const keys = (places: readonly Place[]): Buffer => byteaArray(places.map(({ placement }) => key(placement)));
const placementOf = (row: Row): Placement => (row[0] as Buffer).toString('latin1');
