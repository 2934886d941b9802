/**
 * One node's work on one copy: has it done by its kind, notes the progress about once a second, and ends it in one
 * transaction that changes content, length and status together. It may be cut off anywhere: whoever takes the job up
 * next goes on from what is durable.
 */
import { EngineUnavailable } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import { type CopyState, isPending } from '../../rules/copy.ts';
import type { StagedExtent } from '../extents/extents.ts';
import type { PageHold } from '../pages/page-holds.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import { changedAt, type Storage } from '../storage.ts';
import { type CopyClaim, holdsClaim } from './copy-claim.ts';
import { describeFailure, describeRetry, isOfSource, isPassing, TOOK_TOO_LONG } from './copy-failure.ts';
import { COPY_LIFE_MS, type CopyJob, retryAfter } from './copy-job.ts';
import { type CopyPlace, type CopyRecord, placeOf } from './copy-place.ts';
import type { CopiedContent, CopySteps, CopyWork, Step, Waiting } from './copy-work.ts';
import { FetchBlob } from './fetch-blob.ts';
import { FetchPages } from './fetch-pages.ts';
import { FollowSnapshot } from './follow-snapshot.ts';
import { SharePages } from './share-pages.ts';

const PROGRESS_MS = 1_000;

/** The destination is gone, or no longer waits for this copy. */
class NotWanted extends Error {}
/** Another node works on it by now. */
class ClaimLost extends Error {}
class TookTooLong extends Error {}

export interface CopyRunOptions {
  readonly storage: Storage;
  readonly claim: CopyClaim;
  /** On the source, taken when the copy was begun. */
  readonly hold: PageHold | null;
  /** The node stops. */
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

export class CopyRun implements CopySteps {
  readonly storage: Storage;
  readonly signal: AbortSignal;
  readonly #claim: CopyClaim;
  readonly #work: CopyWork;
  readonly #place: CopyPlace;
  readonly #jobKey: Uint8Array;
  readonly #onError: (error: unknown) => void;
  readonly #ending = new AbortController();
  #looking: Promise<void> | null = null;

  constructor({ storage, claim, hold, signal, onError }: CopyRunOptions) {
    const { job, jobId } = claim;
    this.storage = storage;
    this.signal = AbortSignal.any([signal, this.#ending.signal]);
    this.#claim = claim;
    this.#work = workOf(job, this, hold);
    this.#place = placeOf(storage, job);
    this.#jobKey = copyJobKey(jobId);
    this.#onError = onError;
  }

  /** Resolves when there is nothing more to do for now: the copy has ended, waits to be tried again, or the node stops. */
  async run(): Promise<void> {
    const ticks = setInterval(() => this.look(), PROGRESS_MS).unref();
    try {
      await this.#work.run(await this.transact((_, { record }) => record.copy.bytesCopied));
    } catch (error) {
      await this.#conclude(this.#ending.signal.aborted ? this.#ending.signal.reason : error);
    } finally {
      clearInterval(ticks);
      await this.#work.close();
      await this.#looking;
    }
  }

  /** Notes how far it is, and ends if it is no longer wanted. */
  look(): void {
    this.#looking ??= this.#noteProgress()
      .catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) this.#ending.abort(error);
      })
      .finally(() => {
        this.#looking = null;
      });
  }

  async #noteProgress(): Promise<void> {
    await this.transact(async (tx, { record, place, nowMs }) => {
      if (nowMs - this.#work.job.startedMs >= COPY_LIFE_MS) throw new TookTooLong();
      const bytesCopied = this.#work.reachedBytes;
      if (bytesCopied > record.copy.bytesCopied) {
        await place.change(tx, { ...record, copy: { ...record.copy, bytesCopied } });
      }
    });
  }

  async transact<T>(step: Step<T>): Promise<T> {
    return transact(this.storage.engine, async (tx) => {
      if (!(await holdsClaim(tx, this.#claim))) throw new ClaimLost();
      const place = await this.#place(tx);
      const copy = place?.record.copy;
      if (place == null || copy?.id !== this.#claim.job.copyId || !isPending(copy)) throw new NotWanted();
      return step(tx, { record: { ...place.record, copy }, place, nowMs: this.storage.clock.nowMs() });
    });
  }

  putJob(tx: Transaction, job: CopyJob): void {
    tx.put(this.#jobKey, encodeJson(job));
  }

  async succeed(extent: StagedExtent | null, publish: Step<CopiedContent>): Promise<void> {
    const { extents } = this.storage;
    await extents.publishing(extent, () =>
      this.transact(async (tx, waiting) => {
        const { record, place } = waiting;
        const { contentMd5, ...content } = await publish(tx, waiting);
        const headers = contentMd5 === null ? {} : { headers: { ...record.headers, contentMd5 } };
        await place.replace(tx, this.#finished(tx, waiting, { ...content, ...headers }));
      }),
    );
  }

  async finish(tx: Transaction, waiting: Waiting, change: Partial<CopyRecord>): Promise<CopyRecord> {
    const record = this.#finished(tx, waiting, change);
    await waiting.place.change(tx, record);
    return record;
  }

  #finished(tx: Transaction, waiting: Waiting, change: Partial<CopyRecord>): CopyRecord {
    const { record, nowMs } = waiting;
    const { description: _, ...copy } = change.copy ?? record.copy;
    tx.delete(this.#jobKey);
    return this.#changed(waiting, {
      ...change,
      copy: { ...copy, status: 'success', bytesCopied: copy.bytesTotal, completedMs: nowMs },
    });
  }

  async #conclude(error: unknown): Promise<void> {
    try {
      if (error instanceof ClaimLost) return;
      if (error instanceof NotWanted) await this.#clearAway();
      else if (this.signal.aborted && !this.#ending.signal.aborted) return;
      else if (error instanceof TookTooLong) await this.#fail(TOOK_TOO_LONG);
      else if (isPassing(error)) await this.#tryAgainLater(error);
      else await this.#fail(describeFailure(error));
    } catch (second) {
      if (second instanceof NotWanted || second instanceof ClaimLost || second instanceof TookTooLong) {
        await this.#conclude(second);
      } else this.#onError(second);
    }
  }

  /** The destination stays, with its metadata and without content, or as it was where it takes incremental copies. */
  async #fail(description: string): Promise<void> {
    await this.transact(async (tx, waiting) => {
      const copy: CopyState = { ...waiting.record.copy, status: 'failed', description, completedMs: waiting.nowMs };
      const lengthBytes = copy.incremental === true ? waiting.record.lengthBytes : 0;
      await waiting.place.change(tx, this.#changed(waiting, { copy, lengthBytes }));
      this.#endJob(tx);
    });
  }

  async #tryAgainLater(error: unknown): Promise<void> {
    if (!isOfSource(error)) this.#onError(error);
    const description = describeRetry(error);
    await this.transact(async (tx, { record, place, nowMs }) => {
      if (nowMs - this.#work.job.startedMs >= COPY_LIFE_MS) throw new TookTooLong();
      const { job, keptBytes } = this.#work.again(tx);
      this.putJob(tx, { ...job, retry: retryAfter(job.retry, { nowMs, keptBytes }) });
      await place.change(tx, { ...record, copy: { ...record.copy, bytesCopied: keptBytes, description } });
    });
  }

  /** Of a copy that was aborted, or whose container is gone: the destination is not this copy's to change any more. */
  async #clearAway(): Promise<void> {
    await transact(this.storage.engine, async (tx) => {
      if (await holdsClaim(tx, this.#claim)) this.#endJob(tx);
    });
  }

  #endJob(tx: Transaction): void {
    this.#work.drop(tx);
    tx.delete(this.#jobKey);
  }

  #changed({ record, nowMs }: Waiting, change: Partial<CopyRecord>): CopyRecord {
    const etag = this.storage.etags.next(record.etag, nowMs);
    const lastModifiedMs = changedAt(record.lastModifiedMs, nowMs);
    return { ...record, ...change, etag, lastModifiedMs } as CopyRecord;
  }
}

function workOf(job: CopyJob, steps: CopySteps, hold: PageHold | null): CopyWork {
  switch (job.kind) {
    case 'fetchBlob':
      return new FetchBlob(job, steps);
    case 'fetchPages':
      return new FetchPages(job, steps);
    case 'sharePages':
      return new SharePages(job, steps, hold);
    case 'followSnapshot':
      // Such a job is of a blob alone.
      return new FollowSnapshot(job, steps as CopySteps<BlobRecord>, hold);
  }
}
