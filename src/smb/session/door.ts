/** What all connections of one SMB server share. */
import type { Account } from '../../auth/identity.ts';
import type { Storage } from '../../service/storage.ts';
import type { Connection } from './connection.ts';
import type { SmbLimits } from './limits.ts';
import type { FileOpen } from './open.ts';
import type { OplockLeases } from './oplocks.ts';
import type { Session } from './session.ts';
import type { Watches } from './watches.ts';

export interface SmbLog {
  info(message: string): void;
  error(message: string, error?: unknown): void;
}

export interface Door {
  readonly storage: Storage;
  readonly accounts: ReadonlyMap<string, Account>;
  readonly log: SmbLog;
  readonly limits: SmbLimits;
  /** 16 bytes. */
  readonly serverGuid: Buffer;
  readonly startedAtMs: number;
  /** Whether whatever comes from this connection must be encrypted. */
  requiresEncryption(connection: Connection): boolean;
  readonly connections: Set<Connection>;
  readonly sessions: Map<bigint, Session>;
  /** Of files and directories, by their persistent ids; also those whose connection is lost and whose client may come back. */
  readonly opens: Map<bigint, FileOpen>;
  readonly leases: OplockLeases;
  readonly watches: Watches;
}
