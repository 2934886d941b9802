/**
 * The servers that are compared: Larimar and Azurite with a data folder each, and the bare server that stores nothing.
 * Each is a child process on a port of its own. Whoever is not being measured is stopped with SIGSTOP, so that one's
 * housekeeping is never charged to another.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { expectSuccess, Lane, projectFolder } from './load.ts';

export const contestantNames = ['larimar', 'azurite', 'bare'] as const;
export type ContestantName = (typeof contestantNames)[number];

const azuriteVersion = '3.35.0';
const azuriteFolder = join(projectFolder, '.cache', 'azurite');
const azuriteProgram = join(azuriteFolder, 'node_modules', 'azurite', 'dist', 'src', 'blob', 'main.js');
const builtLarimarProgram = fileURLToPath(new URL('../src/cli/larimar.js', import.meta.url));

const account = 'devstoreaccount1';
/** The development account's key, which Microsoft publishes. */
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const serviceVersion = '2022-11-02';
const startTimeoutMs = 120_000;
const stopTimeoutMs = 60_000;
const startPollMs = 2;

/** A signature that travels in the URL, so that no contestant's client signs while it is measured. */
const sas = generateAccountSASQueryParameters(
  {
    version: serviceVersion,
    expiresOn: new Date(Date.now() + 24 * 3_600_000),
    services: AccountSASServices.parse('b').toString(),
    resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    permissions: AccountSASPermissions.parse('rwdlacup'),
  },
  new StorageSharedKeyCredential(account, accountKey),
).toString();

export interface Memory {
  residentMiB: number;
  /** Resident without pages of mapped files, which the system can take back; null where it does not say. */
  anonymousMiB: number | null;
}

export interface ContestantOptions {
  name: ContestantName;
  dataFolder: string;
  /** Another build of Larimar than the one beside this file. */
  larimarProgram?: string;
  nodeOptions?: readonly string[];
}

export class Contestant {
  readonly name: ContestantName;
  readonly #options: ContestantOptions;
  #child: ChildProcess | null = null;
  #port = 0;

  constructor(options: ContestantOptions) {
    this.name = options.name;
    this.#options = options;
    mkdirSync(options.dataFolder, { recursive: true });
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} is not running`);
    return pid;
  }

  /** How the server ended, if it did so of its own accord. */
  get ended(): string | null {
    const child = this.#child;
    if (child === null || (child.exitCode === null && child.signalCode === null)) return null;
    const lastWords = readFileSync(this.#logFile, 'utf8').trim().slice(-500);
    return `the server ended with ${child.signalCode ?? child.exitCode}: ${lastWords}`;
  }

  /** The path of a blob in the benchmark's container, without its query. */
  path(blob: string): string {
    return `/${account}/bench/${blob}`;
  }

  /** The query of a request: its own words and the signature. Only the bare server is told how much to answer. */
  query(words = '', options: { answerBytes?: number } = {}): string {
    const size = this.name === 'bare' ? `size=${options.answerBytes ?? 0}` : '';
    return [words, size, sas].filter((part) => part !== '').join('&');
  }

  /** Starts the server and waits for its first answer; resolves to the milliseconds in between. */
  async start(): Promise<number> {
    this.#port = await freePort();
    const log = openSync(this.#logFile, 'a');
    const [program, ...words] = this.#command();
    const startedAtMs = performance.now();
    const child = spawn(process.execPath, [...(this.#options.nodeOptions ?? []), program, ...words], {
      stdio: ['ignore', log, log],
      cwd: this.#options.dataFolder,
    });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    await this.#firstAnswer(startedAtMs);
    return performance.now() - startedAtMs;
  }

  async createContainer(): Promise<void> {
    if (this.name === 'bare') return;
    const lane = await Lane.open({ port: this.port, bufferBytes: 65_536 });
    const path = `/${account}/bench?${this.query('restype=container')}`;
    expectSuccess(await lane.send({ method: 'PUT', path }));
    lane.close();
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const impatience = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(impatience);
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async memory(): Promise<Memory> {
    const statusFile = `/proc/${this.pid}/status`;
    if (!existsSync(statusFile)) {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(this.pid)]);
      return { residentMiB: Number(stdout) / 1024, anonymousMiB: null };
    }
    const status = readFileSync(statusFile, 'utf8');
    const kibibytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
    return { residentMiB: kibibytes('VmRSS') / 1024, anonymousMiB: kibibytes('RssAnon') / 1024 };
  }

  get #logFile(): string {
    return join(this.#options.dataFolder, `${this.name}.log`);
  }

  #command(): [string, ...string[]] {
    const port = String(this.#port);
    const data = join(this.#options.dataFolder, 'data');
    switch (this.name) {
      case 'larimar': {
        const program = this.#options.larimarProgram ?? builtLarimarProgram;
        return [program, 'serve', '--blob-port', port, '--data', data, '--log', 'silent'];
      }
      case 'azurite': {
        const quiet = ['--silent', '--skipApiVersionCheck', '--disableTelemetry'];
        return [azuriteProgram, '--blobPort', port, '--location', data, ...quiet];
      }
      case 'bare':
        return [fileURLToPath(new URL('./bare.js', import.meta.url)), port];
    }
  }

  async #firstAnswer(startedAtMs: number): Promise<void> {
    while (performance.now() - startedAtMs < startTimeoutMs) {
      if (this.ended !== null) break;
      if (await answers(this.#port, `${this.path('000000')}?${this.query()}`)) return;
      await new Promise((resolve) => setTimeout(resolve, startPollMs));
    }
    throw new Error(`${this.name} did not start:\n${readFileSync(this.#logFile, 'utf8').slice(-2000)}`);
  }
}

/** Any answer will do: before the first container is made, a server that is up says 404. */
async function answers(port: number, path: string): Promise<boolean> {
  try {
    const lane = await Lane.open({ port, bufferBytes: 65_536 });
    await lane.send({ method: 'HEAD', path });
    lane.close();
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

const running = new Set<ChildProcess>();

/** For an early end: SIGKILL also ends a server that is stopped at the time. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Null if Larimar can be started, else what to do about it. */
export function missingLarimar(program = builtLarimarProgram): string | null {
  return existsSync(program) ? null : `Larimar is not built (${program} is missing): run npm run build`;
}

/** Fetches the peer once into the cache folder: it is no dependency of the project. */
export async function fetchAzurite(say: (line: string) => void): Promise<void> {
  if (existsSync(azuriteProgram)) return;
  say(`fetching azurite@${azuriteVersion} into ${azuriteFolder} …`);
  mkdirSync(azuriteFolder, { recursive: true });
  const words = ['install', '--prefix', azuriteFolder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  await promisify(execFile)('npm', [...words, `azurite@${azuriteVersion}`]);
}
