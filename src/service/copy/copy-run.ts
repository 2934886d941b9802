/**
 * One node's work on one copy: fetches what is missing, part by part, notes the progress about once a second, and
 * publishes everything in the transaction that ends the copy. It may be cut off anywhere: whoever takes the job up next
 * goes on behind the last part that is durable.
 */
import type { Id } from '../../base/ids.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import { type CopyState, isPending } from '../../rules/copy.ts';
import type { StagedExtent } from '../extents/extents.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import { changedAt, type Storage } from '../storage.ts';
import { type CopyClaim, holdsClaim } from './copy-claim.ts';
import { describeFailure, describeRetry, isOfSource, isPassing, TOOK_TOO_LONG } from './copy-failure.ts';
import { COPY_LIFE_MS, type CopyJob, canResume, retryAfter } from './copy-job.ts';
import { dropParts, joinParts, loadParts, NO_PARTS, type Parts, putPart } from './copy-parts.ts';
import { SourceBytes } from './source-bytes.ts';

const PROGRESS_MS = 1_000;

/** The blob is gone, or no longer waits for this copy. */
class NotWanted extends Error {}
/** Another node works on it by now. */
class ClaimLost extends Error {}
class TookTooLong extends Error {}

interface Destination {
  readonly blob: BlobRecord & { readonly copy: CopyState };
  readonly nowMs: number;
}

export class CopyRun {
  readonly #storage: Storage;
  readonly #claim: CopyClaim;
  readonly #job: CopyJob;
  readonly #blobKey: Uint8Array;
  readonly #onError: (error: unknown) => void;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  #parts: Parts = NO_PARTS;
  /** Those that were there before this run. */
  #firstBytes = 0;
  #bytes: SourceBytes | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: {
    storage: Storage;
    claim: CopyClaim;
    /** The node stops. */
    signal: AbortSignal;
    onError: (error: unknown) => void;
  }) {
    this.#storage = options.storage;
    this.#claim = options.claim;
    this.#job = options.claim.job;
    this.#blobKey = Buffer.from(this.#job.blobKey, 'base64');
    this.#onError = options.onError;
    this.#signal = AbortSignal.any([options.signal, this.#ending.signal]);
  }

  /** Resolves when there is nothing more to do for now: the copy has ended, waits to be tried again, or the node stops. */
  async run(): Promise<void> {
    const ticks = setInterval(() => this.look(), PROGRESS_MS).unref();
    try {
      await this.#fetch();
    } catch (error) {
      await this.#conclude(this.#ending.signal.aborted ? this.#ending.signal.reason : error);
    } finally {
      clearInterval(ticks);
      await this.#bytes?.close();
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

  async #fetch(): Promise<void> {
    const { source, partBytes } = this.#job;
    this.#parts = await loadParts(this.#storage.engine, this.#job);
    this.#firstBytes = this.#parts.bytes;
    await this.#noteProgress();
    this.#bytes = new SourceBytes({
      outside: this.#storage.outside,
      source,
      fromBytes: this.#parts.bytes,
      signal: this.#signal,
    });
    if (source.lengthBytes === 0) await this.#succeed(null);
    while (this.#parts.bytes < source.lengthBytes) {
      const missingBytes = source.lengthBytes - this.#parts.bytes;
      const part = await this.#stage(Math.min(partBytes, missingBytes));
      await this.#storage.extents.publishing(part, () =>
        part.lengthBytes === missingBytes ? this.#succeed(part) : this.#addPart(part),
      );
      if (part.lengthBytes === missingBytes) return;
    }
  }

  async #stage(lengthBytes: number): Promise<StagedExtent> {
    const { extents } = this.#storage;
    const bytes = (this.#bytes as SourceBytes).take(lengthBytes);
    if (!extents.isSmall(lengthBytes)) return extents.stageLarge(bytes, lengthBytes);
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(piece);
    return extents.stageSmall(Buffer.concat(pieces));
  }

  async #addPart(extent: StagedExtent): Promise<void> {
    const { extents } = this.#storage;
    this.#parts = await this.#transact((tx, { nowMs }) =>
      putPart(tx, extents, { job: this.#job, parts: this.#parts, extent, nowMs }),
    );
  }

  /** Content, length and status change together: nobody ever sees some of the bytes. */
  async #succeed(last: StagedExtent | null): Promise<void> {
    const { extents, ids } = this.#storage;
    const layoutId = ids.next();
    const { source, isSealed } = this.#job;
    await this.#transact((tx, at) => {
      const { description: _, ...copy } = at.blob.copy;
      const content = joinParts(tx, extents, { job: this.#job, parts: this.#parts, last, layoutId, nowMs: at.nowMs });
      this.#putChanged(tx, at, {
        content,
        lengthBytes: source.lengthBytes,
        ...(source.contentMd5 === null ? {} : { headers: { ...at.blob.headers, contentMd5: source.contentMd5 } }),
        ...(isSealed ? { isSealed } : {}),
        copy: { ...copy, status: 'success', bytesCopied: source.lengthBytes, completedMs: at.nowMs },
      });
      tx.delete(this.#jobKey);
    });
  }

  async #conclude(error: unknown): Promise<void> {
    if (error instanceof ClaimLost) return;
    try {
      if (error instanceof NotWanted) await this.#clearAway();
      else if (this.#signal.aborted && !this.#ending.signal.aborted) return;
      else if (error instanceof TookTooLong) await this.#fail(TOOK_TOO_LONG);
      else if (isPassing(error)) await this.#tryAgainLater(error);
      else await this.#fail(describeFailure(error));
    } catch (second) {
      if (second instanceof NotWanted || second instanceof ClaimLost || second instanceof TookTooLong) {
        await this.#conclude(second);
      } else this.#onError(second);
    }
  }

  /** The blob stays, with its metadata and without content. */
  async #fail(description: string): Promise<void> {
    await this.#transact((tx, at) => {
      const copy: CopyState = { ...at.blob.copy, status: 'failed', description, completedMs: at.nowMs };
      this.#putChanged(tx, at, { copy });
      this.#endJob(tx);
    });
  }

  async #tryAgainLater(error: unknown): Promise<void> {
    if (!isOfSource(error)) this.#onError(error);
    const { ids, extents } = this.#storage;
    const description = describeRetry(error);
    const freshId = ids.next();
    const startsOver = !canResume(this.#job.source) && this.#parts.count > 0;
    const isFurther = !startsOver && this.#parts.bytes > this.#firstBytes;
    await this.#transact((tx, { blob, nowMs }) => {
      if (nowMs - this.#job.startedMs >= COPY_LIFE_MS) throw new TookTooLong();
      const before = isFurther ? undefined : this.#job.retry;
      if (startsOver) dropParts(tx, extents, this.#job);
      const partsId: Id = startsOver ? freshId : this.#job.partsId;
      tx.put(this.#jobKey, encodeJson({ ...this.#job, partsId, retry: retryAfter(before, nowMs) } satisfies CopyJob));
      const bytesCopied = startsOver ? 0 : this.#parts.bytes;
      tx.put(this.#blobKey, encodeJson({ ...blob, copy: { ...blob.copy, bytesCopied, description } }));
    });
  }

  /** Of a copy that was aborted, or whose container is gone: the blob is not this copy's to change any more. */
  async #clearAway(): Promise<void> {
    await transact(this.#storage.engine, async (tx) => {
      if (await holdsClaim(tx, this.#claim)) this.#endJob(tx);
    });
  }

  #endJob(tx: Transaction): void {
    dropParts(tx, this.#storage.extents, this.#job);
    tx.delete(this.#jobKey);
  }

  async #noteProgress(): Promise<void> {
    await this.#transact((tx, { blob, nowMs }) => {
      if (nowMs - this.#job.startedMs >= COPY_LIFE_MS) throw new TookTooLong();
      const bytesCopied = this.#bytes?.reachedBytes ?? this.#parts.bytes;
      if (bytesCopied === blob.copy.bytesCopied) return;
      tx.put(this.#blobKey, encodeJson({ ...blob, copy: { ...blob.copy, bytesCopied } }));
    });
  }

  #putChanged(tx: Transaction, { blob, nowMs }: Destination, change: Partial<BlobRecord>): void {
    const etag = this.#storage.etags.next(blob.etag, nowMs);
    const lastModifiedMs = changedAt(blob.lastModifiedMs, nowMs);
    tx.put(this.#blobKey, encodeJson({ ...blob, ...change, etag, lastModifiedMs }));
  }

  /** A transaction that takes effect only while the copy is wanted, and this node's to do. */
  async #transact<T>(body: (tx: Transaction, at: Destination) => T): Promise<T> {
    return transact(this.#storage.engine, async (tx) => {
      if (!(await holdsClaim(tx, this.#claim))) throw new ClaimLost();
      const value = await tx.get(this.#blobKey);
      const blob = value === null ? null : decodeJson<BlobRecord>(value);
      if (blob?.copy?.id !== this.#job.copyId || !isPending(blob.copy)) throw new NotWanted();
      return body(tx, { blob: { ...blob, copy: blob.copy }, nowMs: this.#storage.clock.nowMs() });
    });
  }

  get #jobKey(): Uint8Array {
    return copyJobKey(this.#claim.jobId);
  }
}
