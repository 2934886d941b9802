/**
 * What an SMB client of impacket.ts does: opens, and through them reads, writes, locks and the rest, one request each. What the
 * server says unasked is kept until it is asked about. Access and share modes are written as sets of letters: R reads, W
 * writes, D deletes; an open that does none of them looks at attributes alone.
 */
import { randomBytes } from 'node:crypto';
import type { Impacket, Order } from './impacket.ts';
import { SmbConnectionLost, SmbRefusal } from './smb-refusal.ts';

export type DriverEvent =
  | ({ readonly event: 'break' } & ToldBreak)
  | { readonly event: 'pending'; readonly to: number }
  | { readonly event: 'lost'; readonly why: string };

type ToldBreak =
  | {
      readonly leaseKey: string;
      readonly from: LeaseState;
      readonly to: LeaseState;
      readonly mustAnswer: boolean;
      readonly epoch: number;
    }
  | { readonly file: string; readonly to: OplockLevel };

/** What goes over the wire differs: signatures or encryption, and the form of leases. */
export type Dialect = '2.1' | '3.0';

export type OplockLevel = 'none' | 'II' | 'exclusive' | 'batch';
export type LeaseState = '' | 'R' | 'RH' | 'RW' | 'RWH';

const HEARING_LIMIT_MS = 30_000;
const PIECE_BYTES = 65_536;

/** Beside them every open may look at attributes. */
const LOOKS = 0x0010_0080;
const ACCESS_BITS: readonly (readonly [letter: string, bits: number])[] = [
  ['R', 0x1],
  ['W', 0x2 | 0x4],
  ['D', 0x1_0000],
  // Changes attributes and times, which is none of the three.
  ['A', 0x100],
];
const SHARE_BITS: typeof ACCESS_BITS = [
  ['R', 0x1],
  ['W', 0x2],
  ['D', 0x4],
];

const bitsOf = (letters: string, bits: typeof ACCESS_BITS): number =>
  bits.filter(([letter]) => letters.includes(letter)).reduce((sum, [, bit]) => sum | bit, 0);

const DISPOSITIONS = { supersede: 0, open: 1, create: 2, openIf: 3, overwrite: 4, overwriteIf: 5 } as const;

const DELETE_ON_CLOSE = 0x1000;
const IS_DIRECTORY = 0x1;
const IS_FILE = 0x40;

export const READ_ONLY = 0x1;
export const NORMAL = 0x80;

export interface SmbOpenOptions {
  /** Letters, or the bits themselves. Everything, unless it is said. */
  readonly access?: string | number;
  /** Everything, unless it is said. */
  readonly share?: string;
  /** `open`, unless it is said: it must be there. */
  readonly disposition?: keyof typeof DISPOSITIONS;
  readonly kind?: 'file' | 'directory';
  readonly deletesOnClose?: boolean;
  readonly attributes?: number;
  readonly oplock?: OplockLevel;
  /** A key of its own, unless it is said. */
  readonly lease?: LeaseState | { readonly key: string; readonly state: LeaseState };
  readonly isDurable?: boolean;
  /** Of an open whose connection was lost. */
  readonly reconnects?: string;
}

interface OpenedFile {
  readonly file: string;
  readonly oplock: OplockLevel | 'lease';
  readonly lease: LeaseState | null;
  /** Of a lease in 3.0. */
  readonly epoch: number | null;
  readonly isDurable: boolean;
  readonly action: number;
  readonly lengthBytes: number;
  readonly attributes: number;
}

/** What is asked of a client that caches: as `RWH to RH`, `R to none, unanswered`, `batch to II`. */
export interface AskedBreak {
  readonly what: string;
  readonly to: LeaseState | OplockLevel;
  /** Of a lease: which of its states this is, counted since it was granted. */
  readonly epoch: number | null;
}

export interface ListedEntry {
  readonly name: string;
  readonly lengthBytes: number;
  readonly attributes: number;
}

export interface NotedChange {
  readonly action: number;
  readonly name: string;
}

/** A request that waits for something. */
export interface PendingRequest<T> {
  readonly answer: Promise<T>;
  /** The server has said that it will take a while; fails where it answers instead. */
  readonly pending: Promise<void>;
  cancel(): Promise<void>;
}

export class ImpacketClient {
  readonly #impacket: Impacket;
  readonly name: string;
  readonly #dialect: Dialect;
  #tree = 0;
  readonly #breaks: ToldBreak[] = [];
  #listener: { readonly hear: () => void; readonly fail: (why: Error) => void } | null = null;
  readonly #onPending = new Map<number, () => void>();
  #lostWhy: string | null = null;

  constructor(impacket: Impacket, name: string, dialect: Dialect) {
    this.#impacket = impacket;
    this.name = name;
    this.#dialect = dialect;
  }

  /** What is opened from now on is in this share. */
  async useShare(share: string): Promise<void> {
    this.#tree = (await this.do<{ tree: number }>('tree', { share })).tree;
  }

  async open(path: string, options: SmbOpenOptions = {}): Promise<SmbFile> {
    return this.beginOpen(path, options).answer;
  }

  beginOpen(path: string, options: SmbOpenOptions = {}): PendingRequest<SmbFile> {
    const { lease, kind, deletesOnClose = false, disposition = 'open', access = 'RWD', share = 'RWD' } = options;
    const wanted = typeof lease === 'string' ? { key: randomBytes(16).toString('hex'), state: lease } : (lease ?? null);
    const kindBits = kind === undefined ? 0 : kind === 'directory' ? IS_DIRECTORY : IS_FILE;
    const tree = this.#tree;
    const request = this.begin<OpenedFile>('open', {
      tree,
      path,
      access: typeof access === 'number' ? access : LOOKS | bitsOf(access, ACCESS_BITS),
      share: bitsOf(share, SHARE_BITS),
      disposition: DISPOSITIONS[disposition],
      options: kindBits | (deletesOnClose ? DELETE_ON_CLOSE : 0),
      attributes: options.attributes ?? 0,
      oplock: options.oplock ?? 'none',
      lease: wanted === null ? null : { ...wanted, version: this.#dialect === '3.0' ? 2 : 1 },
      durable: options.isDurable === true ? true : null,
      reconnect: options.reconnects ?? null,
    });
    const answer = request.answer.then((opened) => new SmbFile(this, tree, opened, wanted?.key ?? null));
    return { ...request, answer };
  }

  /** Opens, does something and closes, whatever becomes of it. */
  async with<T>(path: string, options: SmbOpenOptions, body: (file: SmbFile) => Promise<T>): Promise<T> {
    const file = await this.open(path, options);
    try {
      return await body(file);
    } finally {
      await file.close();
    }
  }

  /** The next that is asked for with this lease key or open, or was asked for and nobody asked about. */
  async nextBreak(of: string): Promise<ToldBreak> {
    for (;;) {
      const index = this.#breaks.findIndex((told) => cacheOf(told) === of);
      if (index >= 0) return this.#breaks.splice(index, 1)[0] as ToldBreak;
      await this.#untilBreak();
    }
  }

  /** What nobody asked about yet. */
  unheard(of: string): ToldBreak[] {
    return this.#breaks.filter((told) => cacheOf(told) === of);
  }

  /** Whether the server has ended the connection. */
  get isLost(): boolean {
    return this.#lostWhy !== null;
  }

  async echo(): Promise<void> {
    await this.do('echo');
  }

  async leaveShare(): Promise<void> {
    await this.do('untree', { tree: this.#tree });
  }

  async logoff(): Promise<void> {
    await this.do('logoff');
  }

  /** As by a power cut. */
  async disconnect(): Promise<void> {
    await this.do('disconnect');
  }

  do<T = void>(what: string, values: object = {}): Promise<T> {
    return this.#impacket.order<T>(this.name, what, values).answer;
  }

  begin<T>(what: string, values: object): PendingRequest<T> {
    const order: Order<T> = this.#impacket.order<T>(this.name, what, values);
    // Whoever does not look at the answer does not care what it is.
    order.answer.catch(() => {});
    const told = new Promise<void>((resolve) => this.#onPending.set(order.number, resolve));
    const pending = Promise.race([
      told,
      order.answer.then(() => Promise.reject(new Error(`${what} waits for nothing`))),
    ]);
    pending.catch(() => {});
    return { answer: order.answer, pending, cancel: () => this.do('cancel', { of: order.number }) };
  }

  /** Of the driver. */
  hear(event: DriverEvent): void {
    if (event.event === 'lost') {
      this.#lostWhy = event.why;
      this.#listener?.fail(new SmbConnectionLost(event.why));
    } else if (event.event === 'pending') this.#hearPending(event.to);
    else {
      this.#breaks.push(event);
      this.#listener?.hear();
    }
  }

  #hearPending(number: number): void {
    this.#onPending.get(number)?.();
    this.#onPending.delete(number);
  }

  async #untilBreak(): Promise<void> {
    if (this.#lostWhy !== null) throw new SmbConnectionLost(this.#lostWhy);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((hear, fail) => {
        timer = setTimeout(() => fail(new Error(`${this.name} was asked for nothing`)), HEARING_LIMIT_MS);
        this.#listener = { hear, fail };
      });
    } finally {
      clearTimeout(timer);
      this.#listener = null;
    }
  }
}

const cacheOf = (told: ToldBreak): string => ('file' in told ? told.file : told.leaseKey);

/** Of a listing: there is no more, or was nothing. */
function isAtEnd(error: unknown): null {
  if (error instanceof SmbRefusal && /NO_MORE_FILES|NO_SUCH_FILE/.test(error.status)) return null;
  throw error;
}

export class SmbFile {
  readonly #client: ImpacketClient;
  readonly #at: { readonly tree: number; readonly file: string };
  readonly opened: OpenedFile;
  readonly leaseKey: string | null;
  /** What it has by now. */
  oplock: OplockLevel | 'lease';

  constructor(client: ImpacketClient, tree: number, opened: OpenedFile, leaseKey: string | null) {
    this.#client = client;
    this.#at = { tree, file: opened.file };
    this.opened = opened;
    this.oplock = opened.oplock;
    this.leaseKey = leaseKey;
  }

  /** What was granted of a lease. */
  get lease(): LeaseState | null {
    return this.opened.lease;
  }

  async close(): Promise<void> {
    await this.#do('close');
  }

  async read(offset = 0, length = PIECE_BYTES): Promise<string> {
    return Buffer.from(await this.#do<string>('read', { offset, length }), 'base64').toString();
  }

  /** In pieces, where it is long. */
  async write(text: string | Uint8Array, offset = 0): Promise<void> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES).toString('base64');
      await this.#do('write', { offset: offset + at, bytes: piece });
    }
  }

  async flush(): Promise<void> {
    await this.#do('flush');
  }

  /** Refused at once where it cannot be had. */
  async lock(offset: number, length: number, { isExclusive = true } = {}): Promise<void> {
    await this.#do('lock', { ranges: [[String(offset), String(length), (isExclusive ? 0x2 : 0x1) | 0x10]] });
  }

  /** Waits until it can be had. */
  beginLock(offset: number, length: number): PendingRequest<void> {
    return this.#client.begin('lock', { ...this.#at, ranges: [[String(offset), String(length), 0x2]] });
  }

  async unlock(offset: number, length: number): Promise<void> {
    await this.#do('lock', { ranges: [[String(offset), String(length), 0x4]] });
  }

  async markForDeletion(isMarked: boolean): Promise<void> {
    await this.#do('set', { kind: 'disposition', isMarked });
  }

  async setEndOfFile(lengthBytes: number): Promise<void> {
    await this.#do('set', { kind: 'end of file', lengthBytes });
  }

  async rename(path: string, { replaces = false } = {}): Promise<void> {
    await this.#do('set', { kind: 'rename', path, replaces });
  }

  /** Times as 100 ns since 1601 (creation, access, write, change); 0: as it is. */
  async setBasic(values: { attributes?: number; times?: readonly [number, number, number, number] }): Promise<void> {
    await this.#do('set', { kind: 'basic', ...values });
  }

  standard(): Promise<{ lengthBytes: number; allocationBytes: number; isPending: boolean; isDirectory: boolean }> {
    return this.#do('query', { kind: 'standard' });
  }

  basic(): Promise<{ attributes: number; LastWriteTime: string; ChangeTime: string; CreationTime: string }> {
    return this.#do('query', { kind: 'basic' });
  }

  all(): Promise<{ attributes: number; lengthBytes: number; isPending: boolean; fileId: string; name: string }> {
    return this.#do('query', { kind: 'all' });
  }

  /** Of a directory, without itself and its parent. */
  async list(pattern = '*'): Promise<ListedEntry[]> {
    const entries: ListedEntry[] = [];
    for (;;) {
      const page = await this.#do<ListedEntry[]>('list', { pattern }).catch(isAtEnd);
      if (page === null) return entries;
      entries.push(...page.filter(({ name }) => name !== '.' && name !== '..'));
    }
  }

  /** Of a directory: answered once something in it changes. */
  notify({ filter = 0xfff, isRecursive = false } = {}): PendingRequest<NotedChange[]> {
    return this.#client.begin('notify', { ...this.#at, filter, isRecursive });
  }

  /** The next thing that its client is asked to give up, or was asked for and nobody asked about. */
  async nextBreak(): Promise<AskedBreak> {
    const told = await this.#client.nextBreak(this.#cache);
    return { what: this.#describe(told), to: told.to, epoch: 'epoch' in told ? told.epoch : null };
  }

  /** What its client was asked for, and nobody asked about yet. */
  get unheard(): string[] {
    return this.#client.unheard(this.#cache).map((told) => this.#describe(told));
  }

  get #cache(): string {
    return this.leaseKey ?? this.#at.file;
  }

  #describe(told: ToldBreak): string {
    if ('file' in told) return `${this.oplock} to ${told.to}`;
    return `${told.from} to ${told.to || 'none'}${told.mustAnswer ? '' : ', unanswered'}`;
  }

  /** To what it is asked for: it keeps so much. */
  async answer(keeps: LeaseState | OplockLevel): Promise<void> {
    if (this.leaseKey === null) {
      await this.#do('answer oplock', { level: keeps });
      this.oplock = keeps as OplockLevel;
    } else {
      await this.#client.do('answer lease', { tree: this.#at.tree, key: this.leaseKey, state: keeps });
    }
  }

  #do<T = void>(what: string, values: object = {}): Promise<T> {
    return this.#client.do<T>(what, { ...this.#at, ...values });
  }
}
