/**
 * One TCP connection: cuts what arrives into messages, has each request answered beside the others, and sends what there is to
 * send. Whatever cannot be understood ends the connection and nothing else; so does a client that stands still.
 */
import type { Socket } from 'node:net';
import type { Reply } from '../command/command.ts';
import { answerSmb1 } from '../command/negotiate.ts';
import type { Connection } from '../session/connection.ts';
import type { Door } from '../session/door.ts';
import { decodeTransformHeader, decryptMessage } from '../session/encryption.ts';
import type { Open } from '../session/open.ts';
import { PreauthHash } from '../session/preauth-hash.ts';
import { type Negotiated, TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import type { Session, Tree } from '../session/session.ts';
import { endSession } from '../session/sessions.ts';
import type { SignIn } from '../session/sign-in.ts';
import { SmbError, Status } from '../statuses.ts';
import { encodeError } from '../wire/error.ts';
import {
  CommandCode,
  encodeHeader,
  FLAG_ASYNC,
  FLAG_RESPONSE,
  type Header,
  SMB1_ID,
  SMB2_ID,
  TRANSFORM_ID,
} from '../wire/header.ts';
import { ALL_ONES_64, type RequestMessage } from '../wire/message.ts';
import { decodeSmb1Negotiate, encodeSmb1Refusal } from '../wire/negotiate.ts';
import { heldBytesOf, splitCompound } from './compound.ts';
import { CreditWindow } from './credit-window.ts';
import { type Chain, Exchange, NO_CHAIN } from './exchange.ts';
import { encodePrefix, FrameReader } from './frames.ts';
import { encodeResponses, encryptFor, lengthOf, type Response, responseBytesOf } from './response.ts';

/** Before anybody has signed in nothing longer is said. */
const STRANGER_BYTES_MAX = 64 * 1024;
/** Headers, names, and what else comes with a transfer. */
const MESSAGE_BYTES_MAX = TRANSACT_BYTES_MAX + 256 * 1024;
const KEEP_ALIVE_MS = 60_000;
const ANY_SMB2 = 'SMB 2.???';

const NO_HEADER: Header = {
  creditCharge: 0,
  status: 0,
  command: CommandCode.NEGOTIATE,
  credits: 1,
  flags: 0,
  nextCommand: 0,
  messageId: 0n,
  asyncId: 0n,
  treeId: 0,
  sessionId: 0n,
};

export class SmbConnection implements Connection {
  readonly door: Door;
  readonly remote: string;
  readonly isLoopback: boolean;
  readonly preauth = new PreauthHash();
  readonly signIns = new Map<bigint, SignIn>();
  readonly sessions = new Map<bigint, Session>();
  /** Resolves when it is closed, and all that was open on it is let go of. */
  readonly ended: Promise<void>;
  negotiated: Negotiated | null = null;
  isClosed = false;
  readonly #socket: Socket;
  readonly #credits: CreditWindow;
  readonly #underWay = new Set<Exchange>();
  /** Of what has arrived, the messages that were not taken yet. */
  #arrived: Iterator<Buffer> | null = null;
  #isTaking = false;
  #isFinishing = false;
  #underWayBytes = 0;
  #onRoom: (() => void)[] = [];
  #pendingCount = 0;
  #lastAsyncId = 0n;
  #receivedAtMs = performance.now();
  #isNegotiatedInSmb1 = false;
  #hasSignedIn = false;

  constructor(door: Door, socket: Socket, isLoopback: boolean) {
    this.door = door;
    this.#socket = socket;
    this.isLoopback = isLoopback;
    this.remote = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#credits = new CreditWindow(door.limits.creditCountMax);
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        void this.#end().finally(resolve);
      });
    });
    this.#listen();
  }

  /** What was negotiated: before that no request gets as far as to ask. */
  get agreed(): Negotiated {
    if (this.negotiated === null) throw new SmbError(Status.INVALID_PARAMETER);
    return this.negotiated;
  }

  /** Takes no more requests: those that it has are answered. */
  finish(): void {
    this.#isFinishing = true;
    this.#flow();
  }

  /** Whether all is answered and sent but for what waits for others. */
  get isFinished(): boolean {
    if (this.isClosed) return true;
    return this.#socket.writableLength === 0 && [...this.#underWay].every(({ isWaiting }) => isWaiting);
  }

  /** Somebody has signed in, at some time. */
  get #isKnown(): boolean {
    this.#hasSignedIn ||= this.sessions.size > 0;
    return this.#hasSignedIn;
  }

  notify(session: Session, body: Uint8Array): void {
    const head = encodeHeader({
      ...NO_HEADER,
      command: CommandCode.OPLOCK_BREAK,
      credits: 0,
      flags: FLAG_RESPONSE,
      messageId: ALL_ONES_64,
    });
    const pieces = [head, body];
    this.#write(session.encrypts ? encryptFor(session, this.agreed, pieces) : pieces);
  }

  cancel(of: Session | Tree): void {
    for (const exchange of this.#underWay) {
      if (exchange.isOf(of) && exchange.asyncId !== null) exchange.cancel();
    }
  }

  /** Resolves when whatever else was begun with an open is done, but for what waits. */
  async usersEnd(open: Open, but: Exchange): Promise<void> {
    const users = [...this.#underWay].filter((exchange) => exchange !== but && exchange.isUsing(open));
    await Promise.all(users.map(({ answered }) => answered));
  }

  destroy(reason: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.door.log.info(`SMB: connection from ${this.remote} closed: ${reason}`);
    this.#socket.destroy();
  }

  // ---- what arrives

  #listen(): void {
    const socket = this.#socket;
    const { limits } = this.door;
    const frames = new FrameReader(() => (this.#isKnown ? MESSAGE_BYTES_MAX : STRANGER_BYTES_MAX));
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#watchOver();
    const signIn = setTimeout(() => {
      if (!this.#isKnown) this.destroy(`nobody signed in within ${limits.signInTimeoutMs / 1000} s`);
    }, limits.signInTimeoutMs);
    signIn.unref();
    socket.once('close', () => clearTimeout(signIn));
    socket.on('timeout', () => this.#standStill());
    socket.on('drain', () => this.#flow());
    // What follows an error is 'close'.
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      this.#receivedAtMs = performance.now();
      this.#arrived = frames.push(piece);
      this.#flow();
    });
  }

  get #stillTimeoutMs(): number {
    const { sendTimeoutMs, idleTimeoutMs } = this.door.limits;
    return Math.min(sendTimeoutMs, idleTimeoutMs);
  }

  #watchOver(): void {
    this.#socket.setTimeout(this.#stillTimeoutMs);
  }

  /** Nothing came or went for a while. */
  #standStill(): void {
    if (this.#socket.writableLength > 0) {
      this.destroy(`the client stopped reading for ${this.#stillTimeoutMs / 1000} s`);
      return;
    }
    const isUsed = this.#underWay.size > 0 || [...this.sessions.values()].some(({ opens }) => opens.size > 0);
    const { idleTimeoutMs } = this.door.limits;
    const isOver = performance.now() - this.#receivedAtMs >= idleTimeoutMs;
    if (isOver && !isUsed) this.destroy(`the client was idle for ${idleTimeoutMs / 1000} s`);
    else this.#watchOver();
  }

  #receive(message: Buffer): void {
    const id = message.length < 4 ? 0 : message.readUInt32LE(0);
    switch (id) {
      case SMB2_ID:
        this.#take(message, null);
        return;
      case TRANSFORM_ID:
        this.#takeEncrypted(message);
        return;
      case SMB1_ID:
        this.#takeSmb1(message);
        return;
      default:
        this.destroy('the client does not speak SMB2');
    }
  }

  #takeEncrypted(message: Buffer): void {
    const transform = decodeTransformHeader(message);
    const session = transform === null ? undefined : this.sessions.get(transform.sessionId);
    const { cipher } = this.agreed;
    const key = session?.keys.decryption ?? null;
    const opened = cipher === null || key === null ? null : decryptMessage({ cipher, key }, message);
    if (opened === null || session === undefined) {
      this.destroy('a message could not be decrypted');
      return;
    }
    this.#take(opened, session);
  }

  #takeSmb1(message: Buffer): void {
    const dialects = this.negotiated === null && !this.#isNegotiatedInSmb1 ? decodeSmb1Negotiate(message) : null;
    if (dialects?.includes(ANY_SMB2) === true) {
      this.#isNegotiatedInSmb1 = true;
      this.#credits.use(0n, 1);
      const credits = this.#credits.grant(1);
      const reply = { status: Status.SUCCESS, body: [answerSmb1(this)] };
      this.#write(encodeResponses([{ header: NO_HEADER, reply, credits, asyncId: null, signer: null }]));
      return;
    }
    if (dialects !== null) this.#socket.end(Buffer.concat([encodePrefix(37), encodeSmb1Refusal(message)]));
    this.destroy('the client speaks only SMB1 or SMB 2.0.2');
  }

  /** `session`: the one that the message was encrypted for. */
  #take(message: Buffer, session: Session | null): void {
    const requests = splitCompound(message);
    if (requests === null) {
      this.destroy('a message is not an SMB2 request');
      return;
    }
    const [first] = requests as [RequestMessage, ...RequestMessage[]];
    if (this.negotiated === null && (first.header.command !== CommandCode.NEGOTIATE || requests.length > 1)) {
      this.destroy('the client did not begin with NEGOTIATE');
      return;
    }
    if (first.header.command === CommandCode.CANCEL && requests.length === 1) {
      this.#cancelRequest(first.header);
      return;
    }
    for (const { header } of requests) {
      if (!this.#credits.use(header.messageId, Math.max(1, header.creditCharge))) {
        this.destroy(`the client had no credit for message ${header.messageId}`);
        return;
      }
    }
    const heldBytes = requests.reduce((sum, request) => sum + heldBytesOf(request), 0);
    this.#underWayBytes += heldBytes;
    void this.#answer(requests, session)
      .catch((error: unknown) => {
        this.door.log.error(`SMB: a request from ${this.remote} could not be answered`, error);
        this.destroy('a request could not be answered');
      })
      .finally(() => {
        this.#underWayBytes -= heldBytes;
        this.#flow();
      });
  }

  #cancelRequest({ flags, asyncId, messageId }: Header): void {
    const isAsync = (flags & FLAG_ASYNC) !== 0;
    for (const exchange of this.#underWay) {
      const isMeant = isAsync ? exchange.asyncId === asyncId : exchange.header.messageId === messageId;
      if (isMeant) exchange.cancel();
    }
  }

  /** Whether what is under way, and what the client has not taken yet of what was sent to it, leaves room in memory. */
  get #hasRoom(): boolean {
    const { underWayBytesMax } = this.door.limits;
    return this.#underWayBytes <= underWayBytesMax && this.#socket.writableLength <= underWayBytesMax;
  }

  /** Takes what has arrived, and reads on, as far as there is room. */
  #flow(): void {
    for (const go of this.#onRoom.splice(0)) go();
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      while (this.#arrived !== null && this.#mayTake) {
        const { done, value } = this.#arrived.next();
        if (done === true) this.#arrived = null;
        else this.#receive(value);
      }
    } catch (error) {
      this.destroy((error as Error).message);
    } finally {
      this.#isTaking = false;
    }
    if (!this.#mayTake) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  get #mayTake(): boolean {
    return this.#hasRoom && !this.#isFinishing && !this.isClosed;
  }

  /** Resolves when the client has taken enough of what was sent to it, or is gone. */
  async #taken(): Promise<void> {
    while (!this.isClosed && this.#socket.writableLength > this.door.limits.underWayBytesMax) {
      await new Promise<void>((resolve) => this.#onRoom.push(resolve));
    }
  }

  // ---- answering

  async #answer(requests: readonly RequestMessage[], encryptedFor: Session | null): Promise<void> {
    const chain: Chain = { ...NO_CHAIN };
    const done: Response[] = [];
    let doneBytes = 0;
    for (const [index, message] of requests.entries()) {
      const isLast = index === requests.length - 1;
      const onPending = (exchange: Exchange): Status | null => {
        // Only the last of a compound may tell that it waits; any other waits silently, if that comes to an end.
        if (!isLast) return exchange.mayWaitForEver ? Status.INTERNAL_ERROR : null;
        if (!this.#pend(exchange)) return Status.INSUFFICIENT_RESOURCES;
        this.#send(done.splice(0), encryptedFor);
        this.#send([this.#interim(exchange)], encryptedFor);
        return null;
      };
      const exchange = new Exchange({
        connection: this,
        message,
        chain,
        isEncrypted: encryptedFor !== null,
        onPending,
      });
      const response = await this.#run(exchange, encryptedFor);
      doneBytes += responseBytesOf(response);
      if (doneBytes > MESSAGE_BYTES_MAX) {
        this.#send(done.splice(0), encryptedFor);
        doneBytes = responseBytesOf(response);
        await this.#taken();
      }
      done.push(response);
    }
    this.#send(done, encryptedFor);
  }

  async #run(exchange: Exchange, encryptedFor: Session | null): Promise<Response> {
    this.#underWay.add(exchange);
    const { header } = exchange;
    const isMisled = encryptedFor !== null && header.sessionId !== encryptedFor.id && !exchange.isRelated;
    try {
      const reply: Reply = isMisled
        ? { status: Status.INVALID_PARAMETER, body: [encodeError(null, false)] }
        : await exchange.run();
      const { asyncId } = exchange;
      const credits = asyncId === null ? this.#credits.grant(header.credits) : 0;
      const signer = encryptedFor === null ? (reply.signer ?? exchange.signer) : null;
      return { header, reply, credits, asyncId, signer };
    } finally {
      this.#underWay.delete(exchange);
      if (exchange.asyncId !== null) this.#pendingCount--;
    }
  }

  /** False: too many wait already. */
  #pend(exchange: Exchange): boolean {
    if (this.#pendingCount >= this.door.limits.pendingCountMax) return false;
    this.#pendingCount++;
    this.#lastAsyncId++;
    exchange.asyncId = this.#lastAsyncId;
    return true;
  }

  #interim({ header, asyncId }: Exchange): Response {
    const reply = { status: Status.PENDING, body: [encodeError(null, false)] };
    // Clients do not look at its signature; and one with the number of the request is for the final response.
    return { header, reply, credits: this.#credits.grant(header.credits), asyncId, signer: null };
  }

  #send(responses: readonly Response[], encryptedFor: Session | null): void {
    if (responses.length === 0 || this.isClosed) return;
    const pieces = encodeResponses(responses);
    this.#write(encryptedFor === null ? pieces : encryptFor(encryptedFor, this.agreed, pieces));
  }

  /** What is answered in one turn of the event loop is sent by one call. */
  #write(pieces: readonly Uint8Array[]): void {
    if (this.isClosed) return;
    const socket = this.#socket;
    if (socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    socket.write(encodePrefix(lengthOf(pieces)));
    for (const piece of pieces) socket.write(piece);
    this.#flow();
  }

  async #end(): Promise<void> {
    this.isClosed = true;
    this.#flow();
    for (const exchange of this.#underWay) exchange.cancel();
    for (const session of Array.from(this.sessions.values())) {
      try {
        await endSession(this.door, session, { keepsDurable: true });
      } catch (error) {
        this.door.log.error(`SMB: a session of the closed connection from ${this.remote} could not be ended`, error);
      }
    }
    this.door.connections.delete(this);
  }
}
