/** Set File Properties, which also resizes, and Set File Metadata. */
import type { Transaction } from '../../engine/transact.ts';
import { afterWrite, leaseAt } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { changeFile, refuseFileChange } from './change-file.ts';
import { type OldBytes, resizeBytes, withOldBytes } from './file-bytes.ts';
import { changeNode } from './keep-past.ts';
import { findNode, refuseUnlessFile } from './load.ts';
import { changing } from './opens/admit.ts';
import { changedProperties, type PropertyChanges } from './properties.ts';
import { type FileRequest, type Stored, storedAt } from './request.ts';
import { changeUsage } from './usage.ts';

export interface SetFilePropertiesRequest extends FileRequest {
  /** All of them; null: they stay. */
  readonly headers: BlobHeaders | null;
  /** Null: it stays. */
  readonly lengthBytes: number | null;
  readonly properties: PropertyChanges;
}

export async function setFileProperties(
  storage: Storage,
  request: SetFilePropertiesRequest,
): Promise<Stored<FileRecord>> {
  return withOldBytes(storage, (old) =>
    storage.counting.use((shard) =>
      changing(storage, request, async (tx, uses) => {
        const found = await findNode(tx, request.name, storage.known);
        refuseUnlessFile(found);
        const lengthBytes = request.lengthBytes ?? found.node.lengthBytes;
        const grownBytes = lengthBytes - found.node.lengthBytes;
        const { leaseId, properties } = request;
        const operation = grownBytes === 0 ? 'set properties' : 'resize';
        await refuseFileChange(storage, found, { leaseId, operation, uses, properties });
        await changeUsage(tx, shard, found, grownBytes);
        const given = grownBytes === 0 ? properties : { ...properties, writtenAt: properties.writtenAt ?? 'now' };
        const common = await changedProperties(tx, storage, found, given);
        const file = await changeNode(tx, found, async (stored) => {
          const { copy: _, ...before } = stored;
          return {
            ...(await resized(tx, storage, before, { lengthBytes, old })),
            ...common,
            headers: request.headers ?? before.headers,
            lease: afterWrite(leaseAt(before.lease, storage.clock.nowMs())),
          };
        });
        return storedAt(found, file);
      }),
    ),
  );
}

async function resized(
  tx: Transaction,
  storage: Storage,
  file: FileRecord,
  { lengthBytes, old }: { lengthBytes: number; old: OldBytes },
): Promise<FileRecord> {
  const { lengthBytes: fromBytes } = file;
  const content = await resizeBytes(tx, storage, file.content, { fromBytes, toBytes: lengthBytes, old });
  return { ...file, lengthBytes, content };
}

export interface SetFileMetadataRequest extends FileRequest {
  readonly metadata: Metadata;
}

export async function setFileMetadata(
  storage: Storage,
  { metadata, ...request }: SetFileMetadataRequest,
): Promise<Stored<FileRecord>> {
  return changeFile(storage, request, { operation: 'set properties', change: (file) => ({ ...file, metadata }) });
}
