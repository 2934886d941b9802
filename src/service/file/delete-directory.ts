import { isReadOnly } from '../../rules/file-attributes.ts';
import { entriesRange } from '../records/file-keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { removeNode } from './keep-past.ts';
import { findNode, refuseUnlessDirectory } from './load.ts';
import { changing } from './opens/admit.ts';
import type { NodeRequest } from './request.ts';

/**
 * Delete Directory: only an empty one, and never the root. That it is empty is part of the commit, so that whatever is
 * put into it at the same time either comes too late or keeps it. What is marked for deletion still counts as being in it.
 */
export async function deleteDirectory(storage: Storage, request: NodeRequest): Promise<void> {
  await changing(storage, request, async (tx, uses) => {
    const found = await findNode(tx, request.name, storage.known);
    refuseUnlessDirectory(found);
    if (found.parent === null) throw new StorageError('InvalidUri');
    await uses.refusePending(found);
    if (isReadOnly(found.node.attributes)) throw new StorageError('ReadOnlyAttribute');
    if (!(await tx.isEmpty(entriesRange(found.tree, found.node.id)))) throw new StorageError('DirectoryNotEmpty');
    await uses.admit(found, 'delete directory');
    await removeNode(tx, storage, found);
  });
}
