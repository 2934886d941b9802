/**
 * Which ranges have pages, and which of them changed between two epochs of one map: in order, joined where they touch,
 * row by row, so that lists of millions need little memory. A walk begins at any offset. It reads what the contents see
 * at the moment: within one snapshot, or at frozen or held epochs over as many as it takes.
 */
import type { ByteRange } from '../../content/content.ts';
import {
  type ChangedRange,
  changedRanges,
  chunksOver,
  endOf,
  type PagePiece,
  type Span,
  spanOf,
} from '../../rules/page-ranges.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeChunk } from '../records/page-chunk.ts';
import type { RangeReader } from '../records/scan.ts';
import { type ChunkState, chunkStates } from './chunk-states.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';

export async function* pageRanges(
  reader: RangeReader,
  content: PagesContent,
  range: ByteRange,
  settings: PageSettings = PAGE_SETTINGS,
): AsyncGenerator<ByteRange> {
  async function* pieces(): AsyncGenerator<Span> {
    for await (const { chunk, states } of chunkStates(
      reader,
      [content],
      chunksOver(range, settings.chunkBytes),
      settings,
    )) {
      yield* placed(piecesOf(states[0] ?? null), chunk * settings.chunkBytes);
    }
  }
  for await (const { offsetBytes, lengthBytes } of joined(within(pieces(), range), () => true)) {
    yield { offsetBytes, lengthBytes };
  }
}

/** What a reader of `previous` does not know of `current`, a later state of the same map. */
export async function* pageRangesDiff(
  reader: RangeReader,
  { previous, current }: { previous: PagesContent; current: PagesContent },
  range: ByteRange,
  settings: PageSettings = PAGE_SETTINGS,
): AsyncGenerator<ChangedRange> {
  if (previous.id !== current.id) throw new Error('states of two maps have nothing to be told apart by');
  async function* changes(): AsyncGenerator<ChangedRange> {
    const span = chunksOver(range, settings.chunkBytes);
    for await (const { chunk, states } of chunkStates(reader, [previous, current], span, settings)) {
      const [before = null, after = null] = states;
      // A state that began at the same time is the same.
      if (before?.since === after?.since) continue;
      yield* placed(changedRanges(piecesOf(before), piecesOf(after)), chunk * settings.chunkBytes);
    }
  }
  yield* joined(within(changes(), range), (a, b) => a.kind === b.kind);
}

const piecesOf = (state: ChunkState | null): readonly PagePiece[] =>
  state === null ? [] : decodeChunk(state.value).pieces;

/** At their places in the blob. */
function* placed<T extends Span>(spans: Iterable<T>, chunkStartBytes: number): Generator<T> {
  for (const span of spans) yield { ...span, offsetBytes: chunkStartBytes + span.offsetBytes };
}

async function* within<T extends Span>(spans: AsyncIterable<T>, range: ByteRange): AsyncGenerator<T> {
  for await (const span of spans) {
    const from = Math.max(span.offsetBytes, range.offsetBytes);
    const to = Math.min(endOf(span), endOf(range));
    if (from < to) yield { ...span, ...spanOf(from, to) };
  }
}

async function* joined<T extends Span>(spans: AsyncIterable<T>, isAlike: (a: T, b: T) => boolean): AsyncGenerator<T> {
  let first: T | null = null;
  let endBytes = 0;
  for await (const span of spans) {
    const goesOn = first !== null && endBytes === span.offsetBytes && isAlike(first, span);
    if (first !== null && !goesOn) yield { ...first, ...spanOf(first.offsetBytes, endBytes) };
    if (!goesOn) first = span;
    endBytes = endOf(span);
  }
  if (first !== null) yield { ...first, ...spanOf(first.offsetBytes, endBytes) };
}
