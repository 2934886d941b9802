/** What a CREATE asks for, in the words of the service; or what it is refused for before anything is looked for. */
import {
  ARCHIVE,
  DIRECTORY,
  type EntryKind,
  HIDDEN,
  NOT_CONTENT_INDEXED,
  OFFLINE,
  READ_ONLY,
  SYSTEM,
  TEMPORARY,
} from '../../rules/file-attributes.ts';
import { UNIX_EPOCH_TICKS } from '../../rules/file-time.ts';
import { formatMoment, type Moment } from '../../rules/moment.ts';
import type { Reach } from '../../rules/oplock.ts';
import type { Disposition } from '../../service/file/opens/open-or-create.ts';
import { SmbError, Status } from '../statuses.ts';
import {
  ACCESS_SYSTEM_SECURITY,
  APPEND_DATA,
  DELETE,
  FULL_ACCESS,
  GENERIC_ALL,
  GENERIC_EXECUTE,
  GENERIC_READ,
  GENERIC_WRITE,
  MAXIMUM_ALLOWED,
  READ_ATTRIBUTES,
  READ_CONTROL,
  SYNCHRONIZE,
  WRITE_ATTRIBUTES,
  WRITE_DATA,
} from '../wire/access.ts';
import { CreateOption, type CreateRequest } from '../wire/create.ts';
import { parseFilePath } from '../wire/file-path.ts';

const IMPERSONATION_MAX = 3;
const SHARE_ALL = 0x7;

const DISPOSITIONS: readonly Disposition[] = [
  'supersede',
  'open',
  'create',
  'open or create',
  'overwrite',
  'overwrite or create',
];

const OPTIONS_UNKNOWN = 0xff00_0000;
const OPTIONS_NOT_OFFERED =
  CreateOption.CREATE_TREE_CONNECTION | CreateOption.OPEN_BY_FILE_ID | CreateOption.RESERVE_OPFILTER;

const ATTRIBUTES_KEPT = READ_ONLY | HIDDEN | SYSTEM | ARCHIVE | TEMPORARY | OFFLINE | NOT_CONTENT_INDEXED;
/** Those that there are, of Windows, for a client to say. */
const ATTRIBUTES_KNOWN = 0x7fb7;
const ATTRIBUTE_ENCRYPTED = 0x4000;

const GENERIC: readonly (readonly [bit: number, stands: number])[] = [
  [GENERIC_ALL, FULL_ACCESS],
  [GENERIC_EXECUTE, 0x12_00a0],
  [GENERIC_WRITE, 0x12_0116],
  [GENERIC_READ, 0x12_0089],
];

export interface CreateTerms {
  readonly path: readonly string[];
  readonly snapshot: Moment | null;
  readonly disposition: Disposition;
  readonly kind: EntryKind | null;
  /** Bits of an access mask. */
  readonly access: number;
  /** As much of it as there is. */
  readonly isAtMost: boolean;
  readonly reach: Reach;
  readonly deletesOnClose: boolean;
  readonly attributes: number;
}

export function termsOf(request: CreateRequest, { maximalAccess }: { maximalAccess: number }): CreateTerms {
  if (request.impersonationLevel > IMPERSONATION_MAX) throw new SmbError(Status.BAD_IMPERSONATION_LEVEL);
  const disposition = DISPOSITIONS[request.disposition];
  if (disposition === undefined || request.shareAccess > SHARE_ALL) throw new SmbError(Status.INVALID_PARAMETER);
  const { access, isAtMost } = accessOf(request.desiredAccess, maximalAccess);
  const asked = kindOf(request, disposition);
  const deletesOnClose = (request.options & CreateOption.DELETE_ON_CLOSE) !== 0;
  if (deletesOnClose && (access & DELETE) === 0) throw new SmbError(Status.INVALID_PARAMETER);
  const attributes = attributesFor(request.attributes, asked ?? 'file');
  if (request.contexts.hasExtendedAttributes) throw new SmbError(Status.EAS_NOT_SUPPORTED);
  const creates = disposition !== 'open' && disposition !== 'overwrite';
  const { path, isStream } = parseFilePath(request.name, { creates });
  if (isStream && asked === 'directory') throw new SmbError(Status.NOT_A_DIRECTORY);
  return {
    path,
    snapshot: snapshotOf(request),
    disposition,
    kind: isStream ? 'file' : asked,
    access,
    isAtMost,
    reach: reachOf(access),
    deletesOnClose,
    attributes,
  };
}

function accessOf(desired: number, maximalAccess: number): { access: number; isAtMost: boolean } {
  const generic = GENERIC.reduce((all, [bit]) => all | bit, 0);
  const unknown = desired & ~(FULL_ACCESS | MAXIMUM_ALLOWED | ACCESS_SYSTEM_SECURITY | generic);
  if (desired === 0 || unknown !== 0) throw new SmbError(Status.ACCESS_DENIED);
  if ((desired & ACCESS_SYSTEM_SECURITY) !== 0) throw new SmbError(Status.PRIVILEGE_NOT_HELD);
  const said = GENERIC.reduce(
    (all, [bit, stands]) => ((desired & bit) === 0 ? all : all | stands),
    desired & FULL_ACCESS,
  );
  if ((said & ~maximalAccess) !== 0) throw new SmbError(Status.ACCESS_DENIED);
  if ((desired & MAXIMUM_ALLOWED) === 0) return { access: said, isAtMost: false };
  return { access: maximalAccess & FULL_ACCESS, isAtMost: (said & (WRITE_DATA | APPEND_DATA)) === 0 };
}

function kindOf({ options }: CreateRequest, disposition: Disposition): EntryKind | null {
  const isDirectory = (options & CreateOption.DIRECTORY_FILE) !== 0;
  const isFile = (options & CreateOption.NON_DIRECTORY_FILE) !== 0;
  if ((options & OPTIONS_UNKNOWN) !== 0 || (isDirectory && isFile)) throw new SmbError(Status.INVALID_PARAMETER);
  if ((options & OPTIONS_NOT_OFFERED) !== 0) throw new SmbError(Status.NOT_SUPPORTED);
  if (!isDirectory) return isFile ? 'file' : null;
  const isAllowed = disposition === 'open' || disposition === 'create' || disposition === 'open or create';
  if (!isAllowed) throw new SmbError(Status.INVALID_PARAMETER);
  return 'directory';
}

function attributesFor(asked: number, kind: EntryKind): number {
  const isTemporaryDirectory = kind === 'directory' && (asked & TEMPORARY) !== 0;
  if ((asked & ~ATTRIBUTES_KNOWN) !== 0 || isTemporaryDirectory) throw new SmbError(Status.INVALID_PARAMETER);
  if ((asked & ATTRIBUTE_ENCRYPTED) !== 0) throw new SmbError(Status.ACCESS_DENIED);
  return (asked & ATTRIBUTES_KEPT) | (kind === 'file' ? ARCHIVE : DIRECTORY);
}

const ATTRIBUTES_ALONE = READ_ATTRIBUTES | WRITE_ATTRIBUTES | SYNCHRONIZE;

function reachOf(access: number): Reach {
  if ((access & ~ATTRIBUTES_ALONE) === 0) return 'attributes';
  return (access & ~(ATTRIBUTES_ALONE | READ_CONTROL)) === 0 ? 'permissions' : 'all';
}

/** The end of the year 9999: beyond it no moment can be written. */
const UNIX_TICKS_MAX = 2_534_023_007_999_999_999n;

function snapshotOf({ contexts: { snapshotAt } }: CreateRequest): Moment | null {
  if (snapshotAt === null) return null;
  const ticks = snapshotAt - UNIX_EPOCH_TICKS;
  if (ticks < 0n || ticks > UNIX_TICKS_MAX) throw new SmbError(Status.OBJECT_NAME_NOT_FOUND);
  return formatMoment(ticks);
}
