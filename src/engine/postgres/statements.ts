/**
 * Everything the engine asks of the database, in words that CockroachDB and YugabyteDB understand too: arrays unnested
 * side by side, one data-modifying statement per table at a time, no procedures, no locks by name.
 */
import { bigint, bigintArray, byteaArray } from '../../postgres/binary.ts';
import type { Connection, Statement } from '../../postgres/database.ts';
import type { Entry, Key, KeyRange, Version } from '../engine.ts';
import { columnsOf, type KeyColumns, type Stretch, TABLES, type Table } from './keys.ts';
import type { Session } from './session.ts';

export const BEGIN_READING: Statement = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' };
export const BEGIN_COMMITTING: Statement = { text: 'BEGIN ISOLATION LEVEL SERIALIZABLE' };
export const COMMIT: Statement = { text: 'COMMIT' };

/**
 * Set where the database knows them, on connections of the engine alone. An index is always right here, though the
 * tables may be new and unknown to the planner; a table read whole would also be locked whole for serializability. A
 * node whose machine vanished must not hold its connections for hours.
 */
const TUNING: readonly Statement[] = [
  { text: 'SET enable_seqscan = off' },
  { text: 'SET enable_bitmapscan = off' },
  { text: 'SET enable_hashjoin = off' },
  { text: 'SET enable_mergejoin = off' },
  { text: 'SET tcp_keepalives_idle = 10' },
  { text: 'SET tcp_keepalives_interval = 5' },
  { text: 'SET tcp_keepalives_count = 3' },
  { text: `SET idle_in_transaction_session_timeout = '5min'` },
];

/** What the database does not know, it refuses, and nothing is lost. */
export async function tune(connection: Connection): Promise<void> {
  await Promise.all(TUNING.map((statement) => connection.query(statement).catch(() => {})));
}

const heads = (keys: readonly KeyColumns[]): Buffer => byteaArray(keys.map(({ head }) => head));
const digests = (keys: readonly KeyColumns[]): Buffer => byteaArray(keys.map(({ digest }) => digest));
const tails = (keys: readonly KeyColumns[]): Buffer => byteaArray(keys.map(({ tail }) => tail));

/** Rows: the place in `keys` (from 1), version, value; none for a key that is absent. */
export function selectKeys(table: Table, keys: readonly Key[]): Statement {
  const columns = keys.map(columnsOf);
  return {
    name: `get ${table}`,
    text: `SELECT k.i, r.version, r.value
           FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS k(head, digest, i),
             LATERAL (SELECT version, value FROM ${table} t WHERE t.head = k.head AND t.digest = k.digest LIMIT 1) r`,
    values: [heads(columns), digests(columns)],
  };
}

const WITHIN = `head >= $1 AND head <= $2 AND (head > $1 OR tail >= $3) AND (head < $2 OR tail < $4)`;

/**
 * Rows: head, tail, version, value. Within one head the order is right only where no tail is among them (the index
 * has their digests); `byTail` asks for the right order whatever it costs.
 */
export function selectRange(stretch: Stretch, { limit, reverse, bytesMax, byTail }: StretchOptions): Statement {
  const [from, to] = [columnsOf(stretch.from), columnsOf(stretch.to)];
  const direction = reverse ? 'DESC' : 'ASC';
  const order = `ORDER BY head ${direction}, ${byTail ? 'tail' : 'digest'} ${direction}`;
  const rows = `FROM ${stretch.table} WHERE ${WITHIN} ${order} LIMIT $5`;
  const values = [bytes(from.head), bytes(to.head), bytes(from.tail), bytes(to.tail), bigint(limitOf(limit))];
  const name = `range ${stretch.table} ${direction} ${byTail}`;
  if (bytesMax === null) return { name, text: `SELECT head, tail, version, value ${rows}`, values };
  // Lengths are known without reading the values, which are stored aside where they are large.
  return {
    name: `${name} bytes`,
    text: `SELECT head, tail, version, value FROM
             (SELECT *, sum(length(value)) OVER (${order} ROWS UNBOUNDED PRECEDING) AS so_far
              FROM (SELECT head, digest, tail, version, value ${rows}) first_rows) summed
           WHERE so_far - length(value) < $6 ${order}`,
    values: [...values, bigint(bytesMax)],
  };
}

export interface StretchOptions {
  readonly limit: number;
  readonly reverse: boolean;
  /** Null: values of any size. */
  readonly bytesMax: number | null;
  readonly byTail: boolean;
}

const limitOf = (limit: number): number => Math.min(limit, Number.MAX_SAFE_INTEGER);
const bytes = (part: Uint8Array): Buffer => Buffer.from(part.buffer, part.byteOffset, part.byteLength);

/** The last group of this session that the state holds. */
export const selectLastGroup = (session: number): Statement => ({
  name: 'last group',
  text: `SELECT s.last_group, (SELECT v.last_group FROM larimar_volatile_groups v WHERE v.session = s.id)
         FROM larimar_sessions s WHERE s.id = $1`,
  values: [bigint(session)],
});

export interface VersionCheck {
  readonly key: Key;
  readonly version: Version | null;
}

export interface GroupChecks {
  readonly versions: Readonly<Record<Table, readonly VersionCheck[]>>;
  readonly empty: Readonly<Record<Table, readonly KeyRange[]>>;
}

export interface GroupMark {
  readonly session: Session;
  readonly group: number;
  /** Whether the group writes durable records, or volatile ones alone. */
  readonly durable: boolean;
}

const differs = (table: Table, first: number): string =>
  `SELECT c.i FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::bigint[])
     WITH ORDINALITY AS c(head, digest, version, i)
   WHERE (SELECT t.version FROM ${table} t WHERE t.head = c.head AND t.digest = c.digest) IS DISTINCT FROM c.version`;

const occupied = (table: Table, first: number): string =>
  `SELECT c.i FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::bytea[], $${first + 3}::bytea[])
     WITH ORDINALITY AS c(from_head, to_head, from_tail, to_tail, i)
   WHERE EXISTS (SELECT 1 FROM ${table} t WHERE t.head >= c.from_head AND t.head <= c.to_head
     AND (t.head > c.from_head OR t.tail >= c.from_tail) AND (t.head < c.to_head OR t.tail < c.to_tail))`;

/** A failed check's kind, in the rows of `checkAndMark`. */
export const CHECK_KINDS = ['marked', 'version', 'volatile version', 'empty', 'volatile empty'] as const;

const FAILED = `
  SELECT 1 AS kind, i FROM (${differs('larimar_records', 4)}) a
  UNION ALL SELECT 2 AS kind, i FROM (${differs('larimar_volatile', 7)}) b
  UNION ALL SELECT 3 AS kind, i FROM (${occupied('larimar_records', 10)}) c
  UNION ALL SELECT 4 AS kind, i FROM (${occupied('larimar_volatile', 14)}) d`;

const MARK_DURABLE = `
  UPDATE larimar_sessions SET last_group = $2, renewed_at = now()
  WHERE id = $1 AND fence = $3 AND NOT EXISTS (SELECT 1 FROM failed) RETURNING id`;

const MARK_VOLATILE = `
  INSERT INTO larimar_volatile_groups AS v (session, fence, last_group)
  SELECT id, fence, $2::bigint FROM larimar_sessions WHERE id = $1 AND fence = $3 AND NOT EXISTS (SELECT 1 FROM failed)
  ON CONFLICT (session) DO UPDATE SET last_group = excluded.last_group WHERE v.fence = excluded.fence
  RETURNING session`;

const checkText = (mark: string): string => `
  WITH failed AS (${FAILED}), mark AS (${mark})
  SELECT 0 AS kind, count(*) AS i FROM mark UNION ALL SELECT kind, i FROM failed`;

const CHECK_AND_MARK_DURABLE = checkText(MARK_DURABLE);
const CHECK_AND_MARK_VOLATILE = checkText(MARK_VOLATILE);

/**
 * Compares all that the group's commits have read and, where everything holds, notes the group's number with its
 * session, by which the writes that follow know that they may. Rows: a place in CHECK_KINDS and the place of the check
 * (from 1); for 'marked' 1 or 0. Not marked, though nothing failed: the session is no longer this node's.
 */
export function checkAndMark({ versions, empty }: GroupChecks, mark: GroupMark): Statement {
  const values = [bigint(mark.session.id), bigint(mark.group), bigint(mark.session.fence)];
  for (const table of TABLES) {
    const columns = versions[table].map(({ key }) => columnsOf(key));
    values.push(heads(columns), digests(columns), bigintArray(versions[table].map(({ version }) => version)));
  }
  for (const table of TABLES) {
    const [from, to] = [empty[table].map((range) => columnsOf(range.from)), empty[table].map((r) => columnsOf(r.to))];
    values.push(heads(from), heads(to), tails(from), tails(to));
  }
  return {
    name: mark.durable ? 'check durable' : 'check volatile',
    text: mark.durable ? CHECK_AND_MARK_DURABLE : CHECK_AND_MARK_VOLATILE,
    values,
  };
}

const isMarked = ({ durable }: GroupMark, first: number): string =>
  durable
    ? `EXISTS (SELECT 1 FROM larimar_sessions WHERE id = $${first} AND last_group = $${first + 1})`
    : `EXISTS (SELECT 1 FROM larimar_volatile_groups WHERE session = $${first} AND last_group = $${first + 1})`;

export function upsert(table: Table, entries: readonly Entry[], mark: GroupMark): Statement {
  const columns = entries.map(({ key }) => columnsOf(key));
  const [owner, ownerValue] = table === 'larimar_volatile' ? [', session', ', $6::bigint'] : ['', ''];
  return {
    name: `put ${table} ${mark.durable}`,
    text: `INSERT INTO ${table} (head, digest, tail, version, value${owner})
           SELECT p.head, p.digest, p.tail, p.version, p.value${ownerValue}
           FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bytea[])
             AS p(head, digest, tail, version, value)
           WHERE ${isMarked(mark, 6)}
           ON CONFLICT (head, digest) DO UPDATE SET version = excluded.version, value = excluded.value${
             owner === '' ? '' : ', session = excluded.session'
           }`,
    values: [
      heads(columns),
      digests(columns),
      tails(columns),
      bigintArray(entries.map(({ version }) => version)),
      byteaArray(entries.map(({ value }) => value)),
      bigint(mark.session.id),
      bigint(mark.group),
    ],
  };
}

export function remove(table: Table, keys: readonly Key[], mark: GroupMark): Statement {
  const columns = keys.map(columnsOf);
  return {
    name: `delete ${table} ${mark.durable}`,
    text: `DELETE FROM ${table} t USING unnest($1::bytea[], $2::bytea[]) AS d(head, digest)
           WHERE t.head = d.head AND t.digest = d.digest AND ${isMarked(mark, 3)}`,
    values: [heads(columns), digests(columns), bigint(mark.session.id), bigint(mark.group)],
  };
}

/**
 * Takes for `claim` the first records of the stretch that nobody has claimed. Rows locked this very moment are being
 * claimed, or changed, by somebody else: they are skipped. Rows: head, tail, version, value, and whether it was taken.
 * Locking rows writes to the log, but nobody need wait for that to reach the disk: a crash ends all claims.
 */
export function takeClaim(stretch: Stretch, limit: number, owner: { session: number; claim: number }): Statement {
  const [from, to] = [columnsOf(stretch.from), columnsOf(stretch.to)];
  return {
    name: 'claim',
    text: `WITH unclaimed AS (
             SELECT r.head, r.digest, r.tail, r.version, r.value FROM larimar_records r
             WHERE ${WITHIN.replaceAll(/\b(head|tail)\b/g, 'r.$1')}
               AND NOT EXISTS (SELECT 1 FROM larimar_claims c WHERE c.head = r.head AND c.digest = r.digest)
             ORDER BY r.head, r.tail LIMIT $5 FOR UPDATE SKIP LOCKED),
           taken AS (
             INSERT INTO larimar_claims (head, digest, session, claim)
             SELECT head, digest, $6::bigint, $7::bigint FROM unclaimed
             ON CONFLICT (head, digest) DO NOTHING RETURNING head, digest)
           SELECT u.head, u.tail, u.version, u.value, t.head IS NOT NULL, set_config('synchronous_commit', 'off', true)
           FROM unclaimed u LEFT JOIN taken t ON t.head = u.head AND t.digest = u.digest ORDER BY u.head, u.tail`,
    values: [
      bytes(from.head),
      bytes(to.head),
      bytes(from.tail),
      bytes(to.tail),
      bigint(limitOf(limit)),
      bigint(owner.session),
      bigint(owner.claim),
    ],
  };
}

export const releaseClaim = (owner: { session: number; claim: number }): Statement => ({
  name: 'release',
  text: 'DELETE FROM larimar_claims WHERE session = $1 AND claim = $2',
  values: [bigint(owner.session), bigint(owner.claim)],
});
