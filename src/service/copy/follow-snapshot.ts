/**
 * Copies a snapshot of a page blob into a blob that has an earlier one, or none yet: the blob's own map is made to show
 * what the snapshot shows, and then frozen as a snapshot of its own. Meanwhile nobody may read the blob itself, and what a
 * copy that failed has left there is put right by the next one.
 */
import type { Following } from '../../rules/incremental-copy.ts';
import { freeMoment, putPast } from '../blob/store-blob.ts';
import { MapGone } from '../pages/copy-pages.ts';
import { followPages } from '../pages/follow-pages.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { freezePages } from '../pages/page-map.ts';
import type { BlobRecord, PagesContent } from '../records/blob-record.ts';
import { parseBlobKey, pastKey } from '../records/keys.ts';
import type { FollowSnapshotJob } from './copy-job.ts';
import type { CopySteps, CopyWork } from './copy-work.ts';
import { SourceUnreachable } from './outside.ts';
import { holdSource } from './share-pages.ts';

export class FollowSnapshot implements CopyWork {
  readonly job: FollowSnapshotJob;
  readonly #steps: CopySteps<BlobRecord>;
  #hold: PageHold | null;
  reachedBytes = 0;

  constructor(job: FollowSnapshotJob, steps: CopySteps<BlobRecord>, hold: PageHold | null) {
    this.job = job;
    this.#steps = steps;
    this.#hold = hold;
  }

  async run(notedBytes: number): Promise<void> {
    this.reachedBytes = notedBytes;
    const { storage } = this.#steps;
    this.#hold ??= await holdSource(storage, this.job.source);
    await this.#follow(this.#hold.content);
    await this.#snapshot();
  }

  async #follow(from: PagesContent): Promise<void> {
    const { storage, signal } = this.#steps;
    const following = {
      engine: storage.engine,
      extents: storage.extents,
      from,
      to: await this.#steps.transact((_, { record }) => record.content as PagesContent),
      fromBytes: this.reachedBytes,
      transact: this.#steps.transact.bind(this.#steps),
    };
    try {
      for await (const reachedBytes of followPages(following)) {
        signal.throwIfAborted();
        this.reachedBytes = Math.min(reachedBytes, this.job.taken.lengthBytes);
      }
    } catch (error) {
      throw error instanceof MapGone ? new SourceUnreachable('brokeOff', 'The hold on the source was lost.') : error;
    }
  }

  async #snapshot(): Promise<void> {
    const { taken, source, blobKey } = this.job;
    const address = parseBlobKey(Buffer.from(blobKey, 'base64'));
    await this.#steps.transact(async (tx, waiting) => {
      const { record: blob, nowMs } = waiting;
      const { frozen, current } = freezePages(tx, blob.content as PagesContent);
      const moment = await freeMoment(tx, address, 'snapshot', nowMs);
      const record = await this.#steps.finish(tx, waiting, {
        ...taken,
        content: current,
        copy: { ...blob.copy, destinationSnapshot: moment },
        following: { ...(blob.following as Following), snapshot: source.at.moment },
        hasOthers: true,
      });
      const { versionId: _, following: __, ...copied } = record;
      putPast(tx, { key: pastKey(address, 'snapshot', moment), record: { ...copied, content: frozen } });
    });
  }

  again(): { job: FollowSnapshotJob; keptBytes: number } {
    return { job: this.job, keptBytes: this.reachedBytes };
  }

  /** What there is of it is the blob's. */
  drop(): void {}

  async close(): Promise<void> {
    await this.#hold?.release();
  }
}
