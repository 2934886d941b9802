/**
 * The composition root: the only file that knows concrete engines and content stores. Opens a store, puts the services
 * on it and the doors before them. Also what a program imports to run a server in its own process.
 */
import { join } from 'node:path';
import type { Account } from './auth/identity.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { type AccountSetting, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, makeAccounts } from './config/accounts.ts';
import type { LogMode } from './config/config.ts';
import { type DataLock, lockData } from './config/data-lock.ts';
import type { ContentStore } from './content/content.ts';
import { openFilesContent } from './content/files/files-content.ts';
import { openMemoryContent } from './content/memory/memory-content.ts';
import type { Engine } from './engine/engine.ts';
import { openLmdbEngine } from './engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from './engine/memory/memory-engine.ts';
import { blobDoor } from './http/blob/blob-door.ts';
import { type Log, openLog } from './http/log.ts';
import { openHttpServer } from './http/server.ts';
import { openStorage } from './service/open-storage.ts';

export type { Clock } from './base/clock.ts';
export { ManualClock } from './base/clock.ts';
export type { AccountSetting } from './config/accounts.ts';

export interface ServerOptions {
  /** The folder to store in; without it, `memory` must be true. */
  readonly data?: string;
  /** Store nothing on disk. */
  readonly memory?: boolean;
  readonly host?: string;
  /** 0, the default here: any that is free. */
  readonly blobPort?: number;
  /** Beside the development account. Keys in Base64. */
  readonly accounts?: readonly AccountSetting[];
  /** Serve the development account, whose key is public, to other machines too. */
  readonly allowDevelopmentAccount?: boolean;
  /** PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly log?: LogMode;
  /** Judges leases and signatures; a test may hand in one that it moves. */
  readonly clock?: Clock;
}

export interface RunningServer {
  /** Each with the first account's name in its path, as connection strings want them. */
  readonly endpoints: { readonly blob: string };
  /** Without an account: `http://127.0.0.1:10000`. */
  readonly origins: { readonly blob: string };
  /** The names of all accounts, the development account first. */
  readonly accounts: readonly string[];
  /** For the first account given, else for the development account. */
  readonly connectionString: string;
  /** The same for any account. */
  connectionStringFor(account: string, key: string): string;
  /** Answers the requests under way, then lets go of the data. */
  close(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const clock = options.clock ?? systemClock;
  const log = openLog({ mode: options.log ?? 'silent', sink: process.stdout });
  const settings = options.accounts ?? [];
  const accounts = makeAccounts(settings, { allowDevelopmentAccount: options.allowDevelopmentAccount ?? false });
  const store = await openStore(options);
  try {
    return await serveOn(store, { options, clock, log, accounts, settings });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Store {
  readonly engine: Engine;
  readonly content: ContentStore;
  /** Whoever used it last did not close it. */
  readonly afterCrash: boolean;
  close(): Promise<void>;
}

/**
 * The engine and content of a data folder, locked against everybody else; or of nothing but memory. `looksOnly`: a
 * crash of the last user stays on record, for whoever uses the folder next.
 */
export async function openStore(
  options: Pick<ServerOptions, 'data' | 'memory'> & { readonly looksOnly?: boolean },
): Promise<Store> {
  if (options.data !== undefined && options.memory === true) {
    throw new TypeError('startServer takes a data folder or memory: true, not both');
  }
  if (options.data === undefined) {
    if (options.memory !== true) throw new TypeError('startServer needs either a data folder or memory: true');
    return storeOf(openMemoryEngine(), openMemoryContent(), null);
  }
  const lock = await lockData(options.data, { keepsCrashMark: options.looksOnly ?? false });
  try {
    const engine = await openLmdbEngine({ path: join(options.data, 'records') });
    try {
      return storeOf(engine, await openFilesContent({ path: join(options.data, 'content') }), lock);
    } catch (error) {
      await engine.close();
      throw error;
    }
  } catch (error) {
    await lock.release();
    throw error;
  }
}

const storeOf = (engine: Engine, content: ContentStore, lock: DataLock | null): Store => ({
  engine,
  content,
  afterCrash: lock?.afterCrash ?? false,
  async close() {
    try {
      await engine.close();
      await content.close();
    } finally {
      await lock?.release();
    }
  },
});

async function serveOn(
  store: Store,
  parts: {
    options: ServerOptions;
    clock: Clock;
    log: Log;
    accounts: ReadonlyMap<string, Account>;
    settings: readonly AccountSetting[];
  },
): Promise<RunningServer> {
  const { options, clock, log, accounts, settings } = parts;
  const { storage, close: closeStorage } = await openStorage({
    engine: store.engine,
    content: store.content,
    clock,
    onError: (error) => log.error('sweeping failed', error),
  });
  const blob = await openHttpServer({
    door: blobDoor(storage),
    accounts,
    clock,
    host: options.host ?? '127.0.0.1',
    port: options.blobPort ?? 0,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    log,
  }).catch(async (error: unknown) => {
    await closeStorage();
    throw error;
  });
  const { name, keys } = settings[0] ?? { name: DEVELOPMENT_ACCOUNT, keys: [DEVELOPMENT_KEY] };
  const origins = { blob: reachable(blob.origin) };
  const connectionStringFor = (account: string, key: string): string =>
    renderConnectionString({ name: account, key, blobEndpoint: `${origins.blob}/${account}` });
  let closed: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await blob.close();
    await closeStorage();
    await store.close();
    log.flush();
  };
  return {
    endpoints: { blob: `${origins.blob}/${name}` },
    origins,
    accounts: [...accounts.keys()],
    connectionString: connectionStringFor(name, keys[0] as string),
    connectionStringFor,
    close: () => (closed ??= close()),
  };
}

/** A server that listens everywhere is reached on this machine by its loopback address. */
const reachable = (origin: string): string =>
  origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

function renderConnectionString(account: { name: string; key: string; blobEndpoint: string }): string {
  const protocol = account.blobEndpoint.slice(0, account.blobEndpoint.indexOf(':'));
  return (
    `DefaultEndpointsProtocol=${protocol};AccountName=${account.name};` +
    `AccountKey=${account.key};BlobEndpoint=${account.blobEndpoint};`
  );
}
