/**
 * The content port: immutable extents of bytes, apart from the records that name them. A store knows extents by the id
 * it was given and says where it put them (a placement, the store's own words). What every store promises is written
 * here and tested in contract.ts.
 */
import type { Id } from '../base/ids.ts';

/** Where a store put an extent. Opaque to everyone else; kept in a record. */
export type Placement = string;

export interface PlacedExtent {
  readonly id: Id;
  readonly placement: Placement;
  readonly lengthBytes: number;
}

/** A part of an extent. */
export interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

export interface ContentStore {
  /**
   * Streams exactly `lengthBytes` (> 0) from `source` into a new extent and resolves once they are durable under their
   * final name. A source that throws, ends early or goes on too long rejects the write (with the source's own error,
   * or SourceLengthMismatch; ContentUnavailable where the store failed) and leaves no bytes that count. Reads the source no faster than it can write.
   */
  write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement>;

  /**
   * The bytes of one part of an extent, in pieces, as fast as they are taken. Rejects with ExtentMissing when the
   * placement is not there (any more): whoever may have raced with a move looks the placement up again.
   */
  read(placement: Placement, range: ByteRange): AsyncIterable<Uint8Array>;

  /** Gives the space back. The caller has made sure that nobody reads it. Freeing what is gone does nothing. */
  free(placement: Placement, lengthBytes: number): Promise<void>;

  /** Whether the whole extent is there, with its length, under its id. */
  verify(extent: PlacedExtent): Promise<'ok' | 'missing' | 'damaged'>;

  /**
   * Gives back what a crash left: whatever the store holds and `live`, every extent that a record names, in the order
   * of ids, does not. A store that is this process's alone is recovered once after opening, before any write. One that
   * other nodes write to meanwhile is recovered at any time, and spares what is younger than `spareYoungerThanMs` by
   * the store's own clock: it may be named soon. `live` is read only after the store has been looked at.
   */
  recover(live: AsyncIterable<PlacedExtent>, options?: RecoverOptions): Promise<RecoveryReport>;

  /**
   * Extents whose space can only be given back by moving them (the survivors of a segment that is mostly dead).
   * The caller writes them anew under the same id, records the new placement, and frees the old one.
   */
  worthMoving(): Promise<readonly PlacedExtent[]>;

  /** For a report: what is on disk and not named by `live`, without changing anything. */
  strays(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport>;

  close(): Promise<void>;
}

export interface RecoverOptions {
  /** 0, when absent. */
  readonly spareYoungerThanMs?: number;
}

export interface RecoveryReport {
  readonly extentCount: number;
  readonly bytes: number;
}

/** The store below failed (disk full, a broken disk). Nothing was written that counts. */
export class ContentUnavailable extends Error {
  override readonly name = 'ContentUnavailable';
}

export class SourceLengthMismatch extends Error {
  override readonly name = 'SourceLengthMismatch';
}

export class ExtentMissing extends Error {
  override readonly name = 'ExtentMissing';
}
