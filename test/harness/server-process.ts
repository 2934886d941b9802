/**
 * The server as its users run it: the command line in a process of its own, on a free port, with a data folder that
 * is removed with it. For crashes, restarts and clients that are programs themselves.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { accountEndpoint, blobConnectionString, DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';

export { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';

export const LARIMAR_COMMAND = fileURLToPath(new URL('../../src/cli/larimar.js', import.meta.url));

const START_LIMIT_SECONDS = 30;

export interface ServerProcessOptions {
  /** Beside the development account. */
  readonly accounts?: readonly TestAccount[];
  /** A folder of the caller's, which is then not removed. */
  readonly dataFolder?: string;
  /** Serve TLS with this certificate. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
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
  readonly dataFolder: string;
  readonly #options: ServerProcessOptions;
  #child: ChildProcess | null = null;
  #port = 0;
  #stderr = '';
  /** Whether the test ended it. */
  #wasEnded = true;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
    this.dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), 'larimar-data-'));
    running.add(this);
  }

  /** http://127.0.0.1:PORT of the blob door (https with TLS). */
  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
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

  connectionString(account: TestAccount = DEVELOPMENT_ACCOUNT): string {
    return blobConnectionString(this.url, account);
  }

  /** Starts the command; resolves once the blob door listens. A later start takes the same port. */
  async start(): Promise<void> {
    const { accounts = [], options = [], env = {}, wrapper = [], tls } = this.#options;
    const keys = accounts.length === 0 ? [] : [DEVELOPMENT_ACCOUNT, ...accounts];
    const argv = [
      ...wrapper,
      process.execPath,
      '--enable-source-maps',
      LARIMAR_COMMAND,
      'serve',
      `--blob-port=${this.#port}`,
      `--data=${this.dataFolder}`,
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
    this.#port = await this.#listeningPort(child);
  }

  #listeningPort(child: ChildProcess): Promise<number> {
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
        const url = blobUrlIn(line);
        if (url === null) return;
        clearTimeout(limit);
        resolve(Number(new URL(url).port));
      });
    });
  }

  /** As a power cut would, for everything but the page cache. The data folder stays. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends the server in order, with SIGTERM; the data folder stays. Fails unless it ends with exit code 0. */
  async terminate(): Promise<void> {
    const { code, signal } = await this.#end('SIGTERM');
    if (code !== 0)
      throw new Error(`SIGTERM: the server ended with ${signal ?? code}; standard error:\n${this.#stderr}`);
  }

  /** Ends the server in order where it still runs, and starts it again on the same data and port. */
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
    }
  }

  /** Stops at once and removes the data; for the end of the test process, when nothing can be awaited. */
  abandon(): void {
    running.delete(this);
    if (this.#isAlive()) this.#child?.kill('SIGKILL');
    if (this.#options.dataFolder === undefined) rmSync(this.dataFolder, { recursive: true, force: true });
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

function blobUrlIn(line: string): string | null {
  try {
    const entry = JSON.parse(line) as { event?: string; service?: string; url?: string };
    return entry.event === 'listening' && entry.service === 'blob' ? (entry.url ?? null) : null;
  } catch {
    return null;
  }
}

export async function startServerProcess(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const server = new ServerProcess(options);
  try {
    await server.start();
  } catch (error) {
    server.abandon();
    throw error;
  }
  return server;
}
