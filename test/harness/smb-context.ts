/**
 * What an SMB command is handled with, without any connection before it: a door over a store in memory with one share,
 * one session and one tree, and a context for each request. Further clients have connections and sessions of their own.
 */
import { randomBytes } from 'node:crypto';
import type { Storage } from '../../src/service/storage.ts';
import type { Context, Reply } from '../../src/smb/command/command.ts';
import type { Connection } from '../../src/smb/session/connection.ts';
import type { Door } from '../../src/smb/session/door.ts';
import { SMB_LIMITS, type SmbLimits } from '../../src/smb/session/limits.ts';
import type { FileOpen, Open } from '../../src/smb/session/open.ts';
import { OplockLeases } from '../../src/smb/session/oplocks.ts';
import { PreauthHash } from '../../src/smb/session/preauth-hash.ts';
import type { Dialect } from '../../src/smb/session/protocol.ts';
import type { Session, Tree } from '../../src/smb/session/session.ts';
import { Watches } from '../../src/smb/session/watches.ts';
import { SmbError, Status, statusName, statusOf } from '../../src/smb/statuses.ts';
import { FULL_ACCESS } from '../../src/smb/wire/access.ts';
import { CommandCode, encodeHeader, HEADER_BYTES, type Header } from '../../src/smb/wire/header.ts';
import { ALL_ONES_64, type FileId, type RequestMessage } from '../../src/smb/wire/message.ts';
import { TestShare } from './file-store.ts';
import { ACCOUNT } from './store.ts';

const HEADER: Header = {
  creditCharge: 1,
  status: 0,
  command: 0,
  credits: 1,
  flags: 0,
  nextCommand: 0,
  messageId: 5n,
  asyncId: 0n,
  treeId: 1,
  sessionId: 1n,
};

/** One client: its connection, session and tree. */
export class TestClient {
  readonly door: Door;
  readonly connection: Connection;
  readonly session: Session;
  readonly tree: Tree;
  /** Bodies of the notifications that it was sent. */
  readonly notified: Buffer[] = [];

  constructor(
    door: Door,
    { dialect = 0x0311, clientGuid = randomBytes(16).toString('hex') }: { dialect?: Dialect; clientGuid?: string } = {},
  ) {
    const { notified } = this;
    this.door = door;
    const connection = {
      door,
      remote: '10.0.0.5:50312',
      isLoopback: true,
      negotiated: {
        dialect,
        clientGuid,
        clientDialects: [dialect],
        clientCapabilities: 0,
        clientSecurityMode: 1,
        capabilities: 0,
        securityMode: 1,
        signing: 'aes-cmac' as const,
        cipher: null,
      },
      preauth: new PreauthHash(),
      signIns: new Map(),
      sessions: new Map<bigint, Session>(),
      isClosed: false,
      cancel(): void {},
      notify(_session: Session, body: Uint8Array): void {
        notified.push(Buffer.from(body));
      },
      destroy(): void {
        connection.isClosed = true;
        door.connections.delete(connection);
      },
    };
    this.connection = connection;
    this.session = {
      id: randomBytes(8).readBigUInt64LE(),
      connection,
      account: ACCOUNT,
      clientName: 'desktop',
      keys: { signing: Buffer.alloc(16), encryption: null, decryption: null, application: null },
      nonces: null,
      signingRequired: false,
      encrypts: false,
      trees: new Map(),
      opens: new Map<bigint, Open>(),
      isEnded: false,
    };
    this.tree = { id: 1, session: this.session, share: 'share', maximalAccess: FULL_ACCESS };
    this.session.trees.set(1, this.tree);
    connection.sessions.set(this.session.id, this.session);
    door.sessions.set(this.session.id, this.session);
    door.connections.add(connection);
  }

  /** For one request. `pend` and `cancelled` are told by the options. */
  context({
    header = {},
    tree = this.tree,
    onPend = () => {},
    cancelled = new AbortController().signal,
  }: {
    header?: Partial<Header>;
    tree?: Tree;
    onPend?: () => void;
    cancelled?: AbortSignal;
  } = {}): Context & { readonly last: Open | null } {
    let last: Open | null = null;
    const anyOpen = ({ persistent, volatile }: FileId): Open => {
      if (persistent === ALL_ONES_64 && volatile === ALL_ONES_64 && last !== null) return last;
      const open = this.session.opens.get(volatile);
      if (open?.fileId.persistent !== persistent || open.isClosed) throw new SmbError(Status.FILE_CLOSED);
      return open;
    };
    return {
      door: this.door,
      connection: this.connection,
      header: { ...HEADER, ...header, sessionId: this.session.id },
      session: this.session,
      tree,
      anyOpen,
      open: (fileId) => {
        const open = anyOpen(fileId);
        if (open.kind === 'pipe') throw new SmbError(Status.INVALID_DEVICE_REQUEST);
        return open satisfies FileOpen;
      },
      opened: (open) => {
        last = open;
      },
      async othersEnd() {},
      cancelled,
      pend: onPend,
      get last() {
        return last;
      },
    };
  }
}

export interface MadeContext {
  readonly door: Door;
  readonly context: Context;
  readonly storage: Storage;
  /** Its files, as REST has them. */
  readonly share: TestShare;
  readonly client: TestClient;
}

export async function makeContext({ limits = {} }: { limits?: Partial<SmbLimits> } = {}): Promise<MadeContext> {
  const share = await TestShare.create();
  const { storage } = share.store;
  const door: Door = {
    storage,
    accounts: new Map(),
    log: {
      info() {},
      error(message, error) {
        throw new Error(message, { cause: error });
      },
    },
    limits: { ...SMB_LIMITS, ...limits },
    serverGuid: randomBytes(16),
    startedAtMs: storage.clock.nowMs(),
    requiresEncryption: () => false,
    connections: new Set(),
    sessions: new Map(),
    opens: new Map(),
    leases: new OplockLeases(),
    watches: new Watches(storage.fileChanges),
  };
  const client = new TestClient(door);
  return { door, context: client.context(), storage, share, client };
}

/** A request as it arrives: its header and what follows it. */
export function messageOf(body: Uint8Array, header: Partial<Header> = {}): RequestMessage {
  const whole = { ...HEADER, command: CommandCode.CREATE, ...header };
  return { header: whole, bytes: Buffer.concat([encodeHeader(whole), body]) };
}

/** What follows the header of a reply, in one piece. */
export const bodyOfReply = ({ body }: Reply): Buffer => Buffer.concat(body);

/** The name of the status of a reply or refusal. */
export async function statusNameOf(handle: () => Reply | Promise<Reply>): Promise<string> {
  try {
    return statusName((await handle()).status);
  } catch (error) {
    const status = statusOf(error);
    if (status === null) throw error;
    return statusName(status);
  }
}

export { HEADER_BYTES };
