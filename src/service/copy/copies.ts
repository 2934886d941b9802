/**
 * The copies that a node works on. Every copy under way is a row, and whoever sees one that nobody works on takes it up:
 * when it is begun, when a node starts, and with every beat. So a copy outlives its node.
 */
import { setMaxListeners } from 'node:events';
import type { Id } from '../../base/ids.ts';
import type { Entry } from '../../engine/engine.ts';
import type { Signals } from '../../signals/signals.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { decodeJson } from '../records/codec.ts';
import { idOf, tableRange } from '../records/keys.ts';
import { freshSnapshots, scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type CopyClaim, claimCopy, freeOf, releaseClaim } from './copy-claim.ts';
import type { CopyJob } from './copy-job.ts';
import { CopyRun } from './copy-run.ts';

/** A copy was aborted: its id. */
const COPIES_TOPIC = 'copies';

const AT_ONCE_MAX = 8;
const STEP_RECORDS = 256;

/** What operations tell about copies, and learn. */
export interface CopyDesk {
  /** This node stops: whatever it fetches ends. */
  readonly signal: AbortSignal;
  /**
   * A job was committed, with a hold on its source or without. Resolves when this node has nothing more to do for it; at
   * once, if it has enough to do already.
   */
  begun(jobId: Id, hold: PageHold | null): Promise<void>;
  /** Somebody has ended the copy; whoever works on it hears of it. */
  ended(copyId: string): void;
}

export class Copies implements CopyDesk {
  readonly #storage: () => Storage;
  readonly #nodes: Nodes;
  readonly #signals: Signals;
  readonly #onError: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #works = new Map<Id, Promise<void>>();
  /** By the id of the copy. */
  readonly #runs = new Map<string, CopyRun>();
  /** There were more jobs than this node takes on at a time. */
  #isCrowded = false;
  #looking: Promise<void> | null = null;
  #unlisten: () => void = () => {};

  constructor(options: {
    storage: () => Storage;
    nodes: Nodes;
    signals: Signals;
    onError: (error: unknown) => void;
  }) {
    this.#storage = options.storage;
    this.#nodes = options.nodes;
    this.#signals = options.signals;
    this.#onError = options.onError;
    // Every request that fetches something listens to it.
    setMaxListeners(0, this.#stopping.signal);
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#signals.listen(COPIES_TOPIC, (copyId) => {
      // An empty word may stand for any that was lost.
      for (const [id, run] of this.#runs) if (copyId === '' || copyId === id) run.look();
    });
    await this.look();
  }

  async begun(jobId: Id, hold: PageHold | null): Promise<void> {
    this.#take(jobId, hold);
    const work = this.#works.get(jobId);
    if (work === undefined) await hold?.release();
    await work;
  }

  ended(copyId: string): void {
    void this.#signals.send(COPIES_TOPIC, copyId);
  }

  /** Takes up what nobody works on, as far as there is room. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Ends the work; the copies go on elsewhere, or when the node is back. */
  async close(): Promise<void> {
    this.#unlisten();
    this.#stopping.abort(new StorageError('ServerBusy'));
    await this.#looking?.catch(() => {});
    await Promise.all(this.#works.values());
  }

  async #look(): Promise<void> {
    const { engine, clock } = this.#storage();
    this.#isCrowded = false;
    for await (const entries of scanSteps(freshSnapshots(engine), tableRange('J'), STEP_RECORDS)) {
      const nowMs = clock.nowMs();
      const due = entries.filter((entry) => this.#isDue(entry, nowMs)).map(({ key }) => idOf(key));
      for (const jobId of await freeOf(engine, due, this.#nodes.id)) this.#take(jobId);
      if (this.#isCrowded) return;
    }
  }

  #isDue({ key, value }: Entry, nowMs: number): boolean {
    if (this.#works.has(idOf(key))) return false;
    try {
      return (decodeJson<CopyJob>(value).retry?.notBeforeMs ?? 0) <= nowMs;
    } catch (error) {
      this.#onError(error);
      return false;
    }
  }

  #take(jobId: Id, hold: PageHold | null = null): void {
    if (this.#stopping.signal.aborted || this.#works.has(jobId)) return;
    if (this.#works.size >= AT_ONCE_MAX) {
      this.#isCrowded = true;
      return;
    }
    const work = this.#work(jobId, hold)
      .catch(this.#onError)
      .finally(() => {
        this.#works.delete(jobId);
        if (this.#isCrowded && !this.#stopping.signal.aborted) this.look().catch(this.#onError);
      });
    this.#works.set(jobId, work);
  }

  async #work(jobId: Id, hold: PageHold | null): Promise<void> {
    const storage = this.#storage();
    try {
      const claim = await claimCopy(storage, { jobId, holder: this.#nodes.id });
      if (claim !== null) await this.#run(storage, claim, hold);
    } finally {
      await hold?.release();
    }
  }

  async #run(storage: Storage, claim: CopyClaim, hold: PageHold | null): Promise<void> {
    const run = new CopyRun({ storage, claim, hold, signal: this.#stopping.signal, onError: this.#onError });
    this.#runs.set(claim.job.copyId, run);
    try {
      await run.run();
    } finally {
      this.#runs.delete(claim.job.copyId);
      await releaseClaim(storage, claim);
    }
  }
}
