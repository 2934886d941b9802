/** Renaming through an SMB open: one transaction, in which all who use what it is about are seen. */
import type { Transaction } from '../../../engine/transact.ts';
import { refuseFilePath } from '../../../rules/file-names.ts';
import { refuseFileWrite } from '../../../rules/lease.ts';
import { judgeDeletion } from '../../../rules/smb-open.ts';
import { DENIED, judgeNewDirectory, judgeReplaced, refuseSmbRename } from '../../../rules/smb-rename.ts';
import type { NodeId, NodeRecord } from '../../records/node-record.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { findNode, type Path } from '../load.ts';
import { type Move, otherAt, putInPlace, renameStateOf, replacesFile } from '../move.ts';
import { NO_CHANGES } from '../properties.ts';
import { follow } from './follow.ts';
import { loadUses } from './node-uses.ts';
import { refuseOpensBelow } from './refuse-opens-below.ts';
import { changeThrough, type Seen, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

export interface RenameWish {
  /** From the root of the same share. */
  readonly path: Path;
  /** A file of that name gives way. */
  readonly replaces: boolean;
  /** Also one that is read-only. */
  readonly ignoresReadOnly: boolean;
}

export interface Renamed extends Move {
  readonly node: NodeRecord;
  /** What has given way. */
  readonly replaced: NodeRecord | null;
}

/** Refused: see rules/smb-rename.ts; a path of which something is not there, or that cannot be. */
export async function renameOpen(
  storage: Storage,
  open: ThroughOpen,
  wish: RenameWish,
  waiter: Waiter,
): Promise<Renamed> {
  const refusal = refuseFilePath(wish.path);
  if (refusal !== null) throw new StorageError(refusal);
  const name = { ...open.name, path: wish.path, snapshot: null };
  return storage.counting.use((shard) =>
    changeThrough(storage, open, waiter, async (tx, seen) => {
      const move: Move = { source: seen.found, destination: await findNode(tx, name, storage.known) };
      refuseByState(storage, seen, move, wish);
      await admit(tx, seen, move);
      // What a name is, is its directory's: the file itself is not changed by it.
      const properties = { ...NO_CHANGES, changedAt: move.source.node.changedAt };
      const node = await putInPlace(tx, storage, shard, { ...move, properties });
      return { ...move, node, replaced: otherAt(move) };
    }),
  );
}

function refuseByState(
  storage: Storage,
  { inUse: { isPending } }: Seen,
  move: Move,
  { replaces, ignoresReadOnly }: RenameWish,
): void {
  const { source, destination } = move;
  const nowMs = storage.clock.nowMs();
  const { kind, isCopyPending } = renameStateOf(source.node, nowMs);
  const other = otherAt(move);
  const refusal = refuseSmbRename({
    kind,
    isRoot: source.parent === null || destination.parent === null,
    isPending,
    isCopyPending,
    isIntoItself: destination.above.includes(source.node.id),
    replaced: other === null ? null : replacedStateOf(other, nowMs),
    replaces,
    ignoresReadOnly,
  });
  if (refusal !== null) throw new StorageError(refusal);
}

function replacedStateOf(node: NodeRecord, nowMs: number) {
  const { lease, ...state } = renameStateOf(node, nowMs);
  return { ...state, isLeased: refuseFileWrite(lease, null) !== null };
}

/** Whoever is in the way of it is asked to close, and waited for. */
async function admit(tx: Transaction, seen: Seen, move: Move): Promise<void> {
  const { tree, node } = seen.found;
  const usesOf = (nodeId: NodeId) => loadUses(tx, { shareId: tree.shareId, nodeId });
  const directory = await usesOf(move.destination.place.parentId);
  follow(directory, judgeNewDirectory(directory.inUse));
  if (node.kind === 'directory') await refuseOpensBelow(tx, tree, node.id, DENIED);
  if (replacesFile(move)) {
    const replaced = await usesOf(move.destination.node.id);
    follow(replaced, judgeReplaced(replaced.inUse));
  }
  seen.admit(judgeDeletion(seen.inUse, seen.own.id));
}
