/**
 * Who is working on which records, across all nodes: rows of a table beside the records, so that a claim hinders no
 * commit. This node's claims follow each other in the order they are asked for. Volatile records cannot be claimed.
 */
import { compareBytes } from '../../base/bytes.ts';
import { type Database, describeFailure } from '../../postgres/database.ts';
import { type Claim, EngineUnavailable, type Entry, type KeyRange } from '../engine.ts';
import type { CommitLane } from './commit-lane.ts';
import { stretchesOf } from './keys.ts';
import { entryOf } from './reading.ts';
import { releaseClaim, takeClaim } from './statements.ts';

export class PostgresClaims {
  readonly #database: Database;
  readonly #lane: CommitLane;
  #count = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database, lane: CommitLane) {
    this.#database = database;
    this.#lane = lane;
  }

  async take(range: KeyRange, limit: number): Promise<Claim> {
    const owner = { session: this.#lane.session.id, claim: ++this.#count };
    const accepted = this.#lane.idle();
    const entries = await this.#inTurn(async () => {
      await accepted;
      return this.#takeUpTo(limit, range, owner);
    });
    let held = entries.length > 0;
    return {
      entries,
      release: () => {
        if (!held) return;
        held = false;
        // A release that fails is made up for when this session ends.
        this.#inTurn(() => this.#database.query(releaseClaim(owner))).catch(() => {});
      },
    };
  }

  /** Waits for takes and releases under way. */
  async idle(): Promise<void> {
    await this.#last.catch(() => {});
  }

  async #takeUpTo(limit: number, range: KeyRange, owner: { session: number; claim: number }): Promise<Entry[]> {
    const taken: Entry[] = [];
    for (const stretch of stretchesOf(range)) {
      if (stretch.table !== 'larimar_records') continue;
      for (let isMore = true; isMore && taken.length < limit; ) {
        const rows = await this.#database.query(takeClaim(stretch, limit - taken.length, owner));
        taken.push(...rows.filter(([, , , , isTaken]) => isTaken === true).map(entryOf));
        // Others were quicker with some of these: there may be more behind them.
        isMore = rows.some(([, , , , isTaken]) => isTaken !== true);
      }
    }
    return taken.sort((a, b) => compareBytes(a.key, b.key));
  }

  async #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const result = before.catch(() => {}).then(run);
    this.#last = result;
    try {
      return await result;
    } catch (error) {
      throw new EngineUnavailable(describeFailure(error), { cause: error });
    }
  }
}
