/**
 * Copies a page blob or a file of this server into a map that becomes the copy's when it is complete. No byte is copied, but every
 * row of the map is, and there may be many of them. Meanwhile the source is held as it was when the copy began; after a
 * restart it must not have changed since.
 */
import type { Transaction } from '../../engine/transact.ts';
import { loadCommittedBlob } from '../blob/load.ts';
import { findNode, refuseUnlessFile } from '../file/load.ts';
import { copyPages, MapGone } from '../pages/copy-pages.ts';
import type { PageHold } from '../pages/page-holds.ts';
import { dropPages, raiseEpoch } from '../pages/page-map.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { HeldBlob, HeldFile, HeldSource, SharePagesJob } from './copy-job.ts';
import type { CopySteps, CopyWork } from './copy-work.ts';
import { SourceRefused, SourceUnreachable } from './outside.ts';

export class SharePages implements CopyWork {
  readonly job: SharePagesJob;
  readonly #steps: CopySteps;
  #hold: PageHold | null;
  reachedBytes = 0;

  constructor(job: SharePagesJob, steps: CopySteps, hold: PageHold | null) {
    this.job = job;
    this.#steps = steps;
    this.#hold = hold;
  }

  async run(notedBytes: number): Promise<void> {
    this.reachedBytes = notedBytes;
    const { storage, signal } = this.#steps;
    const { map, source } = this.job;
    this.#hold ??= await holdSource(this.#steps.storage, this.job.source);
    const { content: from } = this.#hold;
    const copy = {
      engine: storage.engine,
      from,
      to: map,
      lengthBytes: source.lengthBytes,
      fromBytes: this.reachedBytes,
    };
    try {
      for await (const reachedBytes of copyPages(copy)) {
        signal.throwIfAborted();
        this.reachedBytes = reachedBytes;
      }
    } catch (error) {
      throw error instanceof MapGone ? new SourceUnreachable('brokeOff', 'The hold on the source was lost.') : error;
    }
    await this.#steps.succeed(null, (tx) => ({
      // A step of this copy that comes late, from a node given up for dead, finds that its epoch is over.
      content: { ...map, epoch: raiseEpoch(tx, map) },
      lengthBytes: source.lengthBytes,
      contentMd5: source.contentMd5,
    }));
  }

  again(): { job: SharePagesJob; keptBytes: number } {
    return { job: this.job, keptBytes: this.reachedBytes };
  }

  drop(tx: Transaction): void {
    dropPages(tx, this.#steps.storage.extents, this.job.map);
  }

  async close(): Promise<void> {
    await this.#hold?.release();
  }
}

/** After a restart: the source, if it is there and as it was. */
export async function holdSource(storage: Storage, source: HeldSource): Promise<PageHold> {
  const { hold } = await storage.holds.take(async (tx) => {
    const { content, etag } = await ('file' in source
      ? loadHeldFile(tx, storage, source)
      : loadHeldBlob(tx, storage, source));
    const isSame = etag === source.etag && content.kind === 'pages';
    return { content: isSame ? content : null };
  });
  if (hold === null) throw new SourceRefused({ status: 412, code: 'ConditionNotMet' });
  return hold;
}

async function loadHeldBlob(tx: Transaction, storage: Storage, source: HeldBlob): Promise<BlobRecord> {
  const nowMs = storage.clock.nowMs();
  const { blob } = await loadCommittedBlob(tx, source, { nowMs, known: storage.known });
  if (blob === null) throw new SourceRefused({ status: 404, code: 'BlobNotFound' });
  return blob;
}

async function loadHeldFile(tx: Transaction, storage: Storage, { file }: HeldFile): Promise<FileRecord> {
  try {
    const found = await findNode(tx, file, storage.known);
    refuseUnlessFile(found);
    return found.node;
  } catch (error) {
    throw error instanceof StorageError ? new SourceRefused({ status: 404, code: error.code }) : error;
  }
}
