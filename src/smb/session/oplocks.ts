/**
 * What clients cache, as this server tells them ([MS-SMB2] 3.3.1.12, 3.3.4.6, 3.3.4.7). What they may cache is decided with
 * the opens (service/file/opens/); here are the leases by which they know it, and the way to a client that is to cache less.
 */
import type { Caching } from '../../rules/oplock.ts';
import type { CachingBreak } from '../../service/file/opens/attend.ts';
import type { UsedNode } from '../../service/file/opens/node-uses.ts';
import type { OpenClient } from '../../service/file/opens/open-table.ts';
import { OplockLevel } from '../wire/create.ts';
import type { LeaseContext } from '../wire/create-contexts.ts';
import { encodeLeaseBreak, encodeOplockBreak } from '../wire/oplock-break.ts';
import { closeOpen, forgetOpen } from './close-open.ts';
import type { Door } from './door.ts';
import type { FileOpen } from './open.ts';
import type { Session } from './session.ts';
import { endTreeOfLostShare } from './sessions.ts';

/** One cache of a client, for everything that it has open with one key: all of that is one file. */
export interface OplockLease {
  readonly clientGuid: string;
  /** 16 bytes, in hex. */
  readonly key: string;
  /** As it was first asked for; the client is told in these words from then on. */
  readonly version: 1 | 2;
  readonly at: UsedNode;
  readonly opens: Set<FileOpen>;
  caching: Caching;
  /** Grows with every change that the client is told of. */
  epoch: number;
  /** The client was asked to cache less, and has not answered. */
  isBreaking: boolean;
}

/** An open that outlives its connection ([MS-SMB2] 3.3.1.10). */
export interface Durability {
  readonly version: 1 | 2;
  /** Of the second version: 16 bytes, in hex. */
  readonly createGuid: string | null;
  readonly clientGuid: string;
  readonly timeoutMs: number;
  /** An oplock was asked for, and the client has not answered. */
  isBreaking: boolean;
  /** Runs while the client is away. */
  timer: NodeJS.Timeout | null;
}

const EPOCH_MAX = 0xffff;

export class OplockLeases {
  readonly #leases = new Map<string, OplockLease>();

  find(clientGuid: string, key: string): OplockLease | null {
    return this.#leases.get(nameOf(clientGuid, key)) ?? null;
  }

  /** For an open that is granted so much; null: the client has the key for something else by now. */
  grant(
    asked: LeaseContext,
    { clientGuid, at, caching, isBreaking }: Pick<OplockLease, 'clientGuid' | 'at' | 'caching' | 'isBreaking'>,
  ): OplockLease | null {
    const { key, version, epoch } = asked;
    const lease = this.find(clientGuid, key) ?? {
      clientGuid,
      key,
      version,
      at,
      opens: new Set(),
      caching: '',
      epoch,
      isBreaking,
    };
    if (lease.at.shareId !== at.shareId || lease.at.nodeId !== at.nodeId) return null;
    if (lease.caching !== caching) lease.epoch = nextEpoch(lease);
    this.#leases.set(nameOf(clientGuid, key), lease);
    // A client that has not answered in time is not told so.
    lease.isBreaking = isBreaking;
    setCaching(lease, caching);
    return lease;
  }

  /** Ends with its last open. */
  leave(lease: OplockLease, open: FileOpen): void {
    lease.opens.delete(open);
    const name = nameOf(lease.clientGuid, lease.key);
    if (lease.opens.size === 0 && this.#leases.get(name) === lease) this.#leases.delete(name);
  }
}

const nameOf = (clientGuid: string, key: string): string => `${clientGuid} ${key}`;

const nextEpoch = ({ epoch }: OplockLease): number => (epoch + 1) & EPOCH_MAX;

export function setCaching(lease: OplockLease, caching: Caching): void {
  lease.caching = caching;
  for (const open of lease.opens) open.caching = caching;
}

// ---- how states are written

const LEASE_STATES: Readonly<Record<Caching, number>> = { '': 0, R: 1, RH: 3, RW: 5, RWH: 7 };

export const leaseStateOf = (caching: Caching): number => LEASE_STATES[caching];

/** Null: such a state there is not. */
export function cachingOfState(state: number): Caching | null {
  const found = Object.entries(LEASE_STATES).find(([, bits]) => bits === state);
  return found === undefined ? null : (found[0] as Caching);
}

const LEVELS: Readonly<Record<Caching, number>> = {
  '': OplockLevel.NONE,
  R: OplockLevel.LEVEL_II,
  RH: OplockLevel.LEVEL_II,
  RW: OplockLevel.EXCLUSIVE,
  RWH: OplockLevel.BATCH,
};

export const oplockLevelOf = (caching: Caching): number => LEVELS[caching];

/** Levels that there are not are none. */
export function cachingOfLevel(level: number): Caching {
  if (level === OplockLevel.LEVEL_II) return 'R';
  if (level === OplockLevel.EXCLUSIVE) return 'RW';
  return level === OplockLevel.BATCH ? 'RWH' : '';
}

// ---- the way to the client

/**
 * The client of one open. What it is to be told before it knows of the open is told after that: until the response is on its
 * way, no notification can mean anything to it.
 */
export class ClientOfOpen implements OpenClient {
  readonly #door: Door;
  #open: FileOpen | null = null;
  #isAnswered = false;
  #isClosed = false;
  #kept: CachingBreak[] = [];

  constructor(door: Door) {
    this.#door = door;
  }

  /** False: it has been closed by force in the meantime. */
  opened(open: FileOpen): boolean {
    this.#open = open;
    return !this.#isClosed;
  }

  /** The response is being sent. */
  answered(): void {
    setImmediate(() => {
      this.#isAnswered = true;
      for (const asked of this.#kept.splice(0)) this.#tell(asked);
    });
  }

  breakCaching(_openId: string, asked: CachingBreak): void {
    if (this.#isAnswered) this.#tell(asked);
    else this.#kept.push(asked);
  }

  hasWritten(): boolean {
    return this.#open?.hasWritten ?? false;
  }

  closed(): void {
    this.#isClosed = true;
    const open = this.#open;
    if (open === null) return;
    const { tree } = open;
    forgetOpen(this.#door, open);
    const onError = (error: unknown): void =>
      this.#door.log.error('SMB: a tree connect to a deleted share could not be ended', error);
    if (tree !== null) void endTreeOfLostShare(this.#door, tree).catch(onError);
  }

  #tell(asked: CachingBreak): void {
    const open = this.#open;
    if (open === null || open.isClosed) return;
    if (open.lease === null) this.#breakOplock(open, asked);
    else this.#breakLease(open.lease, asked);
  }

  #breakOplock(open: FileOpen, { from, to, mustAnswer }: CachingBreak): void {
    open.caching = mustAnswer ? from : to;
    if (open.durability !== null) open.durability.isBreaking = mustAnswer;
    const session = open.tree?.session ?? null;
    if (session === null) this.#giveUp([open], mustAnswer);
    else session.connection.notify(session, encodeOplockBreak({ fileId: open.fileId, level: oplockLevelOf(to) }));
  }

  #breakLease(lease: OplockLease, { from, to, mustAnswer, isContinued }: CachingBreak): void {
    if (!isContinued) lease.epoch = nextEpoch(lease);
    lease.isBreaking = mustAnswer;
    setCaching(lease, mustAnswer ? from : to);
    const session = sessionOf(this.#door, lease);
    if (session === null) {
      this.#giveUp([...lease.opens], mustAnswer);
      return;
    }
    const epoch = lease.version === 2 ? lease.epoch : 0;
    const states = { from: leaseStateOf(from), to: leaseStateOf(to) };
    session.connection.notify(session, encodeLeaseBreak({ key: lease.key, ...states, epoch, mustAnswer }));
  }

  /** A client that is away answers nobody: others do not wait for it. */
  #giveUp(opens: readonly FileOpen[], mustAnswer: boolean): void {
    if (!mustAnswer) return;
    for (const open of opens) {
      void closeOpen(this.#door, open).catch((error: unknown) => {
        this.#door.log.error('SMB: a file that a lost client left open could not be closed', error);
      });
    }
  }
}

/** The oldest connection of the client, whichever of them the lease came by; null: it is away. */
function sessionOf({ connections }: Door, { clientGuid }: OplockLease): Session | null {
  for (const { negotiated, sessions, isClosed } of connections) {
    const [session] = sessions.values();
    if (negotiated?.clientGuid === clientGuid && session !== undefined && !isClosed) return session;
  }
  return null;
}
