/** What no store takes, refused alike by all of them: a caller's mistake, never a state of the store. */
import { type Id, isId } from '../base/ids.ts';
import type { ByteRange } from './content.ts';

export function refuseExtent(id: Id, lengthBytes: number): void {
  if (!isId(id)) throw new Error(`not an extent's id: ${id}`);
  if (!(lengthBytes > 0)) throw new RangeError(`an extent cannot have ${lengthBytes} bytes`);
}

/** A range that is not within an extent of this length. */
export function refuseRange({ offsetBytes, lengthBytes }: ByteRange, extentBytes: number): void {
  const endBytes = offsetBytes + lengthBytes;
  if (offsetBytes < 0 || lengthBytes < 0 || endBytes > extentBytes) {
    throw new RangeError(`bytes ${offsetBytes} to ${endBytes} are not within an extent of ${extentBytes} bytes`);
  }
}
