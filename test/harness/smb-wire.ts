/**
 * A bare client of SMB 2.1: it sends what it is told, byte by byte if need be, and gives each answer as it came. For tests of what no
 * well-behaved client would send, and for measuring: many requests can be under way at once. It signs nothing.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { md4 } from '../../src/smb/crypto/md4.ts';
import { encodePrefix, FrameReader } from '../../src/smb/transport/frames.ts';
import { CommandCode, decodeHeader, encodeHeader, HEADER_BYTES, type Header } from '../../src/smb/wire/header.ts';
import { encodeText } from '../../src/smb/wire/message.ts';

export interface Answer {
  readonly header: Header;
  /** What follows the header. */
  readonly body: Buffer;
}

/** One of several in a message. */
export interface WireRequest {
  readonly command: number;
  readonly body: Uint8Array;
  readonly header?: Partial<Header>;
  /** What is sent or asked for, which decides what it costs. */
  readonly payloadBytes?: number;
}

export interface WireTarget {
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

const MESSAGE_BYTES_MAX = 0xff_ffff;
const CREDIT_BYTES = 65_536;
const PENDING = 0x103;
const CREDITS_ASKED = 256;
const NOTICE_ID = 0xffff_ffff_ffff_ffffn;
const COMPOUND_ALIGNMENT_BYTES = 8;

export class WireClient {
  readonly socket: Socket;
  /** Resolves when the server has ended the connection, or the client. */
  readonly closed: Promise<void>;
  readonly #waiting = new Map<bigint, (answer: Answer) => void>();
  readonly #noCredits: (() => void)[] = [];
  /** Headers of interim responses, as they came. */
  readonly interims: Header[] = [];
  /** What the server sent without being asked. */
  readonly notices: Answer[] = [];
  #nextId = 0n;
  #creditCount = 1;
  sessionId = 0n;
  treeId = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    const frames = new FrameReader(() => MESSAGE_BYTES_MAX);
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      for (const message of frames.push(piece)) this.#receive(message);
    });
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static async connect(port: number): Promise<WireClient> {
    const socket = connect({ host: '127.0.0.1', port });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new WireClient(socket);
  }

  /** Signed in, and connected to a share. */
  static async open({ port, user, password }: WireTarget, share: string): Promise<WireClient> {
    const client = await WireClient.connect(port);
    await client.signIn(user, password);
    await client.treeConnect(share);
    return client;
  }

  /** Bytes as they are, with the length before them. */
  sendRaw(message: Uint8Array): void {
    this.socket.write(Buffer.concat([encodePrefix(message.length), message]));
  }

  /** `payloadBytes`: what is sent or asked for, which decides what it costs. Waits for credits. */
  async request(command: number, body: Uint8Array, payloadBytes = 0, header: Partial<Header> = {}): Promise<Answer> {
    const charge = chargeOf(payloadBytes);
    const messageId = await this.take(charge);
    const answered = this.answerTo(messageId);
    const head = this.header({ command, creditCharge: charge, messageId, ...header });
    this.socket.cork();
    this.socket.write(encodePrefix(head.length + body.length));
    this.socket.write(head);
    this.socket.write(body);
    this.socket.uncork();
    return answered;
  }

  /** All of them in one message. An answer never comes where the connection ends first. */
  async compound(requests: readonly WireRequest[]): Promise<Promise<Answer>[]> {
    const answers: Promise<Answer>[] = [];
    const pieces: Buffer[] = [];
    for (const [index, { command, body, header = {}, payloadBytes = 0 }] of requests.entries()) {
      const creditCharge = chargeOf(payloadBytes);
      const messageId = await this.take(creditCharge);
      answers.push(this.answerTo(messageId));
      const isLast = index === requests.length - 1;
      const padded = paddedTo(COMPOUND_ALIGNMENT_BYTES, HEADER_BYTES + body.length);
      const nextCommand = isLast ? 0 : padded;
      const message = Buffer.alloc(isLast ? HEADER_BYTES + body.length : padded);
      this.header({ command, creditCharge, messageId, nextCommand, ...header }).copy(message);
      message.set(body, HEADER_BYTES);
      pieces.push(message);
    }
    this.sendRaw(Buffer.concat(pieces));
    return answers;
  }

  /** The first of so many message ids, once there are credits for them. */
  async take(charge = 1): Promise<bigint> {
    while (this.#creditCount < charge) await new Promise<void>((resolve) => this.#noCredits.push(resolve));
    this.#creditCount -= charge;
    const messageId = this.#nextId;
    this.#nextId += BigInt(charge);
    return messageId;
  }

  /** The final response to a message. */
  answerTo(messageId: bigint): Promise<Answer> {
    return new Promise((resolve) => this.#waiting.set(messageId, resolve));
  }

  /** Expects success. */
  async succeed(command: number, body: Uint8Array, payloadBytes = 0): Promise<Buffer> {
    const { header, body: answer } = await this.request(command, body, payloadBytes);
    if (header.status !== 0) throw new Error(`command ${command} ended with 0x${header.status.toString(16)}`);
    return answer;
  }

  header(given: Partial<Header>): Buffer {
    return encodeHeader({
      creditCharge: 1,
      status: 0,
      command: CommandCode.ECHO,
      credits: CREDITS_ASKED,
      flags: 0,
      nextCommand: 0,
      messageId: 0n,
      asyncId: 0n,
      treeId: this.treeId,
      sessionId: this.sessionId,
      ...given,
    });
  }

  async negotiate({ dialect = 0x0210, capabilities = 0 } = {}): Promise<Answer> {
    return this.request(CommandCode.NEGOTIATE, negotiateBody({ dialect, capabilities }));
  }

  async signIn(user: string, password: string): Promise<void> {
    await this.negotiate();
    await this.authenticate(user, password);
  }

  /** What follows after it has negotiated. */
  async authenticate(user: string, password: string): Promise<void> {
    const challenge = await this.request(CommandCode.SESSION_SETUP, sessionSetup(ntlmNegotiate()));
    this.sessionId = challenge.header.sessionId;
    const token = challenge.body.subarray(8);
    await this.succeed(CommandCode.SESSION_SETUP, sessionSetup(ntlmAuthenticate(token, user, password)));
  }

  async treeConnect(share: string): Promise<void> {
    const path = encodeText(`\\\\127.0.0.1\\${share}`);
    const head = Buffer.alloc(8);
    head.writeUInt16LE(9, 0);
    head.writeUInt16LE(HEADER_BYTES + 8, 4);
    head.writeUInt16LE(path.length, 6);
    const { header } = await this.request(CommandCode.TREE_CONNECT, Buffer.concat([head, path]));
    if (header.status !== 0) throw new Error(`no share ${share}: 0x${header.status.toString(16)}`);
    this.treeId = header.treeId;
  }

  /** The 16 bytes of the file's id. */
  async create(name: string, options: CreateTerms = {}): Promise<Buffer> {
    const answer = await this.succeed(CommandCode.CREATE, createBody(name, options));
    return answer.subarray(64, 80);
  }

  async close(fileId: Buffer): Promise<void> {
    await this.succeed(CommandCode.CLOSE, closeBody(fileId));
  }

  async read(fileId: Buffer, offsetBytes: number, lengthBytes: number): Promise<Buffer> {
    const answer = await this.succeed(CommandCode.READ, readBody(fileId, offsetBytes, lengthBytes), lengthBytes);
    return answer.subarray(16);
  }

  async write(fileId: Buffer, offsetBytes: number, bytes: Uint8Array): Promise<void> {
    await this.succeed(CommandCode.WRITE, writeBody(fileId, offsetBytes, bytes), bytes.length);
  }

  destroy(): void {
    this.socket.destroy();
  }

  #receive(message: Buffer): void {
    for (let rest = message; ; ) {
      const header = decodeHeader(rest);
      if (header === null) return;
      const { nextCommand } = header;
      this.#take(header, rest.subarray(HEADER_BYTES, nextCommand === 0 ? rest.length : nextCommand));
      if (nextCommand === 0) return;
      rest = rest.subarray(nextCommand);
    }
  }

  #take(header: Header, body: Buffer): void {
    this.#creditCount += header.credits;
    for (const resolve of this.#noCredits.splice(0)) resolve();
    if (header.messageId === NOTICE_ID) this.notices.push({ header, body });
    if (header.status === PENDING) {
      this.interims.push(header);
      return;
    }
    const answered = this.#waiting.get(header.messageId);
    this.#waiting.delete(header.messageId);
    answered?.({ header, body });
  }
}

const chargeOf = (payloadBytes: number): number => Math.max(1, Math.ceil(payloadBytes / CREDIT_BYTES));

const paddedTo = (alignment: number, length: number): number => Math.ceil(length / alignment) * alignment;

// ---- bodies of requests

export const FULL_ACCESS = 0x1f_01ff;
export const OPEN_IF = 3;

export function negotiateBody({ dialect = 0x0210, capabilities = 0 } = {}): Buffer {
  const body = Buffer.alloc(38);
  body.writeUInt16LE(36, 0);
  body.writeUInt16LE(1, 2);
  body.writeUInt16LE(1, 4);
  body.writeUInt32LE(capabilities, 8);
  randomBytes(16).copy(body, 12);
  body.writeUInt16LE(dialect, 36);
  return body;
}

export interface CreateTerms {
  readonly access?: number;
  readonly disposition?: number;
  readonly share?: number;
  /** CreateOptions. */
  readonly options?: number;
  readonly oplockLevel?: number;
}

export const DIRECTORY_FILE = 0x1;

export function createBody(
  name: string,
  { access = FULL_ACCESS, disposition = OPEN_IF, share = 7, options = 0, oplockLevel = 0 }: CreateTerms = {},
): Buffer {
  const path = encodeText(name);
  const head = Buffer.alloc(56);
  head.writeUInt16LE(57, 0);
  head.writeUInt8(oplockLevel, 3);
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(access, 24);
  head.writeUInt32LE(share, 32);
  head.writeUInt32LE(disposition, 36);
  head.writeUInt32LE(options, 40);
  head.writeUInt16LE(HEADER_BYTES + 56, 44);
  head.writeUInt16LE(path.length, 46);
  return Buffer.concat([head, path.length === 0 ? Buffer.alloc(1) : path]);
}

export function closeBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(24);
  body.writeUInt16LE(24, 0);
  fileId.copy(body, 8);
  return body;
}

export function readBody(fileId: Buffer, offsetBytes: number, lengthBytes: number): Buffer {
  const body = Buffer.alloc(49);
  body.writeUInt16LE(49, 0);
  body.writeUInt32LE(lengthBytes, 4);
  body.writeBigUInt64LE(BigInt(offsetBytes), 8);
  fileId.copy(body, 16);
  return body;
}

export function writeBody(fileId: Buffer, offsetBytes: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(48);
  head.writeUInt16LE(49, 0);
  head.writeUInt16LE(HEADER_BYTES + 48, 2);
  head.writeUInt32LE(bytes.length, 4);
  head.writeBigUInt64LE(BigInt(offsetBytes), 8);
  fileId.copy(head, 16);
  return Buffer.concat([head, bytes]);
}

export function sessionSetup(token: Buffer): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt16LE(25, 0);
  head.writeUInt8(1, 3);
  head.writeUInt16LE(HEADER_BYTES + 24, 12);
  head.writeUInt16LE(token.length, 14);
  return Buffer.concat([head, token]);
}

// ---- NTLMv2, without SPNEGO

const NTLM_FLAGS = 0x0000_0001 | 0x0000_0004 | 0x0000_0200 | 0x0008_0000 | 0x0080_0000;

export function ntlmNegotiate(): Buffer {
  const message = Buffer.alloc(32);
  message.write('NTLMSSP\0', 0, 'latin1');
  message.writeUInt32LE(1, 8);
  message.writeUInt32LE(NTLM_FLAGS, 12);
  return message;
}

const hmac = (key: Uint8Array, ...pieces: readonly Uint8Array[]): Buffer => {
  const hash = createHmac('md5', key);
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
};

export function ntlmAuthenticate(challengeMessage: Buffer, user: string, password: string): Buffer {
  const challenge = challengeMessage.subarray(24, 32);
  const infoAt = challengeMessage.readUInt32LE(44);
  const info = challengeMessage.subarray(infoAt, infoAt + challengeMessage.readUInt16LE(40));
  const blob = Buffer.concat([
    Buffer.from('0101000000000000', 'hex'),
    Buffer.alloc(8),
    randomBytes(8),
    Buffer.alloc(4),
    info,
    Buffer.alloc(4),
  ]);
  const owner = hmac(md4(encodeText(password)), encodeText(user.toUpperCase()));
  const response = Buffer.concat([hmac(owner, challenge, blob), blob]);
  const parts = [Buffer.alloc(24), response, Buffer.alloc(0), encodeText(user), encodeText('WIRE'), Buffer.alloc(0)];
  const head = Buffer.alloc(64);
  head.write('NTLMSSP\0', 0, 'latin1');
  head.writeUInt32LE(3, 8);
  let at = head.length;
  for (const [index, part] of parts.entries()) {
    const field = 12 + 8 * index;
    head.writeUInt16LE(part.length, field);
    head.writeUInt16LE(part.length, field + 2);
    head.writeUInt32LE(at, field + 4);
    at += part.length;
  }
  head.writeUInt32LE(NTLM_FLAGS, 60);
  return Buffer.concat([head, ...parts]);
}
