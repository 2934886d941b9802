/**
 * What is kept of files and directories that SMB clients use: volatile records, which live as long as the node that wrote
 * them last. So an open and its locks are written by the node that has the client, and by no other: whoever wants
 * something of that client leaves an ask of its own, which the client's node attends to and removes (attend.ts).
 */
import type { Id } from '../../../base/ids.ts';
import type { EntryKind } from '../../../rules/file-attributes.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import type { Caching, CachingStyle } from '../../../rules/oplock.ts';
import type { ShareMode } from '../../../rules/share-mode.ts';

/** Who has something open, as List Handles tells. */
export interface ClientInfo {
  /** Address and port. */
  readonly ip: string;
  readonly name: string;
  readonly sessionId: string;
}

/**
 * An application that may go on elsewhere ([MS-SMB2] 2.2.13.2.13): what it has opened from one client is closed when it
 * opens the same from another.
 */
export interface AppInstance {
  readonly id: string;
  readonly clientGuid: string;
}

export interface OpenRecord extends ShareMode {
  /** The node that has the client. */
  readonly owner: Id;
  /** A number of 64 bits, in decimal. */
  readonly handleId: string;
  readonly kind: EntryKind;
  readonly caching: Caching;
  readonly style: CachingStyle;
  readonly cacheKey: string;
  readonly breaking?: Breaking;
  readonly deletesOnClose: boolean;
  readonly instance?: AppInstance;
  readonly client: ClientInfo;
  readonly openedAtMs: number;
  /** When a client that had lost its connection came back to it. */
  readonly reconnectedAtMs?: number;
}

/** The client was asked for less, and has not answered. */
export interface Breaking {
  readonly id: Id;
  readonly to: Caching;
  readonly sinceMs: number;
  /** It had answered something before, and more was asked for meanwhile. */
  readonly isContinued?: true;
}

export interface LockRecord {
  /** Numbers of 64 bits, in decimal. */
  readonly offsetBytes: string;
  readonly lengthBytes: string;
  readonly isExclusive: boolean;
}

/** A mark for deletion: carried out when the last open is closed. */
export interface PendingRecord {
  /** The node that wrote it; it looks after it when all who had it open are gone. */
  readonly owner: Id;
  readonly account: string;
  readonly share: string;
}

export interface AskRecord {
  /** To cache no more than this; or to close, whatever the client thinks of it. */
  readonly to: Caching | 'close';
  /** The client had not answered something else by then. */
  readonly isMeanwhile?: true;
}

export interface WantedOfOpen {
  readonly openId: OpenId;
  readonly to: AskRecord['to'];
}
