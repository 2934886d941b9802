/** Where a file that is open has pages: what is between them was never written, or was cleared. */
import { endOf, type Span, spanOf } from '../../../rules/page-ranges.ts';
import type { Storage } from '../../storage.ts';
import { PAGE_BYTES } from '../file-bytes.ts';
import { refuseUnlessFile } from '../load.ts';
import { rangesStep, STEP_LIMITS } from '../ranges-step.ts';
import { readThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

export interface OpenRanges {
  readonly ranges: readonly Span[];
  /** There are more behind the last one. */
  readonly hasMore: boolean;
}

/** In order, at most so many, of what the file has of the span. */
export async function rangesOfOpen(
  storage: Storage,
  open: ThroughOpen,
  { span, countMax }: { span: Span; countMax: number },
  waiter: Waiter,
): Promise<OpenRanges> {
  for (let atBytes = span.offsetBytes; ; ) {
    const step = await readThrough(storage, open, waiter, async (snapshot, { found }) => {
      refuseUnlessFile(found);
      const { lengthBytes, content } = found.node;
      const endBytes = Math.min(endOf(span), lengthBytes);
      if (atBytes >= endBytes) return null;
      const fromBytes = Math.floor(atBytes / PAGE_BYTES) * PAGE_BYTES;
      const toBytes = Math.min(Math.ceil(endBytes / PAGE_BYTES) * PAGE_BYTES, lengthBytes);
      const limits = { ...STEP_LIMITS, ranges: Math.min(countMax + 1, STEP_LIMITS.ranges) };
      const contents = { current: content, previous: null };
      const { ranges, nextBytes } = await rangesStep(snapshot, contents, spanOf(fromBytes, toBytes), limits);
      const within = ranges.map((range) => clipped(range, spanOf(atBytes, endBytes)));
      return { ranges: within, nextBytes, isAll: nextBytes >= endBytes };
    });
    if (step === null) return { ranges: [], hasMore: false };
    const { ranges, nextBytes, isAll } = step;
    if (ranges.length > 0 || isAll) {
      return { ranges: ranges.slice(0, countMax), hasMore: !isAll || ranges.length > countMax };
    }
    atBytes = nextBytes;
  }
}

const clipped = (range: Span, { offsetBytes, lengthBytes }: Span): Span =>
  spanOf(Math.max(range.offsetBytes, offsetBytes), Math.min(endOf(range), offsetBytes + lengthBytes));
