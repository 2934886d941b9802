/**
 * What a program did to the files and folders under one folder, out of a log of strace: the bytes it wrote, the names
 * it gave and took away, and the syncs that made either durable. Files are followed by what they are, not by their
 * names. A call in there that is not understood is an error: a recording with a hole in it would prove nothing.
 */
import { dirname } from 'node:path';
import {
  bytesWritten,
  type Call,
  descriptorIn,
  offsetIn,
  type Printed,
  parseCalls,
  printedIn,
  type Span,
  stringsIn,
} from '../harness/strace-calls.ts';

export interface DiskWrite extends Span {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A file or folder, whatever it is called by now. */
export interface Inode {
  readonly firstPath: string;
  readonly isFolder: boolean;
  readonly writes: DiskWrite[];
}

/** A name given (`path`), taken away (`oldPath`), or both at once: a rename. */
export interface NameChange extends Span {
  readonly inode: Inode;
  readonly path: string | null;
  readonly oldPath: string | null;
  /** The one whose sync makes the change durable. */
  readonly folder: Inode;
}

export interface Sync extends Span {
  readonly inode: Inode;
}

export interface DiskRecording {
  readonly writes: readonly DiskWrite[];
  readonly names: readonly NameChange[];
  readonly syncs: readonly Sync[];
  readonly printed: readonly Printed[];
  /** One past the last line of the log. */
  readonly length: number;
}

/** A question mark: not every processor has the call. */
export const TRACED_CALLS = [
  '?open,openat,?creat,close,?dup,?dup2,dup3,fcntl,lseek,mmap,write,pwrite64,writev,pwritev,pwritev2',
  'fsync,fdatasync,sync_file_range,ftruncate,truncate,fallocate,copy_file_range,sendfile,splice',
  '?mkdir,mkdirat,?rmdir,?rename,?renameat,renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat',
].join();

const OPENS: ReadonlySet<string> = new Set(['open', 'openat', 'creat']);
const NAME_CALL = /^(?:open|creat|mkdir|rmdir|rename|link|symlink|unlink|truncate)/;

/** A name stands once the call has ended; a descriptor is another's as soon as its close has begun. */
const takesEffect = (call: Call): number => (NAME_CALL.test(call.name) ? call.ended : call.began);

class Recorder {
  readonly writes: DiskWrite[] = [];
  readonly names: NameChange[] = [];
  readonly syncs: Sync[] = [];
  readonly #root: string;
  readonly #byPath = new Map<string, Inode>();
  readonly #byDescriptor = new Map<number, Inode>();

  constructor(root: string) {
    this.#root = root;
    this.#byPath.set(root, { firstPath: root, isFolder: true, writes: [] });
  }

  add(call: Call): void {
    if (NAME_CALL.test(call.name)) this.#addNameCall(call);
    else this.#addDescriptorCall(call);
  }

  #addNameCall(call: Call): void {
    const [path = '', otherPath = ''] = stringsIn(call).map(String);
    const isOpen = OPENS.has(call.name);
    if (!this.#isInside(path) && !this.#isInside(otherPath)) {
      if (isOpen) this.#byDescriptor.delete(call.result);
      return;
    }
    if (isOpen) this.#addOpen(call, path);
    else if (call.name.startsWith('mkdir')) this.#addName(call, path, true);
    else if (call.name.startsWith('rename')) this.#change(call, { oldPath: path, path: otherPath });
    else if (call.name.startsWith('unlink')) this.#change(call, { oldPath: path, path: null });
    else throw new Error(`${call.name} of ${path} is not understood`);
  }

  #addOpen(call: Call, path: string): void {
    const isNew = call.args.includes('O_CREAT') && call.args.includes('O_EXCL');
    if (/O_D?SYNC|O_APPEND|O_TMPFILE/.test(call.args) || (!isNew && /O_TRUNC|O_CREAT/.test(call.args))) {
      throw new Error(`an open of ${path} is not understood`);
    }
    if (isNew) this.#addName(call, path, false);
    this.#byDescriptor.set(call.result, this.#at(path));
  }

  #addDescriptorCall(call: Call): void {
    const inode = this.#byDescriptor.get(descriptorIn(call)?.fd ?? -1);
    if (inode === undefined) return;
    switch (call.name) {
      case 'pwrite64':
      case 'pwritev':
        this.#addWrite(call, inode, offsetIn(call));
        break;
      case 'fsync':
      case 'fdatasync':
        this.syncs.push({ began: call.began, ended: call.ended, inode });
        break;
      case 'close':
        this.#byDescriptor.delete(descriptorIn(call)?.fd ?? -1);
        break;
      default:
        throw new Error(`${call.name} on ${inode.firstPath} is not understood`);
    }
  }

  #addWrite(call: Call, inode: Inode, offset: number): void {
    const write = { began: call.began, ended: call.ended, offset, bytes: bytesWritten(call) };
    this.writes.push(write);
    inode.writes.push(write);
  }

  #addName({ began, ended }: Span, path: string, isFolder: boolean): void {
    const inode = { firstPath: path, isFolder, writes: [] };
    this.#byPath.set(path, inode);
    this.names.push({ began, ended, inode, path, oldPath: null, folder: this.#at(dirname(path)) });
  }

  #change({ began, ended }: Span, { oldPath, path }: { oldPath: string; path: string | null }): void {
    const inode = this.#at(oldPath);
    if (inode.isFolder) throw new Error(`the folder ${oldPath} is moved or removed, which is not understood`);
    this.#byPath.delete(oldPath);
    if (path !== null) this.#byPath.set(path, inode);
    this.names.push({ began, ended, inode, path, oldPath, folder: this.#at(dirname(path ?? oldPath)) });
  }

  #at(path: string): Inode {
    const inode = this.#byPath.get(path);
    if (inode === undefined) throw new Error(`nothing is known of ${path}`);
    return inode;
  }

  #isInside(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }
}

/** `root` was there, empty, when the program began, and the program gave paths from the top. */
export function readDiskRecording(log: string, root: string): DiskRecording {
  const { calls, length } = parseCalls(log);
  const recorder = new Recorder(root);
  const succeeded = calls.filter((call) => call.result >= 0);
  for (const call of succeeded.sort((a, b) => takesEffect(a) - takesEffect(b))) recorder.add(call);
  const { writes, names, syncs } = recorder;
  return { writes, names, syncs, printed: printedIn(calls), length };
}
