/** What a request says about the properties that files and directories share with SMB, and what becomes of it. */
import type { Transaction } from '../../engine/transact.ts';
import { ARCHIVE, DIRECTORY, type EntryKind } from '../../rules/file-attributes.ts';
import { type FileTime, fileTimeAt } from '../../rules/file-time.ts';
import { placeKey } from '../records/file-keys.ts';
import type { DirectoryRecord, NodeId, NodeRecord } from '../records/node-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import type { Found, LoadedShare } from './load.ts';
import { type PermissionChoice, permissionOfChanged, permissionOfNew } from './permissions.ts';

export type TimeChoice = { readonly at: FileTime } | 'now' | null;

/** Null: as it is, or for something new, what is usual. */
export interface PropertyChanges {
  readonly attributes: number | null;
  readonly createdAt: TimeChoice;
  readonly writtenAt: TimeChoice;
  /** Null: now. */
  readonly changedAt: FileTime | null;
  readonly permission: PermissionChoice;
}

export const NO_CHANGES: PropertyChanges = {
  attributes: null,
  createdAt: null,
  writtenAt: null,
  changedAt: null,
  permission: { kind: 'unsaid' },
};

export type Common = Pick<
  NodeRecord,
  'etag' | 'lastModifiedMs' | 'attributes' | 'createdAt' | 'writtenAt' | 'changedAt' | 'permission'
>;

/** Of something new in a directory. */
export async function newProperties(
  tx: Transaction,
  storage: Storage,
  at: LoadedShare & { parent: DirectoryRecord; kind: EntryKind; previousEtag: string | null },
  given: PropertyChanges,
): Promise<Common> {
  const nowMs = storage.clock.nowMs();
  return {
    etag: storage.etags.next(at.previousEtag, nowMs),
    lastModifiedMs: nowMs,
    // The service keeps no file without any attribute when it is created: `None` is Archive, too.
    attributes: given.attributes || usualAttributes(at.kind),
    createdAt: timeOf(given.createdAt, nowMs) ?? fileTimeAt(nowMs),
    writtenAt: timeOf(given.writtenAt, nowMs) ?? fileTimeAt(nowMs),
    changedAt: given.changedAt ?? fileTimeAt(nowMs),
    permission: await permissionOfNew(tx, storage, at, given.permission),
  };
}

/** Of a change to something that is there: a new ETag in any case. */
export async function changedProperties(
  tx: Transaction,
  storage: Storage,
  { tree, parent, node }: Found & { readonly node: NodeRecord },
  given: PropertyChanges,
): Promise<Common> {
  const nowMs = storage.clock.nowMs();
  const { kind, permission } = node;
  return {
    etag: storage.etags.next(node.etag, nowMs),
    lastModifiedMs: changedAt(node.lastModifiedMs, nowMs),
    attributes: given.attributes ?? node.attributes,
    createdAt: timeOf(given.createdAt, nowMs) ?? node.createdAt,
    writtenAt: timeOf(given.writtenAt, nowMs) ?? node.writtenAt,
    changedAt: given.changedAt ?? fileTimeAt(nowMs),
    permission: await permissionOfChanged(tx, storage, { tree, parent, kind, permission }, given.permission),
  };
}

const timeOf = (time: TimeChoice, nowMs: number): FileTime | null =>
  time === 'now' ? fileTimeAt(nowMs) : (time?.at ?? null);

const usualAttributes = (kind: EntryKind): number => (kind === 'file' ? ARCHIVE : DIRECTORY);

/**
 * The id of something that is created with this ETag: unique and growing, as those are. A clock that was set back across
 * a restart may give one again, and then the next free one is taken.
 */
export async function newNodeId(tx: Transaction, { tree }: LoadedShare, etag: string): Promise<NodeId> {
  for (let number = BigInt(etag); ; number++) {
    const id = number.toString(16).padStart(16, '0');
    if ((await tx.get(placeKey(tree, id))) === null) return id;
  }
}
