/**
 * The security descriptor that a new file or directory gets from the directory it is created in, as Windows makes it
 * (MS-DTYP 2.5.3.4): the entries that are meant for what is below, marked as inherited. Owner and group are the parent's.
 */
import type { EntryKind } from './file-attributes.ts';
import {
  type Ace,
  type Acl,
  AUDIT_FAILURE,
  AUDIT_SUCCESS,
  CONTAINER_INHERIT,
  INHERIT_ONLY,
  INHERITED,
  NO_PROPAGATE,
  OBJECT_INHERIT,
  type SecurityDescriptor,
} from './security-descriptor.ts';
import { ADMINISTRATORS, CREATOR_GROUP, CREATOR_OWNER, LOCAL_SYSTEM } from './sid.ts';

const FILE_ALL = 0x001f_01ff;

/** What the general rights mean for files. */
const GENERIC: readonly (readonly [generic: number, specific: number])[] = [
  [0x8000_0000, 0x0012_0089],
  [0x4000_0000, 0x0012_0116],
  [0x2000_0000, 0x0012_00a0],
  [0x1000_0000, FILE_ALL],
];

/** Where nothing is meant for what is below, a list without entries would let nobody in. */
const USUAL: readonly Ace[] = [LOCAL_SYSTEM, ADMINISTRATORS].map((sid) => ({
  type: 'allow',
  flags: 0,
  mask: FILE_ALL,
  sid,
}));

export function inheritedDescriptor(parent: SecurityDescriptor, kind: EntryKind): SecurityDescriptor {
  const { owner, group } = parent;
  return { owner, group, dacl: inheritedDacl(parent, kind), sacl: inheritedSacl(parent, kind) };
}

function inheritedDacl(parent: SecurityDescriptor, kind: EntryKind): Acl {
  if (parent.dacl?.aces === null) return { ...LIST, isAutoInherited: false, aces: null };
  const aces = inheritedAces(parent, parent.dacl, kind);
  return aces.length === 0 ? { ...LIST, isAutoInherited: false, aces: USUAL } : { ...LIST, aces };
}

function inheritedSacl(parent: SecurityDescriptor, kind: EntryKind): Acl | null {
  const aces = inheritedAces(parent, parent.sacl, kind);
  return aces.length === 0 ? null : { ...LIST, aces };
}

const LIST: Omit<Acl, 'aces'> = { isProtected: false, isAutoInherited: true, asksForInheritance: false };

const inheritedAces = (parent: SecurityDescriptor, acl: Acl | null, kind: EntryKind): Ace[] =>
  (acl?.aces ?? []).flatMap((ace) => (kind === 'file' ? forFile(ace, parent) : forDirectory(ace, parent)));

const forFile = (ace: Ace, parent: SecurityDescriptor): Ace[] =>
  (ace.flags & OBJECT_INHERIT) === 0 ? [] : inEffect(ace, parent);

/**
 * What counts for the directory goes on to what is below it, as one entry where it says the same there. Where it does
 * not, because it has general rights or names whoever creates, two entries stand for it.
 */
function forDirectory(ace: Ace, parent: SecurityDescriptor): Ace[] {
  const goesOn = (ace.flags & NO_PROPAGATE) === 0;
  const onwards = { ...ace, flags: (ace.flags & (OBJECT_INHERIT | CONTAINER_INHERIT)) | auditFlags(ace) | INHERITED };
  const onwardsOnly = { ...onwards, flags: onwards.flags | INHERIT_ONLY };
  if ((ace.flags & CONTAINER_INHERIT) === 0) return goesOn && (ace.flags & OBJECT_INHERIT) !== 0 ? [onwardsOnly] : [];
  const here = inEffect(ace, parent);
  if (!goesOn) return here;
  const saysTheSame = here.length === 1 && here[0]?.mask === ace.mask && here[0].sid === ace.sid;
  return saysTheSame ? [onwards] : [...here, onwardsOnly];
}

const auditFlags = ({ flags }: Ace): number => flags & (AUDIT_SUCCESS | AUDIT_FAILURE);

/** The entry as it counts for what is new; none where it is about an owner or group that there is not. */
function inEffect(ace: Ace, parent: SecurityDescriptor): Ace[] {
  const sid = ace.sid === CREATOR_OWNER ? parent.owner : ace.sid === CREATOR_GROUP ? parent.group : ace.sid;
  return sid === null ? [] : [{ ...ace, flags: INHERITED | auditFlags(ace), mask: withoutGeneric(ace.mask), sid }];
}

function withoutGeneric(mask: number): number {
  let specific = mask & 0x0fff_ffff;
  for (const [generic, meaning] of GENERIC) if ((mask & generic) !== 0) specific |= meaning;
  return specific >>> 0;
}
