/**
 * A server under comparison, with a folder of its own: Larimar as built here, or an Azurite that the user names. It can
 * be killed and started again on the same folder.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY } from '../../src/config/accounts.ts';
import { renderConnectionString } from '../../src/config/connection-string.ts';
import { freePorts, Server } from '../server.ts';
import { answersSmb } from '../smb-load.ts';

export type ServiceName = 'blob' | 'queue' | 'table' | 'file' | 'smb';

export interface Product {
  readonly name: string;
  /** The program and its first arguments. */
  readonly command: readonly string[];
  /** The option that sets a service's port. A service that is absent here does not exist. */
  readonly portFlags: Readonly<Partial<Record<ServiceName, string>>>;
  readonly dataFlag: string;
  readonly quietFlags: readonly string[];
  /** Without these, all requests of a client that is newer than the product are refused. */
  readonly lenientFlags: readonly string[];
}

export const larimar: Product = {
  name: 'Larimar',
  command: [process.execPath, fileURLToPath(new URL('../../src/cli/larimar.js', import.meta.url))],
  portFlags: {
    blob: '--blob-port',
    queue: '--queue-port',
    table: '--table-port',
    file: '--file-port',
    smb: '--smb-port',
  },
  dataFlag: '--data',
  quietFlags: ['--log', 'silent', '--admin-port', 'off', '--web-port', 'off'],
  lenientFlags: [],
};

/**
 * `where` is a folder in which npm installed azurite, and perhaps node beside it; or a command. Null if it is a folder
 * without azurite, or empty.
 */
export function findAzurite(where: string): Product | null {
  const modules = join(resolve(where), 'node_modules');
  const program = join(modules, 'azurite', 'dist', 'src', 'azurite.js');
  const ownNode = join(modules, 'node', 'bin', 'node');
  if (existsSync(program)) return azurite([existsSync(ownNode) ? ownNode : process.execPath, program]);
  const isFolder = statSync(where, { throwIfNoEntry: false })?.isDirectory() === true;
  const words = where.split(' ').filter((word) => word !== '');
  return isFolder || words.length === 0 ? null : azurite(words);
}

const azurite = (command: readonly string[]): Product => ({
  name: 'Azurite',
  command,
  portFlags: { blob: '--blobPort', queue: '--queuePort', table: '--tablePort' },
  dataFlag: '--location',
  quietFlags: ['--silent', '--disableTelemetry'],
  lenientFlags: ['--skipApiVersionCheck'],
});

export async function readVersion({ command }: Product): Promise<string> {
  const [program = '', ...words] = command;
  const { stdout } = await promisify(execFile)(program, [...words, '--version']);
  return stdout.trim();
}

export class Subject {
  readonly #product: Product;
  readonly #folder: string;
  #ports: ReadonlyMap<ServiceName, number> = new Map();
  #server: Server | null = null;

  constructor(product: Product, folder: string) {
    this.#product = product;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  has(service: ServiceName): boolean {
    return this.#product.portFlags[service] !== undefined;
  }

  /** Resolves when its services answer. `lenient: false` leaves the lenient flags out. */
  async start({ lenient = true } = {}): Promise<void> {
    const { command, portFlags, dataFlag, quietFlags, lenientFlags } = this.#product;
    const services = Object.entries(portFlags) as [ServiceName, string][];
    const ports = await freePorts(services.length);
    const portWords = services.flatMap(([, flag], index) => [flag, String(ports[index])]);
    this.#ports = new Map(services.map(([service], index) => [service, ports[index] as number]));
    const [program = '', ...words] = command;
    const server = new Server({
      port: this.portOf('blob'),
      program,
      words: [...words, ...portWords, dataFlag, 'data', ...quietFlags, ...(lenient ? lenientFlags : [])],
      // The command may be a wrapper, such as npx: a signal must reach what it started.
      forks: true,
      environment: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LARIMAR_'))),
      folder: this.#folder,
      logFile: join(this.#folder, 'server.log'),
    });
    this.#server = server;
    for (const [service, port] of this.#ports) {
      await server.untilAnswering(() => (service === 'smb' ? answersSmb(port) : answersHttp(port)));
    }
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  portOf(service: ServiceName): number {
    const port = this.#ports.get(service);
    if (port === undefined) throw new Error(`${this.#product.name} does not listen for ${service}`);
    return port;
  }

  endpointOf(service: ServiceName): string {
    return `http://127.0.0.1:${this.portOf(service)}/${DEVELOPMENT_ACCOUNT}`;
  }

  get connectionString(): string {
    const [blob, queue, table] = [this.endpointOf('blob'), this.endpointOf('queue'), this.endpointOf('table')];
    const file = this.has('file') ? this.endpointOf('file') : '';
    const endpoints = { blob, queue, table, file };
    return renderConnectionString({ name: DEVELOPMENT_ACCOUNT, key: DEVELOPMENT_KEY, endpoints });
  }
}

/** Any answer will do: this request is not signed. */
async function answersHttp(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/${DEVELOPMENT_ACCOUNT}?comp=list`);
    return true;
  } catch {
    return false;
  }
}
