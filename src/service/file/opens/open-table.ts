/**
 * Everything that SMB clients of this node have open, and its side of what all nodes know about that (use-record.ts).
 * Opening, closing, locking and the like are transactions that read all uses of the file or directory, as REST requests do
 * (admit.ts), so that of two who exclude each other one sees the other. What is asked of this node's clients is heard of by
 * word, and looked for with every beat, since words may be lost.
 */
import type { Id } from '../../../base/ids.ts';
import { type Transaction, transact } from '../../../engine/transact.ts';
import type { ByteLock, LockRange } from '../../../rules/byte-lock.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import type { Caching } from '../../../rules/oplock.ts';
import type { Signals } from '../../../signals/signals.ts';
import type { NodeId } from '../../records/node-record.ts';
import { freshSnapshots } from '../../records/scan.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { type FileName, type FoundNode, findNode, refuseMissing } from '../load.ts';
import { type Attended, attend, type CachingBreak } from './attend.ts';
import { type Closed, type ClosingOpen, closeOpen } from './close-open.ts';
import type { NodeUses, UsedNode } from './node-uses.ts';
import { type Opened, type OpenRequest, openNode, type UsedPlace } from './open-node.ts';
import { shareUses } from './share-uses.ts';
import {
  type Acknowledged,
  acknowledgeBreak,
  lockRanges,
  markForDeletion,
  OpenClosed,
  reconnectOpen,
  type Using,
  unlockRanges,
} from './use-open.ts';
import type { ClientInfo } from './use-record.ts';
import { type Waiter, type WaitLimits, Waits } from './waits.ts';
import { nameOf, Words } from './words.ts';

/** The connection on which something was opened. */
export interface OpenClient {
  /** The client is to cache less. */
  breakCaching(openId: OpenId, asked: CachingBreak): void;
  /** It was closed, and not by the client. */
  closed(openId: OpenId): void;
  /** Whether bytes were written or cut through it. */
  hasWritten?(openId: OpenId): boolean;
}

/** What is left of a file or directory by whoever closes it. */
export type Left = Pick<Closed, 'isMarked' | 'removed' | 'node'>;

const NOTHING_LEFT: Left = { isMarked: false, removed: null, node: null };

/** A client that does not answer is given up for after a while (attend.ts). */
export const UNTIL_ANSWERED: WaitLimits = { answersMs: Number.POSITIVE_INFINITY, locksMs: 0 };

interface Held {
  readonly place: UsedPlace | null;
  readonly client: OpenClient;
  /** The last break that it was told of. */
  toldId: Id | null;
}

/** What this node has to do with a file or directory. */
interface Watched {
  readonly place: UsedPlace;
  readonly openIds: Set<OpenId>;
  /** Though this node has nothing open there: it has marked it for deletion, or cannot tell whether an open is closed. */
  isLookedAfter: boolean;
  attending: Promise<void> | null;
  isToAttendAgain: boolean;
}

export class OpenTable {
  readonly #storage: () => Storage;
  readonly #onError: (error: unknown) => void;
  readonly #words: Words;
  readonly #waits: Waits;
  readonly #held = new Map<OpenId, Held>();
  readonly #watched = new Map<string, Watched>();
  /** Opens that are being opened or closed, each with what word came of meanwhile. */
  readonly #underWay = new Map<OpenId, Set<string>>();
  #isStopped = false;
  /** This node, among those that have clients. */
  readonly owner: Id;

  constructor(options: {
    storage: () => Storage;
    owner: Id;
    signals: Signals;
    onError: (error: unknown) => void;
  }) {
    this.#storage = options.storage;
    this.owner = options.owner;
    this.#words = new Words(options.signals);
    this.#onError = options.onError;
    this.#waits = new Waits({ storage: options.storage, owner: this.owner, words: this.#words });
  }

  async start(): Promise<void> {
    await this.#words.start((at) => {
      if (at === null) void this.look().catch(this.#onError);
      else this.#hear(at);
    });
  }

  /** Opens what has this name, if there is something. */
  async open(name: FileName, request: OpenRequest, client: OpenClient): Promise<Opened> {
    return this.opening(name.share, client, async (tx, open) => {
      const found = await findNode(tx, name, this.#storage().known);
      refuseMissing(found);
      return open(found, request);
    });
  }

  /**
   * A transaction that opens something it has found in a share, or made. It may run several times; what it does to the
   * content comes after the call of `open`. Refused: see `judgeOpen`.
   */
  async opening<T>(
    share: string,
    client: OpenClient,
    body: (tx: Transaction, open: (found: FoundNode, request: OpenRequest) => Promise<Opened>) => Promise<T>,
    waiter?: Waiter,
  ): Promise<T> {
    const storage = this.#storage();
    const openId = storage.ids.next();
    const opening = { storage, owner: this.owner, openId, share };
    return this.#underWayWith(openId, async () => {
      let opened: Opened | null = null;
      const run = (): Promise<T> =>
        transact(storage.engine, async (tx) => {
          opened = null;
          return body(tx, async (found, request) => {
            opened = await openNode(tx, opening, found, request);
            return opened;
          });
        });
      try {
        const result = await this.waiting(UNTIL_ANSWERED, run, waiter);
        if (opened !== null) this.#hold(opened, client);
        return result;
      } catch (error) {
        // It may have been opened all the same.
        const place = (opened as Opened | null)?.place ?? null;
        if (place !== null && !(error instanceof StorageError)) this.#watch(place).isLookedAfter = true;
        throw error;
      }
    });
  }

  /**
   * Of what is closed already nothing happens. What fails is made up for by itself. `hasWritten`: bytes were written or cut
   * through it, and the file gets a new ETag. `looks`: what is left is told.
   */
  async close(openId: OpenId, asked: Pick<ClosingOpen, 'hasWritten' | 'looks'> = {}): Promise<Left> {
    const held = this.#held.get(openId);
    if (held === undefined) return NOTHING_LEFT;
    this.#held.delete(openId);
    const { place } = held;
    if (place === null) return NOTHING_LEFT;
    const watched = this.#watch(place);
    watched.openIds.delete(openId);
    const closing = { ...asked, place, openId, isForced: false };
    const run = (shard: number): Promise<Closed> =>
      transact(this.#storage().engine, (tx) => closeOpen(tx, this.#closingWith(shard), closing));
    let closed: Closed;
    try {
      closed = await this.#underWayWith(openId, () => this.#closing(run));
    } catch (error) {
      this.#watch(place).isLookedAfter = true;
      throw error;
    }
    if (closed.isAwaited) this.#words.say(place);
    // What waits for a lock through this very open waits in vain.
    else this.#words.nudge(place);
    if (closed.hasAsked) {
      this.#waits.say(place);
      // This node's own clients hear of it before the one who closes does.
      await this.#attend(place);
    }
    if (closed.isMarked) this.#watch(place).isLookedAfter = true;
    if (watched.attending === null) this.#unwatch(watched);
    return closed;
  }

  /** All of the ranges or none. Refused with FileLockConflict where others have not unlocked within the time. */
  async lock(
    openId: OpenId,
    locks: readonly ByteLock[],
    { waitMs, ...waiter }: Waiter & { waitMs: number },
  ): Promise<void> {
    const using = this.#using(openId);
    const limits = { ...UNTIL_ANSWERED, locksMs: waitMs };
    const run = (): Promise<boolean> =>
      transact(using.storage.engine, (tx) => lockRanges(tx, using, { locks, mayWait: waitMs > 0 }));
    const hasAsked = await this.waiting(limits, run, waiter);
    if (hasAsked) this.#waits.say(using.place);
  }

  /** False: not all of these ranges are locked, and nothing is unlocked. */
  async unlock(openId: OpenId, ranges: readonly LockRange[]): Promise<boolean> {
    const using = this.#using(openId);
    const isUnlocked = await transact(using.storage.engine, (tx) => unlockRanges(tx, using, ranges));
    if (isUnlocked) this.#words.say(using.place);
    return isUnlocked;
  }

  async markForDeletion(openId: OpenId, isMarked: boolean, waiter?: Waiter): Promise<void> {
    const using = this.#using(openId);
    const run = (): Promise<void> => transact(using.storage.engine, (tx) => markForDeletion(tx, using, isMarked));
    await this.waiting(UNTIL_ANSWERED, run, waiter);
    if (isMarked) this.#watch(using.place).isLookedAfter = true;
  }

  /** A client's answer to a break. */
  async acknowledge(openId: OpenId, caching: Caching): Promise<Acknowledged> {
    const using = this.#using(openId);
    const answer = await transact(using.storage.engine, (tx) => acknowledgeBreak(tx, using, caching));
    if (answer === 'acknowledged') this.#words.say(using.place);
    return answer;
  }

  async reconnect(openId: OpenId, client: ClientInfo): Promise<void> {
    const using = this.#using(openId);
    await transact(using.storage.engine, (tx) => reconnectOpen(tx, using, client));
  }

  /** Runs what may throw MustWait until it does not: has clients asked, and waits for a change in between. */
  waiting<T>(limits: WaitLimits, run: () => Promise<T>, waiter?: Waiter): Promise<T> {
    return this.#waits.waiting(limits, run, waiter);
  }

  /** Asks clients, on whatever node, to close. The opens that are closed within the time. */
  askToClose(at: UsedNode, openIds: readonly OpenId[], waitMs: number): Promise<readonly OpenId[]> {
    return this.#waits.askToClose(at, openIds, waitMs);
  }

  /** Something was asked of the clients of a file in a commit. */
  say(at: UsedNode): void {
    this.#waits.say(at);
  }

  /** Attends to everything of this node's that needs it, heard of or not. */
  async look(): Promise<void> {
    await this.#waits.look();
    const shareIds = new Set([...this.#watched.values()].map(({ place }) => place.shareId));
    for (const shareId of shareIds) {
      const inUse = new Map<NodeId, NodeUses>();
      for await (const uses of shareUses(freshSnapshots(this.#storage().engine), shareId)) {
        if (this.#watched.has(nameOf(uses.at))) inUse.set(uses.at.nodeId, uses);
      }
      const watched = [...this.#watched.values()].filter(({ place }) => place.shareId === shareId);
      await Promise.all(
        watched
          .filter(({ place, openIds }) => this.#needsAttention(inUse.get(place.nodeId) ?? null, openIds))
          .map(({ place }) => this.#attend(place)),
      );
    }
  }

  /** Whoever waits is sent away. What is open stays so until the engine is closed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waits.stop();
    this.#words.stop();
    for (const { attending } of this.#watched.values()) await attending;
  }

  #using(openId: OpenId): Using {
    const place = this.#held.get(openId)?.place ?? null;
    if (place === null) throw new OpenClosed(`${openId} is closed, or locks nothing`);
    return { storage: this.#storage(), owner: this.owner, place, openId };
  }

  // ---- what others ask of this node

  #hear(at: UsedNode): void {
    const name = nameOf(at);
    for (const heardOf of this.#underWay.values()) heardOf.add(name);
    const watched = this.#watched.get(name);
    if (watched !== undefined) void this.#attend(watched.place);
  }

  /** One at a time for each file; what is called for meanwhile is done after it. */
  #attend(place: UsedPlace): Promise<void> {
    const watched = this.#watch(place);
    watched.isToAttendAgain = true;
    watched.attending ??= this.#attendAll(watched)
      .catch(this.#onError)
      .finally(() => {
        watched.attending = null;
      });
    return watched.attending;
  }

  async #attendAll(watched: Watched): Promise<void> {
    const { place, openIds } = watched;
    while (watched.isToAttendAgain && !this.#isStopped) {
      watched.isToAttendAgain = false;
      const attended = await this.#closing((shard) =>
        transact(this.#storage().engine, (tx) =>
          attend(tx, this.#closingWith(shard), place, {
            openIds,
            isHeld: (openId) => this.#held.has(openId),
            isUnderWay: (openId) => this.#underWay.has(openId),
            hasWritten: (openId) => this.#held.get(openId)?.client.hasWritten?.(openId) ?? false,
          }),
        ),
      );
      this.#tell(attended);
      for (const openId of attended.closed) openIds.delete(openId);
      if (attended.isChanged) this.#words.say(place);
      if (attended.isOver) watched.isLookedAfter = false;
    }
    this.#unwatch(watched);
  }

  #tell({ breaks, closed }: Attended): void {
    for (const { id, openIds, ...asked } of breaks) {
      const opens = openIds.flatMap((openId) => {
        const held = this.#held.get(openId);
        return held === undefined ? [] : [{ openId, held }];
      });
      const [first] = opens;
      const isTold = opens.some(({ held }) => held.toldId === id);
      for (const { held } of opens) held.toldId = id;
      if (first !== undefined && !isTold) first.held.client.breakCaching(first.openId, asked);
    }
    for (const openId of closed) {
      const held = this.#held.get(openId);
      this.#held.delete(openId);
      held?.client.closed(openId);
    }
  }

  #needsAttention(uses: NodeUses | null, openIds: ReadonlySet<OpenId>): boolean {
    if (uses === null) return true;
    const { opens, asks, pending } = uses;
    const isOwn = (openId: OpenId): boolean => opens.get(openId)?.owner === this.owner;
    return (
      asks.some(({ openId }) => isOwn(openId)) ||
      [...openIds].some((openId) => !opens.has(openId)) ||
      [...opens].some(([openId, { breaking }]) => isOwn(openId) && (breaking !== undefined || !openIds.has(openId))) ||
      (pending?.owner === this.owner && opens.size === 0) ||
      openIds.size === 0
    );
  }

  // ---- what this node has

  #hold({ id, place, hasAsked }: Opened, client: OpenClient): void {
    this.#held.set(id, { place, client, toldId: null });
    if (place === null) return;
    if (hasAsked) this.#waits.say(place);
    this.#watch(place).openIds.add(id);
    if (this.#underWay.get(id)?.has(nameOf(place))) void this.#attend(place);
  }

  #watch(place: UsedPlace): Watched {
    const name = nameOf(place);
    const watched = this.#watched.get(name) ?? {
      place,
      openIds: new Set<OpenId>(),
      isLookedAfter: false,
      attending: null,
      isToAttendAgain: false,
    };
    this.#watched.set(name, watched);
    return watched;
  }

  /** Where nothing of this node's is left. */
  #unwatch(watched: Watched): void {
    const name = nameOf(watched.place);
    const isLeft = watched.openIds.size > 0 || watched.isLookedAfter;
    if (!isLeft && this.#watched.get(name) === watched) this.#watched.delete(name);
  }

  async #underWayWith<T>(openId: OpenId, body: () => Promise<T>): Promise<T> {
    this.#underWay.set(openId, new Set());
    try {
      return await body();
    } finally {
      this.#underWay.delete(openId);
    }
  }

  #closing<T>(close: (shard: number) => Promise<T>): Promise<T> {
    return this.#storage().counting.use(close);
  }

  #closingWith(shard: number): { storage: Storage; owner: Id; shard: number } {
    return { storage: this.#storage(), owner: this.owner, shard };
  }
}
