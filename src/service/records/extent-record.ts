/**
 * The registry of extents: every extent that a record names has one row here, and a row is what makes an extent live.
 * A small one's row holds its bytes (they ride in the commit that publishes them): 03, bytes. Any other's row says where
 * the content store put it; the two stand in tables of their own, so that a start reads the second without the first.
 */
import type { Id } from '../../base/ids.ts';
import type { Placement } from '../../content/content.ts';
import { UnreadableRecord } from './codec.ts';

export interface ExtentRef {
  readonly id: Id;
  readonly inline: boolean;
}

/** The row of an extent in the content store. */
export interface PlacedRecord {
  readonly placement: Placement;
  readonly lengthBytes: number;
}

const INLINE_FORMAT = 3;

export function encodeInline(bytes: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(1 + bytes.length);
  value[0] = INLINE_FORMAT;
  value.set(bytes, 1);
  return value;
}

export function decodeInline(value: Uint8Array): Uint8Array {
  if (value[0] !== INLINE_FORMAT) throw new UnreadableRecord(`unknown extent format ${value[0]}`);
  return value.subarray(1);
}
