/**
 * A PostgreSQL server in a temporary folder, on loopback only and with a password. Its writes are as durable as in
 * production (fsync is on): tests of durability rest on it. It may be stopped and started again under load.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Daemon, DaemonFolder } from './daemon-folder.ts';
import { freePort } from './free-port.ts';
import { type PostgresPrograms, providePostgres } from './postgres-programs.ts';
import { until } from './until.ts';

const START_LIMIT_SECONDS = 60;
const CONNECTION_COUNT_MAX = 300;
const STARTS_MAX = 3;

const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

export interface PostgresServerOptions {
  /** Who may do everything; `larimar`, unless you say otherwise. */
  readonly user?: string;
  /** Beside the fixed ones: `{ wal_level: 'logical' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export class PostgresServer {
  readonly #folder: DaemonFolder;
  readonly #options: PostgresServerOptions;
  readonly #password = randomBytes(12).toString('hex');
  readonly #programs: PostgresPrograms;
  #daemon: Daemon | null = null;
  #port = 0;

  constructor(options: PostgresServerOptions) {
    this.#options = options;
    this.#folder = new DaemonFolder({ name: 'postgres', user: 'postgres', endSignal: 'SIGQUIT' });
    this.#programs = providePostgres(this.#folder.path);
  }

  /** Of an empty database; its user may do everything. */
  get url(): string {
    return `postgres://${this.#user}:${this.#password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** Of what runs. */
  get pids(): number[] {
    return this.#folder.pids;
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** The end of what it printed; null while it runs. */
  get logOfDead(): string | null {
    return this.#daemon?.hasEnded === true ? this.#daemon.log : null;
  }

  /** Once, before the first start. */
  async initialize(): Promise<void> {
    const passwordFile = this.#folder.write('password', this.#password);
    const options = [`--username=${this.#user}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const encoding = ['--encoding=UTF8', '--locale=C'];
    const { initdb, env } = this.#programs;
    await this.#folder.run(initdb, [`--pgdata=${this.#data}`, ...options, ...encoding, '--no-sync'], env);
  }

  /** On the same data and, when it is not the first start, on the same port. Resolves once it takes connections. */
  async start(): Promise<void> {
    const isFirst = this.#port === 0;
    for (let attempt = 1; ; attempt++) {
      if (isFirst) this.#port = await freePort();
      const daemon = this.#folder.start(this.#programs.postgres, this.#arguments(), this.#programs.env);
      this.#daemon = daemon;
      await until({ what: 'PostgreSQL takes connections', limitSeconds: START_LIMIT_SECONDS }, async () => {
        return daemon.hasEnded || (await takesConnections(this.url));
      });
      if (!daemon.hasEnded) return;
      // Somebody else was quicker to take the port.
      if (!isFirst || attempt === STARTS_MAX) throw new Error(`PostgreSQL did not start:\n${daemon.log}`);
    }
  }

  /** `fast` ends every session and then writes everything out; `immediate` is a crash. The data stays. */
  async stop(how: keyof typeof STOP_SIGNALS): Promise<void> {
    if (this.#daemon === null || this.#daemon.hasEnded) throw new Error('PostgreSQL is not running');
    await this.#daemon.end(STOP_SIGNALS[how]);
  }

  /** Ends it, if it runs, and removes its data. */
  async remove(): Promise<void> {
    await this.#folder.remove();
  }

  get #user(): string {
    return this.#options.user ?? 'larimar';
  }

  get #data(): string {
    return join(this.#folder.path, 'data');
  }

  #arguments(): string[] {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: String(CONNECTION_COUNT_MAX),
      ...this.#options.settings,
    };
    const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return ['-D', this.#data, '-p', String(this.#port), ...pairs];
  }
}

async function takesConnections(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = new PostgresServer(options);
  try {
    await server.initialize();
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}
