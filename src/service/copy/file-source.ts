/** A file of this server as the source of a copy: whether it may be copied as it stands, and how a refusal is told. */
import { type Conditions, refuseRead } from '../../rules/conditions.ts';
import { isPending } from '../../rules/copy.ts';
import type { ByteRange } from '../../rules/range-header.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import { type FileReadWithBytes, getFile } from '../file/get-file.ts';
import { type FileName, type FoundFile, findNode, refuseUnlessFile } from '../file/load.ts';
import type { Uses } from '../file/opens/admit.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { asSourceRefusal } from './inside-source.ts';
import { cannotVerify } from './verify-failure.ts';

/** For SMB clients that have the source open to give up what they cache. */
const WAIT_MS = 30_000;

export async function findFileSource(
  storage: Storage,
  { reader, uses }: { reader: RecordReader; uses: Uses },
  name: FileName,
): Promise<FoundFile> {
  const found = await findNode(reader, name, storage.known);
  refuseUnlessFile(found);
  await uses.refusePending(found);
  refuseAsSource(found.node);
  await uses.admit(found, 'copy from');
  return found;
}

export interface FileSourceQuestion {
  readonly name: FileName;
  readonly conditions: Conditions;
  readonly range: ByteRange | null;
  readonly version: ApiVersion;
}

/** What a copy would read, without reading it. A refusal is one of the copy. */
export async function lookAtFileSource(storage: Storage, question: FileSourceQuestion): Promise<FileRecord> {
  try {
    const { node, bytes } = await readFileSource(storage, question);
    await close(bytes);
    return node;
  } catch (error) {
    throw asFileSourceRefusal(error);
  }
}

/** One state of the file. Whoever gets a stream reads it to its end, or gives it up. */
export async function readFileSource(
  storage: Storage,
  { name, conditions, range, version }: FileSourceQuestion,
): Promise<FileReadWithBytes> {
  const read = await getFile(storage, { name, range, leaseId: null, waitMs: WAIT_MS, operation: 'copy from' });
  try {
    refuseAsSource(read.node);
    const refusal = refuseRead(conditions, read.node, { version });
    if (refusal !== null) throw new StorageError(refusal.code, { notModified: refusal.notModified });
    return read;
  } catch (error) {
    await close(read.bytes);
    throw error;
  }
}

async function close(bytes: FileReadWithBytes['bytes']): Promise<void> {
  if (!(bytes instanceof Uint8Array)) await bytes[Symbol.asyncIterator]().return?.();
}

/** What readers are shown of such a file is not what it is going to be. */
function refuseAsSource({ copy }: FileRecord): void {
  if (isPending(copy)) throw new StorageError('PendingCopyOperation');
}

const isMissing = (error: unknown): boolean =>
  error instanceof StorageError &&
  (error.code === 'ShareNotFound' || error.code === 'ParentNotFound' || error.code === 'ResourceNotFound');

/** The refusal of a read, as the refusal of a request that reads from there. */
export function asFileSourceRefusal(error: unknown): unknown {
  if (!isMissing(error)) return asSourceRefusal(error);
  const sentence = 'The specified resource does not exist.';
  return cannotVerify({ status: 404, code: 'ResourceNotFound', sentence });
}

/** The same for Copy File, which says it in its own name: another share or directory that is missing is the source's. */
export const asMissingSource = (error: unknown): unknown =>
  isMissing(error) ? new StorageError('ResourceNotFound') : error;
