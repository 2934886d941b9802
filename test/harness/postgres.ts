/**
 * Databases for tests, each empty and its own. They are on the server that the runner started for all test files, or,
 * when a file is run alone, on one that ends with its process. A test that says `{ skip: missingTool('postgres') }`
 * gets the server from the runner.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startPostgresServer } from './postgres-server.ts';

export { type PostgresServer, type PostgresServerOptions, startPostgresServer } from './postgres-server.ts';

/** The URL of the server that all test files share. */
export const POSTGRES_VARIABLE = 'LARIMAR_TEST_POSTGRES';

export interface TestDatabase {
  readonly url: string;
  /** Ends what is connected to it. */
  readonly drop: () => Promise<void>;
}

let shared: Promise<string> | null = null;

function sharedServer(): Promise<string> {
  const given = process.env[POSTGRES_VARIABLE];
  shared ??= given === undefined ? startPostgresServer().then(({ url }) => url) : Promise.resolve(given);
  return shared;
}

/** One statement on a connection of its own; the rows as lists of values. */
export async function queryRows(url: string, statement: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: statement, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

/** On a server of the test's own, if its URL is given. */
export async function freshDatabase(serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await sharedServer());
  const name = `test_${randomBytes(8).toString('hex')}`;
  await queryRows(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await queryRows(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}
