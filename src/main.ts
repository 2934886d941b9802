/**
 * The composition root: it alone, with shared-store.ts, knows concrete engines, content stores and signals. Opens a
 * store, puts the services on it and the doors before them. Also what a program imports to run a server in its own process.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openBearerTokens } from './auth/bearer.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { type AccountSettingOptions, chooseAccountSettings } from './config/account-settings.ts';
import { type AccountSetting, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, makeAccounts } from './config/accounts.ts';
import type { LogMode, SmbEncryption } from './config/config.ts';
import { type Endpoints, reachable, renderConnectionString } from './config/connection-string.ts';
import { lockData } from './config/data-lock.ts';
import { Endings } from './config/endings.ts';
import { chooseOAuth, type OAuthOptions } from './config/oauth-setting.ts';
import { chooseStore, type StoreOptions, type StoreSetting } from './config/store-setting.ts';
import { openFilesContent } from './content/files/files-content.ts';
import { openMemoryContent } from './content/memory/memory-content.ts';
import { openLmdbEngine } from './engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from './engine/memory/memory-engine.ts';
import { openAdminServer } from './http/admin/admin-server.ts';
import { Readiness, readOnce } from './http/admin/readiness.ts';
import { blobDoor } from './http/blob/blob-door.ts';
import { onLoopback } from './http/copy-source.ts';
import type { SourceOptions } from './http/copy-source-resolver.ts';
import { fileDoor } from './http/file/file-door.ts';
import { openLog } from './http/log.ts';
import { queueDoor } from './http/queue/queue-door.ts';
import { type HttpServer, openHttpServer } from './http/server.ts';
import { tableDoor } from './http/table/table-door.ts';
import { openWebServer } from './http/web/web-server.ts';
import { openHttpOutside } from './outside/http-outside.ts';
import { openStorage } from './service/open-storage.ts';
import type { StoreParts, WaitOptions } from './shared-store.ts';
import { openLocalSignals } from './signals/local/local-signals.ts';
import type { SmbServer, SmbServerOptions } from './smb/smb-server.ts';

export type { Clock } from './base/clock.ts';
export { ManualClock } from './base/clock.ts';
export type { AccountSettingOptions } from './config/account-settings.ts';
export type { AccountSetting } from './config/accounts.ts';
export type { OAuthOptions } from './config/oauth-setting.ts';
export type { StoreOptions } from './config/store-setting.ts';

/** How to run a server. One of `data`, `memory: true` and `engine: 'postgres://…'` must be given. */
export interface ServerOptions extends StoreOptions, WaitOptions, AccountSettingOptions {
  /** The address to listen on. The default is `127.0.0.1`. */
  readonly host?: string;
  /** The port for the Blob service. The default is 0, which picks a free port. */
  readonly blobPort?: number;
  /** The port for the Queue service. The default is 0, which picks a free port. */
  readonly queuePort?: number;
  /** The port for the Table service. The default is 0, which picks a free port. */
  readonly tablePort?: number;
  /** The port for the File service over REST. The default is 0, which picks a free port. */
  readonly filePort?: number;
  /** The port for files over SMB; 0 picks a free port. The default is null: no SMB. */
  readonly smbPort?: number | null;
  /** Which SMB clients must encrypt. The default is `auto`: all except those on this machine. */
  readonly smbEncryption?: SmbEncryption;
  /** The port for `/health` and `/ready`; 0 picks a free port. The default is null: no such port. */
  readonly adminPort?: number | null;
  /** The port for static websites; 0 picks a free port. The default is null: no such port. */
  readonly webPort?: number | null;
  /** Accounts in addition to the development account. Keys are Base64. */
  readonly accounts?: readonly AccountSetting[];
  /** Whether other machines may use the development account, whose key is public. The default is false. */
  readonly allowDevelopmentAccount?: boolean;
  /** The issuer whose bearer tokens are accepted. By default, no bearer token is accepted. */
  readonly oauth?: OAuthOptions;
  /** Whether copies may read from other servers. The default is true. */
  readonly outsideCopies?: boolean;
  /** A certificate and its private key, as PEM. With them, the server speaks HTTPS. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** The format of the log, which goes to standard output. The default is `silent`. */
  readonly log?: LogMode;
  /**
   * The time by which leases expire and signatures are checked. A test can pass a `ManualClock` and move it. The default
   * is the clock of the database that `engine` names, or else the system's.
   */
  readonly clock?: Clock;
}

/** A server that `startServer` has started. */
export interface RunningServer {
  /** The URL of each service with the first account's name in its path, as in a connection string. */
  readonly endpoints: Endpoints;
  /** The URL of each service without an account, such as `http://127.0.0.1:10000`; null where the port is not open. */
  readonly origins: Endpoints & Readonly<Record<'smb' | 'admin' | 'web', string | null>>;
  /** The names of all accounts, the development account first. */
  readonly accounts: readonly string[];
  /** The connection string for the first account in `ServerOptions.accounts`, or else for the development account. */
  readonly connectionString: string;
  /** The connection string for any account. The key is not checked. */
  connectionStringFor(account: string, key: string): string;
  /**
   * Stops the server. `/ready` answers "not ready" at once; the server keeps serving for `drainSeconds` (default 0),
   * then finishes the requests in progress and releases the data. Closing twice is a no-op.
   */
  close(options?: { readonly drainSeconds?: number }): Promise<void>;
}

/**
 * Starts a server in this process, and resolves once all its ports are open. Rejects with a `ConfigError` if an option
 * is wrong or the data folder is in use, and with the system's error if a port cannot be opened.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const settings = options.accounts ?? [];
  const accounts = makeAccounts(settings, { allowDevelopmentAccount: options.allowDevelopmentAccount ?? false });
  const ofAccount = chooseAccountSettings(options, [...accounts.keys()]);
  const bearer = options.oauth === undefined ? null : openBearerTokens(chooseOAuth(options.oauth));
  const setting = chooseStore(options);
  const endings = new Endings();
  const log = openLog({ mode: options.log ?? 'silent', sink: process.stdout });
  endings.add(async () => log.flush());
  const readiness = new Readiness({ log });
  const at = { host: options.host ?? '127.0.0.1', ...(options.tls === undefined ? {} : { tls: options.tls }) };
  try {
    await claimPlace(setting, { looksOnly: false }, endings);
    const { adminPort = null } = options;
    // Open before the store is: a server that waits for its database is alive, though not ready.
    const admin = adminPort === null ? null : await openAdminServer({ ...at, port: adminPort, readiness });
    if (admin !== null) endings.keep(admin);
    const { engine, content, signals, clock: ofStore, slot, isShared } = await openParts(setting, options, endings);
    const clock = options.clock ?? ofStore ?? systemClock;
    const onError = (error: unknown): void => log.error('background work failed', error);
    const parts = { engine, content, signals, clock, slot, isShared };
    const ownPorts = new Set(admin === null ? [] : [portOf(admin.origin)]);
    const allow = options.outsideCopies === false ? 'none' : 'any';
    const outside = openHttpOutside({ allow, isOwnPort: (port) => ownPorts.has(port) });
    const services = await openStorage({ ...parts, onError, settings: ofAccount, outside });
    endings.keep(services);
    // The one that opens first may be asked to copy from the other.
    const open: { b?: HttpServer; f?: HttpServer } = {};
    const sources: SourceOptions = {
      accounts,
      bearer,
      isOurs: (url, service) => onLoopback((port) => port === open[service]?.port)(url),
      origin: (service) => open[service]?.origin ?? '',
    };
    const door = blobDoor(services.storage, sources);
    const common = { ...at, accounts, bearer, clock, log };
    const blob = await openHttpServer({ ...common, door, port: options.blobPort ?? 0 });
    open.b = blob;
    ownPorts.add(endings.keep(blob).port);
    const { storage } = services;
    const queue = await openHttpServer({ ...common, door: queueDoor(storage), port: options.queuePort ?? 0 });
    ownPorts.add(endings.keep(queue).port);
    const table = await openHttpServer({ ...common, door: tableDoor(storage), port: options.tablePort ?? 0 });
    ownPorts.add(endings.keep(table).port);
    const files = fileDoor(storage, sources);
    const file = await openHttpServer({ ...common, door: files, port: options.filePort ?? 0 });
    open.f = file;
    ownPorts.add(endings.keep(file).port);
    const { smbPort = null, smbEncryption: encryption = 'auto' } = options;
    const { host } = at;
    const smb = smbPort === null ? null : await openSmb({ storage, accounts, host, port: smbPort, encryption, log });
    if (smb !== null) ownPorts.add(endings.keep(smb).port);
    const { webPort = null } = options;
    const web = webPort === null ? null : await openWebServer({ ...at, port: webPort, storage, accounts, clock, log });
    if (web !== null) ownPorts.add(endings.keep(web).port);
    readiness.begin(() => readOnce(engine));
    const origins = {
      blob: reachable(blob.origin),
      queue: reachable(queue.origin),
      table: reachable(table.origin),
      file: reachable(file.origin),
      smb: smb === null ? null : reachable(`smb://${host.includes(':') ? `[${host}]` : host}:${smb.port}`),
      admin: admin === null ? null : reachable(admin.origin),
      web: web === null ? null : reachable(web.origin),
    };
    return describeServer({ origins, accounts: [...accounts.keys()], settings }, async (drainSeconds) => {
      readiness.end();
      if (drainSeconds > 0) await delay(drainSeconds * 1000);
      await endings.run();
    });
  } catch (error) {
    await Promise.allSettled([endings.run()]);
    throw error;
  }
}

/** Loaded when it is asked for: most programs that run a server of their own speak HTTP. */
const openSmb = async (options: SmbServerOptions): Promise<SmbServer> =>
  (await import('./smb/smb-server.ts')).openSmbServer(options);

const portOf = (origin: string): number => Number(new URL(origin).port);

function describeServer(
  server: Pick<RunningServer, 'origins' | 'accounts'> & { readonly settings: readonly AccountSetting[] },
  close: (drainSeconds: number) => Promise<void>,
): RunningServer {
  const { origins, accounts } = server;
  const { name, keys } = server.settings[0] ?? { name: DEVELOPMENT_ACCOUNT, keys: [DEVELOPMENT_KEY] };
  const endpointsOf = (account: string): Endpoints => ({
    blob: `${origins.blob}/${account}`,
    queue: `${origins.queue}/${account}`,
    table: `${origins.table}/${account}`,
    file: `${origins.file}/${account}`,
  });
  const connectionStringFor = (account: string, key: string): string =>
    renderConnectionString({ name: account, key, endpoints: endpointsOf(account) });
  let closed: Promise<void> | null = null;
  return {
    endpoints: endpointsOf(name),
    origins,
    accounts,
    connectionString: connectionStringFor(name, keys[0] as string),
    connectionStringFor,
    close: ({ drainSeconds = 0 } = {}) => (closed ??= close(drainSeconds)),
  };
}

/** This process's right to a store. A folder's is exclusive, and tells whether its last holder let go of it. */
async function claimPlace(
  setting: StoreSetting,
  { looksOnly }: { looksOnly: boolean },
  endings: Endings,
): Promise<{ afterCrash: boolean }> {
  // What a dead node left in a shared store is found by its age: some of it may stand there at any time.
  if (setting.kind !== 'folder') return { afterCrash: setting.kind === 'database' };
  const lock = await lockData(setting.path, { keepsCrashMark: looksOnly });
  endings.add(() => lock.release());
  return lock;
}

/** What it has opened is among the endings, also when it fails half-way. */
async function openParts(setting: StoreSetting, wait: WaitOptions, endings: Endings): Promise<StoreParts> {
  const alone = { clock: null, slot: () => null, isShared: false, otherNodes: async () => 0 };
  switch (setting.kind) {
    case 'memory': {
      const engine = endings.keep(openMemoryEngine());
      const content = endings.keep(openMemoryContent());
      return { ...alone, engine, content, signals: endings.keep(openLocalSignals()) };
    }
    case 'folder': {
      const engine = endings.keep(await openLmdbEngine({ path: join(setting.path, 'records') }));
      const content = endings.keep(await openFilesContent({ path: join(setting.path, 'content') }));
      return { ...alone, engine, content, signals: endings.keep(openLocalSignals()) };
    }
    case 'database':
      return (await import('./shared-store.ts')).openSharedStore(setting, wait, endings);
  }
}

/** A store that `openStore` has opened. */
export interface Store extends StoreParts {
  /** Whether the last process that used the data folder ended without closing it. */
  readonly afterCrash: boolean;
  close(): Promise<void>;
}

/**
 * Opens a store without starting a server. A data folder is locked until the store is closed. With `looksOnly`, no
 * tables are created in an empty database, and the mark that a crash has left in a data folder stays for the next user.
 */
export async function openStore(options: StoreOptions & { readonly looksOnly?: boolean }): Promise<Store> {
  const setting = chooseStore(options);
  const { looksOnly = false } = options;
  if (looksOnly && setting.kind === 'database') {
    await (await import('./shared-store.ts')).refuseEmptyDatabase(setting);
  }
  const endings = new Endings();
  try {
    const { afterCrash } = await claimPlace(setting, { looksOnly }, endings);
    const parts = await openParts(setting, {}, endings);
    return { ...parts, afterCrash, close: () => endings.run() };
  } catch (error) {
    await Promise.allSettled([endings.run()]);
    throw error;
  }
}
