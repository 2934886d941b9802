/**
 * A share over the bare client of SMB 2.1 (smb-wire.ts), a connection each: what is refused fails with SmbRefusal, and what is
 * not answered before the connection ends with SmbConnectionLost. For tests in which many clients race, or the server is killed.
 */
import { statusName } from '../../src/smb/statuses.ts';
import { CommandCode, FLAG_RELATED } from '../../src/smb/wire/header.ts';
import { ALL_ONES_64, decodeText, encodeText } from '../../src/smb/wire/message.ts';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import {
  changeNotifyBody,
  EMPTY_REQUEST,
  LOCK_EXCLUSIVE,
  LOCK_UNLOCK,
  lockBody,
  NO_FILE_ID,
  setInfoBody,
} from './smb-bodies.ts';
import { SmbConnectionLost, SmbRefusal } from './smb-refusal.ts';
import { type Answer, type CreateTerms, closeBody, createBody, readBody, WireClient, writeBody } from './smb-wire.ts';

/** CreateDisposition. */
export const OPEN = 1;
export const CREATE = 2;
export const OVERWRITE = 4;

/** ShareAccess. */
export const SHARES_NOTHING = 0;

/** CreateOptions. */
export const DELETE_ON_CLOSE = 0x1000;

const FILE_RENAME = 10;
const FILE_DISPOSITION = 13;
const FILE_END_OF_FILE = 20;

/** In an open whose access is to append alone. */
const AT_THE_END = ALL_ONES_64;

export interface SmbReachable {
  readonly smbPort: number;
}

const encodePath = (path: string): string => path.replaceAll('/', '\\');

export class WireShare {
  readonly client: WireClient;

  private constructor(client: WireClient) {
    this.client = client;
  }

  static async connect(
    { smbPort }: SmbReachable,
    share: string,
    account: TestAccount = DEVELOPMENT_ACCOUNT,
  ): Promise<WireShare> {
    const client = await WireClient.connect(smbPort).catch((error: unknown) => {
      throw new SmbConnectionLost(String(error));
    });
    const connected = new WireShare(client);
    await connected.#unlessLost(client.signIn(account.name, account.key));
    await connected.#unlessLost(client.treeConnect(share));
    return connected;
  }

  /** As by a power cut. */
  leave(): void {
    this.client.destroy();
  }

  async create(path: string, terms: CreateTerms = {}): Promise<WireFile> {
    const { body } = await this.request(CommandCode.CREATE, createBody(encodePath(path), terms));
    return new WireFile(this, Buffer.from(body.subarray(64, 80)));
  }

  /** Opens, does something and closes, whatever becomes of it. */
  async with<T>(path: string, terms: CreateTerms, body: (file: WireFile) => Promise<T>): Promise<T> {
    const file = await this.create(path, terms);
    try {
      return await body(file);
    } finally {
      await file.close();
    }
  }

  /** Makes a file with these bytes and closes it, in one message. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const related = { flags: FLAG_RELATED };
    const write = writeBody(NO_FILE_ID, 0, bytes);
    const sent = this.client.compound([
      { command: CommandCode.CREATE, body: createBody(encodePath(path), { disposition: CREATE }) },
      { command: CommandCode.WRITE, body: write, payloadBytes: bytes.length, header: related },
      { command: CommandCode.CLOSE, body: closeBody(NO_FILE_ID), header: related },
    ]);
    for (const answer of await this.#unlessLost(sent)) refuseUnlessDone(await this.#unlessLost(answer));
  }

  async echo(): Promise<void> {
    await this.request(CommandCode.ECHO, EMPTY_REQUEST);
  }

  async request(command: number, body: Uint8Array, payloadBytes = 0): Promise<Answer> {
    const answer = await this.#unlessLost(this.client.request(command, body, payloadBytes));
    refuseUnlessDone(answer);
    return answer;
  }

  #unlessLost<T>(answer: Promise<T>): Promise<T> {
    const lost = this.client.closed.then((): never => {
      throw new SmbConnectionLost('the connection has ended');
    });
    return Promise.race([answer, lost]);
  }
}

function refuseUnlessDone({ header: { status, command } }: Answer): void {
  if (status !== 0) throw new SmbRefusal(statusName(status), `command ${command}`);
}

export class WireFile {
  readonly #share: WireShare;
  readonly id: Buffer;

  constructor(share: WireShare, id: Buffer) {
    this.#share = share;
    this.id = id;
  }

  async close(): Promise<void> {
    await this.#share.request(CommandCode.CLOSE, closeBody(this.id));
  }

  async read(offsetBytes: number, lengthBytes: number): Promise<Buffer> {
    const asked = readBody(this.id, offsetBytes, lengthBytes);
    const { body } = await this.#share.request(CommandCode.READ, asked, lengthBytes);
    return body.subarray(16);
  }

  async write(offsetBytes: number, bytes: Uint8Array | string): Promise<void> {
    await this.#write(offsetBytes, Buffer.from(bytes));
  }

  /** Through an open that may do nothing else. */
  async append(bytes: Uint8Array | string): Promise<void> {
    await this.#write(AT_THE_END, Buffer.from(bytes));
  }

  /** Waits until it can be had. */
  async lock(offset: number, length: number): Promise<void> {
    const range = { offset: BigInt(offset), length: BigInt(length), flags: LOCK_EXCLUSIVE };
    await this.#share.request(CommandCode.LOCK, lockBody(this.id, [range]));
  }

  async unlock(offset: number, length: number): Promise<void> {
    const range = { offset: BigInt(offset), length: BigInt(length), flags: LOCK_UNLOCK };
    await this.#share.request(CommandCode.LOCK, lockBody(this.id, [range]));
  }

  async setEndOfFile(lengthBytes: number): Promise<void> {
    const buffer = Buffer.alloc(8);
    buffer.writeBigUInt64LE(BigInt(lengthBytes));
    await this.#set(FILE_END_OF_FILE, buffer);
  }

  async markForDeletion(isMarked: boolean): Promise<void> {
    await this.#set(FILE_DISPOSITION, Buffer.from([isMarked ? 1 : 0]));
  }

  async rename(path: string, { replaces = false } = {}): Promise<void> {
    const name = encodeText(encodePath(path));
    const head = Buffer.alloc(20);
    head.writeUInt8(replaces ? 1 : 0, 0);
    head.writeUInt32LE(name.length, 16);
    await this.#set(FILE_RENAME, Buffer.concat([head, name]));
  }

  /** Of a directory: the name of what has changed in it, once something has. */
  async nextChange(): Promise<string> {
    const { body } = await this.#share.request(CommandCode.CHANGE_NOTIFY, changeNotifyBody(this.id));
    return decodeText(body.subarray(20, 20 + body.readUInt32LE(16)));
  }

  async #write(offset: number | bigint, bytes: Buffer): Promise<void> {
    const body = writeBody(this.id, 0, bytes);
    body.writeBigUInt64LE(BigInt(offset), 8);
    await this.#share.request(CommandCode.WRITE, body, bytes.length);
  }

  async #set(infoClass: number, buffer: Buffer): Promise<void> {
    await this.#share.request(CommandCode.SET_INFO, setInfoBody(this.id, { infoClass, buffer }));
  }
}
