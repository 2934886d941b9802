import type { Storage } from '../storage.ts';
import { refuseFileChange } from './change-file.ts';
import { removeNode } from './keep-past.ts';
import { findNode, refuseUnlessFile } from './load.ts';
import { changing } from './opens/admit.ts';
import { NO_CHANGES } from './properties.ts';
import type { FileRequest } from './request.ts';
import { changeUsage } from './usage.ts';

/** Delete File: its name is free at once. Refused for all that a change is, so also for a file that is read-only. */
export async function deleteFile(storage: Storage, request: FileRequest): Promise<void> {
  await storage.counting.use((shard) =>
    changing(storage, request, async (tx, uses) => {
      const found = await findNode(tx, request.name, storage.known);
      refuseUnlessFile(found);
      const { leaseId } = request;
      await refuseFileChange(storage, found, { leaseId, operation: 'delete file', uses, properties: NO_CHANGES });
      await changeUsage(tx, shard, found, -found.node.lengthBytes);
      await removeNode(tx, storage, found);
    }),
  );
}
