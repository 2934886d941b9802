/**
 * The pieces of extents that lie in one chunk of a map of pages: sorted, never overlapping, zeros between them. What a
 * write or a clear makes of them, and what differs between two states of a chunk. Two pieces of one extent never meet,
 * since every write brings an extent of its own: nothing is ever joined again.
 */
import type { Id } from '../base/ids.ts';

export interface Span {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

export interface PagePiece extends Span {
  readonly extent: { readonly id: Id; readonly inline: boolean };
  /** Where the piece begins in its extent. */
  readonly extentOffsetBytes: number;
  /** Another chunk, another map or an earlier state of this chunk may name the extent too. */
  readonly isShared: boolean;
}

export interface ChangedRange extends Span {
  /** Written anew; or there before and not any more. */
  readonly kind: 'page' | 'clear';
}

/** A span inside one chunk, from the start of the chunk. */
export interface ChunkPart extends Span {
  readonly chunk: number;
}

/** From `fromChunk` (included) to `toChunk` (excluded). */
export interface ChunkSpan {
  readonly fromChunk: number;
  readonly toChunk: number;
}

export const spanOf = (fromBytes: number, toBytes: number): Span => ({
  offsetBytes: fromBytes,
  lengthBytes: toBytes - fromBytes,
});

export const endOf = ({ offsetBytes, lengthBytes }: Span): number => offsetBytes + lengthBytes;

/** What a clear of the span leaves. */
export function withoutSpan(pieces: readonly PagePiece[], span: Span): PagePiece[] {
  const left: PagePiece[] = [];
  for (const piece of pieces) {
    if (endOf(piece) <= span.offsetBytes || piece.offsetBytes >= endOf(span)) left.push(piece);
    else
      left.push(...clipped(piece, spanOf(0, span.offsetBytes)), ...clipped(piece, spanOf(endOf(span), endOf(piece))));
  }
  return left;
}

/** What a write of the piece leaves. */
export function withPiece(pieces: readonly PagePiece[], written: PagePiece): PagePiece[] {
  const left = withoutSpan(pieces, written);
  const before = left.filter((piece) => piece.offsetBytes < written.offsetBytes);
  return [...before, written, ...left.slice(before.length)];
}

/** The part of the piece that lies in the span, if any does. */
export function clipped(piece: PagePiece, span: Span): PagePiece[] {
  const from = Math.max(piece.offsetBytes, span.offsetBytes);
  const to = Math.min(endOf(piece), endOf(span));
  if (from >= to) return [];
  const skippedBytes = from - piece.offsetBytes;
  return [
    {
      ...piece,
      offsetBytes: from,
      lengthBytes: to - from,
      extentOffsetBytes: piece.extentOffsetBytes + skippedBytes,
    },
  ];
}

/** Where the two states differ, in order; neighbours of one kind may follow each other. */
export function* changedRanges(before: readonly PagePiece[], after: readonly PagePiece[]): Generator<ChangedRange> {
  const bounds = [...new Set([...before, ...after].flatMap((piece) => [piece.offsetBytes, endOf(piece)]))];
  bounds.sort((a, b) => a - b);
  let olderAt = 0;
  let newerAt = 0;
  for (const [index, from] of bounds.slice(0, -1).entries()) {
    const to = bounds[index + 1] as number;
    while (olderAt < before.length && endOf(before[olderAt] as PagePiece) <= from) olderAt++;
    while (newerAt < after.length && endOf(after[newerAt] as PagePiece) <= from) newerAt++;
    const older = pieceOver(before[olderAt], from);
    const newer = pieceOver(after[newerAt], from);
    if (isSame(older, newer)) continue;
    yield { kind: newer === null ? 'clear' : 'page', offsetBytes: from, lengthBytes: to - from };
  }
}

const pieceOver = (piece: PagePiece | undefined, offsetBytes: number): PagePiece | null =>
  piece !== undefined && piece.offsetBytes <= offsetBytes ? piece : null;

function isSame(a: PagePiece | null, b: PagePiece | null): boolean {
  if (a === null || b === null) return a === b;
  return a.extent.id === b.extent.id && a.extentOffsetBytes - a.offsetBytes === b.extentOffsetBytes - b.offsetBytes;
}

/** The chunks that a span covers in part, at its edges, and those that it covers whole, between them. */
export function splitSpan(span: Span, chunkBytes: number): { edges: ChunkPart[]; inner: ChunkSpan } {
  const end = endOf(span);
  const fromChunk = Math.ceil(span.offsetBytes / chunkBytes);
  const toChunk = Math.floor(end / chunkBytes);
  if (span.lengthBytes === 0) return { edges: [], inner: { fromChunk, toChunk: fromChunk } };
  if (toChunk < fromChunk) {
    const edge = { chunk: toChunk, offsetBytes: span.offsetBytes % chunkBytes, lengthBytes: span.lengthBytes };
    return { edges: [edge], inner: { fromChunk, toChunk: fromChunk } };
  }
  const edges: ChunkPart[] = [];
  const skippedBytes = span.offsetBytes % chunkBytes;
  if (skippedBytes > 0) {
    edges.push({ chunk: fromChunk - 1, offsetBytes: skippedBytes, lengthBytes: chunkBytes - skippedBytes });
  }
  if (end % chunkBytes > 0) edges.push({ chunk: toChunk, offsetBytes: 0, lengthBytes: end % chunkBytes });
  return { edges, inner: { fromChunk, toChunk } };
}

/** The parts of a span that is not too long, in order. */
export function chunkParts(span: Span, chunkBytes: number): ChunkPart[] {
  const parts: ChunkPart[] = [];
  for (let at = span.offsetBytes; at < endOf(span); ) {
    const chunk = Math.floor(at / chunkBytes);
    const to = Math.min((chunk + 1) * chunkBytes, endOf(span));
    parts.push({ chunk, offsetBytes: at - chunk * chunkBytes, lengthBytes: to - at });
    at = to;
  }
  return parts;
}

/** Every chunk that the span touches. */
export const chunksOver = (span: Span, chunkBytes: number): ChunkSpan => ({
  fromChunk: Math.floor(span.offsetBytes / chunkBytes),
  toChunk: Math.ceil(endOf(span) / chunkBytes),
});
