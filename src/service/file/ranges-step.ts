/** Some of the ranges of a file's content: as many as can be read while a snapshot of the engine is kept. */
import type { Entry, KeyRange, RangeOptions } from '../../engine/engine.ts';
import { endOf, type Span, spanOf } from '../../rules/page-ranges.ts';
import { pageRanges, pageRangesDiff } from '../pages/list-pages.ts';
import { PAGE_SETTINGS } from '../pages/page-settings.ts';
import type { FileContent } from '../records/node-record.ts';
import type { RangeReader } from '../records/scan.ts';

export interface ListedRange extends Span {
  /** Has pages, or in a comparison, other ones than before; or had pages before and has none any more. */
  readonly kind: 'range' | 'clear';
}

/** What is listed: a state, and the earlier one that it is held against, if any. */
export interface ListedContents {
  readonly current: FileContent;
  readonly previous: FileContent | null;
}

/** What one step reads and gives. Tests make it small. */
export interface StepLimits {
  readonly rows: number;
  readonly ranges: number;
}

export const STEP_LIMITS: StepLimits = { rows: 4_096, ranges: 4_096 };

export interface RangesStep {
  readonly ranges: readonly ListedRange[];
  /** Up to here it is known; where that is not the end, a range that goes on behind it may have been cut. */
  readonly nextBytes: number;
}

export async function rangesStep(
  reader: RangeReader,
  contents: ListedContents,
  span: Span,
  limits: StepLimits = STEP_LIMITS,
): Promise<RangesStep> {
  const ranges: ListedRange[] = [];
  try {
    for await (const range of rangesIn(limited(reader, limits.rows), contents, span)) {
      ranges.push(range);
      if (ranges.length === limits.ranges) return { ranges, nextBytes: endOf(range) };
    }
    return { ranges, nextBytes: endOf(span) };
  } catch (error) {
    if (!(error instanceof RowsExceeded)) throw error;
  }
  const last = ranges.at(-1);
  if (last !== undefined) return { ranges, nextBytes: endOf(last) };
  // So many rows have nothing to tell, or belong to one range: as far as they go it is told alone.
  const toBytes = Math.min(span.offsetBytes + limits.rows * PAGE_SETTINGS.chunkBytes, endOf(span));
  for await (const range of rangesIn(reader, contents, spanOf(span.offsetBytes, toBytes))) ranges.push(range);
  return { ranges, nextBytes: toBytes };
}

async function* rangesIn(
  reader: RangeReader,
  { current, previous }: ListedContents,
  span: Span,
): AsyncGenerator<ListedRange> {
  // What had pages once has a map for as long as nothing replaces it.
  if (current.kind === 'empty') return;
  if (previous === null || previous.kind === 'empty') {
    for await (const range of pageRanges(reader, current, span)) yield { kind: 'range', ...range };
    return;
  }
  for await (const { kind, ...range } of pageRangesDiff(reader, { previous, current }, span)) {
    yield { kind: kind === 'page' ? 'range' : 'clear', ...range };
  }
}

class RowsExceeded extends Error {}

function limited(reader: RangeReader, rowsMax: number): RangeReader {
  let rowCount = 0;
  return {
    async range(range: KeyRange, options: RangeOptions): Promise<Entry[]> {
      if (rowCount >= rowsMax) throw new RowsExceeded();
      const rows = await reader.range(range, options);
      rowCount += rows.length;
      return rows;
    },
  };
}
