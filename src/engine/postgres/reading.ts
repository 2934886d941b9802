/**
 * One consistent state of the database, read by all views that were first read in the same turn of the event loop: one
 * transaction, and one statement for all keys that are asked for in a turn, however many requests ask. It begins with the
 * first question, on a connection of the pool, and gives that back when its last view is closed.
 */

import { type Connection, describeFailure, type Row } from '../../postgres/database.ts';
import { EngineUnavailable, type Entry, type Key, type KeyRange, type RangeOptions, valueBytesOf } from '../engine.ts';
import { keyOf, nameOf, type Stretch, stretchesOf, TABLES, type Table, tableOf } from './keys.ts';
import type { Recent } from './recent.ts';
import { BEGIN_READING, COMMIT, type StretchOptions, selectKeys, selectLastGroup, selectRange } from './statements.ts';

export interface ReadingSource {
  /** A connection for this reading alone. */
  take(): Promise<Connection>;
  giveBack(connection: Connection): void;
  /** Where commits are under way: the session whose last group must be asked for. Else: the last group of all. */
  groupsNow(): { readonly session: number } | { readonly lastGroup: number };
  /** Is told what was seen. */
  readonly recent: Recent;
}

interface Asked {
  readonly key: Key;
  readonly answer: Promise<Entry | null>;
  resolve(entry: Entry | null): void;
  reject(error: Error): void;
}

export class Reading {
  readonly #source: ReadingSource;
  #connection: Promise<Connection> | null = null;
  /** The last own group that this state holds; known once the transaction has begun. */
  #lastGroup: Promise<number> | null = null;
  #asked = new Map<string, Asked>();
  #viewCount = 0;
  #isDue = false;
  #hasBegun = false;
  #moment = 0;
  #isOver = false;

  constructor(source: ReadingSource) {
    this.#source = source;
  }

  /** Whether a view may still join, and sees everything that was committed before it did. */
  get isJoinable(): boolean {
    return !this.#hasBegun && !this.#isOver;
  }

  join(): void {
    this.#viewCount++;
  }

  leave(): void {
    this.#viewCount--;
    if (this.#viewCount === 0) this.#end();
  }

  async get(keys: readonly Key[]): Promise<(Entry | null)[]> {
    const answers = keys.map((key) => this.#ask(key).answer);
    return Promise.all(answers);
  }

  async range(range: KeyRange, { limit, reverse = false, bytesMax }: RangeOptions): Promise<Entry[]> {
    const found: Entry[] = [];
    if (limit <= 0) return found;
    const stretches = stretchesOf(range);
    for (const stretch of reverse ? stretches.toReversed() : stretches) {
      const left = { limit: limit - found.length, reverse, bytesMax: bytesMax ?? null };
      found.push(...(await this.#readStretch(stretch, left)));
      if (found.length >= limit || (bytesMax !== undefined && valueBytesOf(found) >= bytesMax)) break;
    }
    return found;
  }

  async lastGroup(): Promise<number> {
    await this.#begun();
    return this.#lastGroup as Promise<number>;
  }

  #ask(key: Key): Asked {
    const name = nameOf(key);
    const asked = this.#asked.get(name) ?? askedFor(key);
    this.#asked.set(name, asked);
    if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        void this.#answer();
      });
    }
    return asked;
  }

  /** Asks for everything that was gathered. */
  async #answer(): Promise<void> {
    // Whoever asks while the connection is awaited is answered with the others.
    const connection = await this.#begun().catch((error: Error) => error);
    const asked = [...this.#asked.values()];
    this.#asked = new Map();
    if (connection instanceof Error) {
      for (const one of asked) one.reject(connection);
      return;
    }
    for (const table of TABLES) {
      const ofTable = asked.filter(({ key }) => tableOf(key) === table);
      if (ofTable.length > 0) void this.#answerFrom(connection, table, ofTable);
    }
  }

  async #answerFrom(connection: Connection, table: Table, asked: readonly Asked[]): Promise<void> {
    try {
      const keys = asked.map(({ key }) => key);
      const found = asked.map((): Entry | null => null);
      for (const [place, version, value] of await connection.query(selectKeys(table, keys))) {
        const index = Number(place) - 1;
        found[index] = { key: keys[index] as Key, version: Number(version), value: value as Buffer };
      }
      for (const [index, one] of asked.entries()) this.#answerOne(one, found[index] as Entry | null);
    } catch (error) {
      const unavailable = this.#broken(error);
      for (const one of asked) one.reject(unavailable);
    }
  }

  #answerOne(asked: Asked, entry: Entry | null): void {
    this.#source.recent.noteRead(asked.key, entry, this.#moment);
    asked.resolve(entry);
  }

  async #readStretch(stretch: Stretch, options: Omit<StretchOptions, 'byTail'>): Promise<Entry[]> {
    const connection = await this.#begun();
    try {
      let rows = await connection.query(selectRange(stretch, { ...options, byTail: false }));
      if (rows.some(([, tail]) => (tail as Buffer).length > 0)) {
        rows = await connection.query(selectRange(stretch, { ...options, byTail: true }));
      }
      const entries = rows.map(entryOf);
      for (const entry of entries) this.#source.recent.noteRead(entry.key, entry, this.#moment);
      return entries;
    } catch (error) {
      throw this.#broken(error);
    }
  }

  /** The connection, once the transaction was begun on it; it need not have been answered. */
  #begun(): Promise<Connection> {
    this.#connection ??= this.#begin();
    return this.#connection;
  }

  async #begin(): Promise<Connection> {
    let connection: Connection;
    try {
      connection = await this.#source.take();
    } catch (error) {
      throw this.#broken(error);
    } finally {
      this.#hasBegun = true;
    }
    this.#moment = this.#source.recent.nextMoment();
    const groups = this.#source.groupsNow();
    // Its failure is that of whatever is asked next.
    connection.query(BEGIN_READING).catch(() => {});
    this.#lastGroup =
      'session' in groups ? this.#askLastGroup(connection, groups.session) : Promise.resolve(groups.lastGroup);
    this.#lastGroup.catch(() => {});
    return connection;
  }

  async #askLastGroup(connection: Connection, session: number): Promise<number> {
    try {
      const [row] = await connection.query(selectLastGroup(session));
      return Math.max(Number(row?.[0] ?? 0), Number(row?.[1] ?? 0));
    } catch (error) {
      throw this.#broken(error);
    }
  }

  #broken(error: unknown): EngineUnavailable {
    return new EngineUnavailable(describeFailure(error), { cause: error });
  }

  #end(): void {
    if (this.#isOver || this.#connection === null) return;
    this.#isOver = true;
    void this.#connection.then(
      (connection) => {
        // Its answer need not be awaited: the next user's statements follow it.
        connection.query(COMMIT).catch(() => connection.destroy());
        this.#source.giveBack(connection);
      },
      () => {},
    );
  }
}

function askedFor(key: Key): Asked {
  let resolve!: Asked['resolve'];
  let reject!: Asked['reject'];
  const answer = new Promise<Entry | null>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { key, answer, resolve, reject };
}

export const entryOf = ([head, tail, version, value]: Row): Entry => ({
  key: keyOf(head as Buffer, tail as Buffer),
  version: Number(version),
  value: value as Buffer,
});
