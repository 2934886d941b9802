/**
 * Streams a source into a file: the small pieces that a network delivers are gathered into large writes, and while
 * one write is under way the next is gathered. So a writer holds at most two writes' worth of bytes.
 */
import type { FileHandle } from 'node:fs/promises';
import { SourceLengthMismatch } from '../content.ts';

const WRITE_BYTES = 1024 * 1024;
/** As many as one system call takes. */
const WRITE_PIECE_COUNT_MAX = 1024;

export interface GatheredWrite {
  readonly handle: FileHandle;
  readonly positionBytes: number;
  /** Goes before the source's bytes. */
  readonly header?: Uint8Array;
  readonly source: AsyncIterable<Uint8Array>;
  readonly lengthBytes: number;
}

export async function writeGathered(write: GatheredWrite): Promise<void> {
  const { handle, source, lengthBytes } = write;
  let positionBytes = write.positionBytes;
  let pieces: Uint8Array[] = write.header === undefined ? [] : [write.header];
  let gatheredBytes = write.header?.length ?? 0;
  let receivedBytes = 0;
  let writing: Promise<void> = Promise.resolve();

  const flush = async () => {
    await writing;
    writing = writeAll(handle, pieces, positionBytes);
    // Met at the next await of it. If the source fails before that, it is left to itself: closing a handle waits for it.
    writing.catch(() => {});
    positionBytes += gatheredBytes;
    pieces = [];
    gatheredBytes = 0;
  };

  for await (const piece of source) {
    receivedBytes += piece.length;
    if (receivedBytes > lengthBytes) {
      throw new SourceLengthMismatch(`received more than the ${lengthBytes} bytes announced`);
    }
    if (piece.length === 0) continue;
    pieces.push(piece);
    gatheredBytes += piece.length;
    if (gatheredBytes >= WRITE_BYTES || pieces.length >= WRITE_PIECE_COUNT_MAX) await flush();
  }
  if (receivedBytes < lengthBytes) {
    throw new SourceLengthMismatch(`received ${receivedBytes} of the ${lengthBytes} bytes announced`);
  }
  if (pieces.length > 0) await flush();
  await writing;
}

async function writeAll(handle: FileHandle, pieces: Uint8Array[], positionBytes: number): Promise<void> {
  let left = pieces;
  let position = positionBytes;
  while (left.length > 0) {
    const { bytesWritten } = await handle.writev(left, position);
    position += bytesWritten;
    left = withoutFirst(left, bytesWritten);
  }
}

/** A disk that is nearly full writes less than it was asked to. */
function withoutFirst(pieces: Uint8Array[], bytes: number): Uint8Array[] {
  let index = 0;
  let leftBytes = bytes;
  for (; index < pieces.length; index++) {
    const piece = pieces[index] as Uint8Array;
    if (leftBytes < piece.length) return [piece.subarray(leftBytes), ...pieces.slice(index + 1)];
    leftBytes -= piece.length;
  }
  return [];
}
