/**
 * Waiting for what clients do, on whatever node they are: giving up what they cache, unlocking, closing. Whoever waits leaves an
 * ask for the client's node, hears of what becomes of it by word, and looks by itself every now and then, as words may be lost.
 */
import type { Id } from '../../../base/ids.ts';
import { transact } from '../../../engine/transact.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { useKey } from '../../records/file-keys.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { putAsk, putAsks } from './follow.ts';
import { Deadline, MustWait } from './must-wait.ts';
import { loadUses, type NodeUses, type UsedNode } from './node-uses.ts';
import { type Listening, nameOf, type Words } from './words.ts';

const LOOK_EVERY_MS = 500;

/** How long to wait: for clients to answer, for bytes to be unlocked. */
export interface WaitLimits {
  readonly answersMs: number;
  readonly locksMs: number;
}

/** Whoever waits, beside how long it does. */
export interface Waiter {
  /** Called once, before the first wait. */
  readonly onWait?: () => void;
  /** Ends the waiting with WaitCancelled. */
  readonly signal?: AbortSignal;
}

/** Nobody waits for it any more. Nothing was done. */
export class WaitCancelled extends Error {
  override readonly name = 'WaitCancelled';
}

export class Waits {
  readonly #storage: () => Storage;
  readonly #owner: Id;
  readonly #words: Words;
  /** Of whose clients this node has asked something that may not be answered yet. */
  readonly #asked = new Map<string, UsedNode>();
  #isStopped = false;

  /** `owner`: the node that asks. */
  constructor(options: { storage: () => Storage; owner: Id; words: Words }) {
    this.#storage = options.storage;
    this.#owner = options.owner;
    this.#words = options.words;
  }

  async waiting<T>(limits: WaitLimits, run: () => Promise<T>, waiter: Waiter = {}): Promise<T> {
    const deadlines = new Map<MustWait['code'], Deadline>();
    let isWaiting = false;
    for (;;) {
      try {
        return await run();
      } catch (thrown) {
        if (!(thrown instanceof MustWait)) throw thrown;
        const { code } = thrown;
        const limitMs = code === 'FileLockConflict' ? limits.locksMs : limits.answersMs;
        const deadline = deadlines.get(code) ?? new Deadline(this.#storage().clock, limitMs);
        deadlines.set(code, deadline);
        if (!isWaiting && deadline.remainingMs > 0) waiter.onWait?.();
        isWaiting = true;
        await this.#wait(thrown, deadline, waiter.signal);
      }
    }
  }

  async askToClose(at: UsedNode, openIds: readonly OpenId[], waitMs: number): Promise<readonly OpenId[]> {
    const { engine, clock } = this.#storage();
    const deadline = new Deadline(clock, waitMs);
    return this.#listening(at, async (listening) => {
      await transact(engine, async (tx) => {
        const uses = await loadUses(tx, at);
        for (const openId of openIds) {
          if (uses.opens.has(openId)) putAsk(tx, uses, { openId, by: this.#owner, to: 'close' });
        }
      });
      this.say(at);
      for (;;) {
        const { opens } = await this.#lookAt(at);
        const closed = openIds.filter((openId) => !opens.has(openId));
        if (closed.length === openIds.length || deadline.remainingMs === 0 || this.#isStopped) return closed;
        await listening.heard(Math.min(LOOK_EVERY_MS, deadline.remainingMs));
      }
    });
  }

  /** Something was asked of the clients of a file in a commit. */
  say(at: UsedNode): void {
    this.#asked.set(nameOf(at), at);
    this.#words.say(at);
  }

  /** Takes back what was asked of clients that went with their node: nobody answers that. */
  async look(): Promise<void> {
    const asked = [...this.#asked];
    for (const [name, at] of asked) {
      this.#asked.delete(name);
      let isLeft = true;
      try {
        isLeft = await this.#takeBack(at);
      } finally {
        if (isLeft) this.#asked.set(name, at);
      }
    }
  }

  /** Whether something asked is left. */
  #takeBack(at: UsedNode): Promise<boolean> {
    return transact(this.#storage().engine, async (tx) => {
      const { asks, opens } = await loadUses(tx, at);
      const own = asks.filter(({ by }) => by === this.#owner);
      const vain = own.filter(({ openId }) => !opens.has(openId));
      for (const { openId, by } of vain) tx.delete(useKey(at.shareId, at.nodeId, 'break', openId, by));
      return vain.length < own.length;
    });
  }

  /** Whoever waits is sent away, once word wakes them. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Until something has changed of what was seen, or it is time to look. */
  async #wait({ at, state, breaks, code }: MustWait, deadline: Deadline, signal?: AbortSignal): Promise<void> {
    await this.#listening(at, async (listening) => {
      const asked = await transact(this.#storage().engine, async (tx) => {
        const uses = await loadUses(tx, at);
        if (uses.state !== state) return 'changed';
        return putAsks(tx, uses, this.#owner, breaks) ? 'now' : 'before';
      });
      if (asked === 'now') this.say(at);
      if (deadline.remainingMs === 0) throw new StorageError(code);
      if (this.#isStopped) throw new StorageError('ServerBusy');
      if (asked !== 'changed') await listening.heard(Math.min(LOOK_EVERY_MS, deadline.remainingMs), signal);
      if (signal?.aborted === true) throw new WaitCancelled('nobody waits for it any more');
    });
  }

  /** From before the look on, so that no change is missed between the two. */
  async #listening<T>(at: UsedNode, body: (listening: Listening) => Promise<T>): Promise<T> {
    const listening = this.#words.listen(at);
    try {
      return await body(listening);
    } finally {
      listening.end();
    }
  }

  async #lookAt(at: UsedNode): Promise<NodeUses> {
    const snapshot = this.#storage().engine.snapshot();
    return loadUses(snapshot, at).finally(() => snapshot.close());
  }
}
