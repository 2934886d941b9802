/** The range of a read (`Range`, `x-ms-range`): one range with a start is taken, every other form is ignored. */

export type ByteRange = {
  readonly firstOffsetBytes: number;
  /** Included in the range; null: to the end. */
  readonly lastOffsetBytes: number | null;
};

const ONE_RANGE = /^bytes=(\d+)-(\d*)$/i;

/** Null, for whoever reads the whole: suffix ranges, several ranges, ends before their start, other text. */
export function parseRange(text: string): ByteRange | null {
  const match = ONE_RANGE.exec(text.trim());
  if (match === null) return null;
  const firstOffsetBytes = offsetOf(match[1] as string);
  const lastOffsetBytes = match[2] === '' ? null : offsetOf(match[2] as string);
  return lastOffsetBytes !== null && lastOffsetBytes < firstOffsetBytes ? null : { firstOffsetBytes, lastOffsetBytes };
}

/** Beyond what can be counted exactly nothing has bytes, and whoever reckons with it gets numbers. */
const offsetOf = (digits: string): number => Math.min(Number(digits), Number.MAX_SAFE_INTEGER);

export type Slice = { readonly offsetBytes: number; readonly lengthBytes: number };

/** The part of so long a content: an end beyond it is clipped, a start beyond it cannot be served. */
export function resolveRange(range: ByteRange, contentLengthBytes: number): Slice | 'unsatisfiable' {
  const { firstOffsetBytes, lastOffsetBytes } = range;
  if (firstOffsetBytes >= contentLengthBytes) return 'unsatisfiable';
  const lastBytes = Math.min(lastOffsetBytes ?? contentLengthBytes - 1, contentLengthBytes - 1);
  return { offsetBytes: firstOffsetBytes, lengthBytes: lastBytes - firstOffsetBytes + 1 };
}
