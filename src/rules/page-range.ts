/** Pages of 512 bytes: which ranges may be written or cleared (Put Page), and which lengths a page blob may have. */
import type { ErrorCode } from './error-code.ts';
import type { Slice } from './range-header.ts';

export const PAGE_BYTES = 512;
export const PAGE_BLOB_BYTES_MAX = 8 * 2 ** 40;
/** Of one update; a clear may be as long as the blob. */
export const PAGE_UPDATE_BYTES_MAX = 4 * 2 ** 20;

export function refusePageRange({ offsetBytes, lengthBytes }: Slice, blobLengthBytes: number): ErrorCode | null {
  const isAligned = offsetBytes % PAGE_BYTES === 0 && lengthBytes % PAGE_BYTES === 0;
  const isWithin = offsetBytes >= 0 && lengthBytes > 0 && offsetBytes + lengthBytes <= blobLengthBytes;
  return isAligned && isWithin ? null : 'InvalidPageRange';
}

export function refusePageBlobLength(lengthBytes: number): ErrorCode | null {
  const isWithin = lengthBytes >= 0 && lengthBytes <= PAGE_BLOB_BYTES_MAX;
  return isWithin && lengthBytes % PAGE_BYTES === 0 ? null : 'InvalidHeaderValue';
}
