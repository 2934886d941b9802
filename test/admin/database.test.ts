/**
 * A node and its database: a start in any order, refusals that say what to do, readiness that follows the database, and
 * `check` of a store at rest. The database server is the test's own, to be stopped and started.
 */
// engines: postgres
// tier: system
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { send } from '../harness/http.ts';
import { freshDatabase, type PostgresServer, startPostgresServer, type TestDatabase } from '../harness/postgres.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { Command, runCommand } from './command.ts';

let server: PostgresServer;
const skip = missingTool('postgres');

before(async () => {
  if (skip === false) server = await startPostgresServer();
});
after(async () => server?.remove());

async function freshFor(t: TestContext): Promise<TestDatabase> {
  const database = await freshDatabase(server.url);
  t.after(() => database.drop());
  return database;
}

async function execute(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const changed = (url: string, change: (url: URL) => void): string => {
  const copy = new URL(url);
  change(copy);
  return copy.href;
};

/** As people see it: `postgres://larimar@127.0.0.1:PORT/NAME`. */
const shown = (url: string): string => changed(url, (copy) => void (copy.password = ''));

const serveArguments = (engine: string): string[] => [
  'serve',
  '--blob-port=0',
  '--queue-port=0',
  '--table-port=0',
  '--file-port=0',
  '--admin-port=0',
  '--log=json',
  `--engine=${engine}`,
];

function start(t: TestContext, engine: string): Command {
  const command = new Command(serveArguments(engine));
  t.after(() => command.stop());
  return command;
}

async function doorsOf(command: Command): Promise<{ admin: string; blob: string }> {
  const [, blob] = await command.printed(/"service":"blob","url":"([^"]+)"/);
  const [, admin] = await command.printed(/"service":"admin","url":"([^"]+)"/);
  return { admin: admin as string, blob: blob as string };
}

const untilReady = (admin: string, status: 200 | 503): Promise<unknown> =>
  until({ what: `/ready answers ${status}`, limitSeconds: 60 }, async () => {
    const response = await fetch(`${admin}/ready`);
    const body = (await response.json()) as { status: string; reason?: string };
    assert.equal((await fetch(`${admin}/health`)).status, 200);
    return response.status === status && body;
  });

async function refusedStart(engine: string): Promise<string> {
  const { ended, output } = await runCommand(serveArguments(engine), { PGPASSWORD: '' });
  assert.match(output, /^larimar: .*\n$/, 'one line');
  assert.ok(!output.includes(new URL(server.url).password), output);
  assert.equal(ended, 2, output);
  return output;
}

describe('a start', { skip }, () => {
  test('with a wrong password is refused at once, with what to do', async (t) => {
    const { url } = await freshFor(t);
    const wrong = changed(url, (copy) => void (copy.password = 'wrong-wrong'));
    const output = await refusedStart(wrong);
    assert.match(
      output,
      /cannot be used: password authentication failed for user "larimar"\. Give the user and password/,
    );
    assert.ok(output.includes(shown(url)) && !output.includes('wrong-wrong'), output);
  });

  test('without a password is refused likewise', async (t) => {
    const { url } = await freshFor(t);
    assert.match(await refusedStart(shown(url)), /Give the user and password in --engine/);
  });

  test('takes the password from where other programs have it', async (t) => {
    const { url } = await freshFor(t);
    const command = new Command(serveArguments(shown(url)), { PGPASSWORD: new URL(url).password });
    t.after(() => command.stop());
    await doorsOf(command);
  });

  test('with a database that is not there is refused at once', async () => {
    const engine = changed(server.url, (copy) => void (copy.pathname = '/nowhere'));
    assert.match(await refusedStart(engine), /database "nowhere" does not exist\. Create it with createdb/);
  });

  test('with a database of a later release is refused, and nothing is changed in it', async (t) => {
    const { url } = await freshFor(t);
    const command = start(t, url);
    await doorsOf(command);
    command.send('SIGTERM');
    assert.equal((await command.ending).ended, 0);
    await execute(url, `UPDATE larimar_settings SET value = '999' WHERE name = 'schema'`);
    assert.match(
      await refusedStart(url),
      /belongs to a later release of Larimar \(schema 999.*run that release\. Nothing was changed/,
    );
  });

  test('of a user who may not make tables is refused', async (t) => {
    const { url } = await freshFor(t);
    const name = `guest${Date.now()}`;
    await execute(url, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC', `CREATE ROLE ${name} LOGIN PASSWORD 'guest'`);
    t.after(() => execute(server.url, `DROP ROLE ${name}`));
    const engine = changed(url, (copy) => {
      copy.username = name;
      copy.password = 'guest';
    });
    assert.match(await refusedStart(engine), /may not create tables/);
  });

  test('before the database is up waits for it', async (t) => {
    const { url } = await freshFor(t);
    await server.stop('fast');
    const command = start(t, url);
    await command.printed(/"event":"waiting","message":"waiting for the database at [^"]*: connection refused"/);
    await server.start();
    const { admin } = await doorsOf(command);
    await untilReady(admin, 200);
    assert.ok(!command.output.includes(new URL(url).password), command.output);
  });

  test('is announced for people without the password', async (t) => {
    const { url } = await freshFor(t);
    const command = new Command([
      '--blob-port=0',
      '--queue-port=0',
      '--table-port=0',
      '--file-port=0',
      '--admin-port=0',
      `--engine=${url.replace('postgres:', 'postgresql:')}`,
    ]);
    t.after(() => command.stop());
    await command.printed(/Stop with Ctrl-C\.\n/);
    assert.ok(
      command.output.includes(`  records    ${shown(url)}\n  content    in the same database\n`),
      command.output,
    );
    assert.ok(!command.output.includes(new URL(url).password));
  });
});

describe('a node', { skip }, () => {
  test('is not ready while its database is away, and ready again when it is back', async (t) => {
    const { url } = await freshFor(t);
    const command = start(t, url);
    const { admin, blob } = await doorsOf(command);
    await untilReady(admin, 200);
    for (const how of ['fast', 'immediate'] as const) {
      await server.stop(how);
      assert.deepEqual(await untilReady(admin, 503), { status: 'not ready', reason: 'the store fails' });
      await server.start();
      await untilReady(admin, 200);
    }
    assert.equal((await send(blob, { method: 'PUT', path: '/after?restype=container' })).outcome, '201');
    command.send('SIGTERM');
    assert.equal((await command.ending).ended, 0, command.output);
  });

  test('ends when it is told to, though its database is away', async (t) => {
    const { url } = await freshFor(t);
    const command = start(t, url);
    const { admin } = await doorsOf(command);
    await server.stop('immediate');
    try {
      await untilReady(admin, 503);
      command.send('SIGTERM');
      assert.equal((await command.ending).ended, 0, command.output);
    } finally {
      await server.start();
    }
  });
});

/** A container with one blob, too long for a record. */
async function putBoxWithBlob(blobUrl: string): Promise<void> {
  assert.equal((await send(blobUrl, { method: 'PUT', path: '/box?restype=container' })).outcome, '201');
  const headers = { 'x-ms-blob-type': 'BlockBlob' };
  const body = Buffer.alloc(100_000, 'content');
  assert.equal((await send(blobUrl, { method: 'PUT', path: '/box/blob', headers, body })).outcome, '201');
}

describe('check', { skip }, () => {
  test('reads a store at rest, and refuses one that nodes use', async (t) => {
    const { url } = await freshFor(t);
    const command = start(t, url);
    const { blob } = await doorsOf(command);
    await putBoxWithBlob(blob);
    const busy = await runCommand(['check', `--engine=${url}`]);
    assert.match(busy.output, /^larimar: A node is using postgres:.*Stop it before you check/);
    assert.equal(busy.ended, 2);
    command.send('SIGTERM');
    await command.ending;
    const { ended, output } = await runCommand(['check'], { LARIMAR_ENGINE: url });
    assert.equal(ended, 0, output);
    assert.ok(output.startsWith(`${shown(url)}:\n  1 container, 1 blob`) && output.endsWith('clean\n'), output);
  });

  test('finds what is missing', async (t) => {
    const { url } = await freshFor(t);
    const command = start(t, url);
    const { blob } = await doorsOf(command);
    await putBoxWithBlob(blob);
    command.send('SIGTERM');
    await command.ending;
    await execute(url, 'DELETE FROM larimar_extent_pieces', 'DELETE FROM larimar_extents');
    const { ended, output } = await runCommand(['check', `--engine=${url}`]);
    assert.match(output, /problem: extent \w+ is missing in the content store/);
    assert.equal(ended, 1, output);
  });

  test('makes no store where there is none', async (t) => {
    const { url } = await freshFor(t);
    const { ended, output } = await runCommand(['check', `--engine=${url}`]);
    assert.equal(output, `larimar: There is no Larimar store in ${shown(url)}. Name its database in --engine.\n`);
    assert.equal(ended, 2);
    await assert.rejects(execute(url, 'SELECT 1 FROM larimar_settings'), { code: '42P01' });
  });
});
