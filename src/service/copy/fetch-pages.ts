/**
 * Fetches a page blob from outside, or what a file is to hold, a window at a time, into a map that becomes the destination's
 * when it is complete. Pages of zeros are not stored: that is what a page is where nothing was written.
 */
import type { Transaction } from '../../engine/transact.ts';
import { PAGE_BYTES } from '../../rules/page-range.ts';
import type { Slice } from '../../rules/range-header.ts';
import type { StagedExtent } from '../extents/extents.ts';
import { createPages, dropPages } from '../pages/page-map.ts';
import { writePages } from '../pages/write-pages.ts';
import { canResume, type FetchPagesJob } from './copy-job.ts';
import type { CopySteps, CopyWork } from './copy-work.ts';
import { readerOf } from './inside-reader.ts';
import { SourceBytes } from './source-bytes.ts';

const WINDOW_BYTES = 4 * 1024 * 1024;
/** Each run of pages takes an extent and a commit of its own: so many that only few zeros lie between are one. */
const GAP_BYTES_MAX = 16 * 1024;
const ZEROS = Buffer.alloc(PAGE_BYTES);

export class FetchPages implements CopyWork {
  job: FetchPagesJob;
  readonly #steps: CopySteps;
  #bytes: SourceBytes | null = null;

  constructor(job: FetchPagesJob, steps: CopySteps) {
    this.job = job;
    this.#steps = steps;
  }

  get reachedBytes(): number {
    return this.#bytes?.reachedBytes ?? this.job.reachedBytes;
  }

  async run(): Promise<void> {
    const { storage, signal } = this.#steps;
    const { source, reachedBytes } = this.job;
    const outside = readerOf(storage, source);
    this.#bytes = new SourceBytes({ outside, source, fromBytes: reachedBytes, signal });
    while (this.job.reachedBytes < source.lengthBytes) {
      const offsetBytes = this.job.reachedBytes;
      const lengthBytes = Math.min(WINDOW_BYTES, source.lengthBytes - offsetBytes);
      const window = wholePages(await this.#bytes.takeWhole(lengthBytes));
      for (const span of writtenSpans(window)) {
        const bytes = window.subarray(span.offsetBytes, span.offsetBytes + span.lengthBytes);
        await this.#write({ offsetBytes: offsetBytes + span.offsetBytes, lengthBytes: span.lengthBytes }, bytes);
      }
      await this.#note(offsetBytes + lengthBytes);
    }
    await this.#steps.succeed(null, () => ({
      content: this.job.map,
      lengthBytes: source.lengthBytes,
      contentMd5: source.contentMd5,
    }));
  }

  async #write(range: Slice, bytes: Uint8Array): Promise<void> {
    const { extents } = this.#steps.storage;
    const extent = await this.#stage(bytes);
    this.job = await extents.publishing(extent, () =>
      this.#steps.transact(async (tx) => {
        const job = { ...this.job, map: await writePages(tx, extents, this.job.map, range, extent) };
        this.#steps.putJob(tx, job);
        return job;
      }),
    );
  }

  async #stage(bytes: Uint8Array): Promise<StagedExtent> {
    const { extents } = this.#steps.storage;
    return extents.isSmall(bytes.length)
      ? extents.stageSmall(bytes)
      : extents.stageLarge(onePiece(bytes), bytes.length);
  }

  async #note(reachedBytes: number): Promise<void> {
    this.job = await this.#steps.transact((tx) => {
      const job = { ...this.job, reachedBytes };
      this.#steps.putJob(tx, job);
      return job;
    });
  }

  again(tx: Transaction): { job: FetchPagesJob; keptBytes: number } {
    if (canResume(this.job.source)) return { job: this.job, keptBytes: this.job.reachedBytes };
    this.drop(tx);
    return { job: { ...this.job, map: createPages(tx, this.#steps.storage.ids), reachedBytes: 0 }, keptBytes: 0 };
  }

  drop(tx: Transaction): void {
    dropPages(tx, this.#steps.storage.extents, this.job.map);
  }

  async close(): Promise<void> {
    await this.#bytes?.close();
  }
}

/** A file may end within a page; what follows in it is zeros. */
function wholePages(window: Buffer): Buffer {
  const overBytes = window.length % PAGE_BYTES;
  return overBytes === 0 ? window : Buffer.concat([window, ZEROS.subarray(overBytes)]);
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The runs of pages that are not all zeros. Short stretches of zeros between two of them are taken along. */
export function writtenSpans(window: Uint8Array): Slice[] {
  const spans: Slice[] = [];
  for (let offsetBytes = 0; offsetBytes < window.length; offsetBytes += PAGE_BYTES) {
    if (ZEROS.equals(window.subarray(offsetBytes, offsetBytes + PAGE_BYTES))) continue;
    const last = spans.at(-1);
    if (last === undefined || offsetBytes - (last.offsetBytes + last.lengthBytes) > GAP_BYTES_MAX) {
      spans.push({ offsetBytes, lengthBytes: PAGE_BYTES });
    } else {
      spans[spans.length - 1] = { ...last, lengthBytes: offsetBytes + PAGE_BYTES - last.offsetBytes };
    }
  }
  return spans;
}
