/** Abort Copy File: the destination stays with its metadata and without content, and can be written again. */
import { resolveAbort } from '../../rules/copy.ts';
import { afterWrite, leaseAt, refuseFileWrite } from '../../rules/lease.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeNode } from './keep-past.ts';
import { findNode, refuseUnlessFile } from './load.ts';
import { changing } from './opens/admit.ts';
import { changedProperties, NO_CHANGES } from './properties.ts';
import type { FileRequest } from './request.ts';
import { changeUsage } from './usage.ts';

export interface AbortCopyFileRequest extends FileRequest {
  readonly copyId: string;
}

/** Whoever works on the copy is told, and clears away what it has. */
export async function abortCopyFile(storage: Storage, request: AbortCopyFileRequest): Promise<void> {
  const copyId = await storage.counting.use((shard) =>
    changing(storage, request, async (tx, uses) => {
      const found = await findNode(tx, request.name, storage.known);
      refuseUnlessFile(found);
      await uses.refusePending(found);
      const nowMs = storage.clock.nowMs();
      const lease = leaseAt(found.node.lease, nowMs);
      const locked = refuseFileWrite(lease, request.leaseId);
      if (locked !== null) throw new StorageError(locked);
      const resolved = resolveAbort(found.node.copy, { copyId: request.copyId, nowMs });
      if ('refusal' in resolved) throw new StorageError(resolved.refusal);
      await uses.admit(found, 'abort copy');
      const { description: _, ...copy } = resolved.copy;
      const common = await changedProperties(tx, storage, found, NO_CHANGES);
      await changeUsage(tx, shard, found, -found.node.lengthBytes);
      await changeNode(tx, found, (file) => ({ ...file, ...common, lengthBytes: 0, copy, lease: afterWrite(lease) }));
      return copy.id;
    }),
  );
  storage.copies.ended(copyId);
}
