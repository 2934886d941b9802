/**
 * What PostgreSQL itself reaches: pgbench with one-row transactions on a table of Larimar's own make, each beside the
 * row of the table that asks for the like. pgbench has no answer to carry into the next transaction, so its update does
 * not know the version that it replaces: `version >= 0` is the closest it gets to a compare-and-set.
 */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../src/postgres/database.ts';
import { prepareSchema } from '../src/postgres/schema.ts';
import { type Outcome, outcome } from './load.ts';
import type { PostgresServer } from './postgres.ts';
import type { PgbenchScript, Scale } from './rows/row.ts';

const database = 'pgbench';
const recordCount = 10_000;
const valueBytes = 500;
const threads = 2;
/** Taken up by connecting, and by all that a session does for the first time: beyond what is measured. */
const startSeconds = 2;

/** As long as the key of a blob: the account, a container's id, and eight bytes for the name. */
const keyOf = (number: string): string =>
  `bytea '\\x${Buffer.from('Bdevstoreaccount1\0----container---').toString('hex')}' || int8send(${number})`;

const scripts: Readonly<Record<PgbenchScript, string>> = {
  update: `\\set key random(1, ${recordCount})
UPDATE larimar_records SET version = version + 1, value = :value
  WHERE head = ${keyOf(':key')} AND digest = '' AND version >= 0;
`,
  // Each client counts by itself, from a start that is its own in every round.
  insert: `\\set count :count + 1
\\set key (:round * 1000 + :client_id) * 1000000000 + :count
INSERT INTO larimar_records (head, digest, tail, version, value) VALUES (${keyOf(':key')}, '', '', 1, :value);
`,
  select: `\\set key random(1, ${recordCount})
SELECT version, value FROM larimar_records WHERE head = ${keyOf(':key')} AND digest = '';
`,
};

export class Pgbench {
  readonly #server: PostgresServer;
  readonly #folder: string;
  readonly #scale: Scale;
  readonly #value = randomBytes(valueBytes);
  #insertRounds = 0;

  private constructor(server: PostgresServer, options: { folder: string; scale: Scale }) {
    this.#server = server;
    this.#folder = options.folder;
    this.#scale = options.scale;
  }

  /** With a database of its own in the server, filled. */
  static async open(server: PostgresServer, options: { folder: string; scale: Scale }): Promise<Pgbench> {
    const pgbench = new Pgbench(server, options);
    for (const [name, text] of Object.entries(scripts)) writeFileSync(join(options.folder, `${name}.sql`), text);
    await pgbench.#fill();
    return pgbench;
  }

  /** Transactions per second. */
  async run(script: PgbenchScript): Promise<Outcome> {
    const { connections, roundSeconds } = this.#scale;
    this.#insertRounds += script === 'insert' ? 1 : 0;
    const printed = await this.#server.pgbench(database, [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${connections}`,
      `--jobs=${threads}`,
      `--time=${startSeconds + roundSeconds}`,
      '--progress=1',
      `--define=value=\\x${this.#value.toString('hex')}`,
      `--define=round=${this.#insertRounds}`,
      '--define=count=0',
      `--file=${join(this.#folder, `${script}.sql`)}`,
    ]);
    return outcomeOf(printed);
  }

  async #fill(): Promise<void> {
    const tables = new Database({ url: await this.#server.createDatabase(database) });
    await prepareSchema(tables);
    await tables.close();
    const rows = `SELECT ${keyOf('n')}, '', '', 1, $1::bytea FROM generate_series(1, $2::bigint) n`;
    const insert = `INSERT INTO larimar_records (head, digest, tail, version, value) ${rows}`;
    await this.#server.query(database, insert, [this.#value, recordCount]);
    await this.#server.query(database, 'VACUUM (ANALYZE) larimar_records');
  }
}

/**
 * The mean of the seconds that pgbench reports while it runs, without the first, in which its sessions begin. The rate in
 * its summary would have that in it; so would Larimar's, if its nodes connected anew for each round.
 */
export function outcomeOf(printed: string): Outcome {
  const rates = [...printed.matchAll(/^progress: [\d.]+ s, ([\d.]+) tps/gm)].map((match) => Number(match[1])).slice(1);
  if (rates.length === 0) throw new Error(`pgbench printed no result: ${printed}`);
  const rate = rates.reduce((sum, one) => sum + one, 0) / rates.length;
  const failedCount = Number(/^number of failed transactions: (\d+)/m.exec(printed)?.[1] ?? 0);
  if (failedCount === 0) return outcome(rate);
  return { value: rate, failureCount: failedCount, failure: `${failedCount} transactions failed` };
}
