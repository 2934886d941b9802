/** Random requests over SMB to a share of a client's own, on one connection: what it may hold after a crash is then known. */
import assert from 'node:assert/strict';
import type { Random } from '../harness/random.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { SmbConnectionLost, smbOutcome } from '../harness/smb-refusal.ts';
import { DIRECTORY_FILE } from '../harness/smb-wire.ts';
import { CREATE, DELETE_ON_CLOSE, OPEN, OVERWRITE, type WireFile, WireShare } from '../harness/wire-share.ts';
import { Cut, type Kill } from './client.ts';
import { isBelow } from './file-journal.ts';
import { type SentWrite, type SmbKnown, type SmbKnownFile, type SmbShareEntry, writesProblem } from './smb-journal.ts';

const NODE_COUNT_MAX = 8;
const OPEN_COUNT_MAX = 4;
const DEPTH_MAX = 3;
const NAMES = ['a', 'b', 'ä', '😀'];
/** Parts of pages, whole ones, what rides in a commit and what goes to the content store. */
const LENGTHS = [1, 511, 512, 1_500, 8_192, 9_000, 30_000, 70_000];
const WRITES_AT_ONCE_MAX = 8;
const BEYOND_END_BYTES_MAX = 3_000;
const FILE_BYTES_MAX = 200_000;

/** What a tree is changed by: null takes a node away. */
type Change = ReadonlyMap<string, SmbKnown | null>;

interface Opened {
  readonly file: WireFile;
  hasWritten: boolean;
}

const newFile = (bytes: Buffer): SmbKnownFile => ({ kind: 'file', bytes, seenEtag: null, hasNewEtag: false });

export class SmbLoad {
  readonly #server: ServerProcess;
  readonly #random: Random;
  readonly #kill: Kill;
  readonly #entry: SmbShareEntry;
  readonly #opened = new Map<string, Opened>();
  #share: WireShare | null = null;

  constructor({
    server,
    random,
    kill,
    entry,
  }: { server: ServerProcess; random: Random; kill: Kill; entry: SmbShareEntry }) {
    this.#server = server;
    this.#random = random;
    this.#kill = kill;
    this.#entry = entry;
  }

  async change(): Promise<void> {
    const closed = [...this.#files.keys()].filter((path) => !this.#opened.has(path));
    const { size } = this.#entry.acknowledged;
    const dice = this.#random.next();
    if (dice < 0.05) return this.#beRefused();
    if (size >= NODE_COUNT_MAX && dice < 0.4) return this.#delete();
    if (this.#files.size === 0 || (size < NODE_COUNT_MAX && dice < 0.25)) return this.#make();
    if (dice < 0.33) return this.#rename();
    if (dice < 0.38) return this.#delete();
    if (dice < 0.45 && this.#opened.size > 0) return this.#close(this.#random.pick([...this.#opened.keys()]));
    if (this.#opened.size === 0 || (dice < 0.55 && closed.length > 0)) return this.#open(this.#random.pick(closed));
    const path = this.#random.pick([...this.#opened.keys()]);
    return dice < 0.62 ? this.#setEndOfFile(path) : this.#write();
  }

  get #files(): ReadonlyMap<string, SmbKnownFile> {
    return new Map(
      [...this.#entry.acknowledged].flatMap(([path, node]) => (node.kind === 'file' ? [[path, node]] : [])),
    );
  }

  // ---- names

  async #make(): Promise<void> {
    const path = this.#freePath();
    if (path === null) return this.#delete();
    const dice = this.#random.next();
    if (dice < 0.25) {
      const directory = await this.#request([new Map([[path, { kind: 'directory' }]])], (share) =>
        share.create(path, { disposition: CREATE, options: DIRECTORY_FILE }),
      );
      return this.#answered(directory.close());
    }
    if (dice < 0.5) {
      const bytes = this.#someBytes();
      const whole: SmbKnown = { ...newFile(bytes), hasNewEtag: true };
      return this.#request(
        [new Map([[path, newFile(Buffer.alloc(0))]]), new Map([[path, newFile(bytes)]]), new Map([[path, whole]])],
        (share) => share.put(path, bytes),
      );
    }
    const file = await this.#request([new Map([[path, newFile(Buffer.alloc(0))]])], (share) =>
      share.create(path, { disposition: CREATE }),
    );
    await this.#keep(path, file);
  }

  /** Sometimes what it holds goes with it. */
  async #open(path: string): Promise<void> {
    if (this.#random.chance(0.75)) {
      const file = await this.#request([], (share) => share.create(path, { disposition: OPEN }));
      return this.#keep(path, file);
    }
    const emptied: SmbKnown = { ...this.#file(path), bytes: Buffer.alloc(0), hasNewEtag: true };
    const file = await this.#request([new Map([[path, emptied]])], (share) =>
      share.create(path, { disposition: OVERWRITE }),
    );
    await this.#keep(path, file);
  }

  async #close(path: string): Promise<void> {
    const { file, hasWritten } = this.#opened.get(path) as Opened;
    const closed: SmbKnown = { ...this.#file(path), hasNewEtag: true };
    await this.#request(hasWritten ? [new Map([[path, closed]])] : [], () => file.close());
    this.#forget(path);
  }

  async #rename(): Promise<void> {
    const tree = this.#entry.acknowledged;
    const isBusy = (path: string): boolean => [...this.#opened.keys()].some((each) => isBelow(each, path));
    const movable = [...tree].filter(([path, { kind }]) => kind === 'file' || !isBusy(path)).map(([path]) => path);
    const path = this.#random.pick(movable.length === 0 ? [...tree.keys()] : movable);
    const replaceable = [...this.#files.keys()].filter((each) => each !== path && !this.#opened.has(each));
    const replaced = replaceable.length > 0 && this.#random.chance(0.3) ? this.#random.pick(replaceable) : null;
    const isFile = tree.get(path)?.kind === 'file';
    const to = isFile && replaced !== null ? replaced : this.#freePath();
    if (to === null || isBelow(to, path) || isBusy(path)) return this.#delete();
    const moving = [...tree].filter(([each]) => each === path || isBelow(each, path));
    const gone = moving.map(([each]): [string, null] => [each, null]);
    const come = moving.map(([each, node]): [string, SmbKnown] => [to + each.slice(path.length), node]);
    const held = this.#opened.get(path);
    const rename = (file: WireFile): Promise<void> => file.rename(to, { replaces: isFile && replaced !== null });
    const file = held?.file ?? (await this.#request([], (share) => share.create(path, { disposition: OPEN })));
    await this.#request([new Map([...gone, ...come])], () => rename(file));
    if (held === undefined) return this.#answered(file.close());
    this.#forget(path);
    await this.#keep(to, file, held.hasWritten);
  }

  /** It is there until the last handle is closed. */
  async #delete(): Promise<void> {
    const paths = [...this.#entry.acknowledged.keys()];
    const leaves = paths.filter((path) => !paths.some((other) => isBelow(other, path)));
    if (leaves.length === 0) return;
    const path = this.#random.pick(leaves);
    const held = this.#opened.get(path)?.file;
    const marks = held !== undefined || this.#random.chance(0.5);
    const options = marks ? 0 : DELETE_ON_CLOSE;
    const file = held ?? (await this.#request([], (share) => share.create(path, { disposition: OPEN, options })));
    if (marks) await this.#answered(file.markForDeletion(true));
    await this.#request([new Map([[path, null]])], () => file.close());
    this.#forget(path);
  }

  /** Whatever the moment of the crash, these change nothing. */
  async #beRefused(): Promise<void> {
    const [path] = this.#entry.acknowledged.keys();
    const share = await this.#connected();
    const [disposition, name, status] =
      path === undefined
        ? [OVERWRITE, 'never there', 'OBJECT_NAME_NOT_FOUND']
        : [CREATE, path, 'OBJECT_NAME_COLLISION'];
    assert.equal(await this.#orCut(smbOutcome(share.create(name, { disposition }))), status);
  }

  // ---- bytes

  async #setEndOfFile(path: string): Promise<void> {
    const before = this.#file(path);
    const bytes = Buffer.concat([before.bytes], this.#random.pick([0, ...LENGTHS]));
    const opened = this.#opened.get(path) as Opened;
    await this.#request([new Map([[path, { ...before, bytes }]])], () => opened.file.setEndOfFile(bytes.length));
    opened.hasWritten ||= bytes.length !== before.bytes.length;
  }

  /** Many at once, to some of the files that are open; then what has become of them is read. */
  async #write(): Promise<void> {
    const count = 1 + this.#random.below(WRITES_AT_ONCE_MAX);
    const paths = [...this.#opened.keys()].slice(this.#random.below(this.#opened.size));
    const writes = Array.from({ length: count }, () => this.#someWrite(this.#random.pick(paths)));
    this.#entry.writes = writes;
    await Promise.all(
      writes.map(async (write) => {
        const opened = this.#opened.get(write.path) as Opened;
        opened.hasWritten = true;
        await this.#answered(opened.file.write(write.offsetBytes, write.bytes));
        write.isAcknowledged = true;
      }),
    );
    const change = new Map<string, SmbKnown>();
    for (const path of new Set(writes.map((write) => write.path))) change.set(path, await this.#readBack(path, writes));
    this.#acknowledge(change);
    this.#entry.writes = [];
  }

  async #readBack(path: string, writes: readonly SentWrite[]): Promise<SmbKnownFile> {
    const before = this.#file(path);
    const { file } = this.#opened.get(path) as Opened;
    const bytes = await this.#orCut(file.read(0, FILE_BYTES_MAX * 2));
    const own = writes.filter((write) => write.path === path);
    assert.equal(writesProblem(before.bytes, own, bytes), null, `${this.#entry.name}/${path}`);
    return { ...before, bytes: Buffer.from(bytes) };
  }

  /** Anywhere: over what is there, over its end, at it, and beyond. */
  #someWrite(path: string): SentWrite {
    const { length } = this.#file(path).bytes;
    const dice = this.#random.next();
    const isLong = length > FILE_BYTES_MAX;
    const over = this.#random.below(isLong ? 1_000 : length + 1);
    const beyond = length + this.#random.below(BEYOND_END_BYTES_MAX);
    const offsetBytes = dice < 0.6 || isLong ? over : dice < 0.8 ? length : beyond;
    return { path, offsetBytes, bytes: this.#someBytes(), isAcknowledged: false };
  }

  #someBytes(): Buffer {
    return this.#random.bytes(this.#random.pick(LENGTHS));
  }

  // ---- asking for it

  /** What it may lead to, the last one if it is acknowledged. */
  async #request<T>(changes: readonly Change[], ask: (share: WireShare) => Promise<T>): Promise<T> {
    const share = await this.#connected();
    this.#entry.pending = changes.map((change) => this.#changed(change));
    const answer = await this.#answered(ask(share));
    this.#acknowledge(changes.at(-1) ?? new Map());
    return answer;
  }

  #changed(change: Change): SmbShareEntry['acknowledged'] {
    const tree = new Map(this.#entry.acknowledged);
    for (const [path, node] of change) {
      if (node === null) tree.delete(path);
      else tree.set(path, node);
    }
    return tree;
  }

  #acknowledge(change: Change): void {
    this.#entry.acknowledged = this.#changed(change);
    this.#entry.pending = [];
  }

  async #answered<T>(request: Promise<T>): Promise<T> {
    const answer = await this.#orCut(request);
    this.#kill.countAcknowledged();
    return answer;
  }

  async #orCut<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      if (this.#kill.done && error instanceof SmbConnectionLost) throw new Cut();
      throw error;
    }
  }

  async #connected(): Promise<WireShare> {
    const { name, account } = this.#entry;
    this.#share ??= await this.#orCut(WireShare.connect(this.#server, name, account));
    return this.#share;
  }

  /** With an eye to how many there are. */
  async #keep(path: string, file: WireFile, hasWritten = false): Promise<void> {
    this.#opened.set(path, { file, hasWritten });
    this.#entry.opened.add(path);
    const [first] = this.#opened.keys();
    if (this.#opened.size > OPEN_COUNT_MAX) await this.#close(first as string);
  }

  #forget(path: string): void {
    this.#opened.delete(path);
    this.#entry.opened.delete(path);
  }

  #file(path: string): SmbKnownFile {
    return this.#files.get(path) as SmbKnownFile;
  }

  /** A name that nothing has, in a directory that is there; null where it is not found soon. */
  #freePath(): string | null {
    const tree = this.#entry.acknowledged;
    const directories = ['', ...[...tree].filter(([, { kind }]) => kind === 'directory').map(([path]) => path)];
    for (let attempt = 0; attempt < NAMES.length; attempt++) {
      const parent = this.#random.pick(directories);
      const path = [...(parent === '' ? [] : [parent]), this.#random.pick(NAMES)].join('/');
      if (!tree.has(path) && path.split('/').length <= DEPTH_MAX) return path;
    }
    return null;
  }
}
