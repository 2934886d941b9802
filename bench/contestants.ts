/**
 * The servers that are compared: Larimar and Azurite with a data folder each, Larimar's nodes over PostgreSQL, the bare
 * server that stores nothing, and over SMB Samba's. A contestant is one or several processes, each on a port of its own.
 * Whoever is not being measured is stopped with SIGSTOP, so that one's housekeeping is never charged to another.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { expectSuccess, Lane, type LaneRequest, projectFolder } from './load.ts';
import { prepareSamba } from './samba.ts';
import { freePorts, type Memory, Server } from './server.ts';
import { answersSmb, type SmbTarget } from './smb-load.ts';

export const contestantNames = ['larimar', 'azurite', 'bare', 'smbd', 'smbd-sync', 'postgres-1', 'postgres-3'] as const;
export type ContestantName = (typeof contestantNames)[number];

export type Protocol = 'http' | 'smb';

export const nodeCounts: Readonly<Record<ContestantName, number>> = {
  larimar: 1,
  azurite: 1,
  bare: 1,
  smbd: 1,
  'smbd-sync': 1,
  'postgres-1': 1,
  'postgres-3': 3,
};

/** Whether it keeps everything in a database, of which it must be given one. */
export function isOnDatabase(name: ContestantName): boolean {
  return name.startsWith('postgres-');
}

const isSamba = (name: ContestantName): boolean => name === 'smbd' || name === 'smbd-sync';

/** Nodes over a database are compared over HTTP only. */
export function isComparedOver(protocol: Protocol, name: ContestantName): boolean {
  return protocol === 'smb' ? name === 'larimar' || isSamba(name) : !isSamba(name);
}

const azuriteVersion = '3.35.0';
const azuriteFolder = join(projectFolder, '.cache', 'azurite');
/** Beside the Blob service. Azurite has a process for each but files, started when a row asks for it. */
type FurtherService = 'queue' | 'table' | 'file';
const azuriteProgramOf = (service: 'blob' | FurtherService): string =>
  join(azuriteFolder, 'node_modules', 'azurite', 'dist', 'src', service, 'main.js');
const builtLarimarProgram = fileURLToPath(new URL('../src/cli/larimar.js', import.meta.url));

const azuriteQuiet = ['--silent', '--skipApiVersionCheck', '--disableTelemetry'];

const account = 'devstoreaccount1';
/** The development account's key, which Microsoft publishes. */
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const serviceVersion = '2022-11-02';
const smbShare = 'bench-smb';
const wakeTimeoutMs = 30_000;
const wakePauseMs = 50;

/** A signature that travels in the URL, so that no contestant's client signs while it is measured. */
const sas = generateAccountSASQueryParameters(
  {
    version: serviceVersion,
    expiresOn: new Date(Date.now() + 24 * 3_600_000),
    services: AccountSASServices.parse('bqtf').toString(),
    resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    permissions: AccountSASPermissions.parse('rwdlacuptf'),
  },
  new StorageSharedKeyCredential(account, accountKey),
).toString();

export interface ContestantOptions {
  name: ContestantName;
  dataFolder: string;
  /** Of an empty database, for a contestant that is on one. */
  databaseUrl?: string;
  /** Another build of Larimar than the one beside this file. */
  larimarProgram?: string;
  nodeOptions?: readonly string[];
}

export class Contestant {
  readonly name: ContestantName;
  readonly #options: ContestantOptions;
  #servers: readonly Server[] = [];
  #furtherPorts: Readonly<Record<FurtherService, readonly number[]>> = { queue: [], table: [], file: [] };
  #smb: SmbTarget | null = null;
  #hasSmbShare = false;
  readonly #furtherServers = new Map<FurtherService, Server>();

  constructor(options: ContestantOptions) {
    this.name = options.name;
    this.#options = options;
    mkdirSync(options.dataFolder, { recursive: true });
  }

  /** Of its servers, over which a load is spread evenly. */
  get ports(): readonly number[] {
    return this.#servers.map((server) => server.port);
  }

  get queuePorts(): readonly number[] {
    return this.#furtherPorts.queue;
  }

  get tablePorts(): readonly number[] {
    return this.#furtherPorts.table;
  }

  get filePorts(): readonly number[] {
    return this.#furtherPorts.file;
  }

  /** Where it is reached over SMB: the first of its servers. */
  get smb(): SmbTarget {
    if (this.#smb === null) throw new Error(`${this.name} is not compared over SMB`);
    return this.#smb;
  }

  get pids(): readonly number[] {
    return this.#allServers.map((server) => server.pid);
  }

  /** How one of its servers ended, if one did so of its own accord. */
  get ended(): string | null {
    return this.#allServers.map((server) => server.ended).find((ended) => ended !== null) ?? null;
  }

  get #allServers(): readonly Server[] {
    return [...this.#servers, ...this.#furtherServers.values()];
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

  /** Starts the servers and waits for the first answer of each; resolves to the milliseconds in between. */
  async start(): Promise<number> {
    if (isSamba(this.name)) return this.#startSamba();
    const nodeCount = nodeCounts[this.name];
    const free = await freePorts(5 * nodeCount);
    const ports = free.slice(0, nodeCount);
    const file = free.slice(3 * nodeCount, 4 * nodeCount);
    const smb = free.slice(4 * nodeCount);
    this.#smb = isComparedOver('smb', this.name)
      ? { port: smb[0] as number, share: smbShare, user: account, password: accountKey }
      : null;
    this.#furtherPorts =
      this.name === 'bare'
        ? { queue: ports, table: ports, file }
        : { queue: free.slice(nodeCount, 2 * nodeCount), table: free.slice(2 * nodeCount, 3 * nodeCount), file };
    const startedAtMs = performance.now();
    this.#servers = ports.map((port, index) => {
      const queue = this.queuePorts[index] as number;
      const table = this.tablePorts[index] as number;
      return this.#run(`${this.name}.${index}`, port, {
        words: this.#command({ blob: port, queue, table, file: file[index] as number }),
        ...(this.#smb === null ? {} : { smbPort: smb[index] as number }),
      });
    });
    await Promise.all(
      this.#servers.map((server) => server.firstAnswer(`${this.path('000000')}?${this.query()}`)),
    ).catch((error: Error) => {
      throw new Error(`${this.name}: ${error.message}`, { cause: error });
    });
    return performance.now() - startedAtMs;
  }

  async #startSamba(): Promise<number> {
    const [port] = (await freePorts(1)) as [number];
    const folder = this.#options.dataFolder;
    const isSynchronous = this.name === 'smbd-sync';
    const { program, words, user, password } = await prepareSamba({ folder, port, share: smbShare, isSynchronous });
    const startedAtMs = performance.now();
    const server = new Server({
      port,
      program,
      words,
      forks: true,
      environment: process.env,
      folder,
      logFile: join(folder, `${this.name}.log`),
    });
    this.#servers = [server];
    this.#smb = { port, share: smbShare, user, password };
    await server.untilAnswering(() => answersSmb(port));
    return performance.now() - startedAtMs;
  }

  async createContainer(): Promise<void> {
    if (this.name === 'bare' || isSamba(this.name)) return;
    const path = `/${account}/bench?${this.query('restype=container')}`;
    await sendOnce(this.ports[0] as number, { method: 'PUT', path });
  }

  /** A path of the Table service, and its query. */
  tablePath(resource: string): string {
    return `/${account}/${resource}`;
  }

  /** A path of the Queue service. */
  queuePath(resource: string): string {
    return `/${account}/${resource}`;
  }

  /** So that rows about queues find a service to ask. */
  async startQueues(): Promise<void> {
    await this.#startFurther('queue', `/${account}?${this.query('comp=list')}`);
  }

  /** So that rows about tables find a service to ask. */
  async startTables(): Promise<void> {
    await this.#startFurther('table', `/${account}/Tables?${this.query()}`);
  }

  /** So that rows about SMB find a share; Samba has its own by its settings. */
  async createSmbShare(): Promise<void> {
    if (isSamba(this.name) || this.#hasSmbShare) return;
    this.#hasSmbShare = true;
    // It may listen for HTTP some time before.
    const { port } = this.smb;
    await this.#servers[0]?.untilAnswering(() => answersSmb(port));
    const path = `/${account}/${smbShare}?${this.query('restype=share')}`;
    await sendOnce(this.filePorts[0] as number, { method: 'PUT', path });
  }

  /** So that rows about files find a service to ask: beside the bare server one that has a folder. */
  async startFiles(): Promise<void> {
    if (this.name !== 'bare' || this.#furtherServers.has('file')) return;
    const port = this.filePorts[0] as number;
    const program = fileURLToPath(new URL('./bare-files.js', import.meta.url));
    const words = [program, String(port), join(this.#options.dataFolder, 'files')];
    const server = this.#run('bare-files', port, { words });
    this.#furtherServers.set('file', server);
    await server.firstAnswer('/?comp=list&maxresults=1');
  }

  async #startFurther(service: FurtherService, path: string): Promise<void> {
    if (this.name !== 'azurite' || this.#furtherServers.has(service)) return;
    const port = this.#furtherPorts[service][0] as number;
    const location = join(this.#options.dataFolder, `data-${service}`);
    const words = [azuriteProgramOf(service), `--${service}Port`, String(port), '--location', location];
    const server = this.#run(`azurite-${service}`, port, { words: [...words, ...azuriteQuiet] });
    this.#furtherServers.set(service, server);
    await server.firstAnswer(path);
  }

  #run(name: string, port: number, { words, smbPort }: { words: readonly string[]; smbPort?: number }): Server {
    return new Server({
      port,
      words: [...(this.#options.nodeOptions ?? []), ...words],
      environment: this.#environment(smbPort),
      folder: this.#options.dataFolder,
      logFile: join(this.#options.dataFolder, `${name}.log`),
    });
  }

  async stop(): Promise<void> {
    const servers = this.#allServers;
    this.#furtherServers.clear();
    this.#servers = [];
    await Promise.all(servers.map((server) => server.stop()));
  }

  pause(): void {
    for (const server of this.#allServers) server.pause();
  }

  /**
   * Resolves when it can be measured. A node that was still for longer than its session with the database lasts was
   * given up for dead there, and is back once a write of its own got through.
   */
  async resume(): Promise<void> {
    for (const server of this.#allServers) server.resume();
    if (isOnDatabase(this.name)) await Promise.all(this.ports.map((port) => this.#untilWriting(port)));
  }

  /** Of all its servers together. */
  async memory(): Promise<Memory> {
    const parts = await Promise.all(this.#servers.map((server) => server.memory()));
    return parts.reduce((sum, part) => ({
      residentMiB: sum.residentMiB + part.residentMiB,
      anonymousMiB:
        sum.anonymousMiB === null || part.anonymousMiB === null ? null : sum.anonymousMiB + part.anonymousMiB,
    }));
  }

  async #untilWriting(port: number): Promise<void> {
    // A staged block: no listing shows what this leaves behind.
    const path = `${this.path(`awake-${port}`)}?${this.query('comp=block&blockid=AAAA')}`;
    const deadlineMs = performance.now() + wakeTimeoutMs;
    for (;;) {
      try {
        return await sendOnce(port, { method: 'PUT', path, body: Buffer.from('x') });
      } catch (error) {
        if (this.ended !== null || performance.now() > deadlineMs) throw error;
        await delay(wakePauseMs);
      }
    }
  }

  /** Of those that Node runs. */
  #command(ports: Readonly<Record<'blob' | FurtherService, number>>): string[] {
    const data = join(this.#options.dataFolder, 'data');
    const doors = Object.entries(ports).flatMap(([service, port]) => [`--${service}-port`, String(port)]);
    const larimar = [this.#options.larimarProgram ?? builtLarimarProgram, 'serve', ...doors];
    switch (this.name) {
      case 'larimar':
        return [...larimar, '--data', data, '--log', 'silent'];
      case 'postgres-1':
      case 'postgres-3':
        return [...larimar, '--content', 'postgres', '--log', 'silent'];
      case 'azurite':
        return [azuriteProgramOf('blob'), '--blobPort', String(ports.blob), '--location', data, ...azuriteQuiet];
      case 'bare':
        return [fileURLToPath(new URL('./bare.js', import.meta.url)), String(ports.blob)];
      case 'smbd':
      case 'smbd-sync':
        throw new Error(`${this.name} is not a Node program.`);
    }
  }

  /**
   * Nothing of the caller's own settings. The database's password is kept off the command line, which everybody sees; the
   * SMB port is here since an older build (`--larimar`) would refuse to be told of it there.
   */
  #environment(smbPort?: number): NodeJS.ProcessEnv {
    const callers = Object.entries(process.env).filter(([name]) => !name.startsWith('LARIMAR_'));
    const { databaseUrl } = this.#options;
    return {
      ...Object.fromEntries(callers),
      LARIMAR_ADMIN_PORT: 'off',
      LARIMAR_WEB_PORT: 'off',
      LARIMAR_SMB_PORT: smbPort === undefined ? 'off' : String(smbPort),
      ...(databaseUrl === undefined ? {} : { LARIMAR_ENGINE: databaseUrl }),
    };
  }
}

async function sendOnce(port: number, request: LaneRequest): Promise<void> {
  const lane = await Lane.open({ port, bufferBytes: 65_536 });
  try {
    expectSuccess(await lane.send(request));
  } finally {
    lane.close();
  }
}

/** Null if Larimar can be started, else what to do about it. */
export function missingLarimar(program = builtLarimarProgram): string | null {
  return existsSync(program) ? null : `Larimar is not built (${program} is missing). Run npm run build.`;
}

/** Fetches the peer once into the cache folder: it is no dependency of the project. */
export async function fetchAzurite(say: (line: string) => void): Promise<void> {
  if (existsSync(azuriteProgramOf('blob'))) return;
  say(`Installing azurite@${azuriteVersion} into ${azuriteFolder} …`);
  mkdirSync(azuriteFolder, { recursive: true });
  const words = ['install', '--prefix', azuriteFolder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  await promisify(execFile)('npm', [...words, `azurite@${azuriteVersion}`]);
}
