/** Get Directory Properties and Metadata, Set Directory Properties, Set Directory Metadata: also of the root. */
import type { Metadata } from '../../rules/names.ts';
import type { DirectoryRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { changeNode } from './keep-past.ts';
import { findNode, refuseNoDirectory, refuseUnlessDirectory } from './load.ts';
import { changing, reading } from './opens/admit.ts';
import { changedProperties, NO_CHANGES, type PropertyChanges } from './properties.ts';
import { type NodeRequest, type Stored, storedAt } from './request.ts';

export async function getDirectory(storage: Storage, request: NodeRequest): Promise<Stored<DirectoryRecord>> {
  return reading(storage, request, async (_snapshot, reader, uses) => {
    const found = await findNode(reader, request.name, storage.known);
    refuseNoDirectory(found);
    await uses.refusePending(found);
    await uses.admit(found, 'get directory properties');
    return storedAt(found, found.node);
  });
}

export async function setDirectoryProperties(
  storage: Storage,
  { properties, ...request }: NodeRequest & { readonly properties: PropertyChanges },
): Promise<Stored<DirectoryRecord>> {
  return changeDirectory(storage, request, { properties });
}

export async function setDirectoryMetadata(
  storage: Storage,
  { metadata, ...request }: NodeRequest & { readonly metadata: Metadata },
): Promise<Stored<DirectoryRecord>> {
  return changeDirectory(storage, request, { metadata });
}

async function changeDirectory(
  storage: Storage,
  request: NodeRequest,
  { properties = NO_CHANGES, metadata = null }: { properties?: PropertyChanges; metadata?: Metadata | null },
): Promise<Stored<DirectoryRecord>> {
  return changing(storage, request, async (tx, uses) => {
    const found = await findNode(tx, request.name, storage.known);
    refuseUnlessDirectory(found);
    await uses.refusePending(found);
    await uses.admit(found, 'set directory properties');
    const common = await changedProperties(tx, storage, found, properties);
    const directory = await changeNode(tx, found, (before) => ({
      ...before,
      ...common,
      metadata: metadata ?? before.metadata,
    }));
    return storedAt(found, directory);
  });
}
