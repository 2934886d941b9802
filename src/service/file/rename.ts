/**
 * Rename File and Rename Directory. Both ways are read in the same transaction, so that of two directories which are moved
 * into each other at the same time one is refused.
 */
import type { EntryKind } from '../../rules/file-attributes.ts';
import { refuseRename } from '../../rules/file-rename.ts';
import type { LeaseId } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { NodeRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type FileName, type Found, findNode, refuseMissing } from './load.ts';
import { type Move, otherAt, putInPlace, renameStateOf, replacesFile } from './move.ts';
import { changing, type Patience } from './opens/admit.ts';
import { refuseOpensBelow } from './opens/refuse-opens-below.ts';
import type { PropertyChanges } from './properties.ts';
import { type Stored, storedAt } from './request.ts';

export interface RenameRequest extends Patience {
  readonly kind: EntryKind;
  readonly source: FileName;
  /** In the same share. */
  readonly destination: FileName;
  /** A file at the destination gives way. */
  readonly replaces: boolean;
  /** Also one that is read-only. */
  readonly ignoresReadOnly: boolean;
  readonly sourceLeaseId: LeaseId | null;
  readonly destinationLeaseId: LeaseId | null;
  readonly properties: PropertyChanges;
  /** Null: as it is; so is the content type. */
  readonly metadata: Metadata | null;
  readonly contentType: string | null;
}

export async function renameNode(storage: Storage, request: RenameRequest): Promise<Stored> {
  return storage.counting.use((shard) =>
    changing(storage, request, async (tx, uses) => {
      const source = await findNode(tx, request.source, storage.known);
      refuseMissing(source);
      const destination = await findNode(tx, request.destination, storage.known);
      refuseRoots(source, destination);
      if (source.node.kind !== request.kind) throw new StorageError('ResourceTypeMismatch');
      await uses.refusePending(source);
      await uses.refusePending(destination);
      const move: Move = { source, destination };
      refuseByState(storage, request, move);
      if (request.kind === 'directory') {
        await refuseOpensBelow(tx, source.tree, source.node.id, 'SharingViolation');
      }
      await uses.admit(source, request.kind === 'file' ? 'rename file' : 'rename directory');
      if (replacesFile(move)) await uses.admit(destination, 'replace by rename');
      const { properties } = request;
      const change = (node: NodeRecord): NodeRecord => renamed(node, request);
      const node = await putInPlace(tx, storage, shard, { ...move, properties, change });
      return storedAt(destination, node);
    }),
  );
}

function refuseRoots(source: Found, destination: Found): void {
  if (source.tree.shareId !== destination.tree.shareId) throw new Error('a rename stays within its share');
  if (source.parent === null || destination.parent === null) throw new StorageError('InvalidUri');
}

function refuseByState(storage: Storage, request: RenameRequest, move: Move): void {
  const nowMs = storage.clock.nowMs();
  const { replaces, ignoresReadOnly } = request;
  const other = otherAt(move);
  const refusal = refuseRename({
    ...renameStateOf(move.source.node, nowMs),
    leaseId: request.sourceLeaseId,
    isIntoItself: move.destination.above.includes(move.source.node.id),
    replaced: other === null ? null : renameStateOf(other, nowMs),
    replacedLeaseId: request.destinationLeaseId,
    replaces,
    ignoresReadOnly,
  });
  if (refusal === 'InvalidInput') throw new StorageError(refusal, { message: INTO_ITSELF });
  if (refusal !== null) throw new StorageError(refusal);
}

const INTO_ITSELF = 'A directory cannot be moved into itself, nor below itself.';

function renamed(node: NodeRecord, { metadata, contentType }: RenameRequest): NodeRecord {
  const after = { ...node, metadata: metadata ?? node.metadata };
  if (after.kind === 'directory' || contentType === null) return after;
  return { ...after, headers: { ...after.headers, contentType } };
}
