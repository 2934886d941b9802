/**
 * Security descriptors of files and directories, and their self-relative bytes as SMB carries them (MS-DTYP 2.4.6). There
 * is one way to write each: the same descriptor has the same bytes, however it came.
 */
import { decodeSid, encodeSid, type Sid, sidBytes } from './sid.ts';

export interface SecurityDescriptor {
  readonly owner: Sid | null;
  readonly group: Sid | null;
  /** Who may do what; null: not said. */
  readonly dacl: Acl | null;
  /** What is audited, and integrity labels. */
  readonly sacl: Acl | null;
}

export interface Acl {
  /** Nothing is inherited into it from above. */
  readonly isProtected: boolean;
  readonly isAutoInherited: boolean;
  readonly asksForInheritance: boolean;
  /** Null: a list that is said not to be there; as a DACL it lets everybody in. */
  readonly aces: readonly Ace[] | null;
}

export type AceType = 'allow' | 'deny' | 'audit' | 'label';

export interface Ace {
  readonly type: AceType;
  readonly flags: number;
  /** Which rights, as 32 bits. */
  readonly mask: number;
  readonly sid: Sid;
}

export const OBJECT_INHERIT = 0x01;
export const CONTAINER_INHERIT = 0x02;
export const NO_PROPAGATE = 0x04;
export const INHERIT_ONLY = 0x08;
export const INHERITED = 0x10;
export const AUDIT_SUCCESS = 0x40;
export const AUDIT_FAILURE = 0x80;

const KNOWN_FLAGS = 0xdf;

/** Not a descriptor that can be kept, in words. */
export interface Refused {
  readonly refusal: string;
}

const refused = (refusal: string): Refused => ({ refusal });

const REVISION = 1;
const HEAD_BYTES = 20;
const ACL_HEAD_BYTES = 8;
const ACE_HEAD_BYTES = 8;
const ACL_REVISION = 2;
const ACL_BYTES_MAX = 0xffff;

const DACL_PRESENT = 0x0004;
const SACL_PRESENT = 0x0010;
const SELF_RELATIVE = 0x8000;
const DACL_BITS = { present: DACL_PRESENT, asks: 0x0100, inherited: 0x0400, isProtected: 0x1000 } as const;
const SACL_BITS = { present: SACL_PRESENT, asks: 0x0200, inherited: 0x0800, isProtected: 0x2000 } as const;

type AclBits = typeof DACL_BITS | typeof SACL_BITS;

const ACE_TYPES: ReadonlyMap<number, AceType> = new Map([
  [0x00, 'allow'],
  [0x01, 'deny'],
  [0x02, 'audit'],
  [0x11, 'label'],
]);
const ACE_TYPE_BYTES = new Map([...ACE_TYPES].map(([byte, type]) => [type, byte]));

/** Which types of entries each of the two lists has. */
export const DACL_TYPES: ReadonlySet<AceType> = new Set(['allow', 'deny']);
export const SACL_TYPES: ReadonlySet<AceType> = new Set(['audit', 'label']);

// ---- bytes of a descriptor

/** Too long a list cannot be written: refused by whoever makes it. */
export const isTooLong = ({ aces }: Acl): boolean => aces !== null && aclBytes(aces) > ACL_BYTES_MAX;

/** In the order in which Windows lays the parts: lists first, then owner and group. */
export function encodeDescriptor({ owner, group, dacl, sacl }: SecurityDescriptor): Uint8Array {
  const saclAt = HEAD_BYTES;
  const daclAt = saclAt + (sacl?.aces ? aclBytes(sacl.aces) : 0);
  const ownerAt = daclAt + (dacl?.aces ? aclBytes(dacl.aces) : 0);
  const groupAt = ownerAt + (owner === null ? 0 : sidBytes(owner));
  const bytes = new Uint8Array(groupAt + (group === null ? 0 : sidBytes(group)));
  const view = new DataView(bytes.buffer);
  view.setUint8(0, REVISION);
  view.setUint16(2, SELF_RELATIVE | controlOf(dacl, DACL_BITS) | controlOf(sacl, SACL_BITS), true);
  if (owner !== null) {
    view.setUint32(4, ownerAt, true);
    encodeSid(owner, view, ownerAt);
  }
  if (group !== null) {
    view.setUint32(8, groupAt, true);
    encodeSid(group, view, groupAt);
  }
  if (sacl?.aces) {
    view.setUint32(12, saclAt, true);
    encodeAcl(sacl.aces, view, saclAt);
  }
  if (dacl?.aces) {
    view.setUint32(16, daclAt, true);
    encodeAcl(dacl.aces, view, daclAt);
  }
  return bytes;
}

function controlOf(acl: Acl | null, bits: AclBits): number {
  if (acl === null) return 0;
  return (
    bits.present |
    (acl.asksForInheritance ? bits.asks : 0) |
    (acl.isAutoInherited ? bits.inherited : 0) |
    (acl.isProtected ? bits.isProtected : 0)
  );
}

const aceBytes = ({ sid }: Ace): number => ACE_HEAD_BYTES + sidBytes(sid);

const aclBytes = (aces: readonly Ace[]): number => aces.reduce((sum, ace) => sum + aceBytes(ace), ACL_HEAD_BYTES);

function encodeAcl(aces: readonly Ace[], into: DataView, aclAt: number): void {
  into.setUint8(aclAt, ACL_REVISION);
  into.setUint16(aclAt + 2, aclBytes(aces), true);
  into.setUint16(aclAt + 4, aces.length, true);
  let at = aclAt + ACL_HEAD_BYTES;
  for (const ace of aces) {
    into.setUint8(at, ACE_TYPE_BYTES.get(ace.type) as number);
    into.setUint8(at + 1, ace.flags);
    into.setUint16(at + 2, aceBytes(ace), true);
    into.setUint32(at + 4, ace.mask, true);
    encodeSid(ace.sid, into, at + ACE_HEAD_BYTES);
    at += aceBytes(ace);
  }
}

export function decodeDescriptor(bytes: Uint8Array): SecurityDescriptor | Refused {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD_BYTES || view.getUint8(0) !== REVISION)
    return refused('It does not begin with the header of a security descriptor.');
  const control = view.getUint16(2, true);
  if ((control & SELF_RELATIVE) === 0) return refused('It is not self-relative.');
  const owner = decodeSidAt(view, view.getUint32(4, true));
  const group = decodeSidAt(view, view.getUint32(8, true));
  if (owner === undefined || group === undefined) return refused('Its owner or group cannot be read.');
  const sacl = decodeAclAt(view, view.getUint32(12, true), { control, bits: SACL_BITS, types: SACL_TYPES });
  if (sacl !== null && 'refusal' in sacl) return sacl;
  const dacl = decodeAclAt(view, view.getUint32(16, true), { control, bits: DACL_BITS, types: DACL_TYPES });
  if (dacl !== null && 'refusal' in dacl) return dacl;
  return { owner, group, dacl, sacl };
}

/** Undefined: what stands there cannot be read. */
function decodeSidAt(view: DataView, at: number): Sid | null | undefined {
  if (at === 0) return null;
  return at < HEAD_BYTES ? undefined : (decodeSid(view, at) ?? undefined);
}

function decodeAclAt(
  view: DataView,
  at: number,
  { control, bits, types }: { control: number; bits: AclBits; types: ReadonlySet<AceType> },
): Acl | null | Refused {
  if ((control & bits.present) === 0) return null;
  const aces = at === 0 ? null : decodeAces(view, at, types);
  if (aces !== null && 'refusal' in aces) return aces;
  return {
    isProtected: (control & bits.isProtected) !== 0,
    isAutoInherited: (control & bits.inherited) !== 0,
    asksForInheritance: (control & bits.asks) !== 0,
    aces,
  };
}

function decodeAces(view: DataView, aclAt: number, types: ReadonlySet<AceType>): readonly Ace[] | Refused {
  if (aclAt < HEAD_BYTES || aclAt + ACL_HEAD_BYTES > view.byteLength)
    return refused('A list lies outside the descriptor.');
  const end = aclAt + view.getUint16(aclAt + 2, true);
  if (end > view.byteLength) return refused('A list lies outside the descriptor.');
  const aces: Ace[] = [];
  let at = aclAt + ACL_HEAD_BYTES;
  for (let left = view.getUint16(aclAt + 4, true); left > 0; left--) {
    if (at + ACE_HEAD_BYTES > end) return refused('A list is shorter than its entries.');
    const next = at + view.getUint16(at + 2, true);
    const type = ACE_TYPES.get(view.getUint8(at));
    if (type === undefined || !types.has(type)) {
      return refused(`Entries of type ${view.getUint8(at)} are not allowed in this list.`);
    }
    const sid = next > end ? null : decodeSid(view, at + ACE_HEAD_BYTES, next);
    if (sid === null) return refused('An entry has no valid identifier.');
    aces.push({ type, flags: view.getUint8(at + 1) & KNOWN_FLAGS, mask: view.getUint32(at + 4, true), sid });
    at = next;
  }
  return aces;
}
