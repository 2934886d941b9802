/** The servers that tests rest on: each test has its own part of them, and none outlives the process that started it. */
// engines: embedded
// tier: system
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { freshDatabase, queryRows, startPostgresServer } from './postgres.ts';
import { freshBucket } from './s3.ts';
import { until } from './until.ts';

const HOLDER = (call: string, module: string): string => `
  const { ${call} } = await import(${JSON.stringify(new URL(module, import.meta.url).href)});
  const { pids, folder } = await ${call}();
  console.log(JSON.stringify({ pids, folder }));
  setInterval(() => {}, 1000);
`;

interface Held {
  readonly holder: ChildProcess;
  readonly pids: readonly number[];
  readonly folder: string;
}

/** Another process that starts a server and goes on. */
async function startHolder(call: string, module: string): Promise<Held> {
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER(call, module)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string];
  return { holder, ...(JSON.parse(line) as { pids: number[]; folder: string }) };
}

/** A process that has ended stays in the list until its parent asks for its end, which not every first process does. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

async function assertGoneWith({ holder, pids, folder }: Held): Promise<void> {
  assert.ok(pids.length > 0 && pids.every(isAlive));
  holder.kill('SIGKILL');
  await until({ what: 'the server has gone', limitSeconds: 30 }, () => !pids.some(isAlive) && !existsSync(folder));
}

describe('a database for a test', { skip: missingTool('postgres') }, () => {
  test('is empty, and nobody else sees what is put there', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
    await queryRows(one.url, 'CREATE TABLE t (a int)');
    assert.deepEqual(await queryRows(other.url, `SELECT tablename FROM pg_tables WHERE tablename = 't'`), []);
    await Promise.all([one.drop(), other.drop()]);
    await assert.rejects(queryRows(one.url, 'SELECT 1'), /does not exist/);
  });

  test('is on a server that keeps what was committed when it crashes', async () => {
    const server = await startPostgresServer();
    const { url } = server;
    assert.deepEqual(await queryRows(url, 'SHOW fsync'), [['on']]);
    await queryRows(url, 'CREATE TABLE t (a int)');
    for (const how of ['immediate', 'fast'] as const) {
      await queryRows(url, 'INSERT INTO t VALUES (1)');
      await server.stop(how);
      await assert.rejects(queryRows(url, 'SELECT 1'), /ECONNREFUSED/);
      await server.start();
      assert.equal(server.url, url);
    }
    assert.deepEqual(await queryRows(url, 'SELECT a FROM t'), [[1], [1]]);
    await server.remove();
  });

  test('goes, with its server, when the process that started it is killed', async () => {
    await assertGoneWith(await startHolder('startPostgresServer', './postgres-server.js'));
  });
});

describe('a bucket for a test', { skip: missingTool('radosgw') }, () => {
  test('is dropped though it was never made', async () => {
    await (await freshBucket()).drop();
  });

  test('goes, with its server, when the process that started it is killed', async () => {
    await assertGoneWith(await startHolder('startS3Server', './s3-server.js'));
  });
});
