/**
 * A node's session with the database: the row that says that it lives, by which everything it holds (volatile records,
 * claims) stands or falls, and by whose fence it is shut out once it was given up for dead. The row also notes the last
 * group of commits that took effect, so that a node that lost an answer can find out.
 */
import { bigint } from '../../postgres/binary.ts';
import { type Connection, isContended, type Row, type Statement, sqlStateOf } from '../../postgres/database.ts';
import { COMMIT } from './statements.ts';

export interface Session {
  /** Never given twice. */
  readonly id: number;
  /** This node's number among those that live, from 0. */
  readonly slot: number;
  /** Whoever changes it shuts out every group that was sent under the old one. */
  readonly fence: number;
}

export const SLOT_COUNT = 256;

/** A session that was not renewed for so long is dead. */
const LAPSE = `interval '15 seconds'`;
/** How long a dead session's row stays, for a node that comes back and wants to know what became of its last group. */
const REMEMBERED = `interval '1 day'`;

const UNIQUE_VIOLATION = '23505';
const ATTEMPTS_MAX = 100;

export class TooManyNodes extends Error {
  override readonly name = 'TooManyNodes';
}

/** Registers a new session, whose groups follow `lastGroup`. */
export async function beginSession(connection: Connection, lastGroup: number): Promise<Session> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToBegin(connection, lastGroup);
    } catch (error) {
      await connection.query({ text: 'ROLLBACK' });
      const isTaken = sqlStateOf(error) === UNIQUE_VIOLATION || isContended(error);
      if (!isTaken || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

async function tryToBegin(connection: Connection, lastGroup: number): Promise<Session> {
  await connection.query({ text: 'BEGIN' });
  const [given] = await connection.query({
    text: `UPDATE larimar_settings SET value = CAST(CAST(value AS bigint) + 1 AS text)
           WHERE name = 'last_session' RETURNING value`,
  });
  const rows = await connection.query({ text: 'SELECT slot FROM larimar_sessions WHERE slot IS NOT NULL' });
  const session = { id: Number(given?.[0]), slot: freeSlot(rows), fence: 0 };
  await connection.query({
    text: `INSERT INTO larimar_sessions (id, slot, fence, last_group, renewed_at) VALUES ($1, $2, 0, $3, now())`,
    values: [bigint(session.id), bigint(session.slot), bigint(lastGroup)],
  });
  await connection.query(COMMIT);
  return session;
}

function freeSlot(rows: readonly Row[]): number {
  const taken = new Set(rows.map(([slot]) => Number(slot)));
  for (let slot = 0; slot < SLOT_COUNT; slot++) if (!taken.has(slot)) return slot;
  throw new TooManyNodes(`${SLOT_COUNT} nodes, the maximum, already use this database`);
}

/**
 * After a lost answer: shuts out whatever was sent under the old fence, waiting for what is being carried out this
 * moment, and tells the last group that took effect. Null: the session was given up for dead meanwhile.
 */
export async function fenceSession(
  connection: Connection,
  session: Session,
): Promise<{ session: Session | null; lastGroup: number }> {
  const [row] = await connection.query({
    text: `UPDATE larimar_sessions SET fence = fence + 1 WHERE id = $1 RETURNING fence, last_group, slot`,
    values: [bigint(session.id)],
  });
  const fence = Number(row?.[0] ?? session.fence + 1);
  // A group without durable records sets its mark here alone, so that it waits for no disk.
  const [volatileRow] = await connection.query({
    text: `INSERT INTO larimar_volatile_groups (session, fence, last_group) VALUES ($1, $2, 0)
           ON CONFLICT (session) DO UPDATE SET fence = excluded.fence RETURNING last_group`,
    values: [bigint(session.id), bigint(fence)],
  });
  const lastGroup = Math.max(Number(row?.[1] ?? 0), Number(volatileRow?.[0] ?? 0));
  const isAlive = row !== undefined && row[2] !== null;
  return { session: isAlive ? { ...session, fence } : null, lastGroup };
}

/** Gives up for dead what was not renewed, and removes what the dead held. Any node does it, at any time. */
export const REAPING: readonly Statement[] = [
  {
    text: `UPDATE larimar_sessions SET slot = NULL, fence = fence + 1
           WHERE slot IS NOT NULL AND renewed_at < now() - ${LAPSE}`,
  },
  {
    text: 'DELETE FROM larimar_volatile WHERE session NOT IN (SELECT id FROM larimar_sessions WHERE slot IS NOT NULL)',
  },
  { text: 'DELETE FROM larimar_claims WHERE session NOT IN (SELECT id FROM larimar_sessions WHERE slot IS NOT NULL)' },
  { text: `DELETE FROM larimar_sessions WHERE slot IS NULL AND renewed_at < now() - ${REMEMBERED}` },
  { text: 'DELETE FROM larimar_volatile_groups WHERE session NOT IN (SELECT id FROM larimar_sessions)' },
];

/** Leaves in good order: nothing of this session stays. */
export const leaving = ({ id }: Session): readonly Statement[] => [
  { text: 'DELETE FROM larimar_volatile WHERE session = $1', values: [bigint(id)] },
  { text: 'DELETE FROM larimar_claims WHERE session = $1', values: [bigint(id)] },
  { text: 'DELETE FROM larimar_volatile_groups WHERE session = $1', values: [bigint(id)] },
  { text: 'DELETE FROM larimar_sessions WHERE id = $1', values: [bigint(id)] },
];

export const countOthers = ({ id }: Session): Statement => ({
  text: `SELECT count(*) FROM larimar_sessions WHERE slot IS NOT NULL AND id <> $1 AND renewed_at >= now() - ${LAPSE}`,
  values: [bigint(id)],
});

export const DATABASE_TIME: Statement = {
  name: 'time',
  text: 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS float8)',
};
