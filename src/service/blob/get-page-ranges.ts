/** Get Page Ranges: where a page blob has pages, or what has changed since one of its snapshots. */
import type { Snapshot } from '../../engine/engine.ts';
import type { Moment } from '../../rules/moment.ts';
import type { ChangedRange } from '../../rules/page-ranges.ts';
import { refuseBlobReadOperation } from '../../rules/precedence.ts';
import { resolveRange, type ByteRange as WantedRange } from '../../rules/range-header.ts';
import { pageRanges, pageRangesDiff } from '../pages/list-pages.ts';
import type { BlobRecord, PagesContent } from '../records/blob-record.ts';
import { type RecordReader, snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type BlobRequest, loadCommittedBlob, refuse, situation } from './load.ts';

export interface PageRangesRequest extends BlobRequest {
  readonly range: WantedRange | null;
  /** What has changed since; null: everything there is. */
  readonly previousSnapshot: Moment | null;
  /** Where the page of the list before ended. */
  readonly fromBytes: number;
  readonly limit: number;
}

export interface PageList {
  readonly blob: BlobRecord;
  readonly ranges: readonly ChangedRange[];
  /** Where the next page of the list begins; null at the end. */
  readonly nextBytes: number | null;
}

export async function getPageRanges(storage: Storage, request: PageRangesRequest): Promise<PageList> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    const at = { nowMs: storage.clock.nowMs(), known: storage.known };
    const loaded = await loadCommittedBlob(reader, request, at);
    const asked = { ...situation(loaded, request, at.nowMs), requiredType: 'PageBlob' as const };
    refuse(refuseBlobReadOperation({ ...asked, needsContent: true }));
    const blob = loaded.blob as BlobRecord;
    const ranges: ChangedRange[] = [];
    for await (const range of await rangesOf(snapshot, { storage, reader, request, blob, nowMs: at.nowMs })) {
      if (ranges.length === request.limit) return { blob, ranges, nextBytes: range.offsetBytes };
      ranges.push(range);
    }
    return { blob, ranges, nextBytes: null };
  });
}

async function rangesOf(
  snapshot: Snapshot,
  on: { storage: Storage; reader: RecordReader; request: PageRangesRequest; blob: BlobRecord; nowMs: number },
): Promise<AsyncIterable<ChangedRange>> {
  const { request, blob } = on;
  const content = blob.content as PagesContent;
  const range = wantedRange(request, blob);
  if (request.previousSnapshot === null) return asPages(pageRanges(snapshot, content, range));
  const previous = await loadPrevious(on, request.previousSnapshot);
  return pageRangesDiff(snapshot, { previous, current: content }, range);
}

/** The part of the range that earlier pages of the list have not shown. */
function wantedRange({ range, fromBytes }: PageRangesRequest, { lengthBytes }: BlobRecord) {
  const slice = range === null ? { offsetBytes: 0, lengthBytes } : resolveRange(range, lengthBytes);
  if (slice === 'unsatisfiable') {
    throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
  }
  const offsetBytes = Math.max(slice.offsetBytes, fromBytes);
  return { offsetBytes, lengthBytes: Math.max(0, slice.offsetBytes + slice.lengthBytes - offsetBytes) };
}

async function* asPages(ranges: AsyncIterable<{ offsetBytes: number; lengthBytes: number }>) {
  for await (const range of ranges) yield { kind: 'page' as const, ...range };
}

async function loadPrevious(
  { storage, reader, request, blob, nowMs }: Parameters<typeof rangesOf>[1],
  moment: Moment,
): Promise<PagesContent> {
  if (request.at?.kind === 'snapshot' && moment > request.at.moment) {
    throw new StorageError('PreviousSnapshotCannotBeNewer');
  }
  const at = { kind: 'snapshot' as const, moment };
  const { blob: previous } = await loadCommittedBlob(
    reader,
    { name: request.name, at },
    { nowMs, known: storage.known },
  );
  if (previous === null) throw new StorageError('PreviousSnapshotNotFound');
  const content = blob.content as PagesContent;
  if (previous.content.kind !== 'pages' || previous.content.id !== content.id)
    throw new StorageError('BlobOverwritten');
  return previous.content;
}
