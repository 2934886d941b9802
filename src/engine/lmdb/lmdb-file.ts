/**
 * The LMDB file: durable records and nothing else. One transaction is written at a time, off the event loop; readers
 * share one read transaction per state of the file. Owns every call of the `lmdb` package and what its errors mean.
 *
 * A record is its version (8 bytes, a double) and then its value. Volatile keys are never stored, so their prefix is
 * free for what the file keeps about itself.
 */
import { getLastVersion, open, type RootDatabase, type RootDatabaseOptionsWithPath, type Transaction } from 'lmdb';
import { makeFolderDurably, syncFolder } from '../../base/durable-folder.ts';
import type { Item } from '../../base/ordered-map.ts';
import {
  EngineUnavailable,
  type Entry,
  KEY_BYTES_MAX,
  type Key,
  type KeyRange,
  type ScanOptions,
  type Version,
  type Visit,
  VOLATILE_PREFIX,
} from '../engine.ts';

/** The package's types leave out that a fast read takes a transaction too. */
type Store = RootDatabase<Buffer, Key> & {
  getBinaryFast(key: Key, options: { transaction: Transaction }): Buffer | undefined;
};

/** Its value is the format's number; its version is the last one that was given to any record. */
const HEADER_KEY = Uint8Array.of(VOLATILE_PREFIX);
/** Never present: removing it changes nothing. */
const ABSENT_KEY = Uint8Array.of(VOLATILE_PREFIX, 0);
const FORMAT = 1;

const PAGE_BYTES = 8192;
/** Address space, not disk; LMDB doubles it when the file outgrows it. */
const MAP_BYTES = 2 ** 30;
/** States of the file that can be in view at once; LMDB's own choice is 126. */
const VIEWS_MAX = 2048;

export interface LmdbFileOptions {
  /** The folder, created if absent. */
  readonly path: string;
  readonly mapSizeBytes?: number;
}

export class LmdbFile {
  readonly #store: Store;
  readonly #values: Values;
  readonly #views = new Set<DurableView>();

  private constructor(store: Store, values: Values) {
    this.#store = store;
    this.#values = values;
  }

  static async open({ path, mapSizeBytes = MAP_BYTES }: LmdbFileOptions): Promise<LmdbFile> {
    const values = new Values();
    const options: RootDatabaseOptionsWithPath & { txnStartThreshold: number } = {
      path,
      // Or else a folder with a dot in its name would be taken for a file.
      noSubdir: false,
      mapSize: mapSizeBytes,
      maxReaders: VIEWS_MAX,
      // With 4 KiB pages, keys end at 1,978 bytes.
      pageSize: PAGE_BYTES,
      keyEncoding: 'binary',
      encoding: 'binary',
      encoder: {
        encode: (value: Buffer) => value,
        decode: (reused: Buffer, size: unknown) => values.read(reused, size),
      },
      useVersions: true,
      // By default readers see a commit before it is durable, and its root may reach the disk ahead of its pages.
      overlappingSync: false,
      eventTurnBatching: false,
      // See write().
      txnStartThreshold: 1,
    };
    try {
      await makeFolderDurably(path);
      const store: Store = open<Buffer, Key>(options);
      store.readerCheck();
      const file = new LmdbFile(store, values);
      await file.#readFormat();
      await syncFolder(path);
      return file;
    } catch (error) {
      throw unavailable(`cannot open the store in ${path}`, error);
    }
  }

  /** The last version that was given to any record, now or before any restart. */
  lastVersion(): Version {
    this.#store.resetReadTxn();
    return this.#store.getEntry(HEADER_KEY)?.version ?? 0;
  }

  /** The file as it is now. Close it: pages that a view can see are not reused. */
  view(): DurableView {
    try {
      this.#store.resetReadTxn();
      const view = new DurableView(this.#store, this.#values, () => this.#views.delete(view));
      this.#views.add(view);
      return view;
    } catch (error) {
      throw unavailable(UNREADABLE, error);
    }
  }

  /** All these changes or none (null: delete), as one transaction. Resolves once it is durable. */
  async write(changes: Iterable<Item<Entry | null>>, lastVersion: Version): Promise<void> {
    const store = this.#store;
    try {
      const written = store.batch(() => {
        for (const { key, value: entry } of changes) {
          if (entry === null) void store.remove(key);
          else void store.put(key, entry.value as Buffer, entry.version);
        }
        void store.put(HEADER_KEY, Buffer.of(FORMAT), lastVersion);
      });
      // A first operation waits for the end of the event loop's turn, in case more follow. A second one starts the
      // writing now: all there is to write has been gathered already.
      const started = store.remove(ABSENT_KEY);
      await Promise.all([written, started]);
    } catch (error) {
      throw unavailable('the store could not be written', await causeOf(error));
    }
  }

  /** After a failed write: whether another can be tried. LMDB refuses all after a failure to write its root. */
  isWritable(): boolean {
    try {
      this.#store.transactionSync(() => undefined);
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    for (const view of this.#views) view.end();
    try {
      await this.#store.close();
    } catch (error) {
      throw unavailable('the store could not be closed', error);
    }
  }

  async #readFormat(): Promise<void> {
    const [format] = this.#store.getBinary(HEADER_KEY) ?? [];
    if (format === undefined) await this.write([], 0);
    else if (format > FORMAT) throw new Error(`its format ${format} is newer than this program: run a later release`);
  }
}

/** One consistent state of the file, shared by any number of holders; it ends when the last one releases it. */
export class DurableView {
  readonly #store: Store;
  readonly #values: Values;
  readonly #onEnd: () => void;
  readonly #options: { readonly transaction: Transaction };
  #holders = 1;
  #ended = false;

  constructor(store: Store, values: Values, onEnd: () => void) {
    this.#store = store;
    this.#values = values;
    this.#onEnd = onEnd;
    this.#options = { transaction: store.useReadTransaction() };
  }

  hold(): this {
    this.#holders++;
    return this;
  }

  release(): void {
    if (--this.#holders === 0) this.end();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.transaction.done();
    this.#onEnd();
  }

  get(key: Key): Entry | null {
    this.#refuseEnded();
    if (!isStorable(key)) return null;
    try {
      const found = this.#store.getEntry(key, this.#options);
      return found === undefined ? null : { key, version: found.version as Version, value: found.value };
    } catch (error) {
      throw unavailable(UNREADABLE, error);
    }
  }

  /** null where there is no such record. Does not copy its value. */
  versionOf(key: Key): Version | null {
    this.#refuseEnded();
    if (!isStorable(key)) return null;
    try {
      return this.#store.getBinaryFast(key, this.#options) === undefined ? null : getLastVersion();
    } catch (error) {
      throw unavailable(UNREADABLE, error);
    }
  }

  /** Reads as far as it is asked to; the view must not end before the iteration does. */
  *entries({ from, to }: KeyRange, reverse: boolean): Generator<Entry, void> {
    this.#refuseEnded();
    const direction = reverse
      ? { start: to, exclusiveStart: true, end: from, inclusiveEnd: true, reverse }
      : { start: from, end: to };
    try {
      for (const { key, version, value } of this.#store.getRange({ ...direction, ...this.#options, versions: true })) {
        yield { key, version: version as Version, value };
      }
    } catch (error) {
      throw unavailable(UNREADABLE, error);
    }
  }

  /** As the port has it, of keys that are not volatile. */
  scan({ from, to }: KeyRange, { limit, bytesMax }: ScanOptions, visit: Visit): Key | null {
    this.#refuseEnded();
    let [seenCount, seenBytes] = [0, 0];
    let isVisiting = false;
    this.#values.arePassing = true;
    try {
      for (const { key, value } of this.#store.getRange({ start: from, end: to, ...this.#options })) {
        if (seenCount === limit || seenBytes >= bytesMax) return key;
        isVisiting = true;
        if (!visit(key, value)) return key;
        isVisiting = false;
        seenCount++;
        seenBytes += value.length;
      }
      return null;
    } catch (error) {
      throw isVisiting ? error : unavailable(UNREADABLE, error);
    } finally {
      this.#values.arePassing = false;
    }
  }

  #refuseEnded(): void {
    if (this.#ended) throw new EngineUnavailable('the engine is closed');
  }
}

/**
 * The package reads into one buffer again and again, of which its reader makes a copy. The package's own copies have memory
 * of their own each, which takes longer to get than all else that a read does; these share a pool, unless they are large.
 */
class Values {
  /** Whoever reads looks at each value only until the next: no copies. */
  arePassing = false;

  read(reused: Buffer, size: unknown): Buffer {
    const lengthBytes = typeof size === 'number' ? size : reused.length;
    // The buffer's length is what was read last; its memory is longer.
    const value = reused.subarray(0, lengthBytes);
    if (this.arePassing) return value;
    const copy = Buffer.allocUnsafe(lengthBytes);
    copy.set(value);
    return copy;
  }
}

const UNREADABLE = 'the store could not be read';

const isStorable = ({ length }: Key): boolean => length >= 1 && length <= KEY_BYTES_MAX;

/** A failed batch says only that it failed; the reason comes by a promise, which would crash the process if unheard. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error && 'commitError' in error)) return error;
  try {
    return await error.commitError;
  } catch (cause) {
    return cause;
  }
}

function unavailable(what: string, cause: unknown): EngineUnavailable {
  if (cause instanceof EngineUnavailable) return cause;
  return new EngineUnavailable(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}
