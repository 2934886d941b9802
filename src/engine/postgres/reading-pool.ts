/** The connections that readings go over, and the reading that views may still join. */
import type { Connection, Database } from '../../postgres/database.ts';
import { EngineUnavailable } from '../engine.ts';
import { Reading, type ReadingSource } from './reading.ts';
import type { Recent } from './recent.ts';
import { tune } from './statements.ts';

/** Readings under way at once; while all are busy, views gather in the next one. */
export const READING_COUNT_MAX = 6;
const ANSWER_LIMIT_MS = 15_000;

export class ReadingPool implements ReadingSource {
  readonly #database: Database;
  readonly groupsNow: ReadingSource['groupsNow'];
  readonly recent: Recent;
  #joinable: Reading | null = null;
  readonly #idle: Connection[] = [];
  #count = 0;
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(database: Database, source: Pick<ReadingSource, 'groupsNow' | 'recent'>) {
    this.#database = database;
    this.groupsNow = source.groupsNow;
    this.recent = source.recent;
  }

  /** The reading for a view that is first read now; the view leaves it when it is closed. */
  join(): Reading {
    if (this.#closed) throw new EngineUnavailable('the engine is closed');
    if (this.#joinable?.isJoinable !== true) this.#joinable = new Reading(this);
    this.#joinable.join();
    return this.#joinable;
  }

  async take(): Promise<Connection> {
    for (;;) {
      if (this.#closed) throw new EngineUnavailable('the engine is closed');
      const idle = this.#idle.pop();
      if (idle !== undefined && !idle.isDead) return idle;
      if (idle !== undefined) this.#count--;
      else if (this.#count < READING_COUNT_MAX) return await this.#open();
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  giveBack(connection: Connection): void {
    if (connection.isDead || this.#closed) {
      this.#count--;
      if (!connection.isDead) void connection.close();
    } else {
      this.#idle.push(connection);
    }
    this.#waiting.shift()?.();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
  }

  async #open(): Promise<Connection> {
    this.#count++;
    try {
      const connection = await this.#database.connect(ANSWER_LIMIT_MS);
      await tune(connection);
      return connection;
    } catch (error) {
      this.#count--;
      this.#waiting.shift()?.();
      throw error;
    }
  }
}
