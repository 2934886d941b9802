/** Ranges of a file in FSCTLs: SET_ZERO_DATA and QUERY_ALLOCATED_RANGES ([MS-FSCC] 2.3.71, 2.3.50). */
import { endOf, type Span, spanOf } from '../../rules/page-ranges.ts';
import { Malformed } from './message.ts';

export const FILE_RANGE_BYTES = 16;

/** Where offsets of files end; beyond it numbers are not exact either. */
const OFFSET_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** From one offset to another. Throws RangeError and Malformed. */
export function decodeZeroData(input: Buffer): Span {
  const from = input.readBigInt64LE(0);
  const to = input.readBigInt64LE(8);
  if (from < 0n || to < from) throw new Malformed('a range that ends before it begins');
  return spanOf(exact(from), exact(to));
}

/** Throws RangeError and Malformed. */
export function decodeRange(input: Buffer): Span {
  const offset = input.readBigInt64LE(0);
  const length = input.readBigInt64LE(8);
  if (offset < 0n || length < 0n || offset + length >= 2n ** 63n) throw new Malformed('no range');
  return spanOf(exact(offset), exact(offset + length));
}

const exact = (offset: bigint): number => Number(offset > OFFSET_MAX ? OFFSET_MAX : offset);

export function encodeRanges(ranges: readonly Span[]): Buffer {
  const output = Buffer.alloc(ranges.length * FILE_RANGE_BYTES);
  for (const [index, range] of ranges.entries()) {
    output.writeBigUInt64LE(BigInt(range.offsetBytes), index * FILE_RANGE_BYTES);
    output.writeBigUInt64LE(BigInt(endOf(range) - range.offsetBytes), index * FILE_RANGE_BYTES + 8);
  }
  return output;
}
