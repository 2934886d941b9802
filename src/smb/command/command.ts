/**
 * What a command is: how its request is decoded, and what it does. Whatever it throws becomes the status of the response
 * (statuses.ts). Commands know nothing of signing, encryption, credits and compounds (transport/).
 */
import type { Waiter } from '../../service/file/opens/waits.ts';
import type { Connection } from '../session/connection.ts';
import type { Door } from '../session/door.ts';
import type { FileOpen, Open } from '../session/open.ts';
import type { Session, Tree } from '../session/session.ts';
import { Status } from '../statuses.ts';
import type { Header } from '../wire/header.ts';
import type { FileId, RequestMessage } from '../wire/message.ts';

export interface Reply {
  readonly status: Status;
  /** What follows the header, in pieces: long ones are not copied. */
  readonly body: readonly Uint8Array[];
  /** Of what the request has made. */
  readonly sessionId?: bigint;
  readonly treeId?: number;
  /** Signed for this session, whatever the request was. */
  readonly signer?: Session;
  /** Is told the whole message as it is sent. */
  readonly onEncoded?: (pieces: readonly Uint8Array[]) => void;
}

export const succeed = (...body: readonly Uint8Array[]): Reply => ({ status: Status.SUCCESS, body });

/** The structure of 4 bytes that says nothing. */
export const EMPTY_BODY: Uint8Array = Uint8Array.of(4, 0, 0, 0);

export interface Context {
  readonly door: Door;
  readonly connection: Connection;
  readonly header: Header;
  readonly session: Session;
  readonly tree: Tree;
  /** Of a file or directory of this tree; in a related request that of the one before. Throws FILE_CLOSED and others. */
  open(fileId: FileId): FileOpen;
  /** A pipe as well. */
  anyOpen(fileId: FileId): Open;
  /** The related requests that follow mean this one. */
  opened(open: Open): void;
  /** Resolves when what was begun with it before is done: whoever closes lets others finish. */
  othersEnd(open: Open): Promise<void>;
  /** Aborted by CANCEL, and when the connection ends. */
  readonly cancelled: AbortSignal;
  /** Tells the client that it has to wait (an interim response). Once is enough. */
  pend(): void;
}

/** Whatever is made of a request on a tree: nearly all commands. */
export interface Command<Request = unknown> {
  /** Throws Malformed or RangeError. */
  decode(message: RequestMessage): Request;
  handle(context: Context, request: Request): Promise<Reply> | Reply;
}

/** Who waits in the service, and what ends the waiting. */
export const waiterOf = (context: Context): Waiter => ({
  onWait: () => context.pend(),
  get signal() {
    return context.cancelled;
  },
});
