/** The SMB server: listens, and gives every connection the same door to the storage. */
import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isLoopback } from '../auth/client-address.ts';
import type { Account } from '../auth/identity.ts';
import type { Storage } from '../service/storage.ts';
import type { Connection } from './session/connection.ts';
import type { Door, SmbLog } from './session/door.ts';
import { endDurable } from './session/durable.ts';
import { SMB_LIMITS, type SmbLimits } from './session/limits.ts';
import { OplockLeases } from './session/oplocks.ts';
import { Watches } from './session/watches.ts';
import { SmbConnection } from './transport/smb-connection.ts';

/** Who has to encrypt: all but those on this machine, everybody, nobody. */
export type SmbEncryption = 'auto' | 'required' | 'optional';

export interface SmbServerOptions {
  readonly storage: Storage;
  readonly accounts: ReadonlyMap<string, Account>;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly encryption: SmbEncryption;
  readonly log: SmbLog;
  readonly limits?: Partial<SmbLimits>;
}

export interface SmbServer {
  readonly port: number;
  /** Takes no new connections; those that there are end when what they have asked for is answered, or took too long. */
  close(): Promise<void>;
}

const GUID_BYTES = 16;

export async function openSmbServer(options: SmbServerOptions): Promise<SmbServer> {
  const { storage, accounts, log, encryption } = options;
  const limits = { ...SMB_LIMITS, ...options.limits };
  const connections = new Set<SmbConnection>();
  const door: Door = {
    storage,
    accounts,
    log,
    limits,
    serverGuid: randomBytes(GUID_BYTES),
    startedAtMs: storage.clock.nowMs(),
    requiresEncryption: ({ isLoopback }: Connection) =>
      encryption === 'required' || (encryption === 'auto' && !isLoopback),
    connections,
    sessions: new Map(),
    opens: new Map(),
    leases: new OplockLeases(),
    watches: new Watches(storage.fileChanges),
  };
  const server = createServer({ noDelay: true }, (socket) => {
    if (connections.size >= limits.connectionCountMax) socket.destroy();
    else connections.add(new SmbConnection(door, socket, isLoopback(socket.remoteAddress ?? '')));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => log.error('SMB: the server failed', error));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      const open = [...connections];
      for (const connection of open) connection.finish();
      const limitMs = performance.now() + limits.closeTimeoutMs;
      while (open.some(({ isFinished }) => !isFinished) && performance.now() < limitMs) await delay(CLOSE_LOOK_MS);
      for (const connection of open) connection.destroy('the server is stopping');
      await Promise.all(open.map(({ ended }) => ended));
      await endDurable(door);
      await closed;
    },
  };
}

const CLOSE_LOOK_MS = 20;
