/**
 * Where a copy into a file goes: whether what is there may be replaced by it, and the one transaction in which it is. The
 * file keeps its id and its lease.
 */
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { CopyState } from '../../rules/copy.ts';
import { AVAILABLE, afterWrite, leaseAt } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { FetchPagesJob, SharePagesJob } from '../copy/copy-job.ts';
import type { BlobHeaders } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { copyJobKey } from '../records/keys.ts';
import type { FileContent, FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { type CopiedProperties, copiedProperties } from './copied-properties.ts';
import { refuseOverwrite, replaceFile } from './create-file.ts';
import { changeNode } from './keep-past.ts';
import { type Found, type FoundFile, findNode } from './load.ts';
import { changing, reading, type Uses } from './opens/admit.ts';
import { newNodeId } from './properties.ts';
import { type FileRequest, type Stored, storedAt } from './request.ts';
import { changeUsage } from './usage.ts';

export interface CopyDestinationRequest extends FileRequest {
  /** None: the source's. */
  readonly metadata: Metadata;
  readonly properties: CopiedProperties;
  readonly ignoresReadOnly: boolean;
  /** False for a token that may only create. */
  readonly mayOverwrite: boolean;
}

export interface Copied {
  readonly lengthBytes: number;
  /** `own`: the destination is the source, and keeps what it has. */
  readonly content: FileContent | 'own';
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly copy: CopyState;
  /** Null: it is no file of this server. */
  readonly source: FoundFile | null;
  /** What is still to be done. */
  readonly job?: { readonly id: Id; readonly job: NewFileJob };
}

type WithoutDestination<Job> = Job extends { readonly file: unknown } ? Omit<Job, 'file'> : never;
export type NewFileJob = WithoutDestination<FetchPagesJob | SharePagesJob>;

export type MakeCopy = (
  tx: Transaction,
  at: { readonly found: Found; readonly uses: Uses; readonly nowMs: number },
) => Promise<Copied>;

/** Judges the destination, has `make` judge the source and say what is copied, and puts that in the destination's place. */
export async function storeCopy(
  storage: Storage,
  request: CopyDestinationRequest,
  make: MakeCopy,
): Promise<Stored<FileRecord>> {
  return storage.counting.use((shard) =>
    changing(storage, request, async (tx, uses) => {
      const found = await findNode(tx, request.name, storage.known);
      await refuseOverwrite(storage, found, { ...request, uses });
      const copied = await make(tx, { found, uses, nowMs: storage.clock.nowMs() });
      const lengthBefore = found.node?.kind === 'file' ? found.node.lengthBytes : 0;
      await changeUsage(tx, shard, found, copied.lengthBytes - lengthBefore);
      const file = await putCopy(tx, storage, { found, request, copied });
      if (copied.job !== undefined) putJob(tx, { request, found, file, job: copied.job });
      return storedAt(found, file);
    }),
  );
}

/** Nothing is read for a request that is refused anyway. Judged again in the transaction. */
export async function refuseEarly(storage: Storage, request: CopyDestinationRequest): Promise<void> {
  await reading(storage, request, async (_snapshot, reader, uses) => {
    const found = await findNode(reader, request.name, storage.known);
    // Who else uses the file is asked once, in the transaction.
    const early: Uses = { refusePending: (each) => uses.refusePending(each), async admit() {} };
    await refuseOverwrite(storage, found, { ...request, uses: early });
  });
}

async function putCopy(
  tx: Transaction,
  storage: Storage,
  { found, request, copied }: { found: Found; request: CopyDestinationRequest; copied: Copied },
): Promise<FileRecord> {
  const before = found.node?.kind === 'file' ? found.node : null;
  const { lengthBytes, content, headers, metadata, copy, source } = copied;
  const parent = found.parent as NonNullable<Found['parent']>;
  const at = { ...found, parent, kind: 'file' as const, previousEtag: before?.etag ?? null, source };
  const common = await copiedProperties(tx, storage, at, request.properties);
  const file = {
    kind: 'file',
    id: before?.id ?? (await newNodeId(tx, found, common.etag)),
    name: before?.name ?? found.name,
    since: found.share.epoch,
    ...common,
    metadata: request.metadata.length > 0 ? request.metadata : metadata,
    lengthBytes,
    headers,
    lease: before === null ? AVAILABLE : afterWrite(leaseAt(before.lease, storage.clock.nowMs())),
    copy,
    contentSince: common.etag,
  } as const;
  if (content === 'own') return changeNode(tx, found as FoundFile, (own) => ({ ...file, content: own.content }));
  const record: FileRecord = { ...file, content };
  await replaceFile(tx, storage, found, record);
  return record;
}

function putJob(
  tx: Transaction,
  {
    request: { name },
    found,
    file,
    job: { id, job },
  }: { request: CopyDestinationRequest; found: Found; file: FileRecord; job: NonNullable<Copied['job']> },
): void {
  const { account, share } = name;
  const destination = { account, share, shareId: found.share.id, nodeId: file.id };
  tx.put(copyJobKey(id), encodeJson({ ...job, file: destination } satisfies FetchPagesJob | SharePagesJob));
}
