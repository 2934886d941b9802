/**
 * One request on its way: checked in the order of [MS-SMB2] 3.3.5.2 (signature, session, tree, encryption, structure), then
 * handed to its command. In a compound it may mean the session, tree and file of the request before it.
 */

import type { Context, Reply } from '../command/command.ts';
import { decodeOrRefuse } from '../command/decode-or-refuse.ts';
import { COMMANDS } from '../commands.ts';
import type { Door } from '../session/door.ts';
import type { FileOpen, Open } from '../session/open.ts';
import type { Session, Tree } from '../session/session.ts';
import { isSignedRight } from '../session/signing.ts';
import { SmbError, Status, statusOf } from '../statuses.ts';
import { encodeError } from '../wire/error.ts';
import { CommandCode, FLAG_RELATED, FLAG_SIGNED, type Header } from '../wire/header.ts';
import { ALL_ONES_64, type FileId, type RequestMessage } from '../wire/message.ts';
import { DIALECT_3_1_1 } from '../wire/negotiate.ts';
import { isPaid } from './compound.ts';
import type { SmbConnection } from './smb-connection.ts';

/** What the requests of one compound hand on to those that are related to them. */
export interface Chain {
  /** Null: there was none. */
  session: { readonly id: bigint; readonly treeId: number } | null;
  open: Open | null;
  /** Of the one that should have opened it. */
  refusal: Status | null;
}

/** These may wait for ever: in the middle of a compound nobody could be told. */
const ENDLESS: ReadonlySet<number> = new Set([CommandCode.CHANGE_NOTIFY, CommandCode.LOCK]);

const FIRST_ERROR = 0xc000_0000;

export const NO_CHAIN: Readonly<Chain> = { session: null, open: null, refusal: null };

export class Exchange implements Context {
  readonly connection: SmbConnection;
  readonly door: Door;
  readonly header: Header;
  readonly isEncrypted: boolean;
  readonly #message: RequestMessage;
  readonly #chain: Chain;
  readonly #onPending: (exchange: Exchange) => Status | null;
  #controller: AbortController | null = null;
  #isCancelled = false;
  readonly #opens = new Set<Open>();
  #isWaiting = false;
  /** Why it must not wait; null: it may. */
  #waitRefusal: Status | null = null;
  #end: () => void = () => {};
  /** Resolves when it is answered. */
  readonly answered = new Promise<void>((resolve) => {
    this.#end = resolve;
  });
  #session: Session | null = null;
  #tree: Tree | null = null;
  /** Of a request that waits; null: it does not. */
  asyncId: bigint | null = null;

  constructor(options: {
    connection: SmbConnection;
    message: RequestMessage;
    chain: Chain;
    isEncrypted: boolean;
    /** Gives the refusal of one that must not wait. */
    onPending: (exchange: Exchange) => Status | null;
  }) {
    this.connection = options.connection;
    this.door = options.connection.door;
    this.#message = options.message;
    this.#chain = options.chain;
    this.isEncrypted = options.isEncrypted;
    this.#onPending = options.onPending;
    const { header } = options.message;
    const { session } = options.chain;
    const isRelated = (header.flags & FLAG_RELATED) !== 0;
    this.header = isRelated && session !== null ? { ...header, sessionId: session.id, treeId: session.treeId } : header;
    if (!isRelated) Object.assign(options.chain, NO_CHAIN);
  }

  get session(): Session {
    if (this.#session === null) throw new SmbError(Status.USER_SESSION_DELETED);
    return this.#session;
  }

  get tree(): Tree {
    if (this.#tree === null) throw new SmbError(Status.NETWORK_NAME_DELETED);
    return this.#tree;
  }

  /** Few requests ever ask for it. */
  get cancelled(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#isCancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  get isRelated(): boolean {
    return (this.header.flags & FLAG_RELATED) !== 0;
  }

  isOf(of: Session | Tree): boolean {
    return this.#session === of || this.#tree === of;
  }

  /** Whether its response must be signed. */
  get signer(): Session | null {
    const isAsked = (this.header.flags & FLAG_SIGNED) !== 0 || this.#session?.signingRequired === true;
    return isAsked ? this.#session : null;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#controller?.abort();
  }

  /** One that must not wait gives up what it has begun to wait for, as if it were cancelled. */
  pend(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#waitRefusal = this.#onPending(this);
    if (this.#waitRefusal !== null) this.cancel();
  }

  /** It has waited for somebody else: nobody knows whether that ends. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  get mayWaitForEver(): boolean {
    return ENDLESS.has(this.header.command);
  }

  /** Whether it does something with the open, and will come to an end by itself. */
  isUsing(open: Open): boolean {
    return this.#opens.has(open) && !this.#isWaiting;
  }

  othersEnd(open: Open): Promise<void> {
    return this.connection.usersEnd(open, this);
  }

  opened(open: Open): void {
    this.#opens.add(open);
    this.#chain.open = open;
    this.#chain.refusal = null;
  }

  open(fileId: FileId): FileOpen {
    const open = this.anyOpen(fileId);
    if (open.kind === 'pipe') throw new SmbError(Status.INVALID_DEVICE_REQUEST);
    return open;
  }

  anyOpen(fileId: FileId): Open {
    const { persistent, volatile } = fileId;
    if (this.isRelated && persistent === ALL_ONES_64 && volatile === ALL_ONES_64) {
      const { open, refusal } = this.#chain;
      if (open === null) throw new SmbError(refusal ?? Status.INVALID_HANDLE);
      if (open.isClosed) throw new SmbError(Status.FILE_CLOSED);
      this.#opens.add(open);
      return open;
    }
    const open = this.session.opens.get(volatile);
    if (open === undefined || open.isClosed || open.fileId.persistent !== persistent || open.tree !== this.tree) {
      throw new SmbError(Status.FILE_CLOSED);
    }
    this.opened(open);
    return open;
  }

  /** Never throws. */
  async run(): Promise<Reply> {
    try {
      const reply = await this.#answer();
      this.#handOn(reply);
      return reply;
    } catch (error) {
      const refusal = this.#refusalOf(error);
      this.#handOn(refusal);
      return refusal;
    } finally {
      this.#end();
    }
  }

  async #answer(): Promise<Reply> {
    const known = COMMANDS.get(this.header.command);
    const isLost = this.isRelated && this.#chain.session === null;
    if (known === undefined || isLost) throw new SmbError(Status.INVALID_PARAMETER);
    const { need, command } = known;
    this.#findSession(need !== 'nothing');
    if (need === 'tree') this.#findTree();
    if (!isPaid(this.#message)) throw new SmbError(Status.INVALID_PARAMETER);
    const message = { ...this.#message, header: this.header };
    return command.handle(
      this,
      decodeOrRefuse(() => command.decode(message)),
    );
  }

  /** A request that is signed must be signed rightly; one that must be encrypted or signed must be so. */
  #findSession(isNeeded: boolean): void {
    const session = this.connection.sessions.get(this.header.sessionId);
    const isSigned = (this.header.flags & FLAG_SIGNED) !== 0 && !this.isEncrypted;
    const { command } = this.header;
    if (session === undefined) {
      if (isNeeded) throw new SmbError(Status.USER_SESSION_DELETED);
      return;
    }
    if (isSigned && !this.#isSignedRight(session)) throw new SmbError(Status.ACCESS_DENIED);
    this.#session = session;
    if (!isNeeded) return;
    if (session.encrypts && !this.isEncrypted) throw new SmbError(Status.ACCESS_DENIED);
    if (session.signingRequired && !isSigned && !this.isEncrypted) throw new SmbError(Status.ACCESS_DENIED);
    const { dialect } = this.connection.agreed;
    if (command === CommandCode.TREE_CONNECT && dialect === DIALECT_3_1_1 && !isSigned && !this.isEncrypted) {
      this.connection.destroy('the client connected to a share without a signature');
      throw new SmbError(Status.ACCESS_DENIED);
    }
  }

  #isSignedRight({ keys }: Session): boolean {
    const { messageId, command } = this.header;
    const at = { messageId, fromServer: false, isCancel: command === CommandCode.CANCEL };
    return isSignedRight(this.connection.agreed.signing, keys.signing, this.#message.bytes, at);
  }

  #findTree(): void {
    this.#tree = this.session.trees.get(this.header.treeId) ?? null;
    if (this.#tree === null) throw new SmbError(Status.NETWORK_NAME_DELETED);
  }

  #handOn({ status, sessionId, treeId }: Reply): void {
    const chain = this.#chain;
    const hasSession = this.#session !== null || sessionId !== undefined;
    const session = { id: sessionId ?? this.header.sessionId, treeId: treeId ?? this.header.treeId };
    chain.session = hasSession ? session : null;
    if (status < FIRST_ERROR) return;
    if (this.header.command === CommandCode.CREATE) chain.open = null;
    if (chain.open === null) chain.refusal = status;
  }

  #refusalOf(error: unknown): Reply {
    const known = statusOf(error);
    if (known === null)
      this.door.log.error(`SMB: ${commandName(this.header.command)} from ${this.connection.remote} failed`, error);
    const refusal = known === Status.CANCELLED ? this.#waitRefusal : null;
    const status = refusal ?? known ?? Status.UNEXPECTED_NETWORK_ERROR;
    const data = error instanceof SmbError ? error.data : null;
    const hasContexts = this.connection.negotiated?.dialect === DIALECT_3_1_1;
    return { status, body: [encodeError(data, hasContexts)] };
  }
}

const commandName = (code: number): string =>
  Object.entries(CommandCode).find(([, known]) => known === code)?.[0] ?? `command ${code}`;
