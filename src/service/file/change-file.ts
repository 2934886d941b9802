/** What operations share that change a file in place: what they are refused for, and the new ETag and times. */
import type { Transaction } from '../../engine/transact.ts';
import { isPending } from '../../rules/copy.ts';
import { isReadOnly } from '../../rules/file-attributes.ts';
import { afterWrite, leaseAt, refuseFileWrite } from '../../rules/lease.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeNode } from './keep-past.ts';
import { type FoundFile, findNode, refuseUnlessFile } from './load.ts';
import { changing, type RestOperation, type Uses } from './opens/admit.ts';
import { changedProperties, NO_CHANGES, type PropertyChanges } from './properties.ts';
import { type FileRequest, type Stored, storedAt } from './request.ts';

export interface FileChange {
  readonly operation: RestOperation;
  readonly properties?: PropertyChanges;
  /** May refuse by throwing, and write to `tx` what belongs to the content. */
  readonly change: (file: FileRecord, tx: Transaction, found: FoundFile) => FileRecord | Promise<FileRecord>;
}

/** What is asked for may depend on the file as it is. */
export async function changeFile(
  storage: Storage,
  request: FileRequest,
  asked: FileChange | ((file: FileRecord) => FileChange),
): Promise<Stored<FileRecord>> {
  return changing(storage, request, async (tx, uses) => {
    const found = await findNode(tx, request.name, storage.known);
    refuseUnlessFile(found);
    const { operation, properties = NO_CHANGES, change } = typeof asked === 'function' ? asked(found.node) : asked;
    await refuseFileChange(storage, found, { leaseId: request.leaseId, operation, uses, properties });
    const common = await changedProperties(tx, storage, found, properties);
    const file = await changeNode(tx, found, async (before) => ({
      ...(await change(before, tx, found)),
      ...common,
      lease: afterWrite(leaseAt(before.lease, storage.clock.nowMs())),
    }));
    return storedAt(found, file);
  });
}

/** Whoever takes the mark of read-only off a file may do so. */
export async function refuseFileChange(
  storage: Storage,
  found: FoundFile,
  {
    leaseId,
    operation,
    uses,
    properties,
  }: Pick<FileRequest, 'leaseId'> & {
    operation: RestOperation;
    uses: Uses;
    properties: PropertyChanges;
  },
): Promise<void> {
  const { node } = found;
  await uses.refusePending(found);
  const refusal = refuseFileWrite(leaseAt(node.lease, storage.clock.nowMs()), leaseId);
  if (refusal !== null) throw new StorageError(refusal);
  const staysReadOnly = properties.attributes === null || isReadOnly(properties.attributes);
  if (isReadOnly(node.attributes) && staysReadOnly) throw new StorageError('ReadOnlyAttribute');
  if (isPending(node.copy)) throw new StorageError('PendingCopyOperation');
  await uses.admit(found, operation);
}
