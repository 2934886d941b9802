/**
 * The engine port: an ordered store of versioned records. Keys and values are bytes; keys sort bytewise. Bytes that
 * were handed over, to an engine or by one, are not changed afterwards by anybody.
 * Adapters know keys and nothing of Azure. What every adapter promises is written here and tested in contract.ts.
 */
import { successor } from '../base/bytes.ts';

export type Key = Uint8Array;

/** Changes with every write of a key and is never reused, not even after a delete. Only equality means anything. */
export type Version = number;

/** The longest key every engine must take: a name of 1,024 three-byte characters and what we put around it. */
export const KEY_BYTES_MAX = 3_900;

/**
 * Keys that start with this byte are volatile: part of the same checks and commits as all others, ordered with them,
 * but free of any wait for a disk (unless their commit also writes durable keys), and living no longer than the process
 * that wrote them last: gone when it closes its engine, and soon after it died. So a volatile record is also a claim.
 */
export const VOLATILE_PREFIX = 0xf0;

export const isVolatile = (key: Key): boolean => key[0] === VOLATILE_PREFIX;

export interface Entry {
  readonly key: Key;
  readonly version: Version;
  /** The caller's to keep: never a view of memory that the engine will change. */
  readonly value: Uint8Array;
}

/** From `from` (included) to `to` (excluded). */
export interface KeyRange {
  readonly from: Key;
  readonly to: Key;
}

export interface RangeOptions {
  /** At most so many entries; a caller that wants more goes on from the successor of the last key. */
  readonly limit: number;
  readonly reverse?: boolean;
  /**
   * Where values may be large: a snapshot then ends with the entry that brings them to so many bytes, though more were
   * asked for. So fewer entries are the end of the range only if they stay below this.
   */
  readonly bytesMax?: number;
}

/** One consistent view. Closed as soon as the records are read: a view held open makes an engine's file grow. */
export interface Snapshot {
  /** The entries of these keys, in the order asked; null where there is none. One round trip. */
  get(keys: readonly Key[]): Promise<(Entry | null)[]>;
  range(range: KeyRange, options: RangeOptions): Promise<Entry[]>;
  /**
   * Shows the entries of a range one after the other and keeps none: for those who look at many and want few. Resolves
   * to the key at which to go on; null: it was all of the range.
   */
  scan(range: KeyRange, options: ScanOptions, visit: Visit): Promise<Key | null>;
  close(): void;
}

/** At most so many entries are shown, and none behind the one that brings their values to so many bytes. */
export type ScanOptions = Required<Omit<RangeOptions, 'reverse'>>;

/**
 * False: the scan ends before this entry. The bytes are the engine's own and last as long as the call, which asks nothing
 * of any engine.
 */
export type Visit = (key: Key, value: Uint8Array) => boolean;

/** Where to go on behind what was read of a range; null: it was all. */
export function nextStart(entries: readonly Entry[], { limit, bytesMax }: ScanOptions): Key | null {
  const last = entries.at(-1);
  if (last === undefined || (entries.length < limit && valueBytesOf(entries) < bytesMax)) return null;
  return successor(last.key);
}

export function valueBytesOf(entries: readonly Entry[]): number {
  let valueBytes = 0;
  for (const { value } of entries) valueBytes += value.length;
  return valueBytes;
}

/**
 * The view a transaction reads: it also sees commits that were accepted and are not yet durable, so that writers of one
 * key follow each other without waiting for a disk in between.
 */
export interface Tip extends Snapshot {
  /**
   * Resolves once everything that was read through this view is durable; rejects with EngineUnavailable if that
   * failed. Whoever answers from a Tip without a commit of its own (a refusal) waits for it first. False: some of what
   * was read may never have come to be, or not all of it at one time; a commit of the checks alone would tell.
   */
  settled(): Promise<boolean>;
}

export type Check =
  /** The key still has this version; null: it is still absent. */
  | { readonly key: Key; readonly version: Version | null }
  /** No key stands between `from` (included) and `to` (excluded). */
  | { readonly empty: KeyRange };

export interface Put {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** A key stands at most once among puts and deletes. */
export interface Batch {
  readonly checks: readonly Check[];
  readonly puts: readonly Put[];
  readonly deletes: readonly Key[];
}

export type Outcome = 'committed' | 'conflict';

/** Records that this claim's holder alone works on, until it lets go. A claim says nothing about plain reads or commits. */
export interface Claim {
  readonly entries: readonly Entry[];
  release(): void;
}

export interface Engine {
  /** Everything committed and durable; never waits for writers, never sees what a crash could undo. */
  snapshot(): Snapshot;

  /** Everything accepted; see Tip. */
  tip(): Tip;

  /**
   * All or nothing: applies the writes if every check still holds against everything accepted before. Resolves
   * once durable (a batch of volatile writes only: at once, but not before what its checks rest on is durable).
   * 'conflict' changed nothing. Rejects with EngineUnavailable when the store failed.
   */
  commit(batch: Batch): Promise<Outcome>;

  /** The first `limit` entries of the range, as of `tip()`, that nobody else is claiming right now. */
  claim(range: KeyRange, limit: number): Promise<Claim>;

  /** Waits for accepted commits, then lets go of everything. */
  close(): Promise<void>;
}

/** The store below failed (disk full, connection lost). Whether a commit under way took effect is not known. */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}
