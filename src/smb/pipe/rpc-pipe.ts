/** A pipe with an RPC interface at its other end: bytes become messages, and each fragment of an answer is one to be read. */
import type { Pipe, PipeData } from '../session/pipe.ts';
import { SmbError, Status } from '../statuses.ts';
import type { Association } from './association.ts';
import { decodePdu, PDU_HEADER_BYTES, pduBytesAt } from './pdu.ts';

/** Of answers that nobody has read, beyond which nothing more is answered. The last may be longer. */
const UNREAD_BYTES_MAX = 64 * 1024;

export class RpcPipe implements Pipe {
  readonly name: string;
  readonly #association: Association;
  /** The beginning of a message whose rest has not come. */
  #begun: Buffer = Buffer.alloc(0);
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;
  #isBroken = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(name: string, association: Association) {
    this.name = name;
    this.#association = association;
  }

  write(bytes: Buffer): Promise<void> {
    return this.#inTurn(() => this.#take(bytes));
  }

  read(lengthMax: number): Promise<PipeData | null> {
    return this.#inTurn(() => this.#give(lengthMax));
  }

  transceive(bytes: Buffer, lengthMax: number): Promise<PipeData | null> {
    return this.#inTurn(async () => {
      if (this.#unread.length > 0) throw new SmbError(Status.PIPE_BUSY);
      await this.#take(bytes);
      return this.#give(lengthMax);
    });
  }

  #inTurn<T>(job: () => Promise<T> | T): Promise<T> {
    const done = this.#turn.then(job);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #take(bytes: Buffer): Promise<void> {
    let left = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes]);
    while (!this.#isBroken && left.length >= PDU_HEADER_BYTES) {
      const length = pduBytesAt(left);
      if (length === null) this.#break();
      else if (left.length < length) break;
      else {
        await this.#answer(left.subarray(0, length));
        left = left.subarray(length);
      }
    }
    if (this.#isBroken) throw new SmbError(Status.PIPE_DISCONNECTED);
    this.#begun = Buffer.from(left);
  }

  async #answer(message: Buffer): Promise<void> {
    if (this.#unreadBytes > UNREAD_BYTES_MAX) {
      this.#break();
      return;
    }
    const answers = await this.#association.take(decodePdu(message));
    if (answers === null) {
      this.#break();
      return;
    }
    for (const answer of answers) {
      this.#unread.push(answer);
      this.#unreadBytes += answer.length;
    }
  }

  #break(): void {
    this.#isBroken = true;
    this.#begun = Buffer.alloc(0);
  }

  /** What was answered before it broke can be read. */
  #give(lengthMax: number): PipeData | null {
    const message = this.#unread[0];
    if (message === undefined) {
      if (this.#isBroken) throw new SmbError(Status.PIPE_DISCONNECTED);
      return null;
    }
    const bytes = message.subarray(0, lengthMax);
    const rest = message.subarray(bytes.length);
    if (rest.length === 0) this.#unread.shift();
    else this.#unread[0] = rest;
    this.#unreadBytes -= bytes.length;
    return { bytes, hasMore: rest.length > 0 };
  }
}
