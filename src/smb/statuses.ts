/** NTSTATUS: what every SMB response says first ([MS-ERREF] 2.3), and how refusals of the service are said in it. */
import type { ErrorCode } from '../rules/error-code.ts';
import { type OpenRefusal, OpenRefused } from '../service/file/opens/open-refused.ts';
import { OpenClosed } from '../service/file/opens/use-open.ts';
import { WaitCancelled } from '../service/file/opens/waits.ts';
import { StorageError } from '../service/storage-error.ts';

export const Status = {
  SUCCESS: 0,
  PENDING: 0x0000_0103,
  OPLOCK_BREAK_IN_PROGRESS: 0x0000_0108,
  NOTIFY_CLEANUP: 0x0000_010b,
  NOTIFY_ENUM_DIR: 0x0000_010c,
  BUFFER_OVERFLOW: 0x8000_0005,
  NO_MORE_FILES: 0x8000_0006,
  UNSUCCESSFUL: 0xc000_0001,
  INVALID_INFO_CLASS: 0xc000_0003,
  INFO_LENGTH_MISMATCH: 0xc000_0004,
  INVALID_HANDLE: 0xc000_0008,
  INVALID_PARAMETER: 0xc000_000d,
  NO_SUCH_FILE: 0xc000_000f,
  INVALID_DEVICE_REQUEST: 0xc000_0010,
  END_OF_FILE: 0xc000_0011,
  MORE_PROCESSING_REQUIRED: 0xc000_0016,
  INVALID_VIEW_SIZE: 0xc000_001f,
  ACCESS_DENIED: 0xc000_0022,
  BUFFER_TOO_SMALL: 0xc000_0023,
  OBJECT_NAME_INVALID: 0xc000_0033,
  OBJECT_NAME_NOT_FOUND: 0xc000_0034,
  OBJECT_NAME_COLLISION: 0xc000_0035,
  OBJECT_PATH_NOT_FOUND: 0xc000_003a,
  OBJECT_PATH_SYNTAX_BAD: 0xc000_003b,
  SHARING_VIOLATION: 0xc000_0043,
  EAS_NOT_SUPPORTED: 0xc000_004f,
  NO_EAS_ON_FILE: 0xc000_0052,
  FILE_LOCK_CONFLICT: 0xc000_0054,
  LOCK_NOT_GRANTED: 0xc000_0055,
  DELETE_PENDING: 0xc000_0056,
  PRIVILEGE_NOT_HELD: 0xc000_0061,
  LOGON_FAILURE: 0xc000_006d,
  NONE_MAPPED: 0xc000_0073,
  INVALID_SECURITY_DESCR: 0xc000_0079,
  RANGE_NOT_LOCKED: 0xc000_007e,
  DISK_FULL: 0xc000_007f,
  INSUFFICIENT_RESOURCES: 0xc000_009a,
  MEDIA_WRITE_PROTECTED: 0xc000_00a2,
  BAD_IMPERSONATION_LEVEL: 0xc000_00a5,
  PIPE_BUSY: 0xc000_00ae,
  PIPE_DISCONNECTED: 0xc000_00b0,
  FILE_IS_A_DIRECTORY: 0xc000_00ba,
  NOT_SUPPORTED: 0xc000_00bb,
  NETWORK_NAME_DELETED: 0xc000_00c9,
  BAD_NETWORK_NAME: 0xc000_00cc,
  REQUEST_NOT_ACCEPTED: 0xc000_00d0,
  NOT_SAME_DEVICE: 0xc000_00d4,
  PIPE_EMPTY: 0xc000_00d9,
  INVALID_OPLOCK_PROTOCOL: 0xc000_00e3,
  INTERNAL_ERROR: 0xc000_00e5,
  UNEXPECTED_NETWORK_ERROR: 0xc000_00c4,
  DIRECTORY_NOT_EMPTY: 0xc000_0101,
  NOT_A_DIRECTORY: 0xc000_0103,
  NAME_TOO_LONG: 0xc000_0106,
  TOO_MANY_OPENED_FILES: 0xc000_011f,
  CANCELLED: 0xc000_0120,
  CANNOT_DELETE: 0xc000_0121,
  FILE_CLOSED: 0xc000_0128,
  FS_DRIVER_REQUIRED: 0xc000_019c,
  INVALID_LOCK_RANGE: 0xc000_01a1,
  INVALID_DEVICE_STATE: 0xc000_0184,
  USER_SESSION_DELETED: 0xc000_0203,
  NOT_FOUND: 0xc000_0225,
  DUPLICATE_OBJECTID: 0xc000_022a,
  NOT_A_REPARSE_POINT: 0xc000_0275,
  NETWORK_SESSION_EXPIRED: 0xc000_035c,
  REQUEST_OUT_OF_SEQUENCE: 0xc000_042a,
  FILE_NOT_AVAILABLE: 0xc000_0467,
  SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP: 0xc05d_0000,
} as const;

export type Status = (typeof Status)[keyof typeof Status];

/** A request that is refused. `data`: what the error response carries. */
export class SmbError extends Error {
  override readonly name = 'SmbError';
  readonly status: Status;
  readonly data: Uint8Array | null;

  constructor(status: Status, data: Uint8Array | null = null) {
    super(statusName(status));
    this.status = status;
    this.data = data;
  }
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(Status).map(([name, status]) => [status, name]));

export const statusName = (status: number): string => NAMES.get(status) ?? `0x${status.toString(16)}`;

/** What the file service refuses with; nothing else reaches SMB clients. */
const OF_CODES: Readonly<Partial<Record<ErrorCode, Status>>> = {
  AuthorizationPermissionMismatch: Status.ACCESS_DENIED,
  CannotDeleteFileOrDirectory: Status.CANNOT_DELETE,
  ClientCacheFlushDelay: Status.SHARING_VIOLATION,
  DirectoryNotEmpty: Status.DIRECTORY_NOT_EMPTY,
  FileInvalidPermission: Status.INVALID_SECURITY_DESCR,
  FileLockConflict: Status.FILE_LOCK_CONFLICT,
  InvalidFileOrDirectoryPathName: Status.OBJECT_NAME_INVALID,
  InvalidInput: Status.INVALID_PARAMETER,
  InvalidRange: Status.INVALID_PARAMETER,
  InvalidResourceName: Status.OBJECT_NAME_INVALID,
  ParentNotFound: Status.OBJECT_PATH_NOT_FOUND,
  PendingCopyOperation: Status.SHARING_VIOLATION,
  ReadOnlyAttribute: Status.ACCESS_DENIED,
  ResourceAlreadyExists: Status.OBJECT_NAME_COLLISION,
  ResourceNotFound: Status.OBJECT_NAME_NOT_FOUND,
  ResourceTypeMismatch: Status.NOT_A_DIRECTORY,
  ServerBusy: Status.INSUFFICIENT_RESOURCES,
  ShareNotFound: Status.NETWORK_NAME_DELETED,
  ShareSizeLimitReached: Status.DISK_FULL,
  SharingViolation: Status.SHARING_VIOLATION,
  SMBDeletePending: Status.DELETE_PENDING,
};

const OF_REFUSALS: Readonly<Record<OpenRefusal, Status>> = {
  'is a directory': Status.FILE_IS_A_DIRECTORY,
  'not a directory': Status.NOT_A_DIRECTORY,
  'overwrites a directory': Status.INVALID_PARAMETER,
  'hidden or system': Status.ACCESS_DENIED,
  'key of another file': Status.INVALID_PARAMETER,
  'too many handles': Status.TOO_MANY_OPENED_FILES,
};

/** Null: something of ours is broken. */
export function statusOf(error: unknown): Status | null {
  if (error instanceof SmbError) return error.status;
  if (error instanceof OpenRefused) return OF_REFUSALS[error.refusal];
  if (error instanceof OpenClosed) return Status.FILE_CLOSED;
  if (error instanceof WaitCancelled) return Status.CANCELLED;
  return error instanceof StorageError ? (OF_CODES[error.code] ?? null) : null;
}
