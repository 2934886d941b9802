/**
 * Rename File and Rename Directory: one row goes to another place, whatever is below it. Both ways are read in the same
 * transaction, so that of two directories which are moved into each other at the same time one is refused.
 */
import { isPending } from '../../rules/copy.ts';
import { type EntryKind, isReadOnly } from '../../rules/file-attributes.ts';
import { type Replaced, refuseRename } from '../../rules/file-rename.ts';
import { AVAILABLE, afterWrite, type Lease, type LeaseId, leaseAt } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { NodeRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { moveNode, removeNode } from './keep-past.ts';
import { type FileName, type Found, type FoundFile, type FoundNode, findNode, refuseMissing } from './load.ts';
import { changing, type Patience } from './opens/admit.ts';
import { refuseOpensBelow } from './opens/refuse-opens-below.ts';
import { changedProperties, type PropertyChanges } from './properties.ts';
import { type Stored, storedAt } from './request.ts';
import { changeUsage } from './usage.ts';

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
      refuseByState(storage, request, { source, destination });
      if (request.kind === 'directory') await refuseOpensBelow(tx, source.tree, source.node.id);
      await uses.admit(source, request.kind === 'file' ? 'rename file' : 'rename directory');
      if (isReplaced(destination, source)) {
        await uses.admit(destination, 'replace by rename');
        await changeUsage(tx, shard, destination, -destination.node.lengthBytes);
        await removeNode(tx, storage, destination);
      }
      // A permission that is to be inherited is inherited from where it goes.
      const moving = { ...source, parent: destination.parent };
      const common = await changedProperties(tx, storage, moving, request.properties);
      const node = await moveNode(tx, { from: source, to: destination.place }, (before) =>
        renamed(storage, { ...before, ...common, name: destination.name }, request),
      );
      return storedAt(destination, node);
    }),
  );
}

function refuseRoots(source: Found, destination: Found): void {
  if (source.tree.shareId !== destination.tree.shareId) throw new Error('a rename stays within its share');
  if (source.parent === null || destination.parent === null) throw new StorageError('InvalidUri');
}

function refuseByState(
  storage: Storage,
  request: RenameRequest,
  { source, destination }: { source: FoundNode; destination: Found },
): void {
  const nowMs = storage.clock.nowMs();
  const { replaces, ignoresReadOnly } = request;
  const other = destination.node?.id === source.node.id ? null : destination.node;
  const refusal = refuseRename({
    ...stateOf(source.node, nowMs),
    leaseId: request.sourceLeaseId,
    isIntoItself: destination.above.includes(source.node.id),
    replaced: other === null ? null : stateOf(other, nowMs),
    replacedLeaseId: request.destinationLeaseId,
    replaces,
    ignoresReadOnly,
  });
  if (refusal === 'InvalidInput') throw new StorageError(refusal, { message: INTO_ITSELF });
  if (refusal !== null) throw new StorageError(refusal);
}

const INTO_ITSELF = 'A directory cannot be moved into itself, nor below itself.';

const stateOf = (node: NodeRecord, nowMs: number): Replaced => ({
  kind: node.kind,
  lease: node.kind === 'file' ? leaseAt(node.lease, nowMs) : AVAILABLE,
  isReadOnly: isReadOnly(node.attributes),
  isCopyPending: node.kind === 'file' && isPending(node.copy),
});

/** After `refuseByState` it can only be a file. */
const isReplaced = (destination: Found, source: FoundNode): destination is FoundFile =>
  destination.node !== null && destination.node.id !== source.node.id;

function renamed(storage: Storage, node: NodeRecord, { metadata, contentType }: RenameRequest): NodeRecord {
  const after = { ...node, metadata: metadata ?? node.metadata };
  if (after.kind === 'directory') return after;
  const lease: Lease = afterWrite(leaseAt(after.lease, storage.clock.nowMs()));
  return { ...after, lease, headers: contentType === null ? after.headers : { ...after.headers, contentType } };
}
