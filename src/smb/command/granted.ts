/** What an open was granted, and what a request through it needs of that. */
import type { FileOpen } from '../session/open.ts';
import { SmbError, Status } from '../statuses.ts';

/** All of these rights are needed. */
export function refuseWithoutAll(open: FileOpen, access: number): void {
  if ((open.access & access) !== access) throw new SmbError(Status.ACCESS_DENIED);
}

/** One of these rights is needed. */
export function refuseWithoutAny(open: FileOpen, access: number): void {
  if ((open.access & access) === 0) throw new SmbError(Status.ACCESS_DENIED);
}
