/**
 * Directories that clients watch ([MS-SMB2] 3.3.5.19). A watch begins with the first request on an open and lasts as long as
 * the open: what happens between requests is kept for the next one, up to the length that the first one gave. Requests are
 * answered one after the other.
 */
import type { Id } from '../../base/ids.ts';
import { type ToldChange, toldOf, type WatchScope } from '../../rules/file-change.ts';
import type { FileChanges, FileNews } from '../../service/file/opens/changes.ts';
import type { UsedNode } from '../../service/file/opens/node-uses.ts';
import type { NodeId } from '../../service/records/node-record.ts';
import { SmbError, Status } from '../statuses.ts';
import { toldBytesOf } from '../wire/change-notify.ts';

/** Of one watch, however long its client's buffer is. */
const KEPT_BYTES_MAX = 64 * 1024;

export interface WatchRequest {
  readonly isTree: boolean;
  readonly filter: number;
  readonly outputBytesMax: number;
}

/** What a request is answered with. Changes come with SUCCESS only. */
export interface Notice {
  readonly status: typeof Status.SUCCESS | typeof Status.NOTIFY_ENUM_DIR | typeof Status.NOTIFY_CLEANUP;
  readonly changes: readonly ToldChange[];
}

const LOOK_YOURSELF: Notice = { status: Status.NOTIFY_ENUM_DIR, changes: [] };
export const CLEANED_UP: Notice = { status: Status.NOTIFY_CLEANUP, changes: [] };

interface Waiting {
  readonly outputBytesMax: number;
  answer(notice: Notice): void;
  refuse(error: SmbError): void;
}

export class Watch {
  readonly #scope: WatchScope;
  readonly #keptBytesMax: number;
  readonly #onEnd: () => void;
  readonly #waiting = new Set<Waiting>();
  #kept: ToldChange[] = [];
  #keptBytes = 0;
  /** Something happened that was not kept. */
  #hasLost = false;
  #ended: Notice | SmbError | null = null;

  constructor(scope: WatchScope, options: { outputBytesMax: number; onEnd: () => void }) {
    this.#scope = scope;
    this.#keptBytesMax = Math.min(options.outputBytesMax, KEPT_BYTES_MAX);
    this.#onEnd = options.onEnd;
  }

  /** Null: nothing to tell yet. */
  take(outputBytesMax: number): Notice | null {
    if (this.#ended instanceof SmbError) throw this.#ended;
    if (this.#ended !== null) return this.#ended;
    if (!this.#hasLost && this.#kept.length === 0) return null;
    const notice: Notice =
      this.#hasLost || this.#keptBytes > outputBytesMax
        ? LOOK_YOURSELF
        : { status: Status.SUCCESS, changes: this.#kept };
    this.#forget();
    return notice;
  }

  /** The next notice that no request before this one is answered with. Refused with CANCELLED, and DELETE_PENDING. */
  next(outputBytesMax: number, signal: AbortSignal): Promise<Notice> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', cancel);
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        outputBytesMax,
        answer: (notice) => {
          leave();
          resolve(notice);
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      const cancel = (): void => waiting.refuse(new SmbError(Status.CANCELLED));
      this.#waiting.add(waiting);
      signal.addEventListener('abort', cancel);
      if (signal.aborted) cancel();
    });
  }

  hear(news: FileNews): void {
    if (this.#ended !== null) return;
    if (news.what === 'deleting') {
      if (news.directoryId === this.#scope.directoryId) this.#endWith(new SmbError(Status.DELETE_PENDING));
      return;
    }
    if (news.what === 'unknown') this.#lose();
    else for (const change of toldOf(news.changes, this.#scope)) this.#keep(change);
    this.#answerFirst();
  }

  /** The open is closed. */
  end(): void {
    this.#endWith(CLEANED_UP);
  }

  #endWith(ended: Notice | SmbError): void {
    if (this.#ended !== null) return;
    this.#ended = ended;
    this.#forget();
    this.#onEnd();
    for (const waiting of this.#waiting) {
      if (ended instanceof SmbError) waiting.refuse(ended);
      else waiting.answer(ended);
    }
  }

  #answerFirst(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const notice = this.take(first.outputBytesMax);
    if (notice !== null) first.answer(notice);
  }

  #keep(change: ToldChange): void {
    if (this.#hasLost || isSame(this.#kept.at(-1), change)) return;
    this.#kept.push(change);
    this.#keptBytes += toldBytesOf(change);
    if (this.#keptBytes > this.#keptBytesMax) this.#lose();
  }

  #lose(): void {
    this.#forget();
    this.#hasLost = true;
  }

  #forget(): void {
    this.#kept = [];
    this.#keptBytes = 0;
    this.#hasLost = false;
  }
}

/** A file that is written a thousand times in a row has been modified. */
const isSame = (one: ToldChange | undefined, other: ToldChange): boolean =>
  one?.kind === other.kind && one.path.join('\\') === other.path.join('\\');

export class Watches {
  readonly #changes: FileChanges;
  /** By the share, and in it by the watched directory. */
  readonly #watches = new Map<Id, Map<NodeId, Set<Watch>>>();
  #unlisten: (() => void) | null = null;

  constructor(changes: FileChanges) {
    this.#changes = changes;
  }

  /** Null: what is in a snapshot, in which nothing happens. */
  begin(at: UsedNode | null, { isTree, filter, outputBytesMax }: WatchRequest): Watch {
    if (at === null) return new Watch({ directoryId: '', isTree, filter }, { outputBytesMax, onEnd() {} });
    const unwatch = this.#changes.watch(at.shareId);
    const onEnd = (): void => {
      unwatch();
      this.#remove(at, watch);
    };
    const watch = new Watch({ directoryId: at.nodeId, isTree, filter }, { outputBytesMax, onEnd });
    this.#add(at, watch);
    this.#unlisten ??= this.#changes.listen((news) => this.#hear(news));
    return watch;
  }

  #add({ shareId, nodeId }: UsedNode, watch: Watch): void {
    const directories = this.#watches.get(shareId) ?? new Map<NodeId, Set<Watch>>();
    directories.set(nodeId, (directories.get(nodeId) ?? new Set()).add(watch));
    this.#watches.set(shareId, directories);
  }

  #remove({ shareId, nodeId }: UsedNode, watch: Watch): void {
    const directories = this.#watches.get(shareId);
    const watches = directories?.get(nodeId);
    watches?.delete(watch);
    if (watches?.size === 0) directories?.delete(nodeId);
    if (directories?.size === 0) this.#watches.delete(shareId);
    if (this.#watches.size > 0) return;
    this.#unlisten?.();
    this.#unlisten = null;
  }

  #hear(news: FileNews): void {
    for (const watch of this.#concernedBy(news)) watch.hear(news);
  }

  *#concernedBy(news: FileNews): Generator<Watch> {
    const shares = news.shareId === null ? [...this.#watches.values()] : [this.#watches.get(news.shareId)];
    for (const directories of shares) {
      if (directories === undefined) continue;
      for (const id of directoriesOf(news) ?? directories.keys()) yield* directories.get(id) ?? [];
    }
  }
}

/** Null: all. */
function directoriesOf(news: FileNews): Iterable<NodeId> | null {
  if (news.what === 'unknown') return null;
  return news.what === 'deleting' ? [news.directoryId] : new Set(news.changes.flatMap(({ parentIds }) => parentIds));
}
