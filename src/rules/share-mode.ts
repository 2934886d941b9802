/**
 * Share modes: what an open does with a file or directory, and what it lets others do beside it ([MS-FSA] 2.1.5.1.2, Managing
 * file locks). Both are sets of reading, writing and deleting. An open that does none of them (it looks at attributes alone)
 * neither disturbs others nor is disturbed.
 */

/** A set of the three bits below: they are those of the ShareAccess of an SMB open. */
export type Access = number;

/** FILE_READ_DATA, FILE_EXECUTE. */
export const READS = 0x1;
/** FILE_WRITE_DATA, FILE_APPEND_DATA. */
export const WRITES = 0x2;
/** DELETE: removing and renaming. */
export const DELETES = 0x4;

export const NO_ACCESS: Access = 0;
export const ALL_ACCESS: Access = READS | WRITES | DELETES;

export interface ShareMode {
  readonly access: Access;
  /** What others may do meanwhile. */
  readonly share: Access;
}

export const isWithin = (access: Access, allowed: Access): boolean => (access & ~allowed) === 0;

/** Whether an open keeps others from doing what they need. */
export const denies = (open: ShareMode, need: Access): boolean =>
  open.access !== NO_ACCESS && !isWithin(need, open.share);

/** Whether two opens cannot be at the same time. */
export const conflicts = (one: ShareMode, other: ShareMode): boolean =>
  one.access !== NO_ACCESS && other.access !== NO_ACCESS && (denies(one, other.access) || denies(other, one.access));

/** Whether a REST lease can be had beside an open: a lease writes and deletes, and lets others read. */
export const deniesLease = (open: ShareMode): boolean => denies(open, ALL_ACCESS) || !isWithin(open.access, READS);

/** Whether an active REST lease keeps an open from being made. Its share mode is not looked at. */
export const isDeniedByLease = ({ access, overwrites }: { access: Access; overwrites: boolean }): boolean =>
  overwrites || !isWithin(access, READS);

const NAMES = [
  ['Read', READS],
  ['Write', WRITES],
  ['Delete', DELETES],
] as const;

export type AccessRight = (typeof NAMES)[number][0];

/** As List Handles names them. */
export const accessRights = (access: Access): AccessRight[] =>
  NAMES.filter(([, bit]) => (access & bit) !== 0).map(([name]) => name);
