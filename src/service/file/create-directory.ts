import type { Metadata } from '../../rules/names.ts';
import type { DirectoryRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { addNode } from './keep-past.ts';
import { findNode } from './load.ts';
import { changing } from './opens/admit.ts';
import { newNodeId, newProperties, type PropertyChanges } from './properties.ts';
import { type NodeRequest, type Stored, storedAt } from './request.ts';

export interface CreateDirectoryRequest extends NodeRequest {
  readonly properties: PropertyChanges;
  readonly metadata: Metadata;
}

/** Create Directory. */
export async function createDirectory(
  storage: Storage,
  request: CreateDirectoryRequest,
): Promise<Stored<DirectoryRecord>> {
  return changing(storage, request, async (tx, uses) => {
    const found = await findNode(tx, request.name, storage.known);
    await uses.refusePending(found);
    const { parent } = found;
    if (found.node !== null || parent === null) throw new StorageError('ResourceAlreadyExists');
    const at = { ...found, parent, kind: 'directory' as const, previousEtag: null };
    const common = await newProperties(tx, storage, at, request.properties);
    const directory: DirectoryRecord = {
      kind: 'directory',
      id: await newNodeId(tx, found, common.etag),
      name: found.name,
      since: found.share.epoch,
      ...common,
      metadata: request.metadata,
    };
    addNode(tx, found, directory);
    return storedAt(found, directory);
  });
}
