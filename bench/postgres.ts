/**
 * The PostgreSQL that nodes and pgbench share: a server of its own in the benchmark's folder, on loopback only and with
 * a password. Its settings are the defaults (so fsync and synchronous_commit are on) but for the number of connections,
 * since pgbench's 64 come on top of those that the paused nodes keep open.
 */

import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Database } from '../src/postgres/database.ts';
import { findProgram } from '../test/find-program.ts';
import { onEnd } from './running.ts';
import { freePorts } from './server.ts';

const user = 'larimar';
const connectionCountMax = 200;
const startTimeoutMs = 60_000;
const startPollMs = 50;

/** All of one version, in the folder of the server itself: what PATH has may be another's. */
function programs(): Record<'postgres' | 'initdb' | 'pg_ctl' | 'pgbench', string> {
  const server = findProgram('postgres');
  const folder = server === null ? '/usr/lib/postgresql' : dirname(realpathSync(server));
  const path = (name: string): string => join(folder, name);
  return { postgres: path('postgres'), initdb: path('initdb'), pg_ctl: path('pg_ctl'), pgbench: path('pgbench') };
}

/** Null if PostgreSQL and pgbench can be started, else what to do about it. */
export function missingPostgres(): string | null {
  const missing = Object.values(programs()).find((program) => !existsSync(program));
  return missing === undefined
    ? null
    : `PostgreSQL is not installed (${missing} is missing). Install it with apt-get install postgresql.`;
}

interface Owner {
  uid?: number;
  gid?: number;
}

/** PostgreSQL refuses to be run by root: then it is its package's own user, who must reach the folder. */
function ownerOf(folder: string): Owner {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres']))) as [number, number];
  chownSync(folder, uid, gid);
  return { uid, gid };
}

export class PostgresServer {
  readonly #folder: string;
  readonly #owner: Owner;
  readonly #port: number;
  readonly #password = randomBytes(12).toString('hex');
  /** `15.14`, say. */
  version = '';

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    mkdirSync(folder);
    this.#owner = ownerOf(folder);
  }

  /** In a new folder within `parent`, which everybody may pass through from now on. */
  static async start(parent: string): Promise<PostgresServer> {
    chmodSync(parent, 0o711);
    const [port] = (await freePorts(1)) as [number];
    const server = new PostgresServer(join(parent, 'postgres'), port);
    await server.#initialize();
    await server.#start();
    return server;
  }

  /** Makes an empty one; its user may do everything. */
  async createDatabase(name: string): Promise<string> {
    await this.query('postgres', `CREATE DATABASE "${name}"`);
    return this.#url(name);
  }

  /** One statement in a database, on a connection of its own. */
  async query(name: string, text: string, values: readonly (Buffer | number)[] = []): Promise<readonly unknown[][]> {
    const database = new Database({ url: this.#url(name) });
    try {
      return (await database.query({ text, values })) as unknown[][];
    } finally {
      await database.close();
    }
  }

  /** What pgbench printed: its progress, then its summary. */
  async pgbench(name: string, words: readonly string[]): Promise<string> {
    const login = { PGHOST: '127.0.0.1', PGPORT: String(this.#port), PGUSER: user, PGPASSWORD: this.#password };
    const env = { ...process.env, ...login, PGDATABASE: name, LC_ALL: 'C' };
    try {
      const { stdout, stderr } = await promisify(execFile)(programs().pgbench, [...words], { env });
      return `${stderr}${stdout}`;
    } catch (error) {
      // The error's own message would repeat the whole command.
      throw new Error(`pgbench: ${(error as { stderr: string }).stderr.trim()}`, { cause: error });
    }
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #logFile(): string {
    return join(this.#folder, 'postgres.log');
  }

  #url(name: string): string {
    return `postgres://${user}:${this.#password}@127.0.0.1:${this.#port}/${name}`;
  }

  async #initialize(): Promise<void> {
    const passwordFile = join(this.#folder, 'password');
    writeFileSync(passwordFile, this.#password, { mode: 0o600 });
    if (this.#owner.uid !== undefined) chownSync(passwordFile, this.#owner.uid, this.#owner.gid as number);
    const login = [`--username=${user}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const words = [`--pgdata=${this.#data}`, ...login, '--encoding=UTF8', '--locale=C'];
    const options = { ...this.#owner, cwd: '/' };
    await promisify(execFile)(programs().initdb, words, options).catch((error: { stderr: string }) => {
      const hint = 'if the user postgres has no access to that folder, name another with --data';
      throw new Error(`initdb failed in ${this.#folder}: ${error.stderr.trim()} (${hint})`, { cause: error });
    });
  }

  async #start(): Promise<void> {
    const log = openSync(this.#logFile, 'a');
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `max_connections=${connectionCountMax}`,
    ];
    const words = ['-D', this.#data, '-p', String(this.#port), ...settings.flatMap((setting) => ['-c', setting])];
    const child = spawn(programs().postgres, words, { ...this.#owner, cwd: '/', stdio: ['ignore', log, log] });
    closeSync(log);
    // Waits until it has ended: its folder is removed next.
    const hasEnded = onEnd(() => {
      const stop = ['stop', '-D', this.#data, '-m', 'immediate'];
      spawnSync(programs().pg_ctl, stop, { ...this.#owner, cwd: '/', stdio: 'ignore' });
    });
    child.once('exit', hasEnded);
    await this.#firstAnswer(child);
  }

  async #firstAnswer(child: ChildProcess): Promise<void> {
    const deadlineMs = performance.now() + startTimeoutMs;
    while (child.exitCode === null && child.signalCode === null && performance.now() < deadlineMs) {
      const rows = await this.query('postgres', 'SHOW server_version').catch(() => null);
      if (rows === null) {
        await delay(startPollMs);
        continue;
      }
      this.version = String(rows[0]?.[0]).split(' ')[0] as string;
      return;
    }
    throw new Error(`PostgreSQL did not start:\n${readFileSync(this.#logFile, 'utf8').slice(-2000)}`);
  }
}
