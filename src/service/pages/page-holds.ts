/**
 * Holds: readers that take longer than one snapshot keep the epoch they read at. A hold is a volatile record, so it goes
 * with its node, and taking one waits for no disk. It is taken in a transaction that reads the record of the map's
 * holder: what is held is what that record sees at the moment. From then on whoever writes goes on at the next epoch
 * (write-pages.ts), and the sweeper takes the held one for one that a record holds.
 */
import type { IdSource } from '../../base/ids.ts';
import type { Engine, Key } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { holdKey } from '../records/page-keys.ts';
import { NO_VALUE } from './page-map.ts';

export interface PageHold {
  /** As it was when the hold was taken, whatever is written meanwhile. */
  readonly content: PagesContent;
  /** A snapshot that shows this key shows everything the held epoch sees. */
  readonly key: Key;
  /** Never rejects. */
  release(): Promise<void>;
}

export class PageHolds {
  readonly #engine: Engine;
  readonly #ids: Pick<IdSource, 'next'>;
  readonly #onError: (error: unknown) => void;
  /** Holds that could not be let go of: tried again with the next. */
  #left: readonly Key[] = [];

  constructor(options: { engine: Engine; ids: Pick<IdSource, 'next'>; onError: (error: unknown) => void }) {
    this.#engine = options.engine;
    this.#ids = options.ids;
    this.#onError = options.onError;
  }

  /**
   * `load` reads the record that holds a map, by its transaction alone, and may refuse; it may run several times. Null
   * content: there is nothing to hold.
   */
  async take<T extends { readonly content: PagesContent | null }>(
    load: (tx: Transaction) => Promise<T>,
  ): Promise<{ loaded: T; hold: PageHold | null }> {
    const holdId = this.#ids.next();
    return transact(this.#engine, async (tx) => {
      const loaded = await load(tx);
      if (loaded.content === null) return { loaded, hold: null };
      const key = holdKey(loaded.content.id, loaded.content.epoch, holdId);
      tx.put(key, NO_VALUE);
      return { loaded, hold: this.#holdOf(key, loaded.content) };
    });
  }

  #holdOf(key: Key, content: PagesContent): PageHold {
    let released: Promise<void> | null = null;
    return {
      content: { ...content, isFrozen: true },
      key,
      release: () => {
        released ??= this.#release(key);
        return released;
      },
    };
  }

  async #release(key: Key): Promise<void> {
    const keys = [...this.#left, key];
    this.#left = [];
    try {
      await transact(this.#engine, async (tx) => {
        for (const each of keys) tx.delete(each);
      });
    } catch (error) {
      this.#left = [...this.#left, ...keys];
      this.#onError(error);
    }
  }
}
