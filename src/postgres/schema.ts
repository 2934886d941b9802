/**
 * The tables, and how they come to be: made by whichever node starts first, safely when many start at once. In words
 * that CockroachDB and YugabyteDB understand as well. A later release adds its steps at the end of STEPS; a step may be
 * run again by a node that was cut off or came second, so each says IF NOT EXISTS.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, type Database, isContended, sqlStateOf } from './database.ts';

/**
 * A key stands as `head`, its first HEAD_BYTES_MAX bytes, and `tail`, the rest, since an index takes no entry beyond
 * about 2,700 bytes; `digest` stands in the index for a tail, and is empty where the tail is (keys.ts of the engine).
 */
const STEPS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS larimar_records (
       head bytea NOT NULL, digest bytea NOT NULL, tail bytea NOT NULL,
       version bigint NOT NULL, value bytea NOT NULL, PRIMARY KEY (head, digest))`,
    `CREATE UNLOGGED TABLE IF NOT EXISTS larimar_volatile (
       head bytea NOT NULL, digest bytea NOT NULL, tail bytea NOT NULL,
       version bigint NOT NULL, value bytea NOT NULL, session bigint NOT NULL, PRIMARY KEY (head, digest))`,
    `CREATE TABLE IF NOT EXISTS larimar_sessions (
       id bigint NOT NULL PRIMARY KEY, slot bigint UNIQUE, fence bigint NOT NULL, last_group bigint NOT NULL,
       renewed_at timestamptz NOT NULL)`,
    `CREATE UNLOGGED TABLE IF NOT EXISTS larimar_volatile_groups (
       session bigint NOT NULL PRIMARY KEY, fence bigint NOT NULL, last_group bigint NOT NULL)`,
    `CREATE UNLOGGED TABLE IF NOT EXISTS larimar_claims (
       head bytea NOT NULL, digest bytea NOT NULL, session bigint NOT NULL, claim bigint NOT NULL,
       PRIMARY KEY (head, digest))`,
    `CREATE TABLE IF NOT EXISTS larimar_extents (
       placement bytea NOT NULL PRIMARY KEY, length_bytes bigint NOT NULL, is_whole boolean NOT NULL,
       touched_at timestamptz NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS larimar_extent_pieces (
       placement bytea NOT NULL, piece bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (placement, piece))`,
  ],
];

export const SCHEMA_VERSION = STEPS.length;

const SETTINGS_TABLE =
  'CREATE TABLE IF NOT EXISTS larimar_settings (name text NOT NULL PRIMARY KEY, value text NOT NULL)';

const ATTEMPTS_MAX = 50;
const PAUSE_MAX_MS = 200;

/** The database is of a later release, or the user may not make tables in it: said in words for its owner. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** Brings the tables up to this release; resolves with the name that this store has had since its tables were made. */
export async function prepareSchema(database: Database): Promise<{ storeId: string }> {
  const connection = await database.connect();
  try {
    await persist(() => connection.query({ text: SETTINGS_TABLE }));
    await connection.query({
      text: `INSERT INTO larimar_settings (name, value) VALUES ('schema', '0'), ('last_session', '0'), ('store', $1)
             ON CONFLICT (name) DO NOTHING`,
      values: [randomUUID()],
    });
    for (let version = await schemaVersion(connection); version < STEPS.length; version++) {
      for (const text of STEPS[version] as readonly string[]) await persist(() => connection.query({ text }));
      await connection.query({
        text: `UPDATE larimar_settings SET value = $1 WHERE name = 'schema' AND value = $2`,
        values: [String(version + 1), String(version)],
      });
    }
    const found = await schemaVersion(connection);
    const storeId = await setting(connection, 'store');
    if (found > SCHEMA_VERSION) {
      throw new SchemaError(
        `it belongs to a later release of Larimar (schema ${found}; this one knows ${SCHEMA_VERSION}): run that release`,
      );
    }
    return { storeId };
  } finally {
    await connection.close();
  }
}

const schemaVersion = async (connection: Connection): Promise<number> => Number(await setting(connection, 'schema'));

async function setting(connection: Connection, name: string): Promise<string> {
  const [row] = await connection.query({ text: 'SELECT value FROM larimar_settings WHERE name = $1', values: [name] });
  return row?.[0] as string;
}

/** What two nodes that make the same table at once may run into: a duplicate of the table, its type or its index. */
const MADE_BY_ANOTHER = new Set(['23505', '42P07', '42710', 'XX000']);
const NOT_ALLOWED = new Set(['42501', '3F000']);

async function persist<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const state = sqlStateOf(error) ?? '';
      if (NOT_ALLOWED.has(state)) {
        throw new SchemaError(`the database user may not create tables: ${(error as Error).message}`);
      }
      if (attempt >= ATTEMPTS_MAX || !(isContended(error) || MADE_BY_ANOTHER.has(state))) throw error;
      await delay(Math.random() * PAUSE_MAX_MS);
    }
  }
}
