/**
 * Security descriptors. Each is stored once in a share, under a key that is made from it: the same descriptor has the same
 * key. A row stays as long as its share, so whoever has seen one durable need not look again: creating a file reads none.
 */
import { hash } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { EntryKind } from '../../rules/file-attributes.ts';
import { inheritedDescriptor } from '../../rules/inherited-permission.ts';
import { parseSddl } from '../../rules/sddl.ts';
import {
  decodeDescriptor,
  encodeDescriptor,
  isTooLong,
  type Refused,
  type SecurityDescriptor,
} from '../../rules/security-descriptor.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { permissionKey, type TreeAddress } from '../records/file-keys.ts';
import type { DirectoryRecord } from '../records/node-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { invalidHeader, StorageError } from '../storage-error.ts';
import { loadShare, type ShareName, treeOf } from './load.ts';

/** What a request says about a permission. */
export type PermissionChoice =
  /** Nothing: a new file or directory inherits, one that is there keeps what it has. */
  | { readonly kind: 'unsaid' }
  | { readonly kind: 'inherit' }
  | { readonly kind: 'key'; readonly key: string }
  /** Self-relative, as SMB carries it. */
  | { readonly kind: 'descriptor'; readonly descriptor: Uint8Array }
  /** The same, and what it does not say is inherited. */
  | { readonly kind: 'partial descriptor'; readonly descriptor: Uint8Array };

type PermissionStorage = Pick<Storage, 'engine'>;

/** The key of the permission that something new in `parent` gets; puts the descriptor where the share has none such. */
export async function permissionOfNew(
  tx: Transaction,
  storage: PermissionStorage,
  { tree, parent, kind }: { tree: TreeAddress; parent: DirectoryRecord; kind: EntryKind },
  choice: PermissionChoice,
): Promise<string> {
  switch (choice.kind) {
    case 'unsaid':
    case 'inherit':
      return putPermission(tx, storage, tree, await inheritedPermission(tx, tree, parent.permission, kind));
    case 'key':
      return knownPermission(tx, storage, tree, choice.key);
    case 'descriptor':
      return putPermission(tx, storage, tree, permissionOf(choice.descriptor));
    case 'partial descriptor': {
      const rest = await inheritedPermission(tx, tree, parent.permission, kind);
      return putPermission(tx, storage, tree, completed(choice.descriptor, rest));
    }
  }
}

/** The same for what is there. Nothing is above the root: it gets back what it had when the share was created. */
export async function permissionOfChanged(
  tx: Transaction,
  storage: PermissionStorage,
  at: { tree: TreeAddress; parent: DirectoryRecord | null; kind: EntryKind; permission: string },
  choice: PermissionChoice,
): Promise<string> {
  const { tree, parent, kind } = at;
  if (choice.kind === 'unsaid') return at.permission;
  if (parent !== null) return permissionOfNew(tx, storage, { tree, parent, kind }, choice);
  if (choice.kind === 'key') return knownPermission(tx, storage, tree, choice.key);
  return putPermission(tx, storage, tree, choice.kind === 'inherit' ? ROOT : permissionOf(choice.descriptor));
}

/** Puts the descriptor of a new share's root; its key. */
export function permissionOfRoot(tx: Transaction, tree: TreeAddress): string {
  tx.put(permissionKey(tree, ROOT.key), ROOT.descriptor);
  return ROOT.key;
}

/** Create Permission: the key of the descriptor. */
export async function createPermission(storage: Storage, name: ShareName, descriptor: Uint8Array): Promise<string> {
  const permission = permissionOf(descriptor);
  return transact(storage.engine, async (tx) =>
    putPermission(tx, storage, treeOf(name, await loadShare(tx, name)), permission),
  );
}

/** Get Permission: the descriptor of the key. */
export async function getPermission(storage: Storage, name: ShareName, key: string): Promise<Uint8Array> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    const share = await loadShare(reader, name);
    const [descriptor] = await reader.getMany([permissionKey(treeOf(name, share), key)]);
    if (!descriptor) throw new StorageError('ResourceNotFound');
    return descriptor;
  });
}

/** A descriptor that cannot be kept. */
export const invalidPermission = ({ refusal }: Refused): StorageError =>
  new StorageError('FileInvalidPermission', { message: `The file permission is not valid. ${refusal}` });

// ---- descriptors and their keys

interface Permission {
  readonly key: string;
  readonly descriptor: Uint8Array;
}

/** What a share's root begins with, as the service has it. */
const ROOT_SDDL =
  'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)';

const ROOT: Permission = encodePermission(parseSddl(ROOT_SDDL) as SecurityDescriptor);

const permissionOf = (descriptor: Uint8Array): Permission => encodePermission(decodeGiven(descriptor));

function decodeGiven(descriptor: Uint8Array): SecurityDescriptor {
  const decoded = decodeDescriptor(descriptor);
  if ('refusal' in decoded) throw invalidPermission(decoded);
  return decoded;
}

function completed(descriptor: Uint8Array, rest: Permission): Permission {
  const given = decodeGiven(descriptor);
  const { owner, group, dacl, sacl } = decodeDescriptor(rest.descriptor) as SecurityDescriptor;
  return encodePermission({
    owner: given.owner ?? owner,
    group: given.group ?? group,
    dacl: given.dacl ?? dacl,
    sacl: given.sacl ?? sacl,
  });
}

/** What is inherited can be up to twice as long as what it is inherited from. */
function encodePermission(decoded: SecurityDescriptor): Permission {
  if ([decoded.dacl, decoded.sacl].some((list) => list !== null && isTooLong(list))) {
    throw invalidPermission({ refusal: 'A list is too long.' });
  }
  const descriptor = encodeDescriptor(decoded);
  const digest = hash('sha256', descriptor, 'buffer');
  return { key: `${digest.readBigUInt64BE(0)}*${digest.readBigUInt64BE(8)}`, descriptor };
}

const INHERITED_COUNT_MAX = 1_000;

/** By the parent's key: what has the same key has the same heirs, in every share. */
const inherited = new Map<string, Permission>();

async function inheritedPermission(
  tx: Transaction,
  tree: TreeAddress,
  parentKey: string,
  kind: EntryKind,
): Promise<Permission> {
  const name = `${kind}/${parentKey}`;
  const known = inherited.get(name);
  if (known !== undefined) return known;
  const value = await tx.get(permissionKey(tree, parentKey));
  const decoded = value === null ? null : decodeDescriptor(value);
  if (decoded === null || 'refusal' in decoded) throw new UnreadableRecord(`no descriptor has the key ${parentKey}`);
  const permission = encodePermission(inheritedDescriptor(decoded, kind));
  if (inherited.size >= INHERITED_COUNT_MAX) inherited.clear();
  inherited.set(name, permission);
  return permission;
}

// ---- rows

/** Of each engine, the rows that are known to be durable, by share and key. */
const durableRows = new WeakMap<Engine, Set<string>>();
const DURABLE_COUNT_MAX = 10_000;

async function putPermission(
  tx: Transaction,
  storage: PermissionStorage,
  tree: TreeAddress,
  { key, descriptor }: Permission,
): Promise<string> {
  if (await isThere(tx, storage, tree, key)) return key;
  tx.put(permissionKey(tree, key), descriptor);
  noteAfterwards(tx, storage, tree, key);
  return key;
}

async function knownPermission(
  tx: Transaction,
  storage: PermissionStorage,
  tree: TreeAddress,
  key: string,
): Promise<string> {
  if (!(await isThere(tx, storage, tree, key))) throw invalidHeader('x-ms-file-permission-key', key);
  return key;
}

async function isThere(tx: Transaction, storage: PermissionStorage, tree: TreeAddress, key: string): Promise<boolean> {
  if (rowsOf(storage).has(nameOf(tree, key))) return true;
  if ((await tx.get(permissionKey(tree, key))) === null) return false;
  noteAfterwards(tx, storage, tree, key);
  return true;
}

/** What a transaction reads may yet fail to come to be; once it has committed, it did. */
function noteAfterwards(tx: Transaction, storage: PermissionStorage, tree: TreeAddress, key: string): void {
  tx.afterwards(() => {
    const rows = rowsOf(storage);
    if (rows.size >= DURABLE_COUNT_MAX) rows.clear();
    rows.add(nameOf(tree, key));
  });
}

const nameOf = ({ shareId }: TreeAddress, key: string): string => `${shareId}/${key}`;

function rowsOf({ engine }: PermissionStorage): Set<string> {
  const rows = durableRows.get(engine) ?? new Set<string>();
  durableRows.set(engine, rows);
  return rows;
}
