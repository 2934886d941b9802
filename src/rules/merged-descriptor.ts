/** A security descriptor of which an SMB client sets some parts ([MS-DTYP] 2.5.3.4.2, [MS-FSA] 2.1.5.17). */
import type { Acl, SecurityDescriptor } from './security-descriptor.ts';

export interface DescriptorParts {
  readonly owner: boolean;
  readonly group: boolean;
  readonly dacl: boolean;
  readonly sacl: boolean;
}

/** An owner or group that is to be set and is not given stays; a list that is not given lets everybody in, or audits nothing. */
export const mergedDescriptor = (
  stored: SecurityDescriptor,
  given: SecurityDescriptor,
  parts: DescriptorParts,
): SecurityDescriptor => ({
  owner: (parts.owner ? given.owner : null) ?? stored.owner,
  group: (parts.group ? given.group : null) ?? stored.group,
  dacl: parts.dacl ? setList(given.dacl ?? NOT_GIVEN) : stored.dacl,
  sacl: parts.sacl ? (given.sacl === null ? null : setList(given.sacl)) : stored.sacl,
});

const NOT_GIVEN: Acl = { isProtected: false, isAutoInherited: false, asksForInheritance: false, aces: null };

/** Whoever has passed on what is inherited asks for that to be noted; the asking itself is not kept. */
const setList = (acl: Acl): Acl => ({
  ...acl,
  isAutoInherited: acl.isAutoInherited && acl.asksForInheritance,
  asksForInheritance: false,
});
