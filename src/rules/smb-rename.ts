/**
 * Renaming through an SMB open ([MS-FSA] 2.1.5.15.11): what refuses it by the state of the three that it is about, in the order
 * in which it is refused, and what others have to give up for it. The open itself may delete: so nobody has what is renamed
 * open without sharing that.
 */
import type { ErrorCode } from './error-code.ts';
import type { EntryKind } from './file-attributes.ts';
import { type InUse, refusedWith, resolveConflict, type Verdict } from './in-use.ts';
import { breakOf } from './oplock.ts';
import { conflicts, READS, type ShareMode, WRITES } from './share-mode.ts';

/** What SMB clients know as ACCESS_DENIED. */
export const DENIED: ErrorCode = 'AuthorizationPermissionMismatch';

/** What the new name belongs to by now. */
export interface SmbReplaced {
  readonly kind: EntryKind;
  readonly isReadOnly: boolean;
  /** By REST. */
  readonly isLeased: boolean;
  readonly isCopyPending: boolean;
}

export interface SmbRename {
  readonly kind: EntryKind;
  readonly isRoot: boolean;
  /** Marked for deletion. */
  readonly isPending: boolean;
  readonly isCopyPending: boolean;
  /** Its new place is in it, or anywhere below it. */
  readonly isIntoItself: boolean;
  /** Null: nothing has that name, or it itself has, in other letters. */
  readonly replaced: SmbReplaced | null;
  readonly replaces: boolean;
  readonly ignoresReadOnly: boolean;
}

export function refuseSmbRename(at: SmbRename): ErrorCode | null {
  if (at.isRoot || at.isPending) return DENIED;
  if (at.isIntoItself) return 'InvalidInput';
  return (at.replaced === null ? null : refuseReplacement(at, at.replaced)) ?? refuseCopying(at);
}

function refuseReplacement({ kind, replaces, ignoresReadOnly }: SmbRename, replaced: SmbReplaced): ErrorCode | null {
  if (!replaces) return 'ResourceAlreadyExists';
  if (kind === 'directory' || replaced.kind === 'directory') return DENIED;
  if (replaced.isReadOnly && !ignoresReadOnly) return DENIED;
  return replaced.isLeased ? 'SharingViolation' : null;
}

const refuseCopying = ({ isCopyPending, replaced }: SmbRename): ErrorCode | null =>
  isCopyPending || replaced?.isCopyPending === true ? 'PendingCopyOperation' : null;

/** As which the directory that gets a name is open meanwhile: it must not be deleted. */
const GETS_A_NAME: ShareMode = { access: WRITES, share: READS | WRITES };

export function judgeNewDirectory(inUse: InUse): Verdict {
  if (inUse.isPending) return refusedWith('SMBDeletePending');
  return askedToClose(
    inUse.opens.filter((open) => conflicts(open, GETS_A_NAME)),
    'SharingViolation',
  );
}

/** Nobody may have it open, not even to look at attributes. */
export const judgeReplaced = ({ opens, isPending }: InUse): Verdict =>
  isPending ? refusedWith(DENIED) : askedToClose(opens, DENIED);

/** The same of what is in a directory that is renamed. */
export const judgeBelow = ({ opens }: InUse, code: ErrorCode): Verdict => askedToClose(opens, code);

function askedToClose(offenders: InUse['opens'], code: ErrorCode): Verdict {
  const conflict = resolveConflict(offenders, ({ caching, style }) => breakOf(caching, style, 'handle'));
  if (conflict === null) return { verdict: 'admitted', breaks: [] };
  return conflict.verdict === 'refused' ? refusedWith(code) : conflict;
}
