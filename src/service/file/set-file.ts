/** Set File Properties, which also resizes, and Set File Metadata. */
import type { Metadata } from '../../rules/names.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { changeFile } from './change-file.ts';
import { resizeBytes, withOldBytes } from './file-bytes.ts';
import type { PropertyChanges } from './properties.ts';
import type { FileRequest, Stored } from './request.ts';
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
      changeFile(storage, request, ({ lengthBytes: fromBytes }) => {
        const { properties, lengthBytes } = request;
        const toBytes = lengthBytes ?? fromBytes;
        const isResized = toBytes !== fromBytes;
        return {
          operation: isResized ? 'resize' : 'set properties',
          properties: isResized ? { ...properties, writtenAt: properties.writtenAt ?? 'now' } : properties,
          async change(stored, tx, found) {
            const { copy: _, ...file } = stored;
            await changeUsage(tx, shard, found, toBytes - fromBytes);
            const content = await resizeBytes(tx, storage, file.content, { fromBytes, toBytes, old });
            return { ...file, content, lengthBytes: toBytes, headers: request.headers ?? file.headers };
          },
        };
      }),
    ),
  );
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
