/** Rename File and Rename Directory: what they are refused for by the state of source and destination, first reason first. */
import type { ErrorCode } from './error-code.ts';
import type { EntryKind } from './file-attributes.ts';
import { AVAILABLE, type Lease, type LeaseId, refuseFileWrite } from './lease.ts';

/** What a rename would replace. */
export interface Replaced {
  readonly kind: EntryKind;
  /** Of a file, as `leaseAt` gives it. */
  readonly lease: Lease;
  readonly isReadOnly: boolean;
  readonly isCopyPending: boolean;
}

export interface RenameSituation {
  readonly kind: EntryKind;
  readonly lease: Lease;
  readonly leaseId: LeaseId | null;
  readonly isCopyPending: boolean;
  /** The destination is in the directory that is renamed, or anywhere below it. */
  readonly isIntoItself: boolean;
  /** Null: nothing has that name, or the source has, in other letters. */
  readonly replaced: Replaced | null;
  readonly replacedLeaseId: LeaseId | null;
  readonly replaces: boolean;
  readonly ignoresReadOnly: boolean;
}

/** That the source itself is read-only is no hindrance: its name is its directory's. */
export function refuseRename(at: RenameSituation): ErrorCode | null {
  const { replaced } = at;
  if (at.isIntoItself) return 'InvalidInput';
  return (
    (replaced === null ? null : refuseReplacement(at, replaced)) ??
    refuseFileWrite(at.lease, at.leaseId) ??
    refuseFileWrite(replaced?.lease ?? AVAILABLE, at.replacedLeaseId) ??
    (replaced?.isReadOnly === true && !at.ignoresReadOnly ? 'ReadOnlyAttribute' : null) ??
    (at.isCopyPending || replaced?.isCopyPending === true ? 'PendingCopyOperation' : null)
  );
}

/** A file may be replaced, by a directory, too; a directory never is. */
function refuseReplacement({ kind, replaces }: RenameSituation, replaced: Replaced): ErrorCode | null {
  if (!replaces) return 'ResourceAlreadyExists';
  if (replaced.kind === 'file') return null;
  return kind === 'directory' ? 'ResourceAlreadyExists' : 'ResourceTypeMismatch';
}
