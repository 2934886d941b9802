/**
 * SRV_COPYCHUNK and SRV_COPYCHUNK_WRITE ([MS-SMB2] 3.3.5.15.6): copies chunks from another open of the session, named by its
 * resume key. What was copied before something failed stays, and is told with the failure.
 */
import { CHUNK_BYTES_MAX, CHUNK_COUNT_MAX, COPY_BYTES_MAX, isCopyable } from '../../../rules/copy-chunk.ts';
import { WRITTEN } from '../../../rules/file-change.ts';
import { copyChunk } from '../../../service/file/opens/copy-chunk.ts';
import { noteChange } from '../../session/note-change.ts';
import type { FileOpen } from '../../session/open.ts';
import { SmbError, Status, statusOf } from '../../statuses.ts';
import { EXECUTE, READ_DATA, WRITE_DATA } from '../../wire/access.ts';
import { type Chunk, COPIED_BYTES, type Copied, decodeCopyChunk, encodeCopied } from '../../wire/copy-chunk.ts';
import type { IoctlRequest } from '../../wire/ioctl.ts';
import { type Context, waiterOf } from '../command.ts';
import { decodeOrRefuse } from '../decode-or-refuse.ts';
import { refuseWithoutAll, refuseWithoutAny } from '../granted.ts';
import { writingThrough } from '../writing-through.ts';
import { type Fsctl, type FsctlAnswer, refuseShortOutput } from './fsctl.ts';
import { findByResumeKey } from './resume-key.ts';

const LIMITS: Copied = { chunkCount: CHUNK_COUNT_MAX, chunkBytes: CHUNK_BYTES_MAX, totalBytes: COPY_BYTES_MAX };

/** The target must be readable, too. */
export const copyChunks: Fsctl = (context, request) => copyChunksTo(context, request, READ_DATA | WRITE_DATA);

export const copyChunksWrite: Fsctl = (context, request) => copyChunksTo(context, request, WRITE_DATA);

/** `access`: what the target must be open for. */
async function copyChunksTo(context: Context, request: IoctlRequest, access: number): Promise<FsctlAnswer> {
  const target = context.open(request.fileId);
  refuseShortOutput(request, COPIED_BYTES);
  const input = decodeOrRefuse(() => decodeCopyChunk(request.input, CHUNK_COUNT_MAX));
  if (input === null || !isCopyable(input.chunks.map(({ lengthBytes }) => lengthBytes))) {
    return { status: Status.INVALID_PARAMETER, output: encodeCopied(LIMITS) };
  }
  const source = findByResumeKey(context.session, input.resumeKey);
  if (source === null) throw new SmbError(Status.OBJECT_NAME_NOT_FOUND);
  if (source.kind === 'directory' || target.kind === 'directory') throw new SmbError(Status.INVALID_DEVICE_REQUEST);
  refuseWithoutAny(source, READ_DATA | EXECUTE);
  refuseWithoutAll(target, access);
  const { status, copied } = await copyAll(context, { source, target }, input.chunks);
  if (copied.chunkCount > 0) noteChange(context.door, { what: 'modified', at: target, filter: WRITTEN });
  return { status, output: encodeCopied(copied) };
}

async function copyAll(
  context: Context,
  opens: { source: FileOpen; target: FileOpen },
  chunks: readonly Chunk[],
): Promise<{ status: Status; copied: Copied }> {
  let copied: Copied = { chunkCount: 0, chunkBytes: 0, totalBytes: 0 };
  for (const chunk of chunks) {
    const status = await copyOne(context, opens, chunk);
    if (status !== Status.SUCCESS) return { status, copied };
    copied = { ...copied, chunkCount: copied.chunkCount + 1, totalBytes: copied.totalBytes + chunk.lengthBytes };
  }
  return { status: Status.SUCCESS, copied };
}

async function copyOne(
  context: Context,
  opens: { source: FileOpen; target: FileOpen },
  { sourceBytes, targetBytes, lengthBytes }: Chunk,
): Promise<Status> {
  const chunk = {
    // Beyond what numbers are exact for, there is no file.
    sourceBytes: Number(sourceBytes),
    targetBytes: Number(targetBytes),
    lengthBytes,
    ...writingThrough(opens.target),
  };
  try {
    const isCopied = await copyChunk(context.door.storage, opens, chunk, waiterOf(context));
    return isCopied ? Status.SUCCESS : Status.INVALID_VIEW_SIZE;
  } catch (error) {
    const status = statusOf(error);
    if (status === null) throw error;
    return status;
  }
}
