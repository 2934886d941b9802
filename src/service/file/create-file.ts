import type { Transaction } from '../../engine/transact.ts';
import { isPending } from '../../rules/copy.ts';
import { isReadOnly } from '../../rules/file-attributes.ts';
import { AVAILABLE, afterWrite, leaseAt, refuseFileWrite } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { Body } from '../extents/take-body.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { OldBytes, writeBytes } from './file-bytes.ts';
import { addNode, letGoOfContent, putNode } from './keep-past.ts';
import { type Found, type FoundFile, findNode } from './load.ts';
import { changing, type Uses } from './opens/admit.ts';
import { newNodeId, newProperties, type PropertyChanges } from './properties.ts';
import { type FileRequest, type Stored, storedAt } from './request.ts';
import { type TakenRange, takeRange } from './take-range.ts';
import { changeUsage } from './usage.ts';

export const FILE_BYTES_MAX = 4 * 1024 ** 4;

export interface CreateFileRequest extends FileRequest {
  readonly lengthBytes: number;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly properties: PropertyChanges;
  /** What the file begins with; null: zeros. Not longer than the file. */
  readonly body: Body | null;
  /** Whether a file that is there may be replaced; absent: it may. */
  readonly mayOverwrite?: boolean;
}

export interface FileCreated extends Stored<FileRecord> {
  /** Of the body, if there was one. */
  readonly md5: Buffer | null;
}

/** Create File: new, or in the place of a file that is there, whose id and lease it keeps. */
export async function createFile(storage: Storage, request: CreateFileRequest): Promise<FileCreated> {
  const { body } = request;
  const taken = body === null || body.lengthBytes === 0 ? null : await takeRange(storage, 0, body);
  const stored = await storage.extents.publishing(taken?.bytes.middle ?? null, () =>
    storage.counting.use((shard) =>
      changing(storage, request, async (tx, uses) => {
        const found = await findNode(tx, request.name, storage.known);
        await refuseOverwrite(storage, found, { ...request, uses });
        const before = found.node?.kind === 'file' ? found.node : null;
        await changeUsage(tx, shard, found, request.lengthBytes - (before?.lengthBytes ?? 0));
        const file = await newFile(tx, storage, { found, request, taken });
        await replaceFile(tx, storage, found, file);
        return storedAt(found, file);
      }),
    ),
  );
  return { ...stored, md5: taken?.md5 ?? null };
}

/** Whether a file may be put where the path leads: by Create File, by a copy. */
export async function refuseOverwrite(
  storage: Storage,
  found: Found,
  {
    leaseId,
    uses,
    mayOverwrite = true,
    ignoresReadOnly = false,
  }: {
    leaseId: FileRequest['leaseId'];
    uses: Uses;
    mayOverwrite?: boolean;
    ignoresReadOnly?: boolean;
  },
): Promise<void> {
  const { node, parent } = found;
  if (node !== null && !mayOverwrite) throw new StorageError('AuthorizationPermissionMismatch');
  if (parent === null || node?.kind === 'directory') throw new StorageError('ResourceTypeMismatch');
  await uses.refusePending(found);
  const lease = node === null ? AVAILABLE : leaseAt(node.lease, storage.clock.nowMs());
  const refusal = refuseFileWrite(lease, leaseId);
  if (refusal !== null) throw new StorageError(refusal);
  if (node === null) return;
  if (isReadOnly(node.attributes) && !ignoresReadOnly) throw new StorageError('ReadOnlyAttribute');
  if (isPending(node.copy)) throw new StorageError('PendingCopyOperation');
  await uses.admit(found, 'overwrite');
}

async function newFile(
  tx: Transaction,
  storage: Storage,
  { found, request, taken }: { found: Found; request: CreateFileRequest; taken: TakenRange | null },
): Promise<FileRecord> {
  const before = found.node?.kind === 'file' ? found.node : null;
  const at = { ...found, parent: found.parent as NonNullable<Found['parent']>, kind: 'file' as const };
  const common = await newProperties(tx, storage, { ...at, previousEtag: before?.etag ?? null }, request.properties);
  return {
    kind: 'file',
    id: before?.id ?? (await newNodeId(tx, found, common.etag)),
    name: before?.name ?? found.name,
    since: found.share.epoch,
    ...common,
    metadata: request.metadata,
    lengthBytes: request.lengthBytes,
    content:
      taken === null
        ? { kind: 'empty' }
        : await writeBytes(tx, storage, { kind: 'empty' }, { taken: taken.bytes, old: new OldBytes() }),
    headers: request.headers,
    lease: before === null ? AVAILABLE : afterWrite(leaseAt(before.lease, storage.clock.nowMs())),
    contentSince: common.etag,
  };
}

/** Puts the file where the path leads, and lets go of what a file there held. */
export async function replaceFile(tx: Transaction, storage: Storage, found: Found, file: FileRecord): Promise<void> {
  if (found.node === null) {
    addNode(tx, found, file);
    return;
  }
  await letGoOfContent(tx, storage, found as FoundFile);
  putNode(tx, found, file);
}
