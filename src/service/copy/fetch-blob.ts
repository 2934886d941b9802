/** Fetches what a block or append blob is to hold, part by part. The last part is published with the blob itself. */
import type { Transaction } from '../../engine/transact.ts';
import type { StagedExtent } from '../extents/extents.ts';
import { canResume, type FetchBlobJob } from './copy-job.ts';
import { dropParts, joinParts, loadParts, NO_PARTS, type Parts, putPart } from './copy-parts.ts';
import type { CopySteps, CopyWork } from './copy-work.ts';
import { readerOf } from './inside-reader.ts';
import { SourceBytes } from './source-bytes.ts';

export class FetchBlob implements CopyWork {
  readonly job: FetchBlobJob;
  readonly #steps: CopySteps;
  #parts: Parts = NO_PARTS;
  #bytes: SourceBytes | null = null;

  constructor(job: FetchBlobJob, steps: CopySteps) {
    this.job = job;
    this.#steps = steps;
  }

  get reachedBytes(): number {
    return this.#bytes?.reachedBytes ?? this.#parts.bytes;
  }

  async run(): Promise<void> {
    const { storage, signal } = this.#steps;
    const { source, partBytes } = this.job;
    this.#parts = await loadParts(storage.engine, this.job);
    const outside = readerOf(storage, source);
    const bytes = new SourceBytes({ outside, source, fromBytes: this.#parts.bytes, signal });
    this.#bytes = bytes;
    for (;;) {
      const missingBytes = source.lengthBytes - this.#parts.bytes;
      const part = await this.#stage(bytes, Math.min(partBytes, missingBytes));
      if (part === null || part.lengthBytes === missingBytes) return this.#publish(part);
      await this.#add(part);
    }
  }

  /** Null where there are no bytes. */
  async #stage(bytes: SourceBytes, lengthBytes: number): Promise<StagedExtent | null> {
    const { extents } = this.#steps.storage;
    if (lengthBytes === 0) return null;
    if (extents.isSmall(lengthBytes)) return extents.stageSmall(await bytes.takeWhole(lengthBytes));
    return extents.stageLarge(bytes.take(lengthBytes), lengthBytes);
  }

  async #add(extent: StagedExtent): Promise<void> {
    const { extents } = this.#steps.storage;
    const { job } = this;
    this.#parts = await extents.publishing(extent, () =>
      this.#steps.transact((tx, { nowMs }) => putPart(tx, extents, { job, parts: this.#parts, extent, nowMs })),
    );
  }

  async #publish(last: StagedExtent | null): Promise<void> {
    const { extents, ids } = this.#steps.storage;
    const { job } = this;
    const layoutId = ids.next();
    await this.#steps.succeed(last, (tx, { nowMs }) => ({
      content: joinParts(tx, extents, { job, parts: this.#parts, last, layoutId, nowMs }),
      lengthBytes: job.source.lengthBytes,
      contentMd5: job.source.contentMd5,
      ...(job.isSealed ? { isSealed: true } : {}),
    }));
  }

  again(tx: Transaction): { job: FetchBlobJob; keptBytes: number } {
    if (canResume(this.job.source)) return { job: this.job, keptBytes: this.#parts.bytes };
    this.drop(tx);
    return { job: { ...this.job, partsId: this.#steps.storage.ids.next() }, keptBytes: 0 };
  }

  drop(tx: Transaction): void {
    dropParts(tx, this.#steps.storage.extents, this.job);
  }

  async close(): Promise<void> {
    await this.#bytes?.close();
  }
}
