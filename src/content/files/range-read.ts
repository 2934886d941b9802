/**
 * Reads a range of a file in large pieces, one of them ahead of the consumer. A small range is one exact read. Every
 * piece is fresh memory: a socket may hold on to it long after the next piece was asked for.
 */
import type { FileHandle } from 'node:fs/promises';
import type { ByteRange } from '../content.ts';

const PIECE_BYTES = 1024 * 1024;

export async function* readRange(handle: FileHandle, { offsetBytes, lengthBytes }: ByteRange): AsyncGenerator<Buffer> {
  const endBytes = offsetBytes + lengthBytes;
  let position = offsetBytes;
  const readNext = (): Promise<Buffer> | null => {
    if (position >= endBytes) return null;
    const length = Math.min(PIECE_BYTES, endBytes - position);
    const reading = readExactly(handle, { offsetBytes: position, lengthBytes: length });
    // Met when the consumer gets there; until then it must not count as unhandled.
    reading.catch(() => {});
    position += length;
    return reading;
  };

  // Given up half-way, a read under way is left to itself: closing a handle waits for it.
  for (let ahead = readNext(); ahead !== null; ) {
    const piece = await ahead;
    ahead = readNext();
    yield piece;
  }
}

export async function readExactly(handle: FileHandle, { offsetBytes, lengthBytes }: ByteRange): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(lengthBytes);
  let filledBytes = 0;
  while (filledBytes < lengthBytes) {
    const { bytesRead } = await handle.read(bytes, filledBytes, lengthBytes - filledBytes, offsetBytes + filledBytes);
    if (bytesRead === 0) throw new Error(`the file ends at ${offsetBytes + filledBytes}, within an extent`);
    filledBytes += bytesRead;
  }
  return bytes;
}
