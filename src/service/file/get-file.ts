/** Get File, Get File Properties and Get File Metadata: one version, whole, however long the reading takes. */
import { leaseAt, refuseFileRead } from '../../rules/lease.ts';
import { resolveRange, type Slice, type ByteRange as WantedRange } from '../../rules/range-header.ts';
import { zeros } from '../pages/read-pages.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type FoundFile, findNode, refuseNoFile } from './load.ts';
import { NOBODY, reading, type Uses } from './opens/admit.ts';
import { type FileRequest, type Stored, storedAt } from './request.ts';

export interface FileRead extends Stored<FileRecord> {
  /** The moment at which the lease is to be reported. */
  readonly nowMs: number;
}

export async function getFileProperties(storage: Storage, request: FileRequest): Promise<FileRead> {
  return reading(storage, request, async (_snapshot, reader, uses) => {
    const found = await findToRead(storage, { reader, uses }, request);
    await uses.admit(found, 'get properties');
    return readOf(storage, found);
  });
}

export interface FileReadWithBytes extends FileRead {
  /** What of the file is given; null: all of it. */
  readonly slice: Slice | null;
  /** Whoever gets a stream reads it to its end, or gives it up with return(). */
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
}

export interface GetFileRequest extends FileRequest {
  readonly range: WantedRange | null;
  /** Absent: Get File. */
  readonly operation?: 'copy from';
}

export async function getFile(storage: Storage, request: GetFileRequest): Promise<FileReadWithBytes> {
  const read = await reading(storage, request, async (snapshot, reader, uses) => {
    const { found, slice, wanted } = await findSlice(storage, { reader, uses }, request);
    const { content } = found.node;
    const bytes =
      content.kind === 'empty' ? zerosLater(wanted.lengthBytes) : await storage.readers.open(snapshot, content, wanted);
    return bytes === null ? null : { ...readOf(storage, found), slice, bytes };
  });
  return read ?? getHeld(storage, request);
}

/** So much that reading it takes longer than a snapshot of the engine can be kept. */
async function getHeld(storage: Storage, request: GetFileRequest): Promise<FileReadWithBytes> {
  const { loaded, hold } = await storage.holds.take(async (tx) => {
    // Admitted a moment ago; what is read is what the file holds now.
    const { found, slice, wanted } = await findSlice(storage, { reader: tx, uses: NOBODY }, request);
    const { content } = found.node;
    return { found, slice, wanted, content: content.kind === 'empty' ? null : content };
  });
  // Another file has taken its place.
  if (hold === null) return getFile(storage, request);
  const { found, slice, wanted } = loaded;
  return { ...readOf(storage, found), slice, bytes: storage.readers.openHeld(hold, wanted, null) };
}

async function findSlice(
  storage: Storage,
  { reader, uses }: { reader: RecordReader; uses: Uses },
  request: GetFileRequest,
): Promise<{ found: FoundFile; slice: Slice | null; wanted: Slice }> {
  const found = await findToRead(storage, { reader, uses }, request);
  const { lengthBytes } = found.node;
  const slice = request.range === null ? null : resolveRange(request.range, lengthBytes);
  if (slice === 'unsatisfiable') {
    throw new StorageError('InvalidRange', { headers: { 'Content-Range': `bytes */${lengthBytes}` } });
  }
  const wanted = slice ?? { offsetBytes: 0, lengthBytes };
  await uses.admit(found, request.operation ?? 'get file', wanted);
  return { found, slice, wanted };
}

/** Reads need no lease id; one that is given must be right. */
export async function findToRead(
  storage: Storage,
  { reader, uses }: { reader: RecordReader; uses: Uses },
  { name, leaseId }: FileRequest,
): Promise<FoundFile> {
  const found = await findNode(reader, name, storage.known);
  refuseNoFile(found);
  await uses.refusePending(found);
  const refusal = refuseFileRead(leaseAt(found.node.lease, storage.clock.nowMs()), leaseId);
  if (refusal !== null) throw new StorageError(refusal);
  return found;
}

const readOf = (storage: Storage, found: FoundFile): FileRead => ({
  ...storedAt(found, found.node),
  nowMs: storage.clock.nowMs(),
});

async function* zerosLater(lengthBytes: number): AsyncGenerator<Uint8Array> {
  yield* zeros(lengthBytes);
}
