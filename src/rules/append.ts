/**
 * Appending to an append blob (Append Block, Append Blob Seal): the seal, the two append conditions and the limit of
 * blocks. The position goes first among the rest: whoever sends an append again after a lost answer learns from it that
 * the first one took effect.
 */
import type { ErrorCode } from './error-code.ts';

export const APPENDED_BLOCK_COUNT_MAX = 50_000;

export function refuseAppend(
  blob: { readonly lengthBytes: number; readonly blockCount: number; readonly sealed: boolean },
  request: {
    readonly appendedBytes: number;
    readonly positionBytes: number | null;
    readonly sizeMaxBytes: number | null;
  },
): ErrorCode | null {
  if (blob.sealed) return 'BlobIsSealed';
  const misplaced = refuseAppendPosition(blob, request);
  if (misplaced !== null) return misplaced;
  if (request.sizeMaxBytes !== null && blob.lengthBytes + request.appendedBytes > request.sizeMaxBytes) {
    return 'MaxBlobSizeConditionNotMet';
  }
  return blob.blockCount >= APPENDED_BLOCK_COUNT_MAX ? 'BlockCountExceedsLimit' : null;
}

/** All that a seal is subject to. */
export function refuseAppendPosition(
  { lengthBytes }: { readonly lengthBytes: number },
  { positionBytes }: { readonly positionBytes: number | null },
): ErrorCode | null {
  return positionBytes === null || positionBytes === lengthBytes ? null : 'AppendPositionConditionNotMet';
}
