/**
 * The server as its users run it: the command line in a process of its own, on free ports, with data that is removed
 * with it. For crashes, restarts, several nodes, and clients that are programs themselves.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SmbEncryption } from '../../src/config/config.ts';
import { accountEndpoint, connectionStringOf, DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import { freshPlace, type Place, type PlaceOptions, storeArguments } from './engines.ts';
import { freePort } from './free-port.ts';

export { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';

export const LARIMAR_COMMAND = fileURLToPath(new URL('../../src/cli/larimar.js', import.meta.url));

const START_LIMIT_SECONDS = 30;
/** Another process may take a free port first. */
const STARTS_MAX = 3;
const SERVICES = ['blob', 'queue', 'table', 'file', 'smb', 'admin'];

export interface ServerProcessOptions extends Pick<PlaceOptions, 'content'> {
  /** Beside the development account. */
  readonly accounts?: readonly TestAccount[];
  /** A place of the caller's, which is then not removed. */
  readonly place?: Place;
  /** Serve TLS with this certificate. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Open a port for SMB too; who must encrypt there. */
  readonly smb?: SmbEncryption;
  /** Further options of `larimar serve`. */
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A program to run the server under, such as strace with its options. */
  readonly wrapper?: readonly string[];
}

/** Servers still running when the test process ends, by whatever way, end with it. */
const running = new Set<ServerProcess>();
process.on('exit', () => {
  for (const server of running) server.abandon();
});

export class ServerProcess {
  readonly place: Place;
  readonly #options: ServerProcessOptions;
  #child: ChildProcess | null = null;
  /** By the service behind it, from the first start on. */
  readonly #ports = new Map<string, number>();
  #stderr = '';
  /** Whether the test ended it. */
  #wasEnded = true;

  constructor(place: Place, options: ServerProcessOptions) {
    this.place = place;
    this.#options = options;
    running.add(this);
  }

  /** Of the embedded engine. */
  get dataFolder(): string {
    const { data } = this.place.store;
    if (data === undefined) throw new Error('this server has no data folder: the test is about the embedded engine');
    return data;
  }

  /** http://127.0.0.1:PORT of the blob door (https with TLS). */
  get url(): string {
    return this.#door('blob');
  }

  get queueUrl(): string {
    return this.#door('queue');
  }

  get tableUrl(): string {
    return this.#door('table');
  }

  get fileUrl(): string {
    return this.#door('file');
  }

  /** Of files over SMB. */
  get smbPort(): number {
    if (this.#options.smb === undefined) throw new Error('this server was started without smb');
    return this.#port('smb');
  }

  #door(service: string): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port(service)}`;
  }

  /** http://127.0.0.1:PORT of the door for health and readiness. */
  get adminUrl(): string {
    return `http://127.0.0.1:${this.#port('admin')}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** What the server has written to its standard error since its first start. */
  get stderr(): string {
    return this.#stderr;
  }

  endpoint(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    return accountEndpoint(this.url, account);
  }

  queueEndpoint(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    return accountEndpoint(this.queueUrl, account);
  }

  tableEndpoint(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    return accountEndpoint(this.tableUrl, account);
  }

  fileEndpoint(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    return accountEndpoint(this.fileUrl, account);
  }

  connectionString(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    const urls = { blob: this.url, queue: this.queueUrl, table: this.tableUrl, file: this.fileUrl };
    return connectionStringOf(urls, account);
  }

  /** Starts the command; resolves once the blob door listens. A later start takes the same ports. */
  async start(): Promise<void> {
    if (this.#ports.size > 0) return this.#startOnce();
    for (let attempt = 1; ; attempt++) {
      // A port that the system chose could belong to somebody's outgoing connection by the time of a restart.
      for (const service of SERVICES) this.#ports.set(service, await freePort());
      try {
        return await this.#startOnce();
      } catch (error) {
        if (attempt === STARTS_MAX || !/in use/.test(this.#stderr)) throw error;
      }
    }
  }

  async #startOnce(): Promise<void> {
    const { accounts = [], options = [], env = {}, wrapper = [], tls, smb } = this.#options;
    const keys = accounts.length === 0 ? [] : [DEVELOPMENT_ACCOUNT, ...accounts];
    const argv = [
      ...wrapper,
      process.execPath,
      '--enable-source-maps',
      LARIMAR_COMMAND,
      'serve',
      `--blob-port=${this.#port('blob')}`,
      `--queue-port=${this.#port('queue')}`,
      `--table-port=${this.#port('table')}`,
      `--file-port=${this.#port('file')}`,
      ...(smb === undefined ? ['--smb-port=off'] : [`--smb-port=${this.#port('smb')}`, `--smb-encryption=${smb}`]),
      `--admin-port=${this.#port('admin')}`,
      '--web-port=off',
      ...storeArguments(this.place),
      '--log=json',
      ...(tls === undefined ? [] : [`--cert=${tls.certFile}`, `--key=${tls.keyFile}`]),
      ...keys.map((account) => `--account=${account.name}:${account.key}`),
      ...options,
    ];
    const child = spawn(argv[0] as string, argv.slice(1), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#wasEnded = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    await this.#untilListening(child);
  }

  #port(service: string): number {
    return this.#ports.get(service) ?? 0;
  }

  #untilListening(child: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`the server ${why}; its standard error:\n${this.#stderr}`));
      const limit = setTimeout(() => {
        fail(`did not listen within ${START_LIMIT_SECONDS} s`);
        child.kill('SIGKILL');
      }, START_LIMIT_SECONDS * 1000);
      child.once('error', (error) => fail(`could not be started (${error.message})`));
      child.once('exit', (code, signal) => {
        clearTimeout(limit);
        fail(`ended with ${signal ?? code} before it listened`);
      });
      // Keeps reading when the door is open: a full pipe would stop the server.
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        const listening = listeningIn(line);
        if (listening === null) return;
        const { service, url } = listening;
        this.#ports.set(service, Number(new URL(url).port));
        if (service !== 'blob') return;
        clearTimeout(limit);
        resolve();
      });
    });
  }

  /** As a power cut would, for everything but the page cache. The data stays. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends the server in order, with SIGTERM; the data stays. Fails unless it ends with exit code 0. */
  async terminate(): Promise<void> {
    const { code, signal } = await this.#end('SIGTERM');
    if (code !== 0)
      throw new Error(`SIGTERM: the server ended with ${signal ?? code}; standard error:\n${this.#stderr}`);
  }

  /** Ends the server in order where it still runs, and starts it again on the same data and ports. */
  async restart(): Promise<void> {
    if (this.#isAlive()) await this.terminate();
    await this.start();
  }

  /** Ends the server in order and removes its data. A server that died by itself fails the test that it served. */
  async stop(): Promise<void> {
    try {
      if (this.#isAlive()) await this.terminate();
      else if (!this.#wasEnded) throw new Error(`the server died:\n${this.#stderr}`);
    } finally {
      this.abandon();
      if (this.#options.place === undefined) await this.place.remove();
    }
  }

  /** Stops at once and removes what it can of the data; for the end of the test process, when nothing can be awaited. */
  abandon(): void {
    running.delete(this);
    if (this.#isAlive()) this.#child?.kill('SIGKILL');
    if (this.#options.place === undefined) this.place.abandon();
  }

  #isAlive(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: string | null }> {
    const child = this.#child;
    if (child === null || !this.#isAlive()) throw new Error(`the server is not running:\n${this.#stderr}`);
    this.#wasEnded = true;
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    child.kill(signal);
    const [code, by] = await ended;
    return { code, signal: by };
  }
}

interface Listening {
  readonly service: string;
  readonly url: string;
}

/** What the server says when a door listens; null for any other line. */
function listeningIn(line: string): Listening | null {
  try {
    const { event, service, url } = JSON.parse(line) as { event?: string } & Partial<Listening>;
    return event === 'listening' && service !== undefined && url !== undefined ? { service, url } : null;
  } catch {
    return null;
  }
}

export async function startServerProcess(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const place = options.place ?? (await freshPlace({ ...options, onDisk: true }));
  const server = new ServerProcess(place, options);
  try {
    await server.start();
  } catch (error) {
    server.abandon();
    if (options.place === undefined) await place.remove();
    throw error;
  }
  return server;
}
