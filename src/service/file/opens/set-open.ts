/** Attributes, times and security descriptors as SMB clients set them through an open. What REST has beside them stays. */
import type { Transaction } from '../../../engine/transact.ts';
import { isPending } from '../../../rules/copy.ts';
import type { FileTime } from '../../../rules/file-time.ts';
import { type DescriptorParts, mergedDescriptor } from '../../../rules/merged-descriptor.ts';
import { decodeDescriptor, encodeDescriptor, type SecurityDescriptor } from '../../../rules/security-descriptor.ts';
import { attributesSet } from '../../../rules/smb-attributes.ts';
import { UnreadableRecord } from '../../records/codec.ts';
import { permissionKey } from '../../records/file-keys.ts';
import type { NodeRecord } from '../../records/node-record.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { changeNode } from '../keep-past.ts';
import type { FoundNode } from '../load.ts';
import { invalidPermission } from '../permissions.ts';
import { changedProperties, NO_CHANGES, type PropertyChanges } from '../properties.ts';
import { changeThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

/** Null: as it is. */
export interface OpenProperties {
  /** Bits, as the client sends them. */
  readonly attributes: number | null;
  readonly createdAt: FileTime | null;
  readonly accessedAt: FileTime | null;
  readonly writtenAt: FileTime | null;
  /** Null: now, unless the client keeps it as it is. */
  readonly changedAt: FileTime | null;
  readonly keepsChangedAt: boolean;
}

/** Refused: InvalidInput, for attributes of another kind. */
export async function setOpenProperties(
  storage: Storage,
  open: ThroughOpen,
  { accessedAt, keepsChangedAt, ...set }: OpenProperties,
  waiter: Waiter,
): Promise<NodeRecord> {
  return changeThrough(storage, open, waiter, async (tx, { found }) => {
    const { node } = found;
    const attributes = set.attributes === null ? node.attributes : attributesSet(set.attributes, node.kind);
    if (attributes === null) throw new StorageError('InvalidInput');
    const changes: PropertyChanges = {
      ...NO_CHANGES,
      attributes,
      createdAt: set.createdAt === null ? null : { at: set.createdAt },
      writtenAt: set.writtenAt === null ? null : { at: set.writtenAt },
      changedAt: set.changedAt ?? (keepsChangedAt ? node.changedAt : null),
    };
    return change(tx, storage, found, changes, accessedAt === null ? {} : { accessedAt });
  });
}

/** Those parts of the descriptor, which is self-relative. Refused: FileInvalidPermission. */
export async function setOpenSecurity(
  storage: Storage,
  open: ThroughOpen,
  { parts, descriptor, keepsChangedAt }: { parts: DescriptorParts; descriptor: Uint8Array; keepsChangedAt: boolean },
  waiter: Waiter,
): Promise<NodeRecord> {
  const given = decodeDescriptor(descriptor);
  if ('refusal' in given) throw invalidPermission(given);
  return changeThrough(storage, open, waiter, async (tx, { found }) => {
    const merged = mergedDescriptor(await loadDescriptor(tx, found), given, parts);
    return change(tx, storage, found, {
      ...NO_CHANGES,
      changedAt: keepsChangedAt ? found.node.changedAt : null,
      permission: { kind: 'descriptor', descriptor: encodeDescriptor(merged) },
    });
  });
}

async function loadDescriptor(tx: Transaction, { tree, node }: FoundNode): Promise<SecurityDescriptor> {
  const value = await tx.get(permissionKey(tree, node.permission));
  const decoded = value === null ? null : decodeDescriptor(value);
  if (decoded === null || 'refusal' in decoded) {
    throw new UnreadableRecord(`no descriptor has the key ${node.permission}`);
  }
  return decoded;
}

async function change(
  tx: Transaction,
  storage: Storage,
  found: FoundNode,
  changes: PropertyChanges,
  beside: Pick<NodeRecord, 'accessedAt'> = {},
): Promise<NodeRecord> {
  // What ends the copy puts the state of the file anew.
  if (found.node.kind === 'file' && isPending(found.node.copy)) throw new StorageError('PendingCopyOperation');
  const common = await changedProperties(tx, storage, found, changes);
  return changeNode(tx, found, (before): NodeRecord => ({ ...before, ...common, ...beside }));
}
