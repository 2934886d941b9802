/** Copies into a blob (Copy Blob, Abort Copy Blob): what is kept of the last one, and when it can be aborted. */
import type { ErrorCode } from './error-code.ts';

export type CopyState = {
  /** A GUID in lower case. */
  readonly id: string;
  /** The URL, as it is reported. */
  readonly source: string;
  readonly status: 'pending' | 'success' | 'aborted' | 'failed';
  readonly bytesCopied: number;
  readonly bytesTotal: number;
  readonly completedMs?: number;
  /** Why it failed. */
  readonly description?: string;
  readonly incremental?: true;
  /** The snapshot that an incremental copy made when it was done. */
  readonly destinationSnapshot?: string;
};

/** A copy that has just begun. */
export const pendingCopy = (begun: { id: string; source: string; lengthBytes: number }): CopyState => ({
  id: begun.id,
  source: begun.source,
  status: 'pending',
  bytesCopied: 0,
  bytesTotal: begun.lengthBytes,
});

export function isPending(copy: CopyState | undefined): boolean {
  return copy?.status === 'pending';
}

export function resolveAbort(
  copy: CopyState | undefined,
  { copyId, nowMs }: { copyId: string; nowMs: number },
): { readonly copy: CopyState } | { readonly refusal: ErrorCode } {
  if (copy?.status !== 'pending') return { refusal: 'NoPendingCopyOperation' };
  if (copy.id !== copyId.toLowerCase()) return { refusal: 'CopyIdMismatch' };
  return { copy: { ...copy, status: 'aborted', completedMs: nowMs } };
}
