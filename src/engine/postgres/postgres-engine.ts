/**
 * The engine on PostgreSQL, for any number of nodes. Reads of one turn share a transaction (reading.ts), commits go out
 * in groups (commit-lane.ts); a node lives as long as it renews its session, and any node clears up after the dead.
 */
import type { Clock } from '../../base/clock.ts';
import { Database } from '../../postgres/database.ts';
import { prepareSchema } from '../../postgres/schema.ts';
import type { Batch, Claim, Engine, KeyRange, Outcome, Snapshot, Tip } from '../engine.ts';
import { refuseMalformed } from '../malformed.ts';
import { CommitLane } from './commit-lane.ts';
import { DatabaseClock } from './database-clock.ts';
import { PostgresClaims } from './postgres-claims.ts';
import type { Reading } from './reading.ts';
import { ReadingPool } from './reading-pool.ts';
import { Recent } from './recent.ts';
import { countOthers, DATABASE_TIME, REAPING } from './session.ts';
import { View, type ViewSource } from './view.ts';

/** How often a node shows that it lives, looks for the dead and asks for the time. */
const BEAT_MS = 3_000;
/** Beats and claims; groups and readings have connections of their own. */
const STATEMENT_CONNECTIONS_MAX = 2;

export async function openPostgresEngine({ url }: { url: string }): Promise<PostgresEngine> {
  const database = new Database({ url, connectionCountMax: STATEMENT_CONNECTIONS_MAX });
  let lane: CommitLane | null = null;
  try {
    const { storeId } = await prepareSchema(database);
    const recent = new Recent();
    lane = await CommitLane.open(database, recent);
    const engine = new PostgresEngine({ database, lane, recent, storeId });
    await engine.beat();
    return engine;
  } catch (error) {
    await lane?.close();
    await database.close();
    throw error;
  }
}

export class PostgresEngine implements Engine {
  /** The database's time: see database-clock.ts. */
  readonly clock: Clock;
  /** The name of this store since its tables were made. */
  readonly storeId: string;
  readonly #database: Database;
  readonly #lane: CommitLane;
  readonly #readings: ReadingPool;
  readonly #claims: PostgresClaims;
  /** What snapshots and tips look at. */
  readonly #durable: ViewSource;
  readonly #accepted: ViewSource;
  readonly #clock = new DatabaseClock();
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(parts: { database: Database; lane: CommitLane; recent: Recent; storeId: string }) {
    const { database, lane, recent, storeId } = parts;
    this.#database = database;
    this.#lane = lane;
    this.storeId = storeId;
    this.clock = this.#clock;
    this.#readings = new ReadingPool(database, { groupsNow: () => lane.groupsNow(), recent });
    this.#claims = new PostgresClaims(database, lane);
    const join = (): Reading => this.#readings.join();
    this.#durable = { join, accepted: () => null, recent };
    this.#accepted = { join, accepted: () => lane.changes, recent };
    this.#timer = setInterval(() => {
      // A beat that fails is made up for by the next; the lane brings its connection back by itself.
      this.#beating = this.#beating.then(() => this.beat()).catch(() => {});
    }, BEAT_MS).unref();
  }

  /** This node's number among those that live: 0 to 255. */
  slot(): number {
    return this.#lane.session.slot;
  }

  /** How many other nodes live. */
  async otherNodes(): Promise<number> {
    const [row] = await this.#database.query(countOthers(this.#lane.session));
    return Number(row?.[0]);
  }

  snapshot(): Snapshot {
    return new View(this.#durable);
  }

  tip(): Tip {
    return new View(this.#accepted);
  }

  async commit(batch: Batch): Promise<Outcome> {
    refuseMalformed(batch);
    return this.#lane.commit(batch);
  }

  async claim(range: KeyRange, limit: number): Promise<Claim> {
    return this.#claims.take(range, limit);
  }

  /** Shows that this node lives, clears up after the dead, asks for the time. */
  async beat(): Promise<void> {
    this.#lane.renew(BEAT_MS / 2);
    await this.#clock.ask(async () => {
      const [row] = await this.#database.query(DATABASE_TIME);
      return Number(row?.[0]);
    });
    for (const statement of REAPING) await this.#database.query(statement);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#claims.idle();
    await this.#lane.close();
    await this.#readings.close();
    await this.#database.close();
  }
}
