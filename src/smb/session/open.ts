/** Something that a client has open: a file or directory of a share, or a pipe. */
import type { EntryKind } from '../../rules/file-attributes.ts';
import type { Caching } from '../../rules/oplock.ts';
import type { ThroughOpen } from '../../service/file/opens/through-open.ts';
import type { FileId } from '../wire/message.ts';
import type { DirectoryCursor } from './directory-cursor.ts';
import type { Durability, OplockLease } from './oplocks.ts';
import type { Pipe } from './pipe.ts';
import type { Tree } from './session.ts';
import type { Watch } from './watches.ts';

interface AnyOpen {
  readonly fileId: FileId;
  /** Null: its connection is lost, and the client may come back to it (durable). */
  tree: Tree | null;
  isClosed: boolean;
}

/** Times that a client has set to stay as they are, though it goes on writing (-1 in FileBasicInformation). */
export interface FrozenTimes {
  writtenAt: boolean;
  changedAt: boolean;
}

export interface FileOpen extends AnyOpen, ThroughOpen {
  readonly kind: EntryKind;
  /** What was granted, of the bits of an access mask (wire/access.ts). */
  readonly access: number;
  /** CreateOptions, and those that FileModeInformation sets. */
  mode: number;
  readonly deletesOnClose: boolean;
  /** An oplock of its own, or that of its lease. */
  caching: Caching;
  readonly lease: OplockLease | null;
  durability: Durability | null;
  /** Bytes were written or cut through it: a new ETag when it is closed. */
  hasWritten: boolean;
  positionBytes: bigint;
  /** Room that was asked for through it: nothing is set aside, but it is what the client is told that the file takes. */
  reservedBytes: number;
  readonly frozen: FrozenTimes;
  cursor: DirectoryCursor | null;
  watch: Watch | null;
  /** Of LOCK requests that may be replayed: the last sequence number in each bucket. */
  readonly lockSequences: Map<number, number>;
  /** Of SRV_REQUEST_RESUME_KEY: 24 bytes in hex; null: not asked for. */
  resumeKey: string | null;
}

export interface PipeOpen extends AnyOpen {
  readonly kind: 'pipe';
  readonly access: number;
  readonly pipe: Pipe;
}

export type Open = FileOpen | PipeOpen;
